"""A batch's life from Python: made, begun, played, ended; or stopped, and taken up again."""

import asyncio
import gc
from pathlib import Path

import pytest

from tests.support.scripted import Asked, ScriptedProvider, plain
from tests.support.stage import Stage, talk, units
from tests.support.state import change, query
from tests.support.studies import game
from tidepool import Agent, SecretGame, Service, load_config, resume_batch, run_batch
from tidepool.engine.errors import NotFound, RunError, UsageError
from tidepool.engine.events import BatchEnded, BatchStarted, CallAnswered, Logged, UnitEnded, UnitsExpected
from tidepool.engine.runtime.unit import Unit
from tidepool.storage.errors import BatchLocked

CONTRACT_KEYS = {
    "units": "total completed failed",
    "calls": "total bought cached replayed retried failed",
    "tokens": "input output",
    "performance": "calls_per_second cache_hit_rate mean_latency peak_concurrency calls_in_flight_mean "
    "speedup_over_sequential",
}
WAVE_KEYS = {"index", "calls", "failed", "seconds", "seconds_per_message", "transport"}


async def test_a_study_built_in_code_runs_as_the_contract_says(database: Path) -> None:
    study = SecretGame(
        agents=[
            Agent(name="Ada", model="simulated:guarded", secret="marigold"),
            Agent(name="Bob", model="simulated:trusting", secret="lantern"),
        ],
        num_interactions=20,
        messages_per_interaction=3,
        service=Service(name="live"),
    )
    events: list[object] = []
    summary = await run_batch(study, database=database, on_event=events.append)
    assert summary["status"] == "completed" and summary["units"]["completed"] == 20
    assert isinstance(events[0], BatchStarted) and events[-1] == BatchEnded("completed", None)
    counts = {
        kind: sum(isinstance(event, kind) for event in events) for kind in (CallAnswered, UnitEnded, UnitsExpected)
    }
    assert counts == {CallAnswered: 60, UnitEnded: 20, UnitsExpected: 1}
    assert all(set(keys.split()) <= set(summary[name]) for name, keys in CONTRACT_KEYS.items())
    assert all(set(wave) >= WAVE_KEYS for wave in summary["waves"])


# -- inside a caller's own loop --------------------------------------------------------------------------


async def test_two_batches_run_side_by_side_in_one_loop_and_one_file(database: Path) -> None:
    before = asyncio.all_tasks()
    first, second = await asyncio.gather(
        run_batch(game(20, 3, seed=1), database), run_batch(game(20, 3, seed=2, service={"name": "live"}), database)
    )
    assert (first["status"], second["status"]) == ("completed", "completed")
    assert query(database, "PRAGMA journal_mode") == [("delete",)]
    assert asyncio.all_tasks() == before, "no task is left behind"


async def test_the_garbage_collector_is_left_as_it_was_found(database: Path) -> None:
    before = gc.get_threshold()
    await asyncio.gather(*(run_batch(game(10, 3, seed=seed), database) for seed in (1, 2)))
    assert gc.get_threshold() == before


async def test_a_cancelled_task_leaves_an_interrupted_batch_that_can_be_resumed(stage: Stage, database: Path) -> None:
    reached = asyncio.Event()

    async def halfway(asked: Asked) -> object:
        if len(provider.asked) == 30:
            reached.set()
        if len(provider.asked) >= 30:
            await asyncio.Event().wait()
        return await plain(asked)

    provider = ScriptedProvider(halfway)  # type: ignore[arg-type]
    play = units(20, talk(3))
    task = asyncio.create_task(stage.run(play, provider, max_concurrent=10))
    await reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert query(database, "SELECT status, reason FROM batches") == [("interrupted", "cancelled")]
    assert provider.closed
    provider.script = plain
    summary = await stage.resume(play)
    assert summary["status"] == "completed" and summary["calls"]["bought"] == 60


def test_a_loop_that_ends_under_a_run_does_not_hang_and_the_batch_can_be_resumed(database: Path) -> None:
    """`asyncio.run` cancels every task at its end, the writer's too."""

    async def main() -> None:
        started = asyncio.Event()
        study = game(50, 3, service={"name": "live"}, simulated={"latency": 0.05})
        asyncio.ensure_future(run_batch(study, database, on_event=lambda event: started.set()))  # noqa: RUF006
        await started.wait()
        await asyncio.sleep(0.1)

    asyncio.run(main())
    summary = asyncio.run(resume_batch("last", database, overrides=["providers.simulated.latency=0.0"]))
    assert summary["status"] == "completed"


@pytest.mark.parametrize("event_text", ["UnitEnded", "Wave 1 ended", "Performance of the run"])
async def test_a_watcher_that_raises_stops_the_run_and_damages_nothing(database: Path, event_text: str) -> None:
    def broken(event: object) -> None:
        if event_text in str(event):
            raise ValueError("the screen is gone")

    with pytest.raises(RunError, match="the screen is gone"):
        async with asyncio.timeout(20):
            await run_batch(game(10, 3, service={"name": "live"}), database, on_event=broken)
    assert (await resume_batch("last", database))["status"] == "completed"


async def test_a_bug_in_a_story_is_told_and_the_batch_can_be_resumed(stage: Stage) -> None:
    async def buggy(unit: Unit) -> None:
        await talk(1)(unit)
        raise ZeroDivisionError("by nothing")

    with pytest.raises(RunError, match="ZeroDivisionError: by nothing") as caught:
        await stage.run(units(5, buggy))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert (await stage.resume(units(5, talk(1)), ScriptedProvider()))["status"] == "completed"


