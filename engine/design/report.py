"""The report of a study as blocks: what it was and took, hypotheses first, then cells and effects by outcome."""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.design.statistics import format_unaffected
from tidepool.engine.gate import design_text
from tidepool.engine.inference.hypotheses import FEWEST_REPLICATES
from tidepool.engine.inference.measures import PERCENT
from tidepool.engine.reports.blocks import (
    LONELY,
    Block,
    Estimate,
    KindMethods,
    PValue,
    Report,
    Words,
    counted,
    listing,
    money,
    paragraph,
    requests,
    span,
    table,
)
from tidepool.engine.reports.figures import forest
from tidepool.engine.results.methods import kind_methods, method_paragraphs
from tidepool.engine.results.report import GOING_ON, failure_words, methods_or_warning, overview
from tidepool.engine.results.simulated_roles import simulated_words
from tidepool.engine.results.summary import statistics_of
from tidepool.storage.file import reading
from tidepool.storage.studies import StoredCell, cells_of, find_study

# -- hypotheses and effects --------------------------------------------------------------------------------------------


DIRECTIONS = {"less": "less", "greater": "greater", "two-sided": "either way"}


def study_blocks(statistics: Mapping[str, Any]) -> list[Block]:
    """`statistics` are those of `study_statistics`."""
    if not statistics["outcomes"]:
        return [Words("Nothing to compare yet: no batch of this study has an outcome.", "quiet")]
    ignored = statistics.get("ignored_by_simulation", ())
    blocks = [*(Words(format_unaffected(entry), "warning") for entry in ignored), *_confirmatory(statistics)]
    for name, outcome in statistics["outcomes"].items():
        blocks += _outcome(name, outcome, statistics)
    return [*blocks, *_method(statistics)]


# -- hypotheses ------------------------------------------------------------------------------------------------


def _confirmatory(statistics: Mapping[str, Any]) -> Iterator[Block]:
    hypotheses = statistics["hypotheses"]
    if trouble := statistics["hypotheses_trouble"]:
        yield Words(f"The hypotheses of this study cannot be read: {trouble}", "warning")
    if not hypotheses:
        return
    outcomes = statistics["outcomes"]
    rows = [
        (
            f"H{position} {entry['outcome']}; {_short(entry['contrast'], statistics['factors'])}",
            DIRECTIONS[entry["direction"]],
            entry["verdict"],
            _difference(entry, outcomes[entry["outcome"]]),
            PValue(entry["p_value"]),
            PValue(entry["p_value_holm"]),
            _counted(entry),
        )
        for position, entry in enumerate(hypotheses, 1)
    ]
    columns = ("hypothesis", "expected", "verdict", "difference (95 %)", "p", "p (Holm)", "counted")
    yield table("confirmatory: hypotheses of the design", columns, rows, left=3)
    dated = f"They are dated {statistics['frozen_at'] or 'unknown'} in this file"
    yield Words(f"{dated}, which is no proof: anyone who can write to the file can change both.", "quiet")
    if missing := statistics.get("batches_lacking"):
        message = f"{missing:,} batches of the study are not at their end, or not in this file"
        yield Words(f"{message}: verdicts are so far those of a part of it.", "warning")


def _difference(entry: Mapping[str, Any], outcome: Mapping[str, Any]) -> Estimate:
    return Estimate(entry["difference"], _pair(entry["difference_ci95"]), outcome["digits"], signed=True)


def _pair(bounds: Sequence[float] | None) -> tuple[float, float] | None:
    return None if bounds is None else (bounds[0], bounds[1])


def _counted(entry: Mapping[str, Any]) -> str:
    if not entry["units"]:
        return "–"
    message = f"{entry['number']:,} {entry['units']}"
    return f"{message}, {entry['left_out']:,} left out" if entry["left_out"] else message


# -- by outcome ------------------------------------------------------------------------------------------------


