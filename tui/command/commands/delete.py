"""`tidepool delete`: removes a batch, after a question."""

import argparse
import sys

from tidepool.engine.errors import UsageError
from tidepool.storage.batches import delete_batch, find_batch
from tidepool.storage.file import reading
from tidepool.storage.plain_text import one_line
from tidepool.tui.command.saying import agreed, say


def add_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    parser.add_argument("batch", metavar="BATCH")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def run(options: argparse.Namespace) -> int:
    with reading(options.db) as connection:
        batch = find_batch(connection, options.batch)
    if not options.yes:
        if not sys.stdin.isatty():
            raise UsageError(f"Deleting {batch['id']} wants a yes: add --yes.")
        if not agreed(f"Delete {one_line(batch['id'])} ({one_line(batch['name'])}) and all it holds?"):
            say("kept")
            return 0
    say(f"deleted {delete_batch(options.db, batch['id'])}")
    return 0
