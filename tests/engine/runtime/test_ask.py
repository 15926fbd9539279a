"""Rules 1–5: what a story asks is answered once, by its address, and comes back the same."""

import asyncio
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.support.scripted import Asked, ScriptedProvider, plain
from tests.support.stage import Stage, Story, question, talk, units
from tests.support.state import end_state, query
from tidepool.engine.call import Call, Message, seed_of, stream
from tidepool.engine.errors import ReplayMismatch, RunError
from tidepool.engine.events import CallAnswered, CallLost
from tidepool.engine.providers.protocol import Answer, ErrorClass, ProviderError
from tidepool.engine.runtime.batch_run import BatchRun
from tidepool.engine.runtime.session import RunControl, Stop
from tidepool.engine.runtime.unit import Unit, UnitPlan
from tidepool.storage.states import StopCode


async def shuffled(asked: Asked) -> Answer:
    """Replies in an order of its own."""
    for _ in range(Random(asked.seed).randrange(30)):
        await asyncio.sleep(0)
    return await plain(asked)


def failing(step: str, fault: ErrorClass = ErrorClass.CLIENT) -> Any:
    async def script(asked: Asked) -> Answer:
        if asked.call.step == step:
            raise ProviderError(fault, "no such answer")
        return await plain(asked)

    return script


def stopping_after(calls: int, control: RunControl) -> Any:
    """A provider whose run is stopped when so many calls have left."""

    async def script(asked: Asked) -> Answer:
        script.count += 1
        if script.count == calls:
            control.stop(Stop(StopCode.STOPPED))
        return await plain(asked)

    script.count = 0
    return script


# -- rule 1: seeds, streams, cache -----------------------------------------------------------------------


def test_every_address_has_a_random_stream_of_its_own_on_every_machine() -> None:
    assert seed_of(42, 1, "t1") == 762587591108807547
    assert stream(42, 1, "t1").random() == stream(42, 1, "t1").random()
    seeds = {seed_of(seed, unit, step) for seed in range(5) for unit in range(50) for step in ("t1", "t2", "t1/judge")}
    assert len(seeds) == 5 * 50 * 3 and max(seeds) < 2**63


async def test_thirty_repetitions_of_one_prompt_are_thirty_calls_and_then_thirty_hits(stage: Stage) -> None:
    async def same_prompt(unit: Unit) -> str:
        return (await unit.ask(question("t1", text="the same", temperature=0.7))).text

    provider = ScriptedProvider()
    first = await stage.run(units(30, same_prompt), provider)
    assert len(provider.asked) == 30 and len({asked.seed for asked in provider.asked}) == 30
    assert first["calls"]["bought"] == 30 and first["calls"]["cached"] == 0
    again = await stage.run(units(30, same_prompt), provider)
    assert len(provider.asked) == 30
    assert again["calls"] == {"total": 30, "bought": 0, "cached": 30, "replayed": 0, "retried": 0, "failed": 0}
    assert again["performance"]["cache_hit_rate"] == 1.0 and again["cost_usd"] == 0.0
    anew = await stage.run(units(30, same_prompt), provider, cache=False)
    assert len(provider.asked) == 60 and anew["calls"]["cached"] == 0


async def test_a_cached_answer_is_the_answer_and_says_where_it_came_from(stage: Stage, database: Path) -> None:
    await stage.run(units(5, talk(2)))
    first = end_state(database)
    await stage.run(units(5, talk(2)), name="auto")
    assert end_state(database) == first
    sources = query(database, "SELECT source, count(*) FROM messages GROUP BY 1 ORDER BY 1")
    assert sources == [("cache", 10), ("live", 10)]


async def test_failures_are_never_cached(stage: Stage) -> None:
    await stage.run(units(5, talk(1)), ScriptedProvider(failing("t1")))
    provider = ScriptedProvider()
    summary = await stage.run(units(5, talk(1)), provider)
    assert summary["status"] == "completed" and len(provider.asked) == 5


def call(**changes: Any) -> Call:
    about: dict[str, Any] = {"messages": (Message("user", "a"), Message("assistant", "b")), "system": "s"}
    return Call("t1", 1, "simulated:x", **{**about, "temperature": 0.7, **changes})


def test_the_key_names_everything_that_was_asked_and_the_sample() -> None:
    others = [
        call(system="t"),
        call(temperature=None),
        call(temperature=0.8),
        call(max_tokens=301),
        call(operation="embed"),
        call(messages=(Message("user", "a"), Message("user", "b"))),
        call(messages=(Message("user", "ab"), Message("assistant", ""))),
        call(messages=(Message("user", "a"), Message("assistant", "b"), Message("user", ""))),
        call()._replace(model="simulated:y"),
    ]
    keys = {other.key(1) for other in [call(), *others]} | {call().key(2)}
    assert len(keys) == len(others) + 2
    assert call(turn=3, speaker="Ada")._replace(step="t9", wave=4).key(1) == call().key(1)


