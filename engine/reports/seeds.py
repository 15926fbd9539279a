"""One config over several seeds, against its baselines and against other configs: statistics and blocks.

Batches that differ in nothing but their seed are one group. Runs of one seed are compared with each other: as a rule they held
back the same problems or queries; where they did not, the report says so."""

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

from tidepool.engine.inference.contrasts import SEEDS_FOR_A_VERDICT, Contrast, of_mean, paired_by_seed, seeds_in_words
from tidepool.engine.inference.effects import SPEAKS_OF
from tidepool.engine.inference.significance import corrected
from tidepool.engine.reports.blocks import (
    Block,
    Cell,
    Estimate,
    Figure,
    Series,
    Words,
    counted,
    line,
    series_of,
    table,
    text_of,
)
from tidepool.engine.reports.figures import scaled_gap

# -- statistics --------------------------------------------------------------------------------------------------------


FLATTERED = "no verdict: it was picked on what was held out, which flatters it"
MOST_DIFFERENCES = 3
"""settings by which groups are named; where more differ, the names of the batches are shorter"""


@dataclass(frozen=True, slots=True)
class Runs:
    """How a kind counts its runs, and how it speaks of them."""

    section: str
    """of the config"""
    main: str
    """what a run is worth: its policy, its champion"""
    measure: str
    title: str
    unit: str
    """of the measure, in tables"""
    noun: str
    """what is held out: queries, problems"""
    curves: Figure
    """without its series: one a group, of what `read` finds"""
    called_by: str
    """the setting that names a group that is alone, and what is compared: a learner, a strategy"""
    values: Callable[[sqlite3.Connection, sqlite3.Row], Mapping[str, float | None]]
    """what each contender of a run came to, on what was held out"""
    held_out: Callable[[sqlite3.Connection, sqlite3.Row], frozenset[str]]
    """the fingerprints of what that was"""
    read: Callable[[Mapping[str, Any]], tuple[float | None, Mapping[int, float]]]
    """what a run is worth by its statistics, and its curve by x"""
    baselines: Mapping[str, str] = field(default_factory=dict)
    """names of contenders in words"""
    scale: float = 1.0
    """100 makes per cent of shares"""
    digits: int = 3
    flattered: tuple[str, ...] = ()
    """contenders that were picked on what was held out, by each run anew: that they are better is no news"""
    bulky: tuple[str, ...] = ()
    """settings that name nothing"""
    drawn: tuple[str, ...] = ()
    """settings that Tidepool drew by the seed: they part no groups"""


@dataclass(frozen=True, slots=True)
class Group:
    """The runs of one config."""

    settings: Mapping[str, Any]
    name: str
    batches: list[str] = field(default_factory=list)
    values: dict[str, dict[int, float]] = field(default_factory=dict)
    """by contender and seed"""
    held_out: dict[int, frozenset[str]] = field(default_factory=dict)
    """by seed"""


def groups_of(connection: sqlite3.Connection, batches: Sequence[sqlite3.Row], runs: Runs) -> list[Group]:
    groups: dict[str, Group] = {}
    for batch in batches:
        section = json.loads(batch["config"]).get(runs.section, {})
        settings = {name: value for name, value in section.items() if name not in runs.drawn}
        key = json.dumps(settings, sort_keys=True)
        group = groups.setdefault(key, Group(settings, batch["name"]))
        group.batches.append(batch["id"])
        group.held_out[batch["seed"]] = runs.held_out(connection, batch)
        for name, value in runs.values(connection, batch).items():
            if value is not None:
                group.values.setdefault(name, {})[batch["seed"]] = value
    return list(groups.values())


def labels(groups: Sequence[Group], runs: Runs) -> list[str]:
    """By what tells them apart, else by the setting that names them."""
    names = dict.fromkeys(name for group in groups for name in group.settings if name not in runs.bulky)
    differing = [name for name in names if len({json.dumps(group.settings.get(name)) for group in groups}) > 1]
    if len(groups) == 1:
        return [str(groups[0].settings.get(runs.called_by, runs.main))]
    if not differing or len(differing) > MOST_DIFFERENCES:
        return [f"{group.name} ({position})" for position, group in enumerate(groups, 1)]
    return [", ".join(f"{name} {group.settings.get(name)}" for name in differing) for group in groups]


def seed_differences(groups: Sequence[Group], runs: Runs) -> list[dict[str, Any]]:
    """Each group against its baselines, and every two groups: one family for Holm's correction."""
    labelled = list(zip(labels(groups, runs), groups, strict=True))
    family = [
        (label, name, group, group, name)
        for label, group in labelled
        for name in group.values
        if name not in (runs.main, group.settings.get(runs.called_by))
    ]
    family += [(one, other, first, second, runs.main) for (one, first), (other, second) in combinations(labelled, 2)]
    return list(_compared(family, runs))


