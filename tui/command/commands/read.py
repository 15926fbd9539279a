"""`tidepool show`, `stats`, `log`: reading one batch."""

import argparse
from dataclasses import asdict
from typing import Any

from tidepool.engine.errors import NotFound
from tidepool.engine.results.summary import statistics_of, summarise
from tidepool.storage.batches import find_batch
from tidepool.storage.file import reading
from tidepool.storage.plain_text import one_line, plain
from tidepool.tui.command.report import print_summary
from tidepool.tui.command.saying import say, say_json
from tidepool.tui.drawing.terminal import console
from tidepool.tui.drawing.words import resting, utc


def add_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    parser.add_argument("batch", metavar="BATCH")
    if name == "show":
        parser.add_argument("--conversation", type=int, metavar="N", help="the transcript of one conversation")
        parser.add_argument("--genealogy", action="store_true", help="the family tree of an evolution")


def run(options: argparse.Namespace) -> int:
    {"show": _show, "stats": _stats, "log": _log}[options.command](options)
    return 0


def _show(options: argparse.Namespace) -> None:
    if options.conversation is not None:
        _show_conversation(options)
        return
    if options.genealogy:
        _show_genealogy(options)
        return
    summary = summarise(options.db, options.batch)
    if options.json:
        say_json(summary)
        return
    print_summary(options.db, summary, methods=True)
    for provider, rest in _resting(options).items():
        say(one_line(resting(provider, **rest)))


def _resting(options: argparse.Namespace) -> dict[str, Any]:
    from tidepool.storage.reading.watching import watched

    with reading(options.db) as connection:
        batch = watched(connection, options.db, find_batch(connection, options.batch)["number"])
    return batch.resting if batch is not None else {}


def _show_conversation(options: argparse.Namespace) -> None:
    from tidepool.storage.reading.queries import transcript
    from tidepool.tui.command.transcripts import print_transcript

    with reading(options.db) as connection:
        batch = find_batch(connection, options.batch)
        found = transcript(connection, batch["number"], options.conversation)
    if found is None:
        raise NotFound(f"Batch {batch['id']} has no conversation {options.conversation} (yet).")
    if options.json:
        say_json(asdict(found))
    else:
        print_transcript(console(), batch["kind"], found)


def _show_genealogy(options: argparse.Namespace) -> None:
    from tidepool.engine.studies.evolution.records.genealogy import read_family
    from tidepool.tui.drawing.genealogy import print_family

    with reading(options.db) as connection:
        batch = find_batch(connection, options.batch)
        if batch["kind"] != "evolution":
            raise NotFound(f"Batch {batch['id']} is a {batch['kind']}: only an evolution has a family tree.")
        family = read_family(connection, batch["number"], statistics_of(connection, batch))
    if options.json:
        say_json({"batch_id": batch["id"], **family.as_json()})
    else:
        print_family(console(), family)


def _stats(options: argparse.Namespace) -> None:
    summary = summarise(options.db, options.batch)
    if options.json:
        say_json(summary["statistics"])
        return
    print_summary(options.db, summary, waves=False)


def _log(options: argparse.Namespace) -> None:
    from tidepool.storage.reading.queries import log_lines

    with reading(options.db) as connection:
        batch = find_batch(connection, options.batch)
        lines: list[dict[str, Any]] = [dict(row) for row in log_lines(connection, batch["number"])]
    if options.json:
        say_json([{**line, "at": utc(line["at"])} for line in lines])
        return
    for line in lines:
        head = f"{utc(line['at'])}  {one_line(line['level'], 12):<8}"
        say(head + plain(line["message"]).replace("\n", "\n" + " " * len(head)))
