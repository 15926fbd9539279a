"""`tidepool trust`: the batches that this machine trusts, listed and changed."""

import argparse

from tidepool.engine.config.freezing import load_frozen
from tidepool.engine.errors import NotFound, UsageError
from tidepool.engine.studies.kinds import load_kind
from tidepool.engine.trust.gate import adopt, servers_of
from tidepool.engine.trust.record import trust_record
from tidepool.storage.batches import find_batch
from tidepool.storage.file import reading
from tidepool.storage.studies import cells_of, study_of
from tidepool.tui.command.saying import say, say_json


def add_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", default="list", choices=("list", "add", "remove"))
    parser.add_argument("batch", nargs="?", metavar="BATCH", help="a batch or a study of the file")
    parser.epilog = (
        "A batch is trusted with the config it has now: if anything in it changes, it has to be trusted again."
    )


def run(options: argparse.Namespace) -> int:
    if options.action == "list":
        _list(options)
    elif not options.batch:
        raise UsageError(f"trust {options.action} needs a batch: its id, or last.")
    elif options.action == "remove":
        say(f"No longer trusted: {_forgotten(options.batch)}")
    else:
        _add(options)
    return 0


def _list(options: argparse.Namespace) -> None:
    batches = trust_record().batches()
    if options.json:
        say_json({"batches": [{"id": one.id, "config": one.config_hash} for one in batches]})
        return
    if not batches:
        say("Nothing yet: batches that you create here are added automatically.")
    for batch in batches:
        say(f"batch {batch.id}  config {batch.config_hash[:12]}")


def _add(options: argparse.Namespace) -> None:
    """A batch, or all batches of a study, with what they will use."""
    with reading(options.db) as connection:
        study = study_of(connection, options.batch)
        batches = (
            [cell.batch for cell in cells_of(connection, study.id)]
            if study
            else [find_batch(connection, options.batch)]
        )
    uses: dict[str, None] = {}
    for batch in batches:
        config = load_frozen(batch["config"])
        kind = load_kind(config.batch.kind)
        adopt(options.db, batch["id"], batch["config"])
        uses |= dict.fromkeys(
            [one.in_words for one in servers_of(config, kind.models(config))] + list(kind.code(config))
        )
    say(f"Trusted: {'study ' + study.id if study else 'batch ' + batches[0]['id']}, which will use")
    for line in uses or ["simulated models only"]:
        say(f"  {line}")


def _forgotten(reference: str) -> str:
    """By its id, or a beginning that fits one batch alone; its file need not be there any more."""
    ids = sorted({one.id for one in trust_record().batches() if one.id.startswith(reference)})
    found = [reference] if reference in ids else ids
    if not found:
        raise NotFound(f"No batch {reference!r} is in the trust record. `tidepool trust list` shows what is.")
    if len(found) > 1:
        raise NotFound(f"{reference!r} fits several batches ({', '.join(found[:9])}): give more of the id.")
    trust_record().forget_batch(found[0])
    return found[0]
