"""The report of a study as blocks: what it was and took, its cells, and what its factors did."""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.design.study_report import study_blocks
from tidepool.engine.results.blocks import Block, Cell, Report, Words, table
from tidepool.engine.results.method_words import KindMethods, counted, judge_notes, listing, paragraph
from tidepool.engine.results.methods import kind_methods, method_paragraphs
from tidepool.engine.results.report import GOING_ON, failure_words, lost_calls, methods_or_warning
from tidepool.engine.results.simulated_roles import NOT_YET, simulated_lines
from tidepool.engine.results.summary import checked, statistics_of
from tidepool.engine.results.wording import money, requests, span
from tidepool.engine.trust.gate import design_text
from tidepool.storage.file import reading
from tidepool.storage.studies import StoredCell, cells_of, find_study

MOST_CELLS = 40
MOST_DESCRIBED = 24
"""cells whose own methods are read, for what differs between them"""


def study_report(database: Path, summary: Mapping[str, Any], *, methods: bool = True) -> Report:
    """Of a study's summary. Methods read the statistics of several cells."""
    findings = (*_cells(summary), *study_blocks(summary["statistics"]))
    paragraphs: tuple[Block, ...] = ()
    if methods:
        with reading(database) as connection:
            paragraphs = methods_or_warning(lambda: tuple(_methods(connection, summary)))
    return Report(summary["name"], tuple(_overview(summary)), (), findings, paragraphs)


def _overview(summary: Mapping[str, Any]) -> Iterator[Block]:
    yield from lost_calls(summary["calls"])
    if summary["simulated"]:
        yield from (Words(words, "simulated") for words in simulated_lines(summary["cells"]) or [NOT_YET])
    yield from (
        Words(words, "warning") for words in judge_notes(summary["kind"], (one["model"] for one in summary["roles"]))
    )
    yield table("", ("", ""), list(_facts(summary)), left=2)


def _facts(summary: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    units, calls, design = summary["units"], summary["calls"], summary["design"]
    reason = f" ({summary['reason']})" if summary["reason"] else ""
    yield "state", f"{summary['status']}{reason} after {span(summary['seconds'])}, seed {design.get('seed')}"
    yield "kind", f"{summary['kind'].replace('_', ' ')}, study {summary['study_id']}"
    for factor in design.get("factors", []):
        yield "factor", f"{factor['name']}: {', '.join(level['level'] for level in factor['levels'])}"
    cells, replicates = len(summary["cells"]), design.get("replicates", 1)
    yield "cells", f"{cells:,} batches, {replicates:,} replicate{'s' * (replicates != 1)} of each combination"
    yield "units", f"{units['completed']:,} of {units['total']:,} completed, {units['failed']:,} failed"
    yield "calls", requests(**calls)
    yield from (("failed", failure_words(failure)) for failure in summary["failures"])
    if summary["calls_saved"]:
        yield "saved", f"{summary['calls_saved']:,} calls in all, by stopping when sure"
    unpriced = ": a price is not known" if summary["cost_usd"] is None else ""
    yield "cost", f"{money(summary['cost_usd'])}{unpriced}"
    if summary["status"] in GOING_ON:
        yield GOING_ON[summary["status"]], f"tidepool --resume {summary['study_id']}"


# -- how it was done -------------------------------------------------------------------------------------------


def _methods(connection: sqlite3.Connection, summary: Mapping[str, Any]) -> Iterator[Block]:
    """Describes what all cells share, then what each level changes."""
    study = find_study(connection, summary["study_id"])
    cells = cells_of(connection, study.id)
    described = [(cell, _sentences(connection, cell)) for cell in _by_one_level(cells)[:MOST_DESCRIBED]]
    common = [
        [one for one in first if all(one in others[place] for _, others in described)]
        for place, first in enumerate(described[0][1])
    ]
    kind = KindMethods((*_crossed(summary), *common[0]), common[1])
    digest = sha256(design_text(study.design).encode("utf-8", "surrogatepass")).hexdigest()
    run_as = f"study {study.id} with seed {study.design.get('seed')}; the SHA-256 of its design is {digest}"
    lead, *rest = method_paragraphs(connection, [cell.batch for cell in cells], summary, kind, run_as)
    yield from (lead, *(Words(words, "simulated") for words in simulated_lines(summary["cells"])[1:]))
    yield from rest
    levels = [
        (factor["name"], level["level"], json.dumps(level["set"], ensure_ascii=False) if level["set"] else "nothing")
        for factor in study.design.get("factors", [])
        for level in factor["levels"]
    ]
    yield Words("The levels of the factors set this:")
    yield table("", ("factor", "level", "sets"), levels, left=3)
    for cell, sentences in described:
        own = [one for place, part in enumerate(sentences) for one in part if one not in common[place]]
        if own:
            yield Words(
                f"With {', '.join(f'{name} = {level}' for name, level in cell.levels.items())}: {paragraph(own)}"
            )


def _sentences(connection: sqlite3.Connection, cell: StoredCell) -> tuple[Sequence[str], Sequence[str]]:
    config = StoredConfig(cell.batch["config"], checked)
    found = kind_methods(connection, cell.batch, config, statistics_of(connection, cell.batch))
    return found.design, found.measures


def _by_one_level(cells: Sequence[StoredCell]) -> list[StoredCell]:
    """The first cell, and those that differ from it in one factor, or in all where factors go in step."""
    first = cells[0]
    alone = [cell for cell in cells if cell.replicate == first.replicate]
    near = [cell for cell in alone if len(cell.levels.items() - first.levels.items()) <= 1]
    return near if len(near) > 1 else alone


def _crossed(summary: Mapping[str, Any]) -> Iterator[str]:
    design, cells = summary["design"], summary["cells"]
    factors = [f"{one['name']} ({listing(level['level'] for level in one['levels'])})" for one in design["factors"]]
    how = "went through the levels of" if design.get("mode") == "paired" else "varied"
    step = " in step" if design.get("mode") == "paired" else ""
    combined = len({tuple(cell["levels"].items()) for cell in cells})
    yield (
        f"The study {how} {listing(factors)}{step}: {counted(combined, 'cell')}, each run in "
        f"{counted(design.get('replicates', 1), 'replicate')}, {counted(len(cells), 'batch', 'batches')} in all."
    )
    yield "The cells of a replicate shared a seed, and with it whatever is drawn, as far as their settings allow. Each batch was as follows."


# -- its cells -------------------------------------------------------------------------------------------------


def _cells(summary: Mapping[str, Any]) -> Iterator[Block]:
    factors = [factor["name"] for factor in summary["design"].get("factors", [])]
    rows: list[tuple[Cell, ...]] = [
        (
            cell["batch_id"],
            *(cell["levels"].get(name, "") for name in factors),
            f"{cell['replicate']}",
            cell["status"],
            f"{cell['units']['completed']:,}/{cell['units']['total']:,}",
            money(cell["cost_usd"]),
        )
        for cell in summary["cells"]
    ]
    if any(cell["status"] != "completed" for cell in summary["cells"]):
        columns = ("batch", *factors, "replicate", "state", "units", "cost")
        yield table("cells", columns, rows, left=len(factors) + 3, first=MOST_CELLS)
