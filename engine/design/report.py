"""The report of a study as blocks: what it was and took, hypotheses first, then cells and effects by outcome."""

import json
import math
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.design.statistics import format_unaffected, study_outcomes
from tidepool.engine.gate import design_text
from tidepool.engine.inference.measures import PERCENT
from tidepool.engine.kinds import load_kind
from tidepool.engine.reports.blocks import (
    LONELY,
    Block,
    Cell,
    Estimate,
    KindMethods,
    PValue,
    Report,
    Words,
    counted,
    listing,
    money,
    requests,
    span,
    table,
    tested,
    text_of,
)
from tidepool.engine.reports.figures import forest
from tidepool.engine.results.methods import kind_methods, method_paragraphs
from tidepool.engine.results.report import GOING_ON, failure_words, methods_or_warning, overview
from tidepool.engine.results.simulated_roles import simulated_words
from tidepool.engine.results.summary import statistics_of
from tidepool.storage.file import reading
from tidepool.storage.studies import cells_of, find_study

# -- hypotheses and effects --------------------------------------------------------------------------------------------


DIRECTIONS = {"less": " less", "greater": " greater", "two-sided": ""}
MOST_EFFECTS = 10
OUTCOMES_IN_A_TABLE = 2
Entry = Mapping[str, Any]
Marked = Sequence[tuple[str, str, Entry]]
"""effects as H1, E1, …, each with the name of its outcome"""


def study_blocks(statistics: Mapping[str, Any]) -> list[Block]:
    """`statistics` are those of `study_statistics`."""
    outcomes = statistics["outcomes"]
    if not outcomes:
        return [Words("Nothing to compare yet: no batch of this study has an outcome.", "quiet")]
    stated = [(f"H{place}", entry["outcome"], entry) for place, entry in enumerate(statistics["hypotheses"], 1)]
    effects = [(name, entry) for name, outcome in outcomes.items() for entry in outcome["effects"]]
    others = [(f"E{place}", *effect) for place, effect in enumerate(effects, 1)]
    known = [name for _, name, entry in (*stated, *others) if entry["difference"] is not None]
    drawn = dict.fromkeys(name for _, name, _ in stated if name in known) or known[:1]
    return [
        *(Words(format_unaffected(entry), "warning") for entry in statistics.get("ignored_by_simulation", ())),
        *_confirmatory(stated, statistics),
        *_cells(statistics),
        *(_forest(name, [*stated, *others], statistics) for name in drawn),
        *_exploratory(others, statistics),
    ]


def _confirmatory(stated: Marked, statistics: Mapping[str, Any]) -> Iterator[Block]:
    if trouble := statistics["hypotheses_trouble"]:
        yield Words(f"The hypotheses of this study cannot be read: {trouble}", "warning")
    if not stated:
        return
    rows = [
        (
            f"{mark} {name}{DIRECTIONS[entry['direction']]}: {_short(entry['contrast'], statistics['factors'])}",
            entry["verdict"],
            _difference(entry, statistics["outcomes"][name]),
            PValue(entry["p_value"]),
            PValue(entry["p_value_holm"]),
        )
        for mark, name, entry in stated
    ]
    columns = ("hypothesis", "verdict", "difference (95 %)", "p", "p (Holm)")
    yield _with_counts("confirmatory: hypotheses of the design", columns, rows, stated, first=len(rows))
    yield from _notes(stated)
    dated = f"They are dated {statistics['frozen_at'] or 'unknown'} in this file"
    yield Words(f"{dated}, which is no proof: anyone who can write to the file can change both.", "quiet")
    if missing := statistics.get("batches_lacking"):
        message = f"{missing:,} batches of the study are not at their end, or not in this file"
        yield Words(f"{message}: verdicts are so far those of a part of it.", "warning")


def _notes(effects: Marked) -> Iterator[Words]:
    """Each note once, with the effects that it is about, where no verdict says it."""
    by_note: dict[str, list[str]] = {}
    for mark, _, entry in effects:
        if (note := entry.get("note")) and note != entry.get("verdict"):
            by_note.setdefault(note, []).append(mark)
    yield from (Words(f"{listing(marks)}: {note}", "warning") for note, marks in by_note.items())


