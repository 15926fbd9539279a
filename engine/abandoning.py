"""Gives up a provider batch of a study, whether somebody runs it or not.

A running batch is told, and asks the calls again at once. For one that nobody runs it is done here: the provider batch is
cancelled where its provider can be reached; what it had finished stays for the next resume, which asks for the rest.
"""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from tidepool.engine.config.freezing import load_frozen
from tidepool.engine.config.sections import FrozenConfig
from tidepool.engine.errors import NotFound, NotTrusted, RunError
from tidepool.engine.gate import refuse_changed
from tidepool.engine.providers.endpoint import open_provider
from tidepool.engine.providers.protocol import ProviderBatchResult, ProviderError
from tidepool.engine.runtime.accounts import Account, Budget
from tidepool.engine.runtime.batch_lifecycle import GIVE_UP_SECONDS, BatchLifecycle
from tidepool.engine.runtime.context import RunContext, SharedRun
from tidepool.engine.runtime.scheduler import BatchAssembly
from tidepool.engine.trust.record import trust_record
from tidepool.storage import batches
from tidepool.storage.file import connect, reading, settle
from tidepool.storage.ledger import Ledger
from tidepool.storage.purchases import ProviderBatchBook
from tidepool.storage.queries.watching import ProviderBatchLine, order_lines
from tidepool.storage.states import ProviderBatchPhase
from tidepool.storage.studies import steer_any
from tidepool.storage.writer import Writer


@dataclass(frozen=True, slots=True)
class AbandonedBatch:
    """What became of it."""

    batch_id: str
    order: ProviderBatchLine
    outcome: str
    """told: to the process that runs the batch · kept: its answers wait for a resume · cancelled · lost"""
    answers: int = 0


def find_order(path: Path, reference: str, order_reference: str) -> tuple[str, ProviderBatchLine]:
    """The batch's id, and its open provider batch by its id at the provider or here, or a unique beginning of one."""
    with reading(path) as connection:
        batch = batches.find_batch(connection, reference)
        orders = order_lines(connection, batch["number"], most=1_000_000)
    hint = f"`tidepool orders {batch['id']}` shows those there are."
    matches = [order for order in orders if order_reference in (order.remote_id, order.id)] or [
        order
        for order in orders
        if order_reference and any((name or "").startswith(order_reference) for name in (order.id, order.remote_id))
    ]
    if not matches:
        raise NotFound(f"Batch {batch['id']} has no provider batch {order_reference!r}. {hint}")
    if len(matches) > 1:
        raise NotFound(f"{order_reference!r} fits several provider batches: give more of the id. {hint}")
    if not matches[0].open:
        raise NotFound(f"The provider batch {order_reference!r} is {matches[0].state}: there is nothing to give up.")
    return str(batch["id"]), matches[0]


async def give_up(path: Path, reference: str, order_reference: str) -> AbandonedBatch:
    """Raises NotFound where there is no such open provider batch, and NotTrusted where its id is only a file's word."""
    batch_id, order = await asyncio.to_thread(find_order, path, reference, order_reference)
    with reading(path) as connection:
        batch = batches.find_batch(connection, batch_id)
        running = batches.is_running(path, batch, batches.progress_of(connection, batch["number"]))
    if running:
        await asyncio.to_thread(steer_any, path, batch_id, "give up", {"order": order.id})
        return AbandonedBatch(batch_id, order, "told")
    config = load_frozen(batch["config"])
    if not trust_record().knows(batch_id, batch["config"]) and order.provider != "simulated":
        raise NotTrusted(
            f"Batch {batch_id} was made on another machine, or was changed since it last ran on this one. That the provider "
            f"batch {order.remote_id or order.id} is part of it is only the file's word, and it might be one of another "
            f"study of yours: it was not cancelled. If the batch is yours: tidepool trust add {batch_id}"
        )
    with batches.holding(path, batch_id):
        refuse_changed(path, batch_id, batch["config"])
        try:
            return await _abandon(path, batch_id, config, order)
        finally:
            await asyncio.to_thread(settle, path)


async def _abandon(path: Path, batch_id: str, config: FrozenConfig, order: ProviderBatchLine) -> AbandonedBatch:
    limits = config.limits_for(order.provider)
    account = Account(open_provider(order.provider, limits), limits)
    account.provider.serve(batch_id)
    writer, reader = Writer(path), connect(path)
    await writer.open()
    try:
        await account.provider.check([])
        ledger = Ledger(writer, reader, batches.find_batch(reader, batch_id)["number"])
        run = SharedRun(batches.find_batch(reader, batch_id)["study_id"] or batch_id)
        context = RunContext(config, batch_id, ledger, {order.provider: account}, Budget(0.0), run=run)
        return await _close(context, account, order)
    except ProviderError as error:
        raise RunError(f"{error} Nothing was given up.") from error
    finally:
        await account.provider.close()
        await writer.close()
        reader.close()


async def _close(context: RunContext, account: Account, order: ProviderBatchLine) -> AbandonedBatch:
    """Where it has answers it stays open: only the study itself, when it is resumed, knows what they answer."""
    records, api = ProviderBatchBook(context.ledger), account.provider.batches
    stored = next((row for row in records.open() if row.order_id == order.id), None)
    if stored is None or api is None:
        raise NotFound(f"The provider batch {order.remote_id or order.id} is not open any more.")
    results: dict[str, ProviderBatchResult] | None = None
    if stored.phase is not ProviderBatchPhase.INTENDED:
        job = BatchAssembly(context.run.run_id, records).restored(stored)
        results = await BatchLifecycle(context, account, api, records).wind_up(job, GIVE_UP_SECONDS)
    answers = sum(result.answer is not None for result in (results or {}).values())
    if answers:
        records.polled(order.id, "given up")
        outcome = f"{answers:,} answers of it are used when the batch is resumed"
    else:
        records.closed(order.id, ProviderBatchPhase.LOST if results is None else ProviderBatchPhase.CANCELLED)
        outcome = "it could not be seen to end, so it may be charged" if results is None else "it had no answers"
    context.log(
        "warning", f"The provider batch {order.remote_id or order.id} at {order.provider} was given up: {outcome}."
    )
    return AbandonedBatch(
        context.batch_id, order, "kept" if answers else "lost" if results is None else "cancelled", answers
    )