def _outcome(name: str, outcome: Mapping[str, Any], statistics: Mapping[str, Any]) -> Iterator[Block]:
    yield Words(name, "strong")
    yield _cells(name, outcome, list(statistics["factors"]))
    rows = [(f"H{place}", entry) for place, entry in enumerate(statistics["hypotheses"], 1) if entry["outcome"] == name]
    rows += [(f"E{place}", entry) for place, entry in enumerate(outcome["effects"], 1)]
    if shown := [(mark, entry) for mark, entry in rows if entry["difference"] is not None]:
        yield _forest(f"effects on {name}{_in(outcome)}", shown, statistics["factors"])
    if outcome["effects"]:
        yield _effects(name, outcome, statistics["factors"])


def _forest(title: str, marked: Sequence[tuple[str, Mapping[str, Any]]], factors: Mapping[str, Sequence[str]]) -> Block:
    """Marks as in the tables: a figure has little room for names."""
    rows = [
        (f"{mark} {_short(entry['contrast'], factors)}", entry["difference"], _pair(entry["difference_ci95"]))
        for mark, entry in marked
    ]
    legend = "H: hypothesis of the design, E: exploratory." if any(mark.startswith("H") for mark, _ in marked) else ""
    note = LONELY if any(bounds is None for *_, bounds in rows) else "With 95 % intervals."
    return forest(title, rows, caption=f"{note} {legend}".strip())


def _short(contrast: str, factors: Mapping[str, Sequence[str]]) -> str:
    """Without the names of factors, where their levels say enough."""
    levels = [level for names in factors.values() for level in set(names)]
    if len(levels) == len(set(levels)):
        for factor in sorted(factors, key=len, reverse=True):
            contrast = contrast.replace(f"{factor}: ", "").replace(f"{factor} = ", "")
    providers = {level.partition(":")[0] for level in levels if ":" in level}
    return contrast.replace(f"{providers.pop()}:", "") if len(providers) == 1 else contrast


def _in(outcome: Mapping[str, Any]) -> str:
    return ", percentage points" if outcome["unit"] == PERCENT else ""


def _cells(name: str, outcome: Mapping[str, Any], factors: Sequence[str]) -> Block:
    counted = "talks" if outcome["per_talk"] else "batches"
    unit = f" {outcome['unit']}" if outcome["unit"] else ""
    rows = [
        (
            *(cell["levels"][factor] for factor in factors),
            cell[counted],
            cell["missing"],
            Estimate(cell["mean"], _pair(cell["ci95"]), outcome["digits"]),
        )
        for cell in outcome["cells"]
    ]
    columns = (*factors, counted, "lacking", f"{name}{unit} (95 %)")
    return table(f"{outcome['words']}, by cell", columns, rows, left=len(factors))


def _effects(name: str, outcome: Mapping[str, Any], factors: Mapping[str, Sequence[str]]) -> Block:
    rows = [
        (
            f"E{position} {_short(entry['contrast'], factors)}",
            entry["note"] or "",
            _difference(entry, outcome),
            PValue(entry["p_value"]),
            PValue(entry["p_value_holm"]),
            _counted(entry),
        )
        for position, entry in enumerate(outcome["effects"], 1)
    ]
    columns = ("effect", "", f"difference{_in(outcome)} (95 %)", "p", "p (Holm)", "counted")
    return table(f"exploratory: effects on {name}", columns, rows, left=2)


# -- how -------------------------------------------------------------------------------------------------------


def _method(statistics: Mapping[str, Any]) -> Iterator[Block]:
    effects = [*statistics["hypotheses"], *(e for entry in statistics["outcomes"].values() for e in entry["effects"])]
    units = {str(entry["units"]) for entry in effects if entry["units"]}
    if not units:
        return
    lines = ["Each effect is one contrast of cells, taken within each block and then averaged over blocks."]
    if units - {"replicates"}:
        lines.append(
            "A block is the talk of one number in one replicate: cells share their seed, so it is the same meeting in all of them."
        )
    if any("games" in entry for entry in units):
        lines.append("Talks that memory or kept secrets link are counted by game.")
    if any("scenarios" in entry for entry in units):
        lines.append("Scenarios repeat and are counted as what they are: the effect speaks of scenarios like these.")
    if "replicates" in units:
        lines.append(
            "Replicates are counted where an outcome is one number a batch, or a level changes who or what is drawn; "
            f"fewer than {FEWEST_REPLICATES} give an interval and no verdict."
        )
    if statistics["mode"] == "paired":
        lines.append(
            "The factors went in step, so a step differs in all of them at once: no factor's part can be told."
        )
    elif any(entry.get("kind") == "main" for entry in effects):
        lines.append(
            "Main effects are averaged over the levels of the other factors; an interaction is a difference of differences."
        )
    if any(entry.get("kind") for entry in effects):
        lines.append(
            "Exploratory is what is no hypothesis of the design: p is corrected over the effects on that outcome (Holm), and what "
            "looks large is a hypothesis for another study."
        )
    lines.append("Intervals at 95 % and p-values come from one estimator; a direction that was stated halves p.")
    yield Words(" ".join(lines), "quiet")


