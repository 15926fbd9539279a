"""`tidepool stop`, `pause`, `continue`, `limits`: words to a batch that runs elsewhere."""

import argparse
from typing import Any

from tidepool.engine.config.limit_changes import CHANGEABLE, limit_change
from tidepool.engine.config.toml_files import read_value
from tidepool.engine.errors import UsageError
from tidepool.storage.studies import steer_any
from tidepool.tui.command.saying import say


def add_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    parser.add_argument("batch", metavar="BATCH")
    if name == "stop":
        parser.add_argument(
            "--on-stop",
            choices=("leave", "cancel"),
            default="leave",
            dest="orders",
            help="what becomes of its provider batches",
        )
    if name == "limits":
        parser.add_argument("changes", nargs="+", metavar="KEY=VALUE", help=f"one of {', '.join(CHANGEABLE)}")


def run(options: argparse.Namespace) -> int:
    arguments: dict[str, Any] = {}
    if options.command == "limits":
        arguments = dict(map(read_change, options.changes))
    elif options.command == "stop":
        arguments = {"on_stop": options.orders}
    batch_id = steer_any(options.db, options.batch, options.command, arguments)
    say(f"told {batch_id}: {options.command}" + "".join(f" {key}={value}" for key, value in arguments.items()))
    return 0


def read_change(change: str) -> tuple[str, Any]:
    key, equals, text = change.partition("=")
    if not equals:
        raise UsageError(f"{change!r} is not KEY=VALUE; write for example max_concurrent=20.")
    name = key.strip().removeprefix("service.")
    return name, limit_change(name, read_value(text.strip()))[2]