def _compared(family: Sequence[tuple[str, str, Group, Group, str]], runs: Runs) -> Iterator[dict[str, Any]]:
    pairs: list[tuple[dict[str, Any], Contrast]] = []
    for label, rival, first, second, against in family:
        if paired := paired_by_seed(first.values.get(runs.main, {}), second.values.get(against, {})):
            gaps, contrast = paired
            if against in runs.flattered and contrast.difference < 0:
                contrast = replace(contrast, p_value=None)
            row = {
                "measure": runs.measure,
                "groups": [label, rival],
                "batches": [first.batches, second.batches],
                "same_held_out": all(_alike(first.held_out.get(seed), second.held_out.get(seed)) for seed in gaps),
                "paired": True,
                "seeds": list(gaps),
                "by_seed": list(gaps.values()),
            }
            pairs.append((row, contrast))
    adjusted = corrected([contrast.p_value for _, contrast in pairs])
    for (row, contrast), p_value in zip(pairs, adjusted, strict=True):
        missing = max(0, SEEDS_FOR_A_VERDICT - contrast.clusters)
        verdict = FLATTERED if p_value is None and not missing else seeds_in_words(contrast, p_value)
        row |= {**contrast.as_json(), "p_value_holm": p_value, "seeds_missing": missing, "verdict": verdict}
        yield {**row, "estimand": SPEAKS_OF["replicates"], "note": verdict if p_value is None else ""}


def _alike(first: frozenset[str] | None, second: frozenset[str] | None) -> bool:
    """The same, but for what was not answered."""
    return not first or not second or 2 * len(first & second) >= min(len(first), len(second))


# -- blocks ------------------------------------------------------------------------------------------------------------


BAND = "Means over seeds; the bands are Student's 95 % intervals over seeds."


def blocks_over_seeds(
    batches: Sequence[Mapping[str, Any]], differences: Sequence[Mapping[str, Any]], runs: Runs
) -> list[Block]:
    """`differences` are those of `seed_differences`; nothing where they are not of several seeds."""
    if not any("seeds" in gap for gap in differences):
        return []
    by_batch = {batch["batch_id"]: (batch["seed"], runs.read(batch["statistics"])) for batch in batches}
    members = {gap["groups"][0]: gap["batches"][0] for gap in differences}
    members |= {gap["groups"][1]: gap["batches"][1] for gap in differences if gap["batches"][0] != gap["batches"][1]}
    groups = {label: dict(by_batch[batch] for batch in ids) for label, ids in members.items()}
    worth = {label: {seed: value for seed, (value, _) in group.items()} for label, group in groups.items()}
    curves = [_curve(label, [curve for _, curve in group.values()]) for label, group in groups.items()]
    figure = replace(runs.curves, series=tuple(filter(None, curves)))
    return seed_blocks(worth, differences, runs, [figure] if figure.series else [])


def seed_blocks(
    groups: Mapping[str, Mapping[int, float | None]],
    differences: Sequence[Mapping[str, Any]],
    runs: Runs,
    curves: Sequence[Block] = (),
) -> list[Block]:
    """`groups` have values by seed."""
    same = all(gap.get("same_held_out", True) for gap in differences)
    return [*_held_out(groups, runs, same), *curves, *_verdicts(differences, runs)]


def _held_out(groups: Mapping[str, Mapping[int, float | None]], runs: Runs, same: bool) -> Iterator[Block]:
    rows: list[tuple[Cell, ...]] = []
    shown: dict[tuple[str, int | None], Estimate] = {}
    for label, values in groups.items():
        scaled = {seed: value * runs.scale for seed, value in sorted(values.items()) if value is not None}
        mean = mean_over_seeds(list(scaled.values()), runs.digits)
        rows.append((label, len(scaled), mean))
        shown[label, None] = mean
        shown |= {(label, seed): Estimate(value) for seed, value in scaled.items()}
    yield table(runs.title, ("who", "seeds", f"{runs.unit} (95 %)"), rows)
    shared = (
        f"Runs of one seed held back the same {runs.noun}."
        if same
        else f"Not all runs of one seed held back the same {runs.noun}: a difference between such groups may be one of the {runs.noun}."
    )
    yield Figure(
        "means",
        f"{runs.unit}, a dot a seed",
        (series_of(runs.unit, list(shown.values())),),
        labels=tuple(label if seed is None else f"seed {seed}" for label, seed in shown),
        caption=f"Under each mean, with Student's 95 % interval over seeds: a dot a run. {shared}",
    )


def mean_over_seeds(values: Sequence[float], digits: int = 3) -> Estimate:
    contrast = of_mean(values)
    return Estimate(sum(values) / len(values) if values else None, contrast.interval if contrast else None, digits)


def _curve(label: str, runs: Sequence[Mapping[int, float]]) -> Series | None:
    """As far as every run has come."""
    shared = sorted(set.intersection(*map(set, runs)))
    means = [mean_over_seeds([run[x] for run in runs]) for x in shared]
    intervals = [mean.interval for mean in means]
    return line(label, shared, [mean.value for mean in means], intervals=intervals) if shared else None


def _verdicts(differences: Sequence[Mapping[str, Any]], runs: Runs) -> Iterator[Block]:
    for row in differences:
        first, second = row["groups"]
        difference, bounds = scaled_gap(row, runs.scale)
        gap = text_of(Estimate(difference, bounds, runs.digits, signed=True))
        against = f"{first} against {runs.baselines.get(second, second)}, {counted(len(row['seeds']), 'seed')}"
        yield Words(f"{against}: {gap}, {row['verdict']}", "warning" if row["verdict"].startswith("worse") else "plain")
    yield Words(
        f"Runs are compared seed by seed: Student's 95 % intervals and tests, with Holm's correction over all of these differences. A "
        f"verdict takes at least {SEEDS_FOR_A_VERDICT} seeds of each.",
        "quiet",
    )
