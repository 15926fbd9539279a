"""Rules 7 and 9: every order is bought exactly once, whatever becomes of it."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidepool.engine.runtime.context
from tests.support.scripted import ScriptedBatches, ScriptedProvider, TakenOrder, answered
from tests.support.stage import Play, Stage, question, talk, units
from tests.support.state import end_state, log_of, query
from tidepool.engine.errors import RunError
from tidepool.engine.providers.protocol import (
    Answer,
    BatchedCall,
    CreationUnclear,
    ErrorClass,
    ProviderBatchBounds,
    ProviderBatchGone,
    ProviderBatchResult,
    ProviderBatchState,
    ProviderBatchTicket,
    ProviderError,
)
from tidepool.engine.runtime.provider_batch import is_small, split
from tidepool.engine.runtime.session import RunControl, Stop
from tidepool.engine.runtime.unit import Unit
from tidepool.storage.purchases import ProviderBatchBook
from tidepool.storage.states import StopCode
from tidepool.storage.studies import steer_any

TALKS = units(20, talk(2))


def never_ends(order: TakenOrder) -> ProviderBatchState:
    return ProviderBatchState(False, "in_progress")


async def play_then_stop(stage: Stage, play: Play, batches: ScriptedBatches, *, on_stop: str = "leave") -> dict:
    """Stops when the first order has been written down as created."""
    control = RunControl(on_stop)

    def listen(event: object) -> None:
        if getattr(event, "state", "") == "in_progress":
            control.stop_for(StopCode.STOPPED)

    provider = ScriptedProvider(batches=batches)
    return await stage.run(play, provider, name="auto", on_event=listen, control=control)


async def test_more_units_than_fit_in_memory_begin_as_others_end(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tidepool.engine.runtime.context, "MOST_IN_MEMORY", 8)
    batches = ScriptedBatches(state=lambda order: ProviderBatchState(order.polls >= 3, "in_progress"))
    provider = ScriptedProvider(batches=batches)
    summary = await stage.run(units(40, talk(3)), provider, name="auto")
    assert summary["units"]["completed"] == 40 and summary["calls"]["bought"] == 120
    ordered = batches.bought()
    assert len(set(ordered)) == len(ordered) == 120 - len(provider.asked)
    assert max(len(order.calls) for order in batches.taken) == 8


# -- what comes back -------------------------------------------------------------------------------------


async def test_an_order_that_fails_as_a_whole_goes_live(stage: Stage, database: Path) -> None:
    batches = ScriptedBatches(state=lambda order: ProviderBatchState(True, "failed", failed_reason="validation"))
    provider = ScriptedProvider(batches=batches)
    summary = await stage.run(TALKS, provider, name="auto")
    assert summary["calls"]["bought"] == 40 and len(provider.asked) == 40


async def test_an_error_for_good_in_an_order_fails_its_talk_alone(stage: Stage, database: Path) -> None:
    def one_refused(order: TakenOrder, ordered: BatchedCall) -> ProviderBatchResult | None:
        if order.calls.index(ordered) == 3 and ordered.call.step == "t1":
            return ProviderBatchResult(ordered.custom_id, error="content policy")
        return answered(order, ordered)

    summary = await stage.run(TALKS, ScriptedProvider(batches=ScriptedBatches(result=one_refused)), name="auto")
    assert summary["status"] == "partial"
    assert summary["units"] == {"total": 20, "completed": 19, "failed": 1}
    assert summary["calls"]["failed"] == 1 and summary["calls"]["bought"] == 38
    assert [row[5] for row in end_state(database)["units"] if row[4] == "failed"] == ["content policy"]


@pytest.mark.parametrize("what", ["missing", "error that heals"])
async def test_a_large_remainder_is_ordered_anew_and_a_small_one_goes_live(stage: Stage, what: str) -> None:
    def first_order_half(order: TakenOrder, ordered: BatchedCall) -> ProviderBatchResult | None:
        lost = order.remote_id == "remote-1" and order.calls.index(ordered) % 2
        lost |= order.remote_id == "remote-2" and order.calls.index(ordered) == 0
        if not lost:
            return answered(order, ordered)
        return None if what == "missing" else ProviderBatchResult(ordered.custom_id, error="busy", heals=True)

    batches = ScriptedBatches(result=first_order_half)
    provider = ScriptedProvider(batches=batches)
    summary = await stage.run(units(60, talk(1)), provider, name="auto")
    assert [len(order.calls) for order in batches.taken] == [60, 30]
    assert len(provider.asked) == 1
    assert summary["calls"] == {"total": 60, "bought": 60, "cached": 0, "replayed": 0, "retried": 31, "failed": 0}


def gone(order: TakenOrder) -> ProviderBatchState:
    if order.remote_id == "remote-1":
        raise ProviderBatchGone("not found")
    return ProviderBatchState(True, "ended")


async def test_an_order_unknown_to_a_resumed_run_is_paid_for_so_the_batch_stops_rather_than_buy_it_again(
    stage: Stage,
) -> None:
    batches = ScriptedBatches(state=never_ends)
    await play_then_stop(stage, units(20, talk(1)), batches)
    batches.state = gone
    with pytest.raises(RunError, match="Set the key of the account that bought them, then resume"):
        await stage.resume(units(20, talk(1)))
    assert len(batches.taken) == 1
    batches.state = lambda order: ProviderBatchState(True, "ended")
    summary = await stage.resume(units(20, talk(1)))
    assert summary["status"] == "completed" and len(batches.taken) == 1


async def test_an_order_that_this_run_bought_and_the_provider_forgot_does_not_end_it(
    stage: Stage, database: Path
) -> None:
    batches = ScriptedBatches(state=gone)
    summary = await stage.run(units(20, talk(1)), ScriptedProvider(batches=batches), name="auto")
    assert summary["status"] == "completed" and len(batches.taken) == 2
    assert any("no longer knows it" in line for line in log_of(database, stage.batch_id))


# -- creation --------------------------------------------------------------------------------------------


async def test_an_order_is_on_disk_before_the_provider_is_asked_for_it(stage: Stage, database: Path) -> None:
    seen: list[tuple[str, int]] = []

    def look(ticket: ProviderBatchTicket, calls: Sequence[BatchedCall]) -> None:
        seen.extend(query(database, "SELECT state, count FROM provider_batch WHERE id = ?", ticket.order_id))

    await stage.run(TALKS, ScriptedProvider(batches=ScriptedBatches(before_taking=look)), name="auto")
    assert seen == [("creating", 20), ("creating", 20)]
    assert query(database, "SELECT DISTINCT state FROM provider_batch") == [("collected",)]


def cut_off_before(ticket: ProviderBatchTicket, calls: Sequence[BatchedCall]) -> None:
    raise CreationUnclear("timeout")


def cut_off_after(order: TakenOrder) -> None:
    raise CreationUnclear("timeout")


async def test_a_creation_that_never_arrived_is_repeated_only_after_the_list_was_searched(stage: Stage) -> None:
    failures = iter([True, True, False, False])
    searched: list[int] = []

    class Watched(ScriptedBatches):
        async def find(self, ticket: ProviderBatchTicket, others: Collection[str]) -> str | None:
            searched.append(len(self.taken))
            return await super().find(ticket, others)

    def sometimes(ticket: ProviderBatchTicket, calls: Sequence[BatchedCall]) -> None:
        if next(failures):
            raise CreationUnclear("connection reset")

    batches = Watched(before_taking=sometimes)
    summary = await stage.run(TALKS, ScriptedProvider(batches=batches), name="auto")
    assert summary["status"] == "completed" and len(batches.taken) == 2
    assert searched == [0] * 8, "four looks for each of the two that were cut off"


async def test_a_batch_that_turns_up_after_its_calls_went_live_is_surplus(stage: Stage, database: Path) -> None:
    """Its list showed nothing for long, so its calls were asked live; before the run ends it is looked for once more."""

    class Late(ScriptedBatches):
        shown = False

        async def find(self, ticket: ProviderBatchTicket, others: Collection[str]) -> str | None:
            return await super().find(ticket, others) if self.shown else None

    batches = Late(after_taking=cut_off_after)

    async def show(asked: object) -> Answer:
        batches.shown = True
        return Answer("live", 10, 5, 0.0)

    summary = await stage.run(units(20, talk(1)), ScriptedProvider(show, batches=batches), name="auto", retries=0)
    assert summary["status"] == "completed" and summary["calls"]["total"] == 20
    assert summary["calls"]["bought"] == 40, "paid for twice, and said so"
    assert query(database, "SELECT count(*) FROM surplus") == [(20,)]


# -- stops and restarts ----------------------------------------------------------------------------------


async def test_a_stop_with_cancel_keeps_what_was_finished_and_orders_only_the_rest_anew(stage: Stage) -> None:
    def half_when_cancelled(order: TakenOrder, ordered: BatchedCall) -> ProviderBatchResult | None:
        return None if order.cancelled and order.calls.index(ordered) % 2 else answered(order, ordered)

    batches = ScriptedBatches(state=never_ends, result=half_when_cancelled)
    play = units(60, talk(1))
    await play_then_stop(stage, play, batches, on_stop="cancel")
    assert batches.taken[0].cancelled
    batches.state = lambda order: ProviderBatchState(True, "ended")
    provider = ScriptedProvider(batches=batches)
    summary = await stage.resume(play, provider)
    assert summary["status"] == "completed"
    assert [len(order.calls) for order in batches.taken] == [60, 30]
    assert provider.asked == []


async def test_a_stop_does_not_create_the_orders_that_were_still_queued(stage: Stage) -> None:
    control = RunControl()
    batches = ScriptedBatches(state=never_ends)

    def stop_at_the_first(order: TakenOrder) -> None:
        control.stop(Stop(StopCode.STOPPED))

    batches.after_taking = stop_at_the_first
    play = units(30, talk(1))
    await stage.run(play, ScriptedProvider(batches=batches), name="auto", batch_size=5, control=control)
    assert len(batches.taken) <= 2
    batches.state, batches.after_taking = (lambda order: ProviderBatchState(True, "ended")), (lambda order: None)
    summary = await stage.resume(play)
    assert summary["status"] == "completed" and len(batches.bought()) == len(set(batches.bought())) == 30


async def test_a_creation_in_flight_is_finished_and_written_down_before_a_stop(stage: Stage, database: Path) -> None:
    control = RunControl()

    class Slow(ScriptedBatches):
        async def create(self, ticket: ProviderBatchTicket, calls: Sequence[BatchedCall], upload_id: str) -> str:
            control.stop(Stop(StopCode.STOPPED))
            for _ in range(200):
                await asyncio.sleep(0.0005)
            return await super().create(ticket, calls, upload_id)

    batches = Slow(state=never_ends)
    await stage.run(TALKS, ScriptedProvider(batches=batches), name="auto", control=control)
    assert query(database, "SELECT state, remote_id FROM provider_batch") == [("created", "remote-1")]


async def test_a_provider_that_cannot_be_reached_does_not_hold_up_a_stop(stage: Stage) -> None:
    control = RunControl()

    class Down(ScriptedBatches):
        async def find(self, ticket: ProviderBatchTicket, others: Collection[str]) -> str | None:
            control.stop(Stop(StopCode.STOPPED))
            raise ProviderError(ErrorClass.TRANSIENT, "connection refused")

    batches = Down(before_taking=cut_off_before)
    summary = await stage.run(TALKS, ScriptedProvider(batches=batches), name="auto", control=control)
    assert summary["status"] == "interrupted"


class _Killed(Exception):
    pass


async def test_an_order_created_but_not_written_down_is_adopted(
    stage: Stage, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches = ScriptedBatches()

    def killed(*_: object) -> None:
        raise _Killed

    with monkeypatch.context() as patch:
        patch.setattr(ProviderBatchBook, "created", killed)
        with pytest.raises(RunError):
            await stage.run(TALKS, ScriptedProvider(batches=batches), name="auto")
    assert query(database, "SELECT state, remote_id FROM provider_batch") == [("creating", None)]
    summary = await stage.resume(TALKS)
    assert summary["status"] == "completed"
    assert len(batches.bought()) == len(set(batches.bought())) == 40
    assert "Found the provider batch remote-1 at simulated again." in log_of(database, stage.batch_id)


async def test_an_order_intended_but_never_created_is_ordered_anew(stage: Stage, database: Path) -> None:
    def killed(ticket: ProviderBatchTicket, calls: Sequence[BatchedCall]) -> None:
        raise _Killed

    batches = ScriptedBatches(before_taking=killed)
    with pytest.raises(RunError):
        await stage.run(TALKS, ScriptedProvider(batches=batches), name="auto")
    batches.before_taking = lambda ticket, calls: None
    summary = await stage.resume(TALKS)
    assert summary["status"] == "completed"
    assert len(batches.bought()) == len(set(batches.bought())) == 40
    assert query(database, "SELECT state FROM provider_batch ORDER BY created_at") == [
        ("lost",),
        ("collected",),
        ("collected",),
    ]


async def test_an_open_order_goes_before_the_cache(stage: Stage, database: Path) -> None:
    """The same study, run beside it, holds the same answers by now; the order is paid for and must be closed."""
    batches = ScriptedBatches(state=never_ends)
    await play_then_stop(stage, TALKS, batches)
    stopped = stage.batch_id
    await stage.run(TALKS, ScriptedProvider())
    batches.state = lambda order: ProviderBatchState(True, "ended")
    stage.batch_id = stopped
    summary = await stage.resume(TALKS, ScriptedProvider(batches=batches))
    assert (summary["calls"]["bought"], summary["calls"]["cached"]) == (20, 20)
    assert query(database, "SELECT state FROM provider_batch") == [("collected",)]


async def test_an_open_order_that_holds_another_question_stops_with_a_clear_word(stage: Stage) -> None:
    batches = ScriptedBatches(state=never_ends)
    await play_then_stop(stage, TALKS, batches)

    async def other(unit: Unit) -> None:
        await unit.ask(question("t1", 1, "something else"))

    with pytest.raises(RunError, match="sends another request at 't1'"):
        await stage.resume(units(20, other))
    assert len(batches.taken) == 1


# -- rescue ----------------------------------------------------------------------------------------------


def ends_when_rescued(provider: ScriptedProvider, calls: int) -> Callable[[TakenOrder], ProviderBatchState]:
    return lambda order: ProviderBatchState(len(provider.asked) >= calls, "in_progress")


async def test_an_order_that_cannot_even_be_cancelled_goes_live_and_its_late_answers_are_surplus(
    stage: Stage, database: Path
) -> None:
    batches = ScriptedBatches(cancels_refused=1)
    provider = ScriptedProvider(batches=batches)
    batches.state = ends_when_rescued(provider, 20)
    waiting = asyncio.Event()

    async def hold_the_last(asked: object) -> Answer:
        if len(provider.asked) == 20:
            await waiting.wait()
        return Answer("live", 10, 5, 0.0)

    def listen(event: object) -> None:
        if getattr(event, "state", "") == "cancelled":
            waiting.set()

    provider.script = hold_the_last
    summary = await stage.run(
        units(20, talk(1)), provider, name="auto", rescue_after=0.01, poll_interval=0.002, on_event=listen
    )
    assert summary["status"] == "completed" and summary["calls"]["total"] == 20
    assert summary["calls"]["bought"] == 40, "paid for twice, and said so"
    assert query(database, "SELECT count(*) FROM surplus") == [(20,)]
    assert {row[5] for row in end_state(database)["messages"]} == {"live"}


async def test_an_order_still_open_when_its_study_ends_is_cancelled_and_nothing_of_it_lives_on(
    stage: Stage, database: Path
) -> None:
    batches = ScriptedBatches(state=never_ends, cancels_refused=1)
    provider = ScriptedProvider(batches=batches)
    before = asyncio.all_tasks()
    summary = await stage.run(units(20, talk(1)), provider, name="auto", rescue_after=0.01, poll_interval=0.002)
    assert summary["status"] == "completed" and batches.taken[0].cancelled
    assert asyncio.all_tasks() == before
    assert query(database, "SELECT state FROM provider_batch") == [("cancelled",)]
    assert summary["calls"]["bought"] == 40, "what the cancelled order had finished was paid for"


# -- given up -----------------------------------------------------------------------------------------


def half_when_cancelled(order: TakenOrder, ordered: BatchedCall) -> ProviderBatchResult | None:
    return None if order.cancelled and order.calls.index(ordered) % 2 else answered(order, ordered)


async def given_up_while_running(stage: Stage, database: Path, batches: ScriptedBatches, calls: int) -> dict:
    """The word is left in the file when the provider batch is followed for the first time."""
    told: list[str] = []

    def listen(event: object) -> None:
        if getattr(event, "state", "") == "in_progress" and not told:
            told.append(batches.taken[0].remote_id)
            steer_any(database, stage.batch_id, "give up", {"order": told[0]})

    provider = ScriptedProvider(batches=batches)
    return await stage.run(units(calls, talk(1)), provider, name="auto", batch_from=0, on_event=listen)


def first_never_ends(order: TakenOrder) -> ProviderBatchState:
    return ProviderBatchState(order.remote_id != "remote-1", "in_progress")


async def test_a_running_batch_keeps_what_was_finished_and_sends_the_rest_by_the_one_rule(
    stage: Stage, database: Path
) -> None:
    batches = ScriptedBatches(state=first_never_ends, result=half_when_cancelled)
    summary = await given_up_while_running(stage, database, batches, 60)
    assert summary["status"] == "completed" and summary["calls"]["bought"] == 60
    assert [len(order.calls) for order in batches.taken] == [60, 30], "a large rest is another provider batch"
    assert query(database, "SELECT state FROM provider_batch ORDER BY created_at") == [("cancelled",), ("collected",)]


async def test_one_that_its_provider_no_longer_knows_is_lost_and_counted(stage: Stage, database: Path) -> None:
    class Forgetful(ScriptedBatches):
        async def cancel(self, remote_id: str) -> None:
            raise ProviderBatchGone("not found")

    batches = Forgetful(state=first_never_ends)
    summary = await given_up_while_running(stage, database, batches, 20)
    assert summary["status"] == "completed" and len(batches.taken) == 2
    assert summary["calls"]["bought"] == 40, "it may be charged for what it still does"
    assert query(database, "SELECT state FROM provider_batch ORDER BY created_at") == [("lost",), ("collected",)]


# -- decisions that need no provider ------------------------------------------------------------------


def pending(step: str, text: str = "hello") -> Any:
    call = question(step, text=text)
    return SimpleNamespace(call=call, key=call.key(1))


@pytest.mark.parametrize(
    ("remainder", "ordered", "small"),
    [(1, 2, True), (10, 10, True), (10, 11, True), (11, 100, False), (20, 1000, True), (21, 1000, False)],
)
def test_a_small_remainder_goes_live_and_a_large_one_is_ordered_anew(remainder: int, ordered: int, small: bool) -> None:
    """Rule 7."""
    assert is_small(remainder, ordered) is small


@given(
    st.lists(st.integers(0, 3000), min_size=1, max_size=60),
    st.integers(1, 20),
    st.integers(1, 20),
    st.integers(2_000, 20_000),
)
def test_a_wave_is_cut_within_every_bound_and_loses_no_call(
    lengths: list[int], batch_size: int, max_calls: int, max_bytes: int
) -> None:
    wave = [pending(f"c{number}", "x" * length) for number, length in enumerate(lengths)]
    orders = split(wave, batch_size, ProviderBatchBounds(max_calls, max_bytes))
    assert [call for order in orders for call in order] == wave
    for order in orders:
        assert 1 <= len(order) <= min(batch_size, max_calls)
        size = sum(len(call.call.messages[0].text) for call in order)
        assert len(order) == 1 or size <= max_bytes
