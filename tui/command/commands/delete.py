"""`tidepool delete`: removes a batch, after a question."""

import argparse
import sys

from tidepool.engine.errors import UsageError
from tidepool.storage.batches import delete_batch, find_batch
from tidepool.storage.file import reading
from tidepool.tui.drawing.terminal import printable


def add_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    parser.add_argument("batch", metavar="BATCH")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def run(options: argparse.Namespace) -> int:
    with reading(options.db) as connection:
        batch = find_batch(connection, options.batch)
    if not options.yes:
        if not sys.stdin.isatty():
            raise UsageError(f"Deleting {batch['id']} wants a yes: add --yes.")
        answer = input(f"Delete {batch['id']} ({printable(batch['name'])}) and all it holds? [y/N] ")
        if answer.strip().lower() not in ("y", "yes"):
            print("kept")
            return 0
    print(f"deleted {delete_batch(options.db, batch['id'])}")
    return 0