# -- rule 2: addresses -----------------------------------------------------------------------------------


@pytest.mark.parametrize("service", ["live", "default"])
async def test_a_doubled_address_raises_and_stops_the_run(
    stage: Stage, service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidepool.engine.runtime.session.DRAIN_SECONDS", 0.05)

    async def twice(unit: Unit) -> None:
        await unit.ask(question("t1"))
        await unit.ask(question("t1", text="something else"))

    async def only_the_first(asked: Asked) -> Answer:
        if len(provider.asked) > 3:
            await asyncio.Event().wait()
        return await plain(asked)

    provider = ScriptedProvider(only_the_first)
    with pytest.raises(RunError, match="used the address 't1' for two requests"):
        await stage.run(units(500, twice), provider, name=service, max_concurrent=3)
    assert len(provider.asked) <= 6, "the run stopped at the first one, though others were still asked"


async def test_parallel_calls_in_any_order_give_the_same_file(stage: Stage, database: Path, tmp_path: Path) -> None:
    def fan_out(run: BatchRun) -> Story:
        async def story(unit: Unit) -> None:
            for turn in (1, 2):
                asked = (unit.ask(question(f"t{turn}/{name}", turn, turn=turn, speaker=name)) for name in "abc")
                await run.all(asked)

        return story

    async def play(run: BatchRun) -> None:
        await run.units(UnitPlan(number, fan_out(run)) for number in range(1, 21))

    await stage.run(play, ScriptedProvider(), max_concurrent=1)
    first = sorted(query(database, "SELECT step, text FROM call"))
    stage.database = tmp_path / "other.db"
    await stage.run(play, ScriptedProvider(shuffled), max_concurrent=50)
    assert sorted(query(stage.database, "SELECT step, text FROM call")) == first


# -- replay ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("service", ["live", "default", "auto"])
async def test_what_was_answered_comes_back_from_the_ledger_and_only_the_rest_is_bought(
    stage: Stage, database: Path, service: str
) -> None:
    control = RunControl()
    provider = ScriptedProvider(stopping_after(25, control))
    play = units(20, talk(3))
    stopped = await stage.run(play, provider, name=service, max_concurrent=5, control=control)
    answered = stopped["calls"]["total"]
    assert stopped["status"] == "interrupted" and 25 <= answered < 60
    provider.script = plain
    heard: list[CallAnswered] = []
    summary = await stage.resume(play, on_event=lambda e: isinstance(e, CallAnswered) and heard.append(e))
    assert summary["calls"] == {"total": 60, "bought": 60, "cached": 0, "replayed": answered, "retried": 0, "failed": 0}
    assert len(provider.asked) == 60 and len({asked.seed for asked in provider.asked}) == 60
    assert sum(event.source == "replay" for event in heard) == answered


async def test_a_story_goes_on_only_after_its_reply_is_committed(stage: Stage, database: Path) -> None:
    seen: list[int] = []

    async def story(unit: Unit) -> None:
        reply = await unit.ask(question("t1"))
        seen.append(len(query(database, "SELECT 1 FROM call WHERE text = ?", reply.text)))

    await stage.run(units(5, story))
    assert seen == [1] * 5


async def test_the_study_s_own_calls_are_replayed_too(stage: Stage) -> None:
    control = RunControl()

    async def play(run: BatchRun) -> None:
        await run.study.ask(question("plan"))
        await run.units([UnitPlan(1, talk(2))])
        await run.study.ask(question("conclusion"))

    provider = ScriptedProvider(stopping_after(2, control))
    await stage.run(play, provider, control=control)
    provider.script = plain
    summary = await stage.resume(play)
    assert summary["status"] == "completed" and len(provider.asked) == 4
    assert summary["units"]["completed"] == 1, "the study itself is no unit"


# -- rule 4: failures, and stories that changed ----------------------------------------------------------


async def test_a_story_that_now_asks_something_else_stops_with_a_clear_word(stage: Stage) -> None:
    control = RunControl()
    await stage.run(units(20, talk(3)), ScriptedProvider(stopping_after(25, control)), control=control)

    async def changed(unit: Unit) -> None:
        await unit.ask(question("t1", text="another opening"))

    provider = ScriptedProvider()
    with pytest.raises(ReplayMismatch, match="Run the config again instead of resuming"):
        await stage.resume(units(20, changed), provider)


async def test_a_failed_call_fails_its_unit_alone_and_resume_tries_it_again(stage: Stage, database: Path) -> None:
    async def third_talk_fails(asked: Asked) -> Answer:
        if asked.seed == seed_of(42, 3, "t2"):
            raise ProviderError(ErrorClass.CLIENT, "content policy")
        return await plain(asked)

    play = units(10, talk(3))
    summary = await stage.run(play, ScriptedProvider(third_talk_fails))
    assert summary["status"] == "partial"
    assert summary["units"] == {"total": 10, "completed": 9, "failed": 1}
    assert summary["calls"]["failed"] == 1 and summary["calls"]["bought"] == 28
    provider = ScriptedProvider()
    summary = await stage.resume(play, provider)
    assert summary["status"] == "completed" and summary["units"]["failed"] == 0
    assert [asked.call.step for asked in provider.asked] == ["t2", "t3"]
    assert summary["calls"]["failed"] == 0 and summary["calls"]["total"] == 30


async def test_a_failure_that_another_unit_has_read_is_never_reopened(stage: Stage, database: Path) -> None:
    """Unit 2 asked what it asked because unit 1 had failed: reopening 1 would change what 2 bought."""

    async def play(run: BatchRun) -> None:
        async def reader(unit: Unit) -> None:
            result = await run.result(1)
            await unit.ask(question("after", text=f"1 said {result.value} {result.error}"))

        await run.units([UnitPlan(1, talk(1), awaited=True), UnitPlan(2, reader), UnitPlan(3, talk(2))])

    async def one_and_three_fail(asked: Asked) -> Answer:
        if asked.seed in (seed_of(42, 1, "t1"), seed_of(42, 3, "t2")):
            raise ProviderError(ErrorClass.CLIENT, "lost")
        return await plain(asked)

    summary = await stage.run(play, ScriptedProvider(one_and_three_fail))
    assert summary["units"]["failed"] == 2
    provider = ScriptedProvider()
    lost: list[CallLost] = []
    summary = await stage.resume(play, provider, on_event=lambda e: isinstance(e, CallLost) and lost.append(e))
    assert [asked.call.step for asked in provider.asked] == ["t2"], "3 is tried again, 1 is not"
    assert summary["status"] == "partial" and [event.unit for event in lost] == [1]
    assert summary["calls"]["replayed"] == 2, "an answer each of 2 and 3; a failure is never counted as an answer"


async def test_a_systemic_fault_stops_the_run_with_advice_and_keeps_what_was_answered(
    stage: Stage, database: Path
) -> None:
    under_way = asyncio.Event()

    async def key_withdrawn(asked: Asked) -> Answer:
        if len(provider.asked) == 20:
            under_way.set()
            raise ProviderError(ErrorClass.FATAL, "The key was withdrawn: make another one.")
        if len(provider.asked) > 15:
            await under_way.wait()
            await asyncio.sleep(0)
        return await plain(asked)

    provider = ScriptedProvider(key_withdrawn)
    with pytest.raises(RunError, match="make another one"):
        await stage.run(units(50, talk(2)), provider, max_concurrent=10)
    assert query(database, "SELECT status, reason FROM batches") == [
        ("interrupted", "The key was withdrawn: make another one.")
    ]
    committed = query(database, "SELECT count(*) FROM call WHERE status = 'answered'")[0][0]
    assert committed == len(provider.asked) - 1, "calls in flight were waited for"
    provider.script = plain
    summary = await stage.resume(units(50, talk(2)))
    assert summary["status"] == "completed" and summary["calls"]["bought"] == 100


# -- what models may say ---------------------------------------------------------------------------------

STRANGE = ["a\x00b", "half \ud83d a face", "\ufffe", " ", "\r\n\t\x1b[31mred", "x" * 100_000, "'); DROP TABLE call;--"]


async def test_whatever_a_model_says_is_kept_and_replayed_as_its_story_heard_it(stage: Stage, database: Path) -> None:
    heard: list[list[str]] = []
    control = RunControl()

    async def strange(asked: Asked) -> Answer:
        if asked.call.step == "last":
            control.stop(Stop(StopCode.STOPPED))
            return Answer("the last")
        return Answer(STRANGE[int(asked.call.step)], 1, 1, 0.0)

    async def story(unit: Unit) -> None:
        calls = [question(str(turn), turn, turn=turn + 1, speaker="A") for turn in range(len(STRANGE))]
        heard.append([(await unit.ask(call)).text for call in calls])
        await unit.ask(question("last", 98))
        await unit.ask(question("after the stop", 99))

    await stage.run(units(1, story), ScriptedProvider(strange), control=control)
    await stage.resume(units(1, story), ScriptedProvider(plain))
    first, second = heard
    assert first == second
    assert first[0] == "ab" and first[1] == "half ? a face" and first[2:] == STRANGE[2:]
    assert [row[5] for row in end_state(database)["messages"]] == first
