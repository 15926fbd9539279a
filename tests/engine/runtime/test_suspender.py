"""UnitGroup that wait for provider batches are let go when there are too many, and told again: nobody can tell from the file."""

from pathlib import Path
from typing import Any

import pytest

import tidepool.engine.runtime.batch_run
import tidepool.engine.runtime.context
import tidepool.engine.runtime.unit
from tests.support.scripted import ScriptedBatches, ScriptedProvider, TakenOrder, answered
from tests.support.stage import Stage, talk, units
from tests.support.state import end_state, query, sold_by_batch
from tests.support.studies import game
from tidepool import SecretGame
from tidepool.engine.providers.protocol import BatchedCall, ProviderBatchGone, ProviderBatchResult, ProviderBatchState
from tidepool.engine.run import resume_batch, run_batch
from tidepool.engine.runtime.session import RunControl
from tidepool.engine.runtime.unit import UnitGroup
from tidepool.storage.states import StopCode

KEPT = 8


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Few stories stay in memory; what is told again is written down."""
    monkeypatch.setattr(tidepool.engine.runtime.context, "MOST_IN_MEMORY", KEPT)
    for module in (
        tidepool.engine.runtime.unit,
        tidepool.engine.runtime.unit,
        tidepool.engine.runtime.batch_run,
    ):
        monkeypatch.setattr(module, "CHUNK", 3)
    numbers: list[int] = []
    replay_units = UnitGroup.replay_units

    def tell(self: UnitGroup, wanted: Any, *, checked: bool) -> None:
        numbers.extend(wanted)
        replay_units(self, wanted, checked=checked)

    monkeypatch.setattr(UnitGroup, "replay_units", tell)
    return numbers


def talks(**settings: Any) -> SecretGame:
    service = {"name": "auto", "poll_interval": 0.005, "batch_size": 5}
    return game(40, 4, service=service, simulated={"batch_seconds": 0.02, **settings.pop("simulated", {})}, **settings)


GAMES = {
    "standard": {},
    "judged": {"judge": "simulated:judge"},
    "retained": {"mode": "retained", "games": 4},
    "errors": {"simulated": {"batch_error_rate": 0.2, "batch_expire_rate": 0.1, "fatal_rate": 0.05}},
}


@pytest.mark.slow
@pytest.mark.parametrize("settings", GAMES.values(), ids=GAMES)
async def test_what_was_let_go_and_told_again_comes_to_the_same(
    settings: dict[str, Any], tmp_path: Path, told: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    await run_batch(talks(**settings), tmp_path / "let-go.db")
    assert len(told) > 40
    again = len(told)
    monkeypatch.setattr(tidepool.engine.runtime.context, "MOST_IN_MEMORY", 1000)
    await run_batch(talks(**settings), tmp_path / "kept.db")
    assert len(told) == again
    assert end_state(tmp_path / "let-go.db") == end_state(tmp_path / "kept.db")


# -- what may become of a provider batch whose stories are not in memory -----------------------------------

TALKS = 40


def ended_after(looks: int) -> Any:
    return lambda order: ProviderBatchState(order.polls >= looks, "in_progress")


async def played(stage: Stage, batches: ScriptedBatches, **service: Any) -> dict[str, Any]:
    batches.bounds = batches.bounds.__class__(max_calls=5, max_bytes=10**9)
    provider = ScriptedProvider(batches=batches)
    return await stage.run(units(TALKS, talk(3)), provider, name="auto", **service)


def texts(database: Path) -> list[tuple[Any, ...]]:
    return query(database, "SELECT unit_id & 0xffffffff, step, text FROM call ORDER BY 1, 2")


async def test_each_call_is_bought_once_whoever_waits_for_it(stage: Stage, told: list[int], database: Path) -> None:
    batches = ScriptedBatches(state=ended_after(3))
    summary = await played(stage, batches)
    assert summary["units"]["completed"] == TALKS and summary["calls"]["bought"] == 3 * TALKS
    ordered, live = batches.bought(), stage.provider.asked
    assert len(told) > TALKS and len(set(ordered)) == len(ordered) == 3 * TALKS - len(live)


async def test_one_that_is_refused_after_all_goes_live(stage: Stage, told: list[int], database: Path) -> None:
    def state(order: TakenOrder) -> ProviderBatchState:
        return ProviderBatchState(order.polls >= 3, "failed", failed_reason="validation" if order.polls >= 3 else None)

    summary = await played(stage, ScriptedBatches(state=state))
    assert told and summary["units"]["completed"] == TALKS
    assert len(stage.provider.asked) == 3 * TALKS, "whatever the batch API would not do was asked live, once"


async def test_one_that_is_lost_is_asked_again(stage: Stage, told: list[int], database: Path) -> None:
    def state(order: TakenOrder) -> ProviderBatchState:
        if order.remote_id == "remote-4" and order.polls > 2:
            raise ProviderBatchGone("no such batch")
        return ProviderBatchState(order.polls >= 16, "in_progress")

    batches = ScriptedBatches(state=state)
    summary = await played(stage, batches)
    assert told and summary["units"]["completed"] == TALKS and len(texts(database)) == 3 * TALKS
    lost = query(database, "SELECT count(*) FROM surplus WHERE reason = 'lost'")[0][0]
    held = len(batches.order("remote-4").calls)
    assert lost == held == summary["calls"]["bought"] - 3 * TALKS, "what may be charged is counted"


async def test_what_takes_too_long_goes_live_and_comes_as_surplus(
    stage: Stage, told: list[int], database: Path
) -> None:
    batches = ScriptedBatches(state=lambda order: ProviderBatchState(order.polls > 400, "in_progress"))
    batches.cancels_refused = 10**6
    summary = await played(stage, batches, rescue_after=0.05)
    assert told and summary["units"]["completed"] == TALKS and len(texts(database)) == 3 * TALKS


async def test_what_expired_goes_into_another_and_what_failed_fails(
    stage: Stage, told: list[int], database: Path
) -> None:
    def result(order: TakenOrder, ordered: BatchedCall) -> ProviderBatchResult | None:
        place = order.calls.index(ordered)
        if place == 1:
            return None
        return ProviderBatchResult(ordered.custom_id, error="no") if place == 2 else answered(order, ordered)

    summary = await played(stage, ScriptedBatches(state=ended_after(3), result=result))
    assert (
        told and summary["units"]["failed"] and sum(summary["units"][one] for one in ("completed", "failed")) == TALKS
    )


@pytest.mark.slow
@pytest.mark.parametrize(("judge", "on_stop"), [(None, "leave"), ("simulated:judge", "leave"), (None, "cancel")])
async def test_a_study_of_many_waiting_calls_is_taken_up_where_it_was(
    judge: str | None, on_stop: str, tmp_path: Path, told: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped while provider batches hold more calls than stories are kept: they are told when those have ended."""
    settings = {"judge": judge} if judge else {}
    slow, database = {"batch_seconds": 0.5}, tmp_path / "stopped.db"
    for stops in range(4):
        control, created = RunControl(on_stop), 0

        def listen(event: Any, control: RunControl = control) -> None:
            nonlocal created
            created += getattr(event, "state", "") == "created"
            if created >= 6:
                control.stop_for(StopCode.STOPPED)

        if not stops:
            await run_batch(talks(simulated=slow, **settings), database, on_event=listen, control=control)
        else:
            await resume_batch("last", database, on_event=listen, control=control)
    held = query(database, "SELECT sum(count) FROM provider_batch WHERE state = 'created'")[0][0]
    assert held > KEPT
    await resume_batch("last", database)
    batch = query(database, "SELECT id FROM batches")[0][0]
    assert max(sold_by_batch(database, batch).values()) == 1
    monkeypatch.setattr(tidepool.engine.runtime.context, "MOST_IN_MEMORY", 1000)
    await run_batch(talks(simulated=slow, **settings), tmp_path / "kept.db")
    assert end_state(database) == end_state(tmp_path / "kept.db")
