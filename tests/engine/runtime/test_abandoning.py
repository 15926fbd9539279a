"""A provider batch that nobody wants to wait for any more: what it finished is kept, the rest is asked again."""

from pathlib import Path

from tests.support.scripted import ScriptedBatches, ScriptedProvider, TakenOrder, answered
from tests.support.stage import Stage, talk, units
from tests.support.state import query
from tidepool.engine.providers.protocol import BatchedCall, ProviderBatchGone, ProviderBatchResult, ProviderBatchState
from tidepool.storage.studies import steer_any


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
