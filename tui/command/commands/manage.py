"""Commands that control a run or change the file: stop, pause, continue, limits, orders, delete, trust."""

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Any

from tidepool.engine.config.freezing import load_frozen
from tidepool.engine.config.sections import CHANGEABLE, limit_change
from tidepool.engine.config.toml_files import read_value
from tidepool.engine.errors import NotFound, UsageError
from tidepool.engine.gate import adopt, servers_of
from tidepool.engine.studies.study import study_from
from tidepool.engine.trust.record import trust_record
from tidepool.storage.batches import find_batch, give_up_later, holding, is_running, progress_of
from tidepool.storage.file import reading
from tidepool.storage.queries.watching import ProviderBatchLine, order_lines
from tidepool.storage.studies import delete_any, leading_batch, steer_any
from tidepool.storage.text import one_line
from tidepool.tui.command.output import agreed, echo, reply
from tidepool.tui.command.report import batches_of
from tidepool.tui.drawing.text import console, plain_table, span, utc

# -- stop, pause, continue, limits -------------------------------------------------------------------------------------


def add_steer_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    parser.add_argument("batch", metavar="BATCH")
    if name == "stop":
        parser.add_argument(
            "--on-stop",
            choices=("leave", "cancel"),
            default="leave",
            dest="orders",
            help="leave its provider batches running, or cancel them (leave)",
        )
    if name == "limits":
        parser.add_argument("changes", nargs="+", metavar="KEY=VALUE", help=f"one of {', '.join(CHANGEABLE)}")


DONE = {"stop": "Stopping", "pause": "Pausing", "continue": "Continuing", "limits": "Changing limits of"}


def run_steer(options: argparse.Namespace) -> int:
    arguments: dict[str, Any] = {}
    if options.command == "limits":
        arguments = dict(map(read_change, options.changes))
    elif options.command == "stop":
        arguments = {"on_stop": options.orders}
    batch_id = steer_any(options.db, options.batch, options.command, arguments)
    changes = arguments if options.command == "limits" else {}
    echo(f"{DONE[options.command]} {batch_id}" + "".join(f" {key}={value}" for key, value in changes.items()))
    return 0


def read_change(change: str) -> tuple[str, Any]:
    key, equals, text = change.partition("=")
    if not equals:
        raise UsageError(f"{change!r} is not KEY=VALUE. Write, for example, max_concurrent=20.")
    name = key.strip().removeprefix("service.")
    return name, limit_change(name, read_value(text.strip()))[2]


# -- orders ------------------------------------------------------------------------------------------------------------


MOST = 100_000
WHOLE = 200
"""columns, also on a narrow terminal, so that ids can be copied"""
RIGHT = ("wave", "calls", "age", "reserved")
NOW = "The running process stops waiting for it and resends its requests. See `tidepool log {batch}`."
LATER = "When the batch is resumed, finished replies are used and the other requests are sent again."


def add_orders_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    parser.add_argument("batch", metavar="BATCH")
    parser.add_argument("--all", action="store_true", help="list finished ones too")
    parser.add_argument(
        "--give-up",
        metavar="ID",
        help="stop waiting for one: cancel it, keep its finished replies and resend the rest",
    )
    parser.add_argument("--yes", action="store_true", help="do not ask")


def run_orders(options: argparse.Namespace) -> int:
    if options.give_up is not None:
        return _give_up(options)
    with reading(options.db) as connection:
        batch = find_batch(connection, leading_batch(connection, options.batch))
        orders = order_lines(connection, batch["number"], most=MOST)
    shown = sorted((one for one in orders if one.open or options.all), key=lambda one: (not one.open, one.created_at))
    closed = f" ({len(orders):,} finished: --all)" if orders else ""
    subject = f"study {batch['study_id']}" if batch["study_id"] else f"batch {batch['id']}"
    if options.json or not shown:
        content = {"batch_id": batch["id"], "orders": [_as_json(one) for one in shown]}
        return reply(options, content, f"No open provider batches in {subject}{closed}")
    rows = [_cells(order) for order in shown]
    names = [name for name in rows[0] if any(row[name] for row in rows)]
    table = plain_table(names, [[row[name] for name in names] for row in rows], right=RIGHT, no_wrap=names)
    out = console()
    out.width = WHOLE
    out.print(table)
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
    """Returns the age of a provider batch, or its duration if it is finished."""
    return max(0.0, (time.time() if order.open else order.finished_at or order.created_at) - order.created_at)


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
    with reading(options.db) as connection:
        batch = find_batch(connection, leading_batch(connection, options.batch))
        running = is_running(options.db, batch, progress_of(connection, batch["number"]))
        order = _find_order(batch["id"], order_lines(connection, batch["number"], most=MOST), options.give_up)
    name = one_line(order.remote_id or order.id)
    calls = f"{order.count:,} requests, {span(_seconds(order))} old"
    question = f"Stop waiting for {name} ({calls})? Its unfinished requests are sent and paid again."
    if not _allowed(options, f"Giving up the provider batch {name}", question):
        return 0
    if running:
        steer_any(options.db, batch["id"], "give up", {"order": order.id})
    else:
        with holding(options.db, batch["id"]):
            give_up_later(options.db, order.id)
    text = NOW.format(batch=batch["id"]) if running else LATER
    outcome = "told" if running else "later"
    data = {"batch_id": batch["id"], "order": _as_json(order), "outcome": outcome, "message": text}
    return reply(options, data, f"{name}: {text}")


