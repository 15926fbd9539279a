"""Rule 10: reserve the worst case, settle on return, never exceed."""

import asyncio
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.scripted import Asked, ScriptedBatches, ScriptedProvider, TakenOrder
from tests.support.stage import Stage, question, talk, units
from tests.support.state import query
from tidepool.engine.call import PriceTag, most_tokens, worst_cost
from tidepool.engine.errors import UsageError
from tidepool.engine.providers.protocol import (
    Answer,
    BatchedCall,
    ErrorClass,
    ProviderBatchResult,
    ProviderBatchState,
    ProviderError,
)
from tidepool.engine.runtime.accounts import Budget
from tidepool.engine.runtime.session import RunControl
from tidepool.engine.runtime.unit import Unit
from tidepool.storage.states import StopCode

# -- the budget alone ------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.floats(0, 5), st.floats(0, 1)), max_size=60), st.floats(0.01, 20), st.integers(1, 9))
@settings(max_examples=100, deadline=None)
def test_whatever_calls_cost_the_cap_is_never_exceeded_and_it_stops_only_when_one_call_does_not_fit(
    calls: list[tuple[float, float]], cap: float, at_once: int
) -> None:
    """Each call has a worst case and takes a share of it."""
    budget = Budget(cap)
    exhausted: list[float] = []
    most = 0.0

    async def call(worst: float, share: float, places: asyncio.Semaphore) -> None:
        nonlocal most
        async with places:
            await budget.reserve(worst)
            most = max(most, budget.spent + budget.reserved)
            await asyncio.sleep(0)
            budget.settle(worst, worst * share)

    async def story() -> None:
        stopped: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def stop() -> None:
            exhausted.append(budget.spent)
            if not stopped.done():
                stopped.set_result(None)

        budget.on_exhausted = stop
        places = asyncio.Semaphore(at_once)
        tasks = [asyncio.ensure_future(call(worst, share, places)) for worst, share in calls]
        everything = asyncio.gather(*tasks)
        await asyncio.wait([everything, stopped], return_when=asyncio.FIRST_COMPLETED)
        everything.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(story())
    assert most <= cap + 1e-9
    if not exhausted:
        assert budget.spent == pytest.approx(sum(worst * share for worst, share in calls), abs=1e-9)
        assert budget.reserved == 0
    else:
        assert any(budget.spent + worst > cap for worst, _ in calls)


async def test_a_million_small_sums_come_back_to_exactly_nothing_in_flight() -> None:
    budget, rng = Budget(1e9), Random(1)
    amounts = [rng.random() * 700 for _ in range(20_000)]
    assert budget.affordable(amounts) == len(amounts)
    rng.shuffle(amounts)
    for amount in amounts:
        budget.settle(amount, 0.0)
    assert budget.reserved == 0.0
    assert not budget.is_exhausted(1.0) and Budget(1.0, spent=1.0).is_exhausted(0.1)


@given(st.text(max_size=200))
def test_a_reservation_never_counts_fewer_tokens_than_a_text_can_have(text: str) -> None:
    """No tokeniser makes more tokens of a text than it has bytes; ASCII words take at least two characters each."""
    assert most_tokens(text) <= len(text.encode("utf-8", "surrogatepass")) + 1
    assert most_tokens(text) >= len(text.split())


# -- in a batch ------------------------------------------------------------------------------------------

TAG = PriceTag(input=0.001, output=0.002)


def cost_of(asked: Asked | BatchedCall, *, batch: bool = False) -> Answer:
    """A random share of what the call may cost at most, the same whenever it is asked."""
    rng = Random(asked.seed)
    worst = worst_cost(asked.call, TAG, batch=batch)
    return Answer("words", 10, 5, worst * rng.choice([0.0, 0.1, 0.9, 1.0]))


async def expensive(asked: Asked) -> Answer:
    return cost_of(asked)


def expensive_order(order: TakenOrder, ordered: BatchedCall) -> ProviderBatchResult | None:
    """Some are missing, so that live remainders are paid for too."""
    if Random(ordered.seed).random() < 0.1:
        return None
    return ProviderBatchResult(ordered.custom_id, cost_of(ordered, batch=True))


@pytest.mark.parametrize("service", ["live", "default", "auto"])
@pytest.mark.parametrize("cap", [0.3, 3.7, 6.0])
async def test_a_batch_stops_before_it_exceeds_its_budget_and_a_higher_one_finishes_the_rest(
    stage: Stage, database: Path, service: str, cap: float
) -> None:
    provider = ScriptedProvider(expensive, ScriptedBatches(result=expensive_order), tag=TAG)
    play = units(20, talk(3))
    summary = await stage.run(play, provider, name=service, budget_usd=cap)
    assert (summary["status"], summary["reason"]) == ("interrupted", "budget")
    assert summary["cost_usd"] <= cap + 1e-9
    assert summary["cost_usd"] >= cap - 20 * worst_cost(question("t1", text="hello"), TAG)
    summary = await stage.resume(play, overrides=["service.budget_usd=1000"])
    assert summary["status"] == "completed" and summary["units"]["completed"] == 20
    assert summary["calls"]["bought"] == 60
    paid = query(database, "SELECT sum(cost_usd) FROM messages")[0][0]
    assert summary["cost_usd"] == pytest.approx(paid)


