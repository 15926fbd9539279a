"""The report of a study as blocks: overview, hypotheses, then cells and effects by outcome."""

import json
import math
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.gate import design_text
from tidepool.engine.inference.effects import NOTHING, SPEAKS_OF
from tidepool.engine.inference.measures import PERCENT
from tidepool.engine.kinds import load_kind
from tidepool.engine.reports.blocks import (
    BONETT_PRICE,
    DESCRIBE,
    LONELY,
    Block,
    Cell,
    Estimate,
    KindMethods,
    PValue,
    Report,
    Words,
    counted,
    ends_of,
    listing,
    section,
    table,
    tested,
    text_of,
    units_in_words,
)
from tidepool.engine.reports.figures import forest
from tidepool.engine.results.methods import kind_methods, method_paragraphs
from tidepool.engine.results.report import facts, methods_or_warning, overview
from tidepool.engine.results.simulated_roles import simulated_words
from tidepool.engine.results.summary import statistics_of
from tidepool.engine.studies.results import study_outcomes
from tidepool.storage.file import reading
from tidepool.storage.studies import cells_of, find_study

# -- hypotheses and effects --------------------------------------------------------------------------------------------


DIRECTIONS = {"less": " less", "greater": " greater", "two-sided": ""}
MOST_EFFECTS = 10
Entry = Mapping[str, Any]


class Shown(NamedTuple):
    """An effect as the report shows it."""

    mark: str
    """H1, H2, … of hypotheses, E1, E2, … of others"""
    contrast: str
    name: str
    """of the outcome"""
    outcome: Entry
    entry: Entry

    def estimate(self, unit: str = "") -> Estimate:
        interval = ends_of(self.entry["difference_ci95"])
        return Estimate(self.entry["difference"], interval, self.outcome["digits"], unit, signed=True)

    @property
    def counted(self) -> str:
        left_out = f", {self.entry['left_out']:,} left out" if self.entry["left_out"] else ""
        return (
            f"{self.entry['number']:,} {units_in_words(self.entry['units'])}{left_out}" if self.entry["units"] else "–"
        )


def _shown(statistics: Mapping[str, Any]) -> tuple[list[Shown], list[Shown]]:
    """Returns the confirmatory and the exploratory effects."""
    outcomes, factors = statistics["outcomes"], statistics["factors"]
    stated = [(entry["outcome"], entry) for entry in statistics["hypotheses"]]
    others = [(name, entry) for name, outcome in outcomes.items() for entry in outcome["effects"]]
    confirmatory, exploratory = (
        [
            Shown(f"{letter}{place}", _short(entry["contrast"], factors), name, outcomes[name], entry)
            for place, (name, entry) in enumerate(family, 1)
        ]
        for letter, family in (("H", stated), ("E", others))
    )
    return confirmatory, exploratory


def study_blocks(statistics: Mapping[str, Any]) -> list[Block]:
    """Returns the blocks for the statistics from `study_statistics`."""
    if not statistics["outcomes"]:
        return [Words("No result yet: no batch of this study is complete.", "quiet")]
    stated, others = _shown(statistics)
    known = [effect for effect in (*stated, *others) if effect.entry["difference"] is not None]
    drawn = dict.fromkeys(effect.name for effect in known if effect in stated) or [one.name for one in known[:1]]
    return [
        *_sentences(stated, statistics),
        *section("cells", *_cells(statistics)),
        *section("plots", *(_forest([effect for effect in known if effect.name == name]) for name in drawn)),
        *section("hypotheses", *_confirmatory(stated, statistics)),
        *section(
            "effects", *_exploratory(others), *([Words(IN_STEP, "quiet")] if statistics["mode"] == "paired" else ())
        ),
    ]


IN_STEP = "The factors change together, so no effect can be attributed to one factor alone."


def _sentences(stated: Sequence[Shown], statistics: Mapping[str, Any]) -> Iterator[Block]:
    """Yields a sentence for each hypothesis."""
    if trouble := statistics["hypotheses_trouble"]:
        yield Words(f"The hypotheses of this study cannot be read: {trouble}", "warning")
    for one in stated:
        subject = f"{one.mark} {one.entry['verdict']}: {one.name}, {one.contrast}"
        if one.entry["difference"] is None:
            yield Words(f"{subject}.", "finding")
            continue
        effect = text_of(one.estimate(" points" if one.outcome["unit"] == PERCENT else ""))
        chance = "" if one.entry["p_value"] is None else f", {tested(one.entry['p_value'], one.entry['p_value_holm'])}"
        if not one.entry["difference"] and one.entry["difference_ci95"] is None:
            chance = ", because no value differs between these cells"
        yield Words(f"{subject}: {effect}{chance}, n = {one.counted}.", "finding")
    if stated and (missing := _missing_batches(statistics)):
        yield Words(f"{missing} Verdicts use only a part of the study.", "warning")
    if stated and statistics.get("known_before"):
        yield Words(f"{KNOWN_BEFORE} To test on new data, change batch.seed.", "warning")