def _with_counts(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]], effects: Marked, first: int
) -> Block:
    """In the title where all effects count the same, else a column."""
    counts = [_counted(entry) for *_, entry in effects]
    if len(set(counts)) == 1:
        return table(f"{title}; n = {counts[0]}", columns, rows, left=2, first=first)
    return table(title, (*columns, "n"), [(*row, n) for row, n in zip(rows, counts, strict=True)], left=2, first=first)


def _counted(entry: Entry) -> str:
    left_out = f", {entry['left_out']:,} left out" if entry["left_out"] else ""
    return f"{entry['number']:,} {entry['units']}{left_out}" if entry["units"] else "–"


def _difference(entry: Entry, outcome: Entry, unit: str = "") -> Estimate:
    return Estimate(entry["difference"], _pair(entry["difference_ci95"]), outcome["digits"], unit, signed=True)


def _pair(bounds: Sequence[float] | None) -> tuple[float, float] | None:
    return None if bounds is None else (bounds[0], bounds[1])


def _cells(statistics: Mapping[str, Any]) -> Iterator[Block]:
    """Outcomes that the same conversations or batches have are in one table, side by side."""
    tables: dict[tuple[tuple[int, int], ...], list[str]] = {}
    for name, outcome in statistics["outcomes"].items():
        counted = "talks" if outcome["per_talk"] else "batches"
        tables.setdefault(tuple((cell[counted], cell["missing"]) for cell in outcome["cells"]), []).append(name)
    factors = statistics["factors"]
    for counts, names in tables.items():
        missing = any(lost for _, lost in counts)
        counted = "talks" if statistics["outcomes"][names[0]]["per_talk"] else "batches"
        for part in (names[at : at + OUTCOMES_IN_A_TABLE] for at in range(0, len(names), OUTCOMES_IN_A_TABLE)):
            outcomes = [statistics["outcomes"][name] for name in part]
            rows = [
                (
                    *(_short(level, factors) for level in cells[0]["levels"].values()),
                    *(count if missing else count[:1]),
                    *(
                        Estimate(cell["mean"], _pair(cell["ci95"]), one["digits"])
                        for cell, one in zip(cells, outcomes, strict=True)
                    ),
                )
                for count, *cells in zip(counts, *(one["cells"] for one in outcomes), strict=True)
            ]
            heads = [f"{name} {one['unit']}".strip() for name, one in zip(part, outcomes, strict=True)]
            columns = (*factors, counted, *(["missing"] if missing else ()), *heads)
            yield Words(f"{listing(one['words'] for one in outcomes)}, by cell", "strong")
            yield table("", columns, rows, left=len(factors))


def _forest(name: str, effects: Marked, statistics: Mapping[str, Any]) -> Block:
    """Marks as in the tables: a figure has little room for names."""
    rows = [
        (
            f"{mark} {_short(entry['contrast'], statistics['factors'])}",
            entry["difference"],
            _pair(entry["difference_ci95"]),
        )
        for mark, of, entry in effects
        if of == name and entry["difference"] is not None
    ]
    legend = " H: hypothesis of the design, E: exploratory." if rows and rows[0][0].startswith("H") else ""
    note = LONELY if any(bounds is None for *_, bounds in rows) else "With 95 % intervals."
    return forest(f"effects on {name}{_in(statistics['outcomes'][name])}", rows, caption=note + legend)


def _short(contrast: str, factors: Mapping[str, Sequence[str]]) -> str:
    """Without the names of factors, where their levels say enough."""
    levels = [level for names in factors.values() for level in set(names)]
    if len(levels) == len(set(levels)):
        for factor in sorted(factors, key=len, reverse=True):
            contrast = contrast.replace(f"{factor}: ", "").replace(f"{factor} = ", "")
    providers = {level.partition(":")[0] for level in levels if ":" in level}
    return contrast.replace(f"{providers.pop()}:", "") if len(providers) == 1 else contrast


def _in(outcome: Entry) -> str:
    return ", percentage points" if outcome["unit"] == PERCENT else ""


def _exploratory(effects: Marked, statistics: Mapping[str, Any]) -> Iterator[Block]:
    """The clearest first."""
    if effects:
        ranked = sorted(effects, key=lambda row: 2.0 if row[2]["p_value"] is None else row[2]["p_value"])
        rows = [
            (
                f"{mark} {_short(entry['contrast'], statistics['factors'])}",
                f"{name} {statistics['outcomes'][name]['unit']}".strip(),
                _difference(entry, statistics["outcomes"][name]),
                PValue(entry["p_value_holm"]),
            )
            for mark, name, entry in ranked
        ]
        columns = ("effect", "on", "difference (95 %)", "p (Holm)")
        yield _with_counts("exploratory: all other effects", columns, rows, ranked, first=MOST_EFFECTS)
        yield from _notes(effects)
        note = "One family: Holm's correction is over all of them. What looks large is a hypothesis for another study."
        yield Words(note, "quiet")
    if statistics["mode"] == "paired":
        yield Words(IN_STEP, "quiet")


