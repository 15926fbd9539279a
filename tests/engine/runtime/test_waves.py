"""Rule 6: exact accounting, no timers. A wave is the calls that wait together."""

import asyncio
from random import Random

import pytest

from tests.support.scripted import Asked, ScriptedBatches, ScriptedProvider, TakenOrder, answered, plain
from tests.support.stage import Stage, question, talk, units
from tidepool.engine.errors import RunError
from tidepool.engine.providers.protocol import (
    Answer,
    BatchedCall,
    BatchRefused,
    ProviderBatchResult,
    ProviderBatchTicket,
)
from tidepool.engine.runtime.batch_run import BatchRun
from tidepool.engine.runtime.context import Tasks
from tidepool.engine.runtime.unit import Unit, UnitPlan


def sizes(batches: ScriptedBatches) -> list[int]:
    return [len(order.calls) for order in batches.taken]


async def test_a_three_way_fan_out_leaves_as_exact_waves(stage: Stage) -> None:
    """Branches of different depth: the third branch asks a second time where the others have ended."""

    async def branch(unit: Unit, turn: int, name: int) -> str:
        first = await unit.ask(question(f"t{turn}/{name}", 2 * turn - 1))
        if name == 2:
            return (await unit.ask(question(f"t{turn}/{name}/again", 2 * turn, first.text))).text
        return first.text

    async def play(run: BatchRun) -> None:
        async def story(unit: Unit) -> None:
            for turn in (1, 2, 3):
                await run.all(branch(unit, turn, name) for name in range(3))

        await run.units(UnitPlan(number, story) for number in range(1, 41))

    batches = ScriptedBatches()
    await stage.run(play, ScriptedProvider(batches=batches), name="auto")
    assert sizes(batches) == [120, 40] * 3


async def test_a_call_of_a_provider_without_a_batch_api_does_not_break_the_wave_of_the_others(stage: Stage) -> None:
    """Embeddings go live; a wave leaves only when no live call is under way."""
    batches = ScriptedBatches()

    async def slow_embedding(asked: Asked) -> Answer:
        for _ in range(50):
            await asyncio.sleep(0)
        return await plain(asked)

    async def story(unit: Unit) -> None:
        if unit.number <= 3:
            await unit.ask(question("embedding", 1, operation="embed"))
        await unit.ask(question("chat", 2))

    await stage.run(units(20, story), ScriptedProvider(slow_embedding, batches), name="auto")
    assert sizes(batches) == [20]


async def test_stories_that_wait_for_other_stories_are_no_hindrance(stage: Stage) -> None:
    async def play(run: BatchRun) -> None:
        async def reader(unit: Unit) -> None:
            await run.result(unit.number - 10)
            await unit.ask(question("after", 2))

        plans = [UnitPlan(number, talk(1), awaited=True) for number in range(1, 11)]
        plans += [UnitPlan(number, reader) for number in range(11, 21)]
        await run.units(plans)

    batches = ScriptedBatches()
    await stage.run(play, ScriptedProvider(batches=batches), name="auto")
    assert sizes(batches) == [10, 10]


async def test_an_order_releases_its_stories_together_with_its_live_remainder(stage: Stage) -> None:
    """Three of thirty come back unanswered and go live: still one order for each wave."""

    def some_missing(order: TakenOrder, ordered: BatchedCall) -> ProviderBatchResult | None:
        return None if order.calls.index(ordered) % 10 == 0 else answered(order, ordered)

    batches = ScriptedBatches(result=some_missing)
    provider = ScriptedProvider(batches=batches)
    summary = await stage.run(units(30, talk(3)), provider, name="auto")
    assert sizes(batches) == [30, 30, 30]
    assert len(provider.asked) == 9
    assert {wave["transport"] for wave in summary["waves"]} == {"batch+live"}


def refuse(ticket: ProviderBatchTicket, calls: object) -> None:
    raise BatchRefused("not on this account")


@pytest.mark.parametrize(("service", "step"), [("live", "t1"), ("auto", "t2")])
async def test_live_calls_have_no_barrier_a_slow_talk_delays_nobody(stage: Stage, service: str, step: str) -> None:
    """Nor where a provider refused the first wave as a batch."""
    others_done = asyncio.Event()
    slow: list[Asked] = []
    ended: list[int] = []

    async def one_is_slow(asked: Asked) -> Answer:
        if asked.call.step == step and not slow:
            slow.append(asked)
            await others_done.wait()
        return await plain(asked)

    async def story(unit: Unit) -> None:
        await talk(4)(unit)
        ended.append(unit.number)
        if len(ended) == 9:
            others_done.set()

    provider = ScriptedProvider(one_is_slow, ScriptedBatches(before_taking=refuse))
    summary = await stage.run(units(10, story), provider, name=service)
    assert summary["status"] == "completed" and summary["calls"]["bought"] == 40


async def test_default_plays_each_talk_to_its_end_so_many_at_a_time(stage: Stage) -> None:
    provider = ScriptedProvider(batches=ScriptedBatches())
    under_way: set[int] = set()
    most = 0

    async def story(unit: Unit) -> None:
        nonlocal most
        under_way.add(unit.number)
        most = max(most, len(under_way))
        await talk(3)(unit)
        under_way.discard(unit.number)

    await stage.run(units(20, story), provider, name="default", max_concurrent=4)
    assert most == 4 and len(provider.asked) == 60


async def test_a_study_that_waits_for_what_nobody_brings_stops_with_a_clear_word(stage: Stage) -> None:
    async def play(run: BatchRun) -> None:
        await run.result(99)

    with pytest.raises(RunError, match="Deadlock"):
        await stage.run(play, ScriptedProvider(batches=ScriptedBatches()), name="auto")


# -- tasks alone -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
async def test_tasks_never_pass_through_a_false_zero(seed: int) -> None:
    """Whatever the stories do, idle means: every story that has not ended waits for what the test releases."""
    tasks, rng = Tasks(), Random(seed)
    waiting: list[asyncio.Future[None]] = []
    live = 0
    seen: list[tuple[int, int]] = []
    all_done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def story(depth: int) -> None:
        nonlocal live
        live += 1
        for _ in range(rng.randrange(4)):
            match rng.randrange(3):
                case 0:
                    await asyncio.sleep(0)
                case 1:
                    future = tasks.park()
                    waiting.append(future)
                    await future
                case 2 if depth < 3:
                    live -= 1
                    await tasks.all(story(depth + 1) for _ in range(rng.randrange(1, 4)))
                    live += 1
        live -= 1

    def come_to_rest() -> None:
        if tasks.busy:
            return
        seen.append((live, len(waiting)))
        if not waiting:
            all_done.set_result(None)
        released, waiting[:] = waiting[:], []
        for future in released:
            tasks.release(future, None)

    tasks.on_idle = lambda: asyncio.get_running_loop().call_soon(come_to_rest)
    tasks.spawn(tasks.all(story(0) for _ in range(20)))
    await all_done
    assert len(seen) > 1 and all(alive == parked for alive, parked in seen)
