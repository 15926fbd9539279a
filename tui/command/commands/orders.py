"""`tidepool orders`: the provider batches of a batch, and giving one up."""

import argparse
import asyncio
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

from tidepool.engine.errors import UsageError
from tidepool.storage.batches import find_batch
from tidepool.storage.file import reading
from tidepool.storage.plain_text import one_line
from tidepool.storage.reading.watching import ProviderBatchLine, order_lines
from tidepool.storage.study_rows.studies import leading_batch
from tidepool.tui.command.saying import agreed, say, say_json
from tidepool.tui.drawing.words import span, utc

MOST = 100_000
RIGHT = ("wave", "calls", "age", "reserved")
OUTCOMES = {
    "told": "The process that runs the batch gives it up, and asks its calls again: `tidepool log {batch}` tells.",
    "kept": "It was given up. {answers} answers that it had finished are used when the batch is resumed; the rest is "
    "asked again then.",
    "cancelled": "It was given up and had no answers: its calls are asked again when the batch is resumed.",
    "lost": "It was given up without being seen to end, so its provider may charge it: its calls are asked again when "
    "the batch is resumed.",
}


def add_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    parser.add_argument("batch", metavar="BATCH")
    parser.add_argument("--all", action="store_true", help="those that are over, too")
    parser.add_argument(
        "--give-up",
        metavar="ID",
        help="cancels a provider batch, keeps what it finished, and has the rest of its calls asked again",
    )
    parser.add_argument("--yes", action="store_true", help="do not ask")


def run(options: argparse.Namespace) -> int:
    if options.give_up is not None:
        return _give_up(options)
    with reading(options.db) as connection:
        batch = find_batch(connection, leading_batch(connection, options.batch))
        orders = order_lines(connection, batch["number"], most=MOST)
    shown = sorted((one for one in orders if one.open or options.all), key=lambda one: (not one.open, one.created_at))
    if options.json:
        say_json({"batch_id": batch["id"], "orders": [_as_json(one) for one in shown]})
    elif shown:
        say("\n".join(_lines(shown)))
    else:
        closed = f"; {len(orders):,} are over (--all)" if orders else ""
        whose = f"study {batch['study_id']}" if batch["study_id"] else f"batch {batch['id']}"
        say(f"{whose} has no open provider batches{closed}")
    return 0


def _as_json(order: ProviderBatchLine) -> dict[str, Any]:
    return {
        "id": order.id,
        "remote_id": order.remote_id,
        "provider": order.provider,
        "state": order.state,
        "remote_state": order.remote_state,
        "open": order.open,
        "calls": order.count,
        "wave": order.wave,
        "created_at": utc(order.created_at),
        "seconds": _seconds(order),
        "reserved_usd": order.reservation_usd,
    }


def _seconds(order: ProviderBatchLine) -> float:
    """Its age; of one that is over, how long it took."""
    return max(0.0, (time.time() if order.open else order.finished_at or order.created_at) - order.created_at)


def _lines(orders: Sequence[ProviderBatchLine]) -> Iterator[str]:
    """A table whose ids stand whole, however narrow the terminal: they are there to be copied. Columns that say nothing
    are left out."""
    rows = [_cells(order) for order in orders]
    names = [name for name in rows[0] if any(row[name] for row in rows)]
    widths = {name: max(len(name), *(len(row[name]) for row in rows)) for name in names}
    for row in ({name: name for name in names}, *rows):
        cells = (row[name].rjust(widths[name]) if name in RIGHT else row[name].ljust(widths[name]) for name in names)
        yield "  ".join(cells).rstrip()


def _cells(order: ProviderBatchLine) -> dict[str, str]:
    return {
        "id": one_line(order.remote_id or f"({order.id})"),
        "provider": one_line(order.provider),
        "at the provider": one_line(order.remote_state or ""),
        "here": one_line(order.state),
        "wave": f"{order.wave:,}",
        "calls": f"{order.count:,}",
        "age": span(_seconds(order)),
        "reserved": f"${order.reservation_usd:,.4f}" if order.reservation_usd else "",
    }


def _give_up(options: argparse.Namespace) -> int:
    from tidepool.engine.runtime.abandoning import find_order, give_up

    with reading(options.db) as connection:
        meant = leading_batch(connection, options.batch)
    batch_id, order = find_order(options.db, meant, options.give_up)
    name = one_line(order.remote_id or order.id)
    if not options.yes:
        if not sys.stdin.isatty():
            raise UsageError(f"Giving up the provider batch {name} wants a yes: add --yes.")
        words = f"Give up {name} ({order.count:,} calls, {span(_seconds(order))} old)? What it has not finished is bought again."
        if not agreed(words):
            say("kept")
            return 0
    done = asyncio.run(give_up(options.db, batch_id, order.id))
    words = OUTCOMES[done.outcome].format(batch=batch_id, answers=f"{done.answers:,}")
    if options.json:
        told = {"batch_id": batch_id, "order": _as_json(order), "outcome": done.outcome, "answers": done.answers}
        say_json({**told, "message": words})
    else:
        say(f"{name}: {words}")
    return 0