IN_STEP = "The factors went in step: steps differ in all of them at once, so no effect belongs to one factor alone."


# -- the report --------------------------------------------------------------------------------------------------------


MOST_CELLS = 40


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
    """Describes the first cell, and what each level sets in others."""
    study = find_study(connection, summary["study_id"])
    cells = cells_of(connection, study.id)
    first, sections = cells[0].batch, [StoredConfig(cell.batch["config"]).sections for cell in cells]
    described = kind_methods(connection, first, StoredConfig(first["config"]), statistics_of(connection, first))
    bounds = {one.name: one.bounds for one in study_outcomes(summary["kind"], sections)}
    kind = KindMethods(
        design=(*_crossed(summary, cells[0].levels), *described.design),
        measures=described.measures,
        missing=tuple(_exclusions(summary)),
        analysis=(
            *_tests(summary["statistics"], _population(sections[0])),
            *_estimators(summary["statistics"], bounds),
        ),
    )
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


def _crossed(summary: Mapping[str, Any], levels: Mapping[str, str]) -> Iterator[str]:
    design, cells = summary["design"], summary["cells"]
    factors = [f"{item['name']} ({listing(level['level'] for level in item['levels'])})" for item in design["factors"]]
    how = "went through the levels of" if design.get("mode") == "paired" else "varied"
    step = " in step" if design.get("mode") == "paired" else ""
    combined = len({tuple(cell["levels"].items()) for cell in cells})
    yield (
        f"The study {how} {listing(factors)}{step}: {counted(combined, 'cell')}, each run in "
        f"{counted(design.get('replicates', 1), 'replicate')}, {counted(len(cells), 'batch', 'batches')} in all."
    )
    yield (
        "The cells of a replicate shared a seed, and with it whatever is drawn, as far as their settings allow. The cell "
        f"{', '.join(levels.values())} is described here; the table at the end lists what other levels set."
    )


# -- what was left out, and how it was tested --------------------------------------------------------------------------


EXPECTED = {"less": ", expected to be negative", "greater": ", expected to be positive", "two-sided": ""}
BLOCKS = {
    "talks": "A block was the conversation of one number in one replicate, in which the same participants met in every cell.",
    "games": "Conversations that memory or kept secrets link were clustered by game.",
    "scenarios": "Conversations over one scenario were clustered by it.",
    "entities": "Conversations share entities: standard errors are the jackknife's (Efron and Stein, 1981), which left out one entity at "
    "a time with all its conversations.",
    "combinations": "Conversations of one entity were clustered by the combination that met.",
    "replicates": "Replicates were the units where an outcome is one number a batch, or where a level changes who or what is drawn.",
}
"""by what effects count"""


def _exclusions(summary: Mapping[str, Any]) -> Iterator[str]:
    """Planned and obtained numbers of each cell, and blocks that a cell lacks."""
    counts: dict[str, Counter[str]] = {}
    for cell in summary["cells"]:
        counts.setdefault(", ".join(cell["levels"].values()), Counter()).update(cell["units"])
    noun = load_kind(summary["kind"]).units
    if lost := [
        f"{name}: {own['completed']:,} of {own['total']:,} ({own['failed']:,} failed)"
        for name, own in counts.items()
        if own["completed"] < own["total"]
    ]:
        yield f"Not all planned {noun} of these cells were completed: {'; '.join(lost)}."
    else:
        planned = dict.fromkeys(f"{own['total']:,}" for own in counts.values())
        yield f"Every cell has all of its planned {noun} ({listing(planned)})."
    if lacking := summary["statistics"].get("batches_lacking"):
        yield f"{counted(lacking, 'planned batch', 'planned batches')} had not come to the end, or are not in this file."
    effects = [*summary["statistics"]["hypotheses"], *_effects(summary["statistics"])]
    if most := max((entry["left_out"] for entry in effects), default=0):
        stated = [
            f"{e['left_out']:,} from H{n}"
            for n, e in enumerate(summary["statistics"]["hypotheses"], 1)
            if e["left_out"]
        ]
        yield (
            f"A block without a value in one of an effect's cells was left out of this effect: {most:,} at most"
            f"{f' ({listing(stated)})' if stated else ''}."
        )


