"""What commands print: the summary of a batch or a study, a plan, one conversation or episode, a family tree."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from tidepool.engine.reports.blocks import INKS, number, places_of
from tidepool.engine.results.report import report_of
from tidepool.engine.studies.evolution.records import Family, Member
from tidepool.storage.batches import find_batch
from tidepool.storage.queries.lists import Transcript
from tidepool.storage.studies import StoredStudy, cells_of, study_of
from tidepool.tui.drawing.blocks import COLOURS, print_blocks
from tidepool.tui.drawing.figures import mark_ink
from tidepool.tui.drawing.plan import plan_table, wave_blocks
from tidepool.tui.drawing.text import console, one_line
from tidepool.tui.drawing.transcript import talk_lines


def batches_of(connection: sqlite3.Connection, reference: str) -> tuple[StoredStudy | None, list[sqlite3.Row]]:
    """A batch; or a study and all its batches."""
    study = study_of(connection, reference)
    if study is None:
        return None, [find_batch(connection, reference)]
    return study, [cell.batch for cell in cells_of(connection, study.id)]


# -- summaries and plans -----------------------------------------------------------------------------------------------


def print_summary(database: Path, summary: dict[str, Any], *, methods: bool = False) -> None:
    """Of a batch or a study. The methods are for who comes back to it, and not for the end of every run."""
    out = console()
    if "study_id" in summary:
        from tidepool.engine.design.report import study_report

        report = study_report(database, summary, methods=methods)
    else:
        report = report_of(database, summary, methods=methods)
    out.print(Text(one_line(report.title), style="bold"))
    print_blocks(out, report.overview)
    out.print()
    print_blocks(out, report.findings)
    if methods:
        for block in report.methods_on_screen:
            out.print()
            print_blocks(out, [block])


MOST_WAVES = 12


def print_plan(plan: dict[str, Any]) -> None:
    out = console()
    out.print(Text(f"{one_line(plan['name'])} · {plan['kind']} · plan only, nothing was called", style="bold"))
    print_blocks(out, [*wave_blocks(plan, MOST_WAVES), plan_table(plan)])


# -- one unit to read --------------------------------------------------------------------------------------------------


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
    """`people` are all who take part in the batch, by which each has a colour and a glyph."""
    for line in talk_lines(talk, out.width + 1, (), places_of(people)):
        text = Text.assemble(*((text, TRANSCRIPT_STYLES.get(style, "")) for text, style in line.pieces))
        out.print(text[1:])  # the margin is the app's


# -- family trees ------------------------------------------------------------------------------------------------------


MOST_LINES = 200
_PROMPT_SHOWN = 60


def print_family(out: Console, family: Family) -> None:
    if not family.champion:
        out.print(Text("no generation is judged yet"))
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
    """The line of mothers first, so that fathers who belong to it are not told twice."""
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
