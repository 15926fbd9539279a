"""`tidepool delete`: removes a batch, after a question."""

import argparse
import sys

from tidepool.engine.errors import UsageError
from tidepool.storage.batches import find_batch
from tidepool.storage.file import reading
from tidepool.storage.studies import cells_of, delete_any, study_of
from tidepool.storage.text import one_line
from tidepool.tui.command.saying import agreed, say


def add_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    parser.add_argument("batch", metavar="BATCH")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def run(options: argparse.Namespace) -> int:
    with reading(options.db) as connection:
        study = study_of(connection, options.batch)
        found = (
            [find_batch(connection, options.batch)]
            if study is None
            else [cell.batch for cell in cells_of(connection, study.id)]
        )
    about = found[0] if study is None else {"id": study.id, "name": f"{study.name}, a study of {len(found):,} batches"}
    if not options.yes:
        if not sys.stdin.isatty():
            raise UsageError(f"Deleting {about['id']} wants a yes: add --yes.")
        if not agreed(f"Delete {one_line(about['id'])} ({one_line(about['name'])}) and all it holds?"):
            say("kept")
            return 0
    say(f"deleted {delete_any(options.db, about['id'])}")
    return 0