def _allowed(options: argparse.Namespace, action: str, question: str) -> bool:
    """Returns whether --yes is given or the user agrees. Raises without a terminal."""
    if options.yes:
        return True
    if not sys.stdin.isatty():
        raise UsageError(f"{action} needs confirmation: add --yes.")
    if agreed(question):
        return True
    echo("Nothing changed.")
    return False


def _find_order(batch_id: str, orders: Sequence[ProviderBatchLine], reference: str) -> ProviderBatchLine:
    """Finds a provider batch by its id, here or at the provider, or a unique prefix of it."""
    hint = f"`tidepool orders {batch_id}` lists them."
    matches = [one for one in orders if reference and f" {one.id} {one.remote_id or ''}".count(f" {reference}")]
    if not matches:
        raise NotFound(f"Batch {batch_id} has no provider batch {reference!r}. {hint}")
    if len(matches) > 1:
        raise NotFound(f"{reference!r} matches several provider batches. Type more of the id. {hint}")
    if not matches[0].open:
        raise NotFound(f"The provider batch {reference!r} is already {matches[0].state}.")
    return matches[0]


# -- delete ------------------------------------------------------------------------------------------------------------


def add_delete_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    parser.add_argument("batch", metavar="BATCH")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def run_delete(options: argparse.Namespace) -> int:
    with reading(options.db) as connection:
        study, rows = batches_of(connection, options.batch)
    about = rows[0] if study is None else {"id": study.id, "name": f"{study.name}, a study of {len(rows):,} batches"}
    question = f"Delete {one_line(about['id'])} ({one_line(about['name'])}) and all its data?"
    if _allowed(options, f"Deleting {about['id']}", question):
        echo(f"Deleted {delete_any(options.db, about['id'])}")
    return 0


# -- trust -------------------------------------------------------------------------------------------------------------


def add_trust_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", default="list", choices=("list", "add", "remove"))
    parser.add_argument("batch", nargs="?", metavar="BATCH", help="a batch or a study of the file")
    parser.epilog = (
        "Trust covers the current config of a batch. If the config changes, you have\nto trust the batch again.\n\n"
        f"{parser.epilog}"
    )


def run_trust(options: argparse.Namespace) -> int:
    if options.action == "list":
        _list(options)
    elif not options.batch:
        raise UsageError(f"trust {options.action} needs a batch: an id or `last`.")
    elif options.action == "remove":
        removed = _forgotten(options.batch)
        reply(options, {"removed": removed}, f"No longer trusted: {removed}")
    else:
        _add(options)
    return 0


def _list(options: argparse.Namespace) -> None:
    batches = trust_record().batches()
    lines = [f"batch {batch_id}  config {config[:12]}" for batch_id, config in batches]
    text = "\n".join(lines) or "No batches yet. Batches that you create here are added automatically."
    reply(options, {"batches": [{"id": batch_id, "config": config} for batch_id, config in batches]}, text)


def _add(options: argparse.Namespace) -> None:
    """Trusts a batch or all batches of a study, and prints which servers and code they use."""
    with reading(options.db) as connection:
        study, batches = batches_of(connection, options.batch)
    uses: dict[str, None] = {}
    for batch in batches:
        config = load_frozen(batch["config"])
        adopt(options.db, batch["id"], batch["config"])
        uses |= dict.fromkeys(
            [server.in_words for server in servers_of(config, config.models())] + list(study_from(config).code())
        )
    lines = [f"  {line}" for line in uses or ["simulated models only"]]
    text = f"Trusted: {'study ' + study.id if study else 'batch ' + batches[0]['id']}. It uses"
    reply(options, {"trusted": [batch["id"] for batch in batches], "uses": list(uses)}, "\n".join([text, *lines]))


def _forgotten(reference: str) -> str:
    """Forgets a batch by its id or a unique prefix. The file of the batch may be gone."""
    ids = sorted({batch_id for batch_id, _ in trust_record().batches() if batch_id.startswith(reference)})
    found = [reference] if reference in ids else ids
    if not found:
        raise NotFound(f"The trust record has no batch {reference!r}. `tidepool trust list` shows it.")
    if len(found) > 1:
        raise NotFound(f"{reference!r} matches several batches ({', '.join(found[:9])}). Type more of the id.")
    trust_record().forget_batch(found[0])
    return found[0]