KNOWN_BEFORE = (
    "Some replies of this study were in the file before its hypotheses, so the hypotheses may be based on them."
)


def _confirmatory(stated: Sequence[Shown], statistics: Mapping[str, Any]) -> Iterator[Block]:
    if not stated:
        return
    heads = [f"{one.mark} {one.name}{DIRECTIONS[one.entry['direction']]}: {one.contrast}" for one in stated]
    rows = [(head, one.entry["verdict"]) for head, one in zip(heads, stated, strict=True)]
    yield _effects_table("hypotheses (confirmatory)", ("hypothesis", "verdict"), rows, stated)
    yield from _notes(stated)
    dated = f"The file dates them {statistics['frozen_at'] or 'unknown'}"
    yield Words(f"{dated}. This is no proof, because anyone who can write to the file can change the date.", "quiet")


MISSING_BATCHES = {
    "ended_with_failures": "that ended with failures",
    "not_ended": "that had not ended",
    "not_in_file": "that are not in this file",
}


def _missing_batches(statistics: Mapping[str, Any]) -> str:
    """Returns a sentence on planned batches that are not complete, or an empty text."""
    counts = statistics.get("missing_batches") or {}
    parts = [f"{words}: {counts[name]:,}" for name, words in MISSING_BATCHES.items() if counts.get(name)]
    return f"Planned batches {'; '.join(parts)}." if parts else ""


def _exploratory(others: Sequence[Shown]) -> Iterator[Block]:
    """Yields a table of the exploratory effects, the clearest first."""
    if others:
        ranked = sorted(others, key=lambda one: 2.0 if one.entry["p_value"] is None else one.entry["p_value"])
        rows = [(f"{one.mark} {one.contrast}", f"{one.name} {one.outcome['unit']}".strip()) for one in ranked]
        yield _effects_table("all other effects (exploratory)", ("effect", "on"), rows, ranked)
        yield from _notes(others)
        note = "Holm's correction is over all of these effects. Test a large one as a hypothesis of a new study."
        yield Words(note, "quiet")


def _effects_table(title: str, heads: Sequence[str], rows: Sequence[Sequence[Cell]], effects: Sequence[Shown]) -> Block:
    """Returns a table of effects. If n is the same for all, the title shows it."""
    counts = [one.counted for one in effects]
    alike = len(set(counts)) == 1
    cells = [
        (*row, one.estimate(), PValue(one.entry["p_value_holm"]), *(() if alike else (one.counted,)))
        for row, one in zip(rows, effects, strict=True)
    ]
    columns = (*heads, "difference (95 %)", "p (Holm)", *(() if alike else ("n",)))
    first = MOST_EFFECTS if effects[0].mark.startswith("E") else len(effects)
    return table(f"{title}; n = {counts[0]}" if alike else title, columns, cells, left=2, first=first)


def _notes(effects: Sequence[Shown]) -> Iterator[Words]:
    """Yields each note that is not part of a verdict once, with the effects that it is about."""
    by_note: dict[str, list[str]] = {}
    for one in effects:
        if (note := one.entry.get("note")) and note not in (one.entry.get("verdict"), NOTHING):
            by_note.setdefault(note, []).append(one.mark)
    yield from (Words(f"{listing(marks)}: {note}", "warning") for note, marks in by_note.items())