def _effects(statistics: Mapping[str, Any]) -> list[Entry]:
    return [entry for outcome in statistics["outcomes"].values() for entry in outcome["effects"]]


def _population(sections: Mapping[str, Any]) -> str:
    """Whom and what the study drew on, in a few words."""
    parts = [
        f"{name} {listing(one['name'] for one in sections[name])}"
        for name in ("agents", "entities")
        if sections.get(name)
    ]
    game, evolution, mutation = (sections.get(name) or {} for name in ("secret_game", "evolution", "mutation"))
    if scenarios := game.get("scenarios"):
        parts.append(counted(len(scenarios), "scenario"))
    parts += [f"{name}: {own[name]}" for name, own in (("problems", evolution), ("queries", mutation)) if own.get(name)]
    return f" ({'; '.join(parts)})" if parts else ""


def _tests(statistics: Mapping[str, Any], population: str) -> Iterator[str]:
    """Each hypothesis with its estimand, its effect on the outcome's own scale, and what became of it."""
    stated = statistics["hypotheses"]
    for place, entry in enumerate(stated, 1):
        outcome = statistics["outcomes"][entry["outcome"]]
        contrast = f"“{entry['contrast']}”{EXPECTED[entry['direction']]}"
        yield f"H{place} (confirmatory) is about {outcome['words']}: {contrast}."
        if entry["difference"] is None:
            yield f"Result of H{place}: {entry['verdict']}."
            continue
        unit = " percentage points" if outcome["unit"] == PERCENT else outcome["unit"] and f" {outcome['unit']}"
        units = "matched conversations" if entry["units"] == "talks" else entry["units"]
        result = "" if entry["p_value"] is None else f", {tested(entry['p_value'], entry['p_value_holm'])}"
        effect = text_of(_difference(entry, outcome, unit))
        yield (
            f"It describes {entry.get('estimand') or 'this study'}{population}. Result of H{place}: {effect}, n = {entry['number']:,} "
            f"{units}{result}: {entry['verdict']}."
        )
    if any(entry["p_value"] is not None for entry in stated):
        over = f"the {len(stated):,} hypotheses" if len(stated) > 1 else "the one hypothesis"
        yield f"Holm's correction (Holm, 1979) is over {over}; a hypothesis with a direction was tested one-sided, at 5 %."
    if effects := _effects(statistics):
        yield (
            f"{'All' if not stated else 'All other'} effects, {len(effects):,}, are exploratory: each level against the first of its factor, "
            "and interactions of two factors. They are one family, and their p-values are corrected over all of them (Holm, 1979)."
        )
    if statistics["mode"] == "paired":
        yield IN_STEP


def _estimators(statistics: Mapping[str, Any], bounds: Mapping[str, tuple[float, float]]) -> Iterator[str]:
    """Only what was used."""
    effects = [*statistics["hypotheses"], *_effects(statistics)]
    units = {one for entry in effects if entry["units"] for one in str(entry["units"]).split(" and ")}
    if not units:
        return
    yield (
        "An effect is one contrast of cells, averaged over the levels of the other factors, taken within each block and then averaged "
        "over blocks."
    )
    yield from (words for name, words in BLOCKS.items() if name in units)
    methods = {entry.get("method") for entry in effects}
    if methods & {"t", "jackknife"}:
        yield "Intervals are at 95 %, two-sided, and with tests of Student's distribution over these units."
    if "Bonett–Price" in methods:
        yield "Where few units differed between cells, one more of either sign was counted (Bonett and Price, 2012)."
    shown = {name: one for name, one in statistics["outcomes"].items() if any(cell["ci95"] for cell in one["cells"])}
    bounded = [
        name
        for name, one in shown.items()
        if one["per_talk"] and math.isfinite(sum(map(abs, bounds.get(name, (math.inf,)))))
    ]
    if bounded and "entities" not in units:
        yield (
            f"Means of cells ({listing(bounded)}) have Wilson's interval (Wilson, 1927) with Student's quantile and the effective number of "
            "values that their variance over clusters gives."
        )


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