# -- the report --------------------------------------------------------------------------------------------------------


MOST_CELLS = 40
MOST_DESCRIBED = 24
"""cells whose own methods are read, for what differs between them"""


def study_report(database: Path, summary: Mapping[str, Any], *, methods: bool = True) -> Report:
    """Of a study's summary. Methods read the statistics of several cells."""
    findings = (*_open_cells(summary), *study_blocks(summary["statistics"]))
    paragraphs: tuple[Block, ...] = ()
    if methods:
        with reading(database) as connection:
            paragraphs = methods_or_warning(lambda: tuple(_methods(connection, summary)))
    head = overview(summary, [simulated_words(summary["roles"])], _facts(summary))
    return Report(summary["name"], tuple(head), findings, paragraphs)


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
        [line for line in first if all(line in others[place] for _, others in described)]
        for place, first in enumerate(described[0][1])
    ]
    kind = KindMethods((*_crossed(summary), *common[0]), common[1])
    digest = sha256(design_text(study.design).encode("utf-8", "surrogatepass")).hexdigest()
    run_as = f"study {study.id} with seed {study.design.get('seed')}; the SHA-256 of its design is {digest}"
    yield from method_paragraphs(connection, [cell.batch for cell in cells], summary, kind, run_as)
    levels = [
        (factor["name"], level["level"], json.dumps(level["set"], ensure_ascii=False) if level["set"] else "nothing")
        for factor in study.design.get("factors", [])
        for level in factor["levels"]
    ]
    yield Words("The levels of the factors set this:")
    yield table("", ("factor", "level", "sets"), levels, left=3)
    for cell, sentences in described:
        specific = [line for place, part in enumerate(sentences) for line in part if line not in common[place]]
        if specific:
            yield Words(
                f"With {', '.join(f'{name} = {level}' for name, level in cell.levels.items())}: {paragraph(specific)}"
            )


def _sentences(connection: sqlite3.Connection, cell: StoredCell) -> tuple[Sequence[str], Sequence[str]]:
    config = StoredConfig(cell.batch["config"])
    methods = kind_methods(connection, cell.batch, config, statistics_of(connection, cell.batch))
    return methods.design, methods.measures


def _by_one_level(cells: Sequence[StoredCell]) -> list[StoredCell]:
    """The first cell, and those that differ from it in one factor, or in all where factors go in step."""
    first = cells[0]
    alone = [cell for cell in cells if cell.replicate == first.replicate]
    near = [cell for cell in alone if len(cell.levels.items() - first.levels.items()) <= 1]
    return near if len(near) > 1 else alone


def _crossed(summary: Mapping[str, Any]) -> Iterator[str]:
    design, cells = summary["design"], summary["cells"]
    factors = [f"{item['name']} ({listing(level['level'] for level in item['levels'])})" for item in design["factors"]]
    how = "went through the levels of" if design.get("mode") == "paired" else "varied"
    step = " in step" if design.get("mode") == "paired" else ""
    combined = len({tuple(cell["levels"].items()) for cell in cells})
    yield (
        f"The study {how} {listing(factors)}{step}: {counted(combined, 'cell')}, each run in "
        f"{counted(design.get('replicates', 1), 'replicate')}, {counted(len(cells), 'batch', 'batches')} in all."
    )
    yield "The cells of a replicate shared a seed, and with it whatever is drawn, as far as their settings allow. Each batch was as follows."


# -- its cells -------------------------------------------------------------------------------------------------


def _open_cells(summary: Mapping[str, Any]) -> Iterator[Block]:
    factors = [factor["name"] for factor in summary["design"].get("factors", [])]
    rows = [
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