def _cells(statistics: Mapping[str, Any]) -> Iterator[Block]:
    """Yields the tables of cells, with outcomes of hypotheses first. Two outcomes with the same n share a table."""
    stated = {hypothesis["outcome"] for hypothesis in statistics["hypotheses"]}
    outcomes = dict(sorted(statistics["outcomes"].items(), key=lambda item: item[0] not in stated))
    factors = statistics["factors"]
    short = [factor.partition(".")[2] or factor for factor in factors]
    columns = short if len(set(short)) == len(short) else list(factors)
    while outcomes:
        name = next(iter(outcomes))
        counts, per_talk = _counts(outcomes[name]), outcomes[name]["per_talk"]
        alike = [one for one, row in outcomes.items() if row["per_talk"] == per_talk and _counts(row) == counts]
        part = {one: outcomes.pop(one) for one in alike[:2]}
        rows = [
            (
                *(_short(level, factors) for level in cells[0]["levels"].values()),
                count,
                *(
                    Estimate(cell["mean"], ends_of(cell["ci95"]), one["digits"])
                    for cell, one in zip(cells, part.values(), strict=True)
                ),
            )
            for count, *cells in zip(counts, *(one["cells"] for one in part.values()), strict=True)
        ]
        heads = [f"{name} {one['unit']}".strip() for name, one in part.items()]
        noun = "conversations" if per_talk else "batches"
        yield Words(f"{listing(one['words'] for one in part.values())}, by cell (n: {noun})", "strong")
        yield table("", (*columns, "n", *heads), rows, left=len(factors))
        notes = dict.fromkeys(cell["note"] for one in part.values() for cell in one["cells"] if cell.get("note"))
        yield from (Words(note, "warning") for note in notes)


def _counts(outcome: Entry) -> list[str]:
    key = "talks" if outcome["per_talk"] else "batches"
    return [f"{cell[key]:,}" + f", {cell['missing']:,} missing" * bool(cell["missing"]) for cell in outcome["cells"]]


def _forest(effects: Sequence[Shown]) -> Block:
    """Returns a figure of the effects, with the marks of the tables as labels."""
    rows = [
        (f"{one.mark} {one.contrast}", one.entry["difference"], ends_of(one.entry["difference_ci95"]))
        for one in effects
    ]
    note = LONELY if any(bounds is None for *_, bounds in rows) else "With 95 % intervals."
    legend = " H: hypothesis of the design, E: exploratory." if effects[0].mark.startswith("H") else ""
    points = ", percentage points" if effects[0].outcome["unit"] == PERCENT else ""
    return forest(f"effects on {effects[0].name}{points}", rows, caption=note + legend)


def _short(contrast: str, factors: Mapping[str, Sequence[str]]) -> str:
    """Returns the contrast without the names of factors whose levels are unambiguous."""
    levels = [level for names in factors.values() for level in set(names)]
    if len(levels) == len(set(levels)):
        for factor in sorted(factors, key=len, reverse=True):
            contrast = contrast.replace(f"{factor}: ", "").replace(f"{factor} = ", "")
    providers = {level.partition(":")[0] for level in levels if ":" in level}
    return contrast.replace(f"{providers.pop()}:", "") if len(providers) == 1 else contrast


# -- the report --------------------------------------------------------------------------------------------------------


def study_report(database: Path, summary: Mapping[str, Any], *, methods: bool = True) -> Report:
    """Returns the report of a study. It is faster without methods, which read the statistics of several cells."""
    findings = tuple(study_blocks(summary["statistics"]))
    paragraphs: tuple[Block, ...] = ()
    if methods:
        with reading(database) as connection:
            paragraphs = methods_or_warning(lambda: tuple(_methods(connection, summary)))
    head = overview(summary, [simulated_words(summary["roles"])], facts(summary))
    return Report(summary["name"], tuple(head), findings, paragraphs)


# -- how it was done -------------------------------------------------------------------------------------------


def _methods(connection: sqlite3.Connection, summary: Mapping[str, Any]) -> Iterator[Block]:
    """Describes the first cell, and the settings of each level in other cells."""
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
    yield Words("Settings of the factor levels:")
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
        "The cells of a replicate shared a seed and, as far as their settings allow, all random draws. This text describes the cell "
        f"{', '.join(levels.values())}. The table at the end lists the settings of the other levels."
    )


# -- what was left out, and how it was tested --------------------------------------------------------------------------


EXPECTED = {"less": ", expected to be negative", "greater": ", expected to be positive", "two-sided": ""}
BLOCKS = {
    "talks": "Matched conversations have the same number in the same replicate, with the same participants in every cell; each set of them was a block.",
    "games": "Conversations linked by memory or by retained secrets were clustered by game.",
    "scenarios": "Conversations with the same scenario were clustered.",
    "entities": "Conversations share entities, so standard errors come from a jackknife (Efron and Stein, 1981) that left out one entity at "
    "a time with all its conversations.",
    "combinations": "Conversations of one entity were clustered by combination.",
    "replicates": "Replicates were the units where a measure has one value per batch, or where a level changes which participants or items are drawn.",
}
"""by the units of effects"""
JACKKNIFE = "entities (by the jackknife; Efron and Stein, 1981) or, of one entity, combinations"


