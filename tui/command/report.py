"""Prints the summary of a batch or a study, a plan, one conversation or episode, and a family tree."""

import argparse
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from tidepool.engine.errors import UsageError
from tidepool.engine.planning.report import power_lines
from tidepool.engine.reports.blocks import INKS, RESULTS, Report, Table, Words, money, number, places_of, requests
from tidepool.engine.results.report import RESUMABLE, failure_words, report_of, state_of
from tidepool.engine.studies.evolution.records import Family, Member
from tidepool.storage.batches import find_batch
from tidepool.storage.queries.lists import Transcript
from tidepool.storage.studies import StoredStudy, cells_of, study_of
from tidepool.tui.drawing.blocks import COLOURS, print_blocks, printed_lines
from tidepool.tui.drawing.figures import mark_ink
from tidepool.tui.drawing.plan import plan_in_short, plan_table, wave_blocks
from tidepool.tui.drawing.text import console, one_line
from tidepool.tui.drawing.transcript import talk_lines


def batches_of(connection: sqlite3.Connection, reference: str) -> tuple[StoredStudy | None, list[sqlite3.Row]]:
    """Returns a single batch, or a study and all its batches."""
    study = study_of(connection, reference)
    if study is None:
        return None, [find_batch(connection, reference)]
    return study, [cell.batch for cell in cells_of(connection, study.id)]


METHODS = "methods"
BRIEF_LINES = 22
"""length of a short summary, which fits 25 lines together with the progress of a run"""
BRIEF_PLOT = 8
MOST_FINDINGS, MOST_WARNINGS, MOST_FAILURES = 5, 2, 2


def report_on(database: Path, summary: dict[str, Any], *, methods: bool = False) -> Report:
    if "study_id" in summary:
        from tidepool.engine.design.report import study_report

        return study_report(database, summary, methods=methods)
    return report_of(database, summary, methods=methods)


def print_summary(database: Path, summary: dict[str, Any], options: argparse.Namespace) -> None:
    """Prints a short summary, only the findings with --quiet, or the whole report with --full."""
    out = console()
    if options.full:
        print_report(out, report_on(database, summary, methods=True))
    else:
        _print_brief(out, report_on(database, summary), summary, quiet=options.quiet)


def print_report(out: Console, report: Report, rows: int = 0) -> None:
    """`rows` are those of a table; 0: its own number."""
    out.print(Text(one_line(report.title), style="bold"))
    print_blocks(out, report.overview)
    out.print()
    print_blocks(out, report.findings, rows)
    if report.methods:
        for block in report.methods_on_screen:
            out.print()
            print_blocks(out, [block])


def print_section(out: Console, report: Report, name: str) -> None:
    sections = {**report.sections, **({METHODS: list(report.methods_on_screen)} if report.methods else {})}
    if name not in sections:
        raise UsageError(
            f"This batch has no section {name!r}. Its sections are {', '.join([*report.sections, METHODS])}."
        )
    print_blocks(out, sections[name], MOST_ROWS)


MOST_ROWS = 10_000
"""rows of a table in `stats`"""


def _print_brief(out: Console, report: Report, summary: dict[str, Any], *, quiet: bool) -> None:
    """Prints at most BRIEF_LINES lines: state, findings, one table, one plot, failures, cost, and how to read more."""
    brief, identity = report.brief, summary.get("study_id") or summary["batch_id"]
    head = [Words(f"{report.title} · {state_of(summary)} · {identity}", "strong"), *brief.simulated]
    findings = [*brief.findings[:MOST_FINDINGS], *brief.warnings[:MOST_WARNINGS]]
    if quiet:
        print_blocks(out, [*head, *findings])
        return
    lines = [line for block in (*head, *findings) for line in printed_lines(out, block)]
    end = [line for block in _end(report, summary, identity) for line in printed_lines(out, block)]
    plot = printed_lines(out, brief.figure.in_short, BRIEF_PLOT) if brief.figure else []
    room = BRIEF_LINES - len(lines) - len(end) - (len(plot) + 1 if plot else 0) - 1
    if brief.table and (rows := _fitting(out, brief.table, room)):
        lines += [Text(), *rows]
    for line in [*lines, *([Text(), *plot] if plot else ()), *end]:
        out.print(line, crop=False)