async def test_resumed_without_a_higher_budget_it_stops_again_and_buys_nothing(stage: Stage) -> None:
    provider = ScriptedProvider(expensive, tag=TAG)
    play = units(20, talk(3))
    first = await stage.run(play, provider, budget_usd=3.0)
    asked = len(provider.asked)
    again = await stage.resume(play)
    assert again["reason"] == "budget" and again["cost_usd"] == first["cost_usd"]
    assert len(provider.asked) == asked


async def test_one_provider_s_own_budget_stops_the_batch_too(stage: Stage) -> None:
    provider = ScriptedProvider(expensive, tag=TAG)
    summary = await stage.run(units(20, talk(3)), provider, simulated={"budget_usd": 2.0})
    assert summary["reason"] == "budget" and summary["cost_usd"] <= 2.0
    summary = await stage.resume(units(20, talk(3)), overrides=["providers.simulated.budget_usd=500.0"])
    assert summary["status"] == "completed"


async def test_an_open_order_keeps_its_reservation_across_restarts(stage: Stage, database: Path) -> None:
    """The order may cost all that is left: nothing else may be bought beside it."""
    batches = ScriptedBatches(state=lambda order: ProviderBatchState(False, "in_progress"), result=expensive_order)
    provider = ScriptedProvider(expensive, batches, tag=TAG)
    worst = worst_cost(question("t1", text="hello"), TAG, batch=True)
    control = RunControl()

    def listen(event: object) -> None:
        if getattr(event, "state", "") == "in_progress":
            control.stop_for(StopCode.STOPPED)

    play = units(20, talk(1))
    budget = worst * 10.5
    await stage.run(play, provider, name="auto", budget_usd=budget, on_event=listen, control=control)
    assert [len(order.calls) for order in batches.taken] == [10]
    reserved = query(database, "SELECT reservation_usd FROM provider_batch")[0][0]
    assert reserved == pytest.approx(worst * 10)
    batches.state = lambda order: ProviderBatchState(len(provider.asked) > 0 or order.polls > 20, "in_progress")
    summary = await stage.resume(play, overrides=["service.name=live"])
    assert summary["cost_usd"] <= budget + 1e-9
    assert summary["calls"]["bought"] >= 8


async def test_a_rescued_order_keeps_its_reservation_until_it_ends(stage: Stage) -> None:
    """It may still cost ten of eleven parts: no live call fits beside it, and all of them after it."""
    asked_when_it_ended: list[int] = []
    batches = ScriptedBatches(cancels_refused=1)
    provider = ScriptedProvider(expensive, batches, tag=TAG)

    def slow(order: TakenOrder) -> ProviderBatchState:
        if order.polls == 20:
            asked_when_it_ended.append(len(provider.asked))
        return ProviderBatchState(order.polls >= 20, "in_progress")

    batches.state, batches.result = slow, lambda order, ordered: None
    batch_worst = worst_cost(question("t1", text="hello"), TAG, batch=True)
    summary = await stage.run(
        units(10, talk(1)), provider, name="auto", rescue_after=0.01, poll_interval=0.002, budget_usd=batch_worst * 11
    )
    assert asked_when_it_ended == [0] and provider.asked
    assert summary["cost_usd"] <= batch_worst * 11


async def test_a_budget_with_an_unknown_price_is_refused_before_anything_is_written(
    stage: Stage, database: Path
) -> None:
    with pytest.raises(UsageError, match=r"the price of simulated:\w+ is not known"):
        await stage.run(units(2, talk(1)), ScriptedProvider(tag=None), budget_usd=1.0)
    with pytest.raises(UsageError, match="not known"):
        await stage.run(units(2, talk(1)), ScriptedProvider(tag=None), simulated={"budget_usd": 1.0})
    assert not database.exists()


async def test_an_unknown_price_gives_an_unknown_cost_never_nothing(stage: Stage, database: Path) -> None:
    async def unpriced(asked: Asked) -> Answer:
        return Answer("words", 10, 5, None)

    summary = await stage.run(units(2, talk(1)), ScriptedProvider(unpriced, tag=None))
    assert summary["cost_usd"] is None
    assert query(database, "SELECT cost_usd FROM batches") == [(None,)]


async def test_failed_calls_give_their_reservation_back(stage: Stage) -> None:
    async def fails(asked: Asked) -> Answer:
        if asked.call.step == "bad":
            raise ProviderError(ErrorClass.CLIENT, "no")
        return cost_of(asked)

    async def story(unit: Unit) -> None:
        await unit.ask(question("bad" if unit.number % 2 else "good", text="hello"))

    cap = 20 * worst_cost(question("good", text="hello"), TAG)
    summary = await stage.run(units(40, story), ScriptedProvider(fails, tag=TAG), budget_usd=cap, max_concurrent=1)
    assert summary["units"] == {"total": 40, "completed": 20, "failed": 20}