def _exclusions(summary: Mapping[str, Any]) -> Iterator[str]:
    """Yields sentences on incomplete cells and on excluded blocks."""
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
        yield f"Every cell has all planned {noun} ({listing(planned)})."
    yield _missing_batches(summary["statistics"])
    effects = [one for family in _shown(summary["statistics"]) for one in family]
    if left_out := [f"{one.entry['left_out']:,} from {one.mark}" for one in effects if one.entry["left_out"]]:
        yield f"Blocks without a value in every cell of an effect were left out of this effect: {listing(left_out)}."


def _population(sections: Mapping[str, Any]) -> str:
    """Returns the names of the participants and items in brackets."""
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
    """Yields each hypothesis with its estimand, its effect on the scale of the outcome, and its verdict."""
    stated, others = _shown(statistics)
    for one in stated:
        entry, unit = one.entry, one.outcome["unit"]
        yield f"{one.mark} (confirmatory) is about {one.outcome['words']}: “{entry['contrast']}”{EXPECTED[entry['direction']]}."
        if entry["difference"] is None:
            yield f"Result of {one.mark}: {entry['verdict']}."
            continue
        effect = text_of(one.estimate(" percentage points" if unit == PERCENT else unit and f" {unit}"))
        units = "matched conversations" if entry["units"] == "talks" else units_in_words(entry["units"])
        p_values = "" if entry["p_value"] is None else f", {tested(entry['p_value'], entry['p_value_holm'])}"
        yield (
            f"It describes {entry.get('estimand') or 'this study'}{population}. Result of {one.mark}: {effect}, n = "
            f"{entry['number']:,} {units}{p_values}: {entry['verdict']}."
        )
    if any(one.entry["p_value"] is not None for one in stated):
        over = counted(len(stated), "hypothesis", "hypotheses")
        one_sided = any(one.entry["direction"] != "two-sided" for one in stated)
        directional = " Directional hypotheses were tested one-sided, at 5 %." if one_sided else ""
        yield f"p-values have Holm's correction (Holm, 1979) over {over}.{directional}"
        if statistics.get("known_before"):
            yield KNOWN_BEFORE
    if others:
        yield (
            f"{'All' if not stated else 'All other'} effects ({len(others):,}) are exploratory. They compare each level with the first level of its factor"
            f"{' and include interactions of two factors' if len(statistics['factors']) > 1 else ''}. "
            "Their p-values have Holm's correction over all of them (Holm, 1979)."
        )
        if not stated:
            about = dict.fromkeys(one.entry["estimand"] for one in others)
            yield f"{DESCRIBE} {listing(about)}{population}."
    if statistics["mode"] == "paired":
        yield IN_STEP


def _estimators(statistics: Mapping[str, Any], bounds: Mapping[str, tuple[float, float]]) -> Iterator[str]:
    """Yields sentences on the estimators that were used."""
    effects = [one.entry for family in _shown(statistics) for one in family]
    units = {one for entry in effects if entry["units"] for one in str(entry["units"]).split(" and ")}
    if not units:
        return
    yield (
        "An effect is a contrast of cells, averaged over the levels of the other factors. It was computed within each block and then "
        "averaged over blocks."
    )
    yield from (words for name, words in BLOCKS.items() if name in units)
    methods = {entry.get("method") for entry in effects}
    if methods & {"t", "jackknife"}:
        yield "Two-sided 95 % intervals and tests use Student's distribution over these units."
    if "Bonett–Price" in methods:
        yield BONETT_PRICE
    rates = [
        name
        for name, one in statistics["outcomes"].items()
        if one["per_talk"] and math.inf not in bounds.get(name, (math.inf,))
    ]
    if rates:
        about = {cell["estimand"] for name in rates for cell in statistics["outcomes"][name]["cells"]}
        over = JACKKNIFE if SPEAKS_OF["entities"] in about else "clusters"
        yield (
            f"Means of cells ({listing(rates)}) were rescaled to 0–1. Their intervals are Wilson's (Wilson, 1927), with Student's quantile and "
            f"a sample size that is reduced for dependence within {over}."
        )
    if numbers := [name for name, one in statistics["outcomes"].items() if not one["per_talk"]]:
        yield f"Means of cells ({listing(numbers)}) are over batches, with Student's interval."