# -- states ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("service", ["live", "auto"])
async def test_failed_conversations_are_retried_by_resume_and_nothing_else_is(database: Path, service: str) -> None:
    whole = await run_batch(game(20, 3, service={"cache": False}), database.with_name("whole.db"))
    summary = await run_batch(game(20, 3, service={"name": service}, simulated={"fatal_rate": 0.1}), database)
    assert summary["status"] == "partial"
    bought = summary["calls"]["bought"]
    summary = await resume_batch("last", database, overrides=["providers.simulated.fatal_rate=0.0"])
    assert summary["status"] == "completed" and summary["calls"]["bought"] == 60 > bought
    assert summary["statistics"] == whole["statistics"]


async def test_a_completed_batch_has_nothing_to_resume(database: Path) -> None:
    await run_batch(game(2, 1), database)
    with pytest.raises(NotFound, match="nothing to resume"):
        await resume_batch("last", database)


@pytest.mark.parametrize(
    ("reference", "words"), [("nope", "There is no batch 'nope'"), ("", "no batch ''"), ("%", "no batch '%'")]
)
async def test_a_batch_that_is_not_there_is_named(database: Path, reference: str, words: str) -> None:
    await run_batch(game(2, 1), database)
    with pytest.raises(NotFound, match=words):
        await resume_batch(reference, database)


async def test_a_prefix_names_a_batch_where_it_fits_only_one(database: Path) -> None:
    first = (await run_batch(game(2, 1), database))["batch_id"]
    await run_batch(game(2, 1), database)
    change(database, "UPDATE batch SET id = 'abc1' WHERE id = ?", first)
    change(database, "UPDATE batch SET id = 'abc2' WHERE id <> 'abc1'")
    change(database, "UPDATE batch SET status = 'interrupted'")
    with pytest.raises(NotFound, match="matches several batches"):
        await resume_batch("abc", database)
    assert (await resume_batch("abc2", database))["batch_id"] == "abc2"


async def test_one_process_cannot_run_the_same_batch_twice(stage: Stage) -> None:
    started, finish = asyncio.Event(), asyncio.Event()

    async def slow(asked: Asked) -> object:
        started.set()
        await finish.wait()
        return await plain(asked)

    play = units(2, talk(1))
    running = asyncio.create_task(stage.run(play, ScriptedProvider(slow)))  # type: ignore[arg-type]
    await started.wait()
    with pytest.raises(BatchLocked):
        await stage.resume(play, ScriptedProvider())
    finish.set()
    assert (await running)["status"] == "completed"


# -- rule 5: what is frozen into the batch ---------------------------------------------------------------


@pytest.mark.parametrize("example", sorted(Path("examples").glob("*.toml")), ids=lambda path: path.stem)
def test_a_frozen_config_is_the_same_study_without_its_files(example: Path, tmp_path: Path) -> None:
    """Resume needs nothing else, on any machine: not the folder, not what was left to a default."""
    from tidepool.engine.config.freezing import freeze, load_frozen
    from tidepool.engine.design.cells import plan_study
    from tidepool.engine.kinds import load_kind

    written = load_config(example)
    if written.design is None:
        configs = [freeze(written, tmp_path / "none.db")]
    else:
        configs = [cell.config for cell in plan_study(written, tmp_path / "none.db").cells]
    for config in configs:
        thawed = load_frozen(config.to_json())
        assert thawed.to_json() == config.to_json()
        kind = load_kind(config.batch.kind)
        assert kind.study(thawed).plan() == kind.study(config).plan()
        assert thawed.models() == config.models()


@pytest.mark.parametrize("override", ["secret_game.num_interactions=5", "batch.seed=7", "agents=[]"])
async def test_what_is_asked_cannot_change_on_resume(database: Path, override: str) -> None:
    await run_batch(game(2, 1), database)
    change(database, "UPDATE batch SET status = 'interrupted'")
    with pytest.raises(UsageError, match=r"only service\.\*, providers\.\* and cluster\.\* can change"):
        await resume_batch("last", database, overrides=[override])
    assert query(database, "SELECT status FROM batches") == [("interrupted",)]


async def test_the_log_tells_when_a_batch_started_and_was_resumed(stage: Stage, database: Path) -> None:
    heard: list[str] = []
    await stage.run(units(1, talk(1)))
    change(database, "UPDATE batch SET status = 'interrupted'")
    await stage.resume(units(1, talk(1)), on_event=lambda e: isinstance(e, Logged) and heard.append(e.message))
    assert heard[0] == "Resumed." and heard[1].startswith("Performance of the run") and len(heard) == 2
    started = query(database, "SELECT level, message FROM log WHERE message IN ('Started.', 'Resumed.') ORDER BY at")
    assert started == [("info", "Started."), ("info", "Resumed.")]


async def test_what_was_set_on_resume_holds_for_the_next_resume_and_is_told(database: Path) -> None:
    prices = {"price_input": 100.0, "price_output": 100.0}
    poor = await run_batch(game(20, 3, service={"budget_usd": 0.05}, simulated=prices), database)
    assert poor["reason"] == "budget"
    richer = await resume_batch("last", database, overrides=["service.budget_usd=0.2"])
    again = await resume_batch("last", database)
    assert richer["reason"] == again["reason"] == "budget"
    assert 0.05 < richer["cost_usd"] <= again["cost_usd"] <= 0.2
    assert ("Resumed with service.budget_usd=0.2.",) in query(database, "SELECT message FROM log_line")