def _fitting(out: Console, block: Table, room: int) -> list[Text]:
    """Returns as many rows of a table as fit, or no lines if not even one row fits."""
    for most in range(len(block.rows), 0, -1):
        if len(lines := printed_lines(out, block, most)) <= room:
            return lines
    return []


def _end(report: Report, summary: dict[str, Any], identity: str) -> Iterator[Words]:
    """Yields failures, requests, cost, and how to resume and read more."""
    for failure in summary["failures"][:MOST_FAILURES]:
        yield Words(f"Failed: {failure_words(failure)}", "warning")
    yield Words(f"{requests(**summary['calls'])} · cost {money(summary['cost_usd'])}", "quiet")
    if summary["status"] in RESUMABLE:
        yield Words(f"Resume: tidepool resume {identity}", "warning")
    sections = [name for name in report.sections if name not in ("overview", RESULTS)]
    example = f" · tidepool stats {identity} {sections[0]}" if sections else ""
    yield Words(f"More: tidepool show {identity} --full{example}", "quiet")


MOST_WAVES = 12


def print_plan(plan: dict[str, Any], power: dict[str, Any] | None = None, *, full: bool = False) -> None:
    """Prints eight lines, or with `full` the waves and all facts."""
    out = console()
    out.print(Text(f"{one_line(plan['name'])} · {plan['kind']} · plan only, no model was called", style="bold"))
    if full:
        print_blocks(out, [*wave_blocks(plan, MOST_WAVES), plan_table(plan)])
    else:
        print_blocks(out, [plan_in_short(plan, power_lines(power) if power else (), out.width)])


TRANSCRIPT_STYLES = {
    "strong": "bold",
    "accent": "bold",
    "dim": "dim",
    "thought": "italic",
    "failed": "red",
    "reveal": "reverse",
    "running": "reverse",
    **{f"who-{place}": f"bold {mark_ink(place, COLOURS)}" for place in range(len(INKS))},
}


def print_transcript(out: Console, talk: Transcript, people: Sequence[str]) -> None:
    """Prints a transcript. `people` are all participants of the batch, which determine colours and glyphs."""
    for line in talk_lines(talk, out.width + 1, (), places_of(people)):
        text = Text.assemble(*((text, TRANSCRIPT_STYLES.get(style, "")) for text, style in line.pieces))
        out.print(text[1:])  # without the margin, which is for the app


MOST_LINES = 200
_PROMPT_SHOWN = 60


def print_family(out: Console, family: Family) -> None:
    if not family.champion:
        out.print(Text("No generation is complete yet."))
        return
    ancestors = family.ancestors(family.champion)
    founders = sum(not member.parents for member in ancestors)
    out.print(
        Text(
            f"{len(family.members):,} genomes in {1 + max(m.generation for m in family.members.values()):,} generations; "
            f"the champion has {len(ancestors) - 1:,} ancestors, {founders:,} of them seed prompts"
            if len(ancestors) > 1
            else f"{len(family.members):,} genomes; the champion is a seed prompt"
        )
    )
    tree = Tree(Text("champion", style="bold"), guide_style="dim")
    printed: set[str] = set()
    _grow(tree, family, family.champion, printed)
    out.print(tree)
    if len(ancestors) > len(printed):
        out.print(Text(f"… and {len(ancestors) - len(printed):,} more ancestors: see --json"))


def _grow(tree: Tree, family: Family, genome_id: str, printed: set[str]) -> None:
    """Adds the ancestors of a genome, mothers first, each only once."""
    branches = []
    for member in family.mothers(genome_id):
        if member.genome_id in printed:
            tree.add(Text(one_line(f"g{member.generation} {member.genome_id} … in another branch"), style="dim"))
            break
        if len(printed) >= MOST_LINES:
            break
        printed.add(member.genome_id)
        branches.append((tree.add(_line(member)), member))
    for branch, member in branches:
        for father in member.parents[1:]:
            _grow(branch, family, father, printed)


def _line(member: Member) -> Text:
    return Text.assemble(
        (one_line(f"g{member.generation} {member.genome_id}"), "bold"),
        f"  {number(member.fitness, 3)}  {one_line(member.operator)}  ",
        (one_line(member.prompt, _PROMPT_SHOWN - 1), "dim"),
        overflow="ellipsis",
        no_wrap=True,
    )
