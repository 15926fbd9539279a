"""`tidepool show`, `stats`, `log` and `compare`."""

import argparse
import gc
import sqlite3
from dataclasses import asdict
from typing import Any

from tidepool.engine.errors import NotFound, UsageError
from tidepool.engine.results.comparing import compare, comparison_blocks
from tidepool.engine.results.summary import statistics_of, summarise
from tidepool.engine.studies.evolution.records import read_family
from tidepool.engine.studies.evolution.replies import evaluation_blocks, found_answers, genome_blocks, genome_named
from tidepool.storage.batches import find_batch
from tidepool.storage.file import reading
from tidepool.storage.queries.learning import AnswerFilter
from tidepool.storage.queries.lists import Transcript, everybody, transcript
from tidepool.storage.queries.watching import log_lines, read_batch
from tidepool.storage.studies import study_of
from tidepool.storage.text import one_line, plain
from tidepool.tui.command.output import echo, echo_json, reply
from tidepool.tui.command.report import (
    METHODS,
    MOST_ROWS,
    batches_of,
    print_family,
    print_report,
    print_section,
    print_summary,
    print_transcript,
    report_on,
)
from tidepool.tui.drawing.blocks import print_blocks
from tidepool.tui.drawing.text import console, resting, utc


def add_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    parser.add_argument("batch", metavar="BATCH")
    if name == "stats":
        parser.add_argument(
            "section", nargs="?", metavar="SECTION", help="print only this section, such as agents or methods"
        )
    if name == "show":
        parser.add_argument("--quiet", action="store_true", help="print only the findings")
        parser.add_argument("--conversation", type=int, metavar="N", help="print the transcript of one conversation")
        parser.add_argument("--genealogy", action="store_true", help="print the family tree of an evolution")
        parser.add_argument(
            "--genome",
            metavar="ID",
            help="print one prompt of an evolution and its answers: an id, its beginning, champion or baseline",
        )
        parser.add_argument("--problem", type=int, metavar="N", help="print the answers to one problem")
        parser.add_argument(
            "--split", choices=("judge", "search"), help="only training problems (search) or held-out problems (judge)"
        )
        parser.add_argument("--full", action="store_true", help="print the whole report, or all answers in full")


def run(options: argparse.Namespace) -> int:
    gc.set_threshold(100_000, 50, 100)  # rows of a large batch stay in use, so frequent collections only cost time
    {"show": _show, "stats": _stats, "log": _log}[options.command](options)
    return 0


def _show(options: argparse.Namespace) -> None:
    if options.conversation is not None:
        _show_conversation(options)
    elif options.genealogy:
        _show_genealogy(options)
    elif options.genome is not None or options.problem is not None:
        _show_answers(options)
    elif options.split:
        raise UsageError("--split works only with --genome ID, --problem N or --conversation N.")
    else:
        _show_summary(options)


def _show_summary(options: argparse.Namespace) -> None:
    summary = _summary(options)
    reply(options, summary, lambda: print_summary(options.db, summary, options))
    if options.json or "study_id" in summary:
        return
    with reading(options.db) as connection:
        batch = read_batch(connection, options.db, find_batch(connection, options.batch)["number"])
    for provider, rest in batch.resting.items() if batch else ():
        echo(one_line(resting(provider, **rest)))


def _summary(options: argparse.Namespace) -> dict[str, Any]:
    """Returns the summary of the batch or study."""
    with reading(options.db) as connection:
        study = study_of(connection, options.batch)
    if study is None:
        return summarise(options.db, options.batch)
    from tidepool.engine.design.statistics import summarise_study

    return summarise_study(options.db, study.id)


def _show_conversation(options: argparse.Namespace) -> None:
    with reading(options.db) as connection:
        batch = find_batch(connection, options.batch)
        unit = transcript(connection, batch["number"], options.conversation)
        names = everybody(connection, batch["number"])
    if unit is None:
        raise NotFound(f"Batch {batch['id']} has no conversation {options.conversation} (yet).")
    if batch["kind"] == "evolution":
        _show_evaluation(options, batch, unit)
    else:
        reply(options, asdict(unit), lambda: print_transcript(console(), unit, names))


def _show_evaluation(options: argparse.Namespace, batch: sqlite3.Row, unit: Transcript) -> None:
    """Shows a unit of an evolution, which contains the requests to one prompt at one time."""
    with reading(options.db) as connection:
        filter_by = AnswerFilter(conversation=options.conversation, problem=options.problem, split=options.split)
        answers = found_answers(connection, batch, filter_by, (unit.participants or [""])[0])
    content = {**asdict(unit), **answers.as_json()}
    reply(options, content, lambda: print_blocks(console(), evaluation_blocks(unit, answers, full=options.full)))


def _show_answers(options: argparse.Namespace) -> None:
    with reading(options.db) as connection:
        batch = _evolution(connection, options.batch, "prompts that answer problems")
        genome = None if options.genome is None else genome_named(connection, batch, options.genome)
        answers = found_answers(connection, batch, AnswerFilter(problem=options.problem, split=options.split), genome)
        if genome is None and not answers.answers:
            raise NotFound(
                f"Batch {batch['id']} has no answers to problem {options.problem}. Problems are numbered from 0."
            )
    reply(options, answers.as_json(), lambda: print_blocks(console(), genome_blocks(answers, full=options.full)))


def _evolution(connection: sqlite3.Connection, reference: str, contents: str) -> sqlite3.Row:
    batch = find_batch(connection, reference)
    if batch["kind"] != "evolution":
        raise NotFound(f"Batch {batch['id']} is a {batch['kind']}. Only an evolution has {contents}.")
    return batch


def _show_genealogy(options: argparse.Namespace) -> None:
    with reading(options.db) as connection:
        batch = _evolution(connection, options.batch, "a family tree")
        family = read_family(connection, batch["number"], statistics_of(connection, batch))
    reply(options, {"batch_id": batch["id"], **family.as_json()}, lambda: print_family(console(), family))


def _stats(options: argparse.Namespace) -> None:
    summary = _summary(options)
    if options.json:
        echo_json(summary["statistics"])
        return
    out, report = console(), report_on(options.db, summary, methods=options.section == METHODS)
    if options.section:
        print_section(out, report, options.section)
    else:
        print_report(out, report, MOST_ROWS)
        out.print(
            f"\nSections: {', '.join([*report.sections, METHODS])}. For one, use: tidepool stats {options.batch} SECTION"
        )


def _log(options: argparse.Namespace) -> None:
    with reading(options.db) as connection:
        study, rows = batches_of(connection, options.batch)
        lines: list[dict[str, Any]] = [
            {**asdict(line), **({"batch": row["id"]} if study else {})}
            for row in rows
            for line in log_lines(connection, [row["number"]], most=10_000)
        ]
    lines.sort(key=lambda line: line["at"])
    if options.json:
        echo_json([{**line, "at": utc(line["at"])} for line in lines])
        return
    for line in lines:
        cell = f"{line['batch']}  " if "batch" in line else ""
        head = f"{utc(line['at'])}  {cell}{one_line(line['level'], 12):<8}"
        echo(head + plain(line["message"]).replace("\n", "\n" + " " * len(head)))


def add_compare_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    parser.add_argument("batches", metavar="BATCH", nargs="+", help="two or more batches of one kind")


def run_compare(options: argparse.Namespace) -> int:
    found = compare(options.db, options.batches)
    return reply(
        options, found, lambda: print_blocks(console(), comparison_blocks(found["batches"], found["differences"]))
    )
