"""Compares one config over several seeds with its baselines and with other configs: statistics and blocks.

Batches that differ only in their seed form a group. Groups are compared seed by seed. Runs of one seed usually have the
same held-out problems or queries. If they do not, the report says so."""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from statistics import fmean
from typing import Any, NamedTuple

from tidepool.engine.inference.contrasts import (
    SEEDS_FOR_A_VERDICT,
    BoundedContrast,
    interval_of_mean,
    of_runs,
    seeds_in_words,
)
from tidepool.engine.inference.effects import SPEAKS_OF
from tidepool.engine.inference.intervals import Interval
from tidepool.engine.inference.significance import corrected, withhold_reversible
from tidepool.engine.reports.blocks import (
    Block,
    Cell,
    Estimate,
    Figure,
    Number,
    Series,
    Words,
    counted,
    line,
    series_of,
    table,
    text_of,
)
from tidepool.engine.reports.figures import difference_of

# -- statistics --------------------------------------------------------------------------------------------------------


FLATTERED = "no verdict: it was selected on the held-out data, which biases its score upwards"
MOST_DIFFERENCES = 3
"""number of differing settings up to which they name the groups; with more, the names of batches do"""


Bounded = tuple[float, float, float]
"""a difference, and its bounds if all unclear replies count against it or for it"""


class Score(NamedTuple):
    """The held-out score of a contender in one run."""

    mean: float
    bounds: Interval | None = None
    """the score if all unclear replies are wrong, or right; None: no reply is unclear"""
    lead: Bounded | None = None
    """the difference from the main contender to this one, if the run has computed it from pairs"""

    def less(self, other: "Score") -> Bounded:
        (low, high), (lowest, highest) = (one.bounds or (one.mean, one.mean) for one in (self, other))
        return self.mean - other.mean, low - highest, high - lowest


class RunRead(NamedTuple):
    """The values of a run, read from its statistics."""

    worth: float | None
    curve: Mapping[int, float]
    """by x"""
    most: float = 1.0
    """upper end of the curve's scale, which starts at 0"""
    unclear: float | None = None
    """share of unclear replies"""


@dataclass(frozen=True, slots=True)
class Runs:
    """How a kind measures its runs, and the words that it uses for them."""

    section: str
    """of the config"""
    main: str
    """the contender whose score is the score of a run: its policy or champion"""
    measure: str
    title: str
    unit: str
    """of the measure, in tables"""
    noun: str
    """the held-out items: queries, problems"""
    curves: Figure
    """without series; `read` gives one for each group"""
    called_by: str
    """the setting that names a single group, and that is compared: a learner, a strategy"""
    values: Callable[[sqlite3.Connection, sqlite3.Row], Iterable[tuple[str, Score]]]
    """the score of each contender of a run"""
    held_out: Callable[[sqlite3.Connection, sqlite3.Row], frozenset[str]]
    """fingerprints of the held-out items"""
    read: Callable[[Mapping[str, Any]], RunRead]
    baselines: Mapping[str, str] = field(default_factory=dict)
    """displayed names of contenders"""
    scale: float = 1.0
    """100 turns shares into percentages; unscaled values are between 0 and 1"""
    digits: int = 3
    flattered: tuple[str, ...] = ()
    """contenders that each run selects on its held-out items, so their lead is not evidence"""
    bulky: tuple[str, ...] = ()
    """settings that are too long for the name of a group"""
    drawn: tuple[str, ...] = ()
    """settings that depend on the seed and so do not separate groups"""


@dataclass(frozen=True, slots=True)
class Group:
    """The runs of one config."""

    settings: Mapping[str, Any]
    name: str
    batches: list[str] = field(default_factory=list)
    values: dict[str, dict[int, Score]] = field(default_factory=dict)
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
        for name, score in runs.values(connection, batch):
            group.values.setdefault(name, {})[batch["seed"]] = score
    return list(groups.values())


def labels(groups: Sequence[Group], runs: Runs) -> list[str]:
    """Returns names of the groups, made from the settings in which they differ."""
    names = dict.fromkeys(name for group in groups for name in group.settings if name not in runs.bulky)
    differing = [name for name in names if len({json.dumps(group.settings.get(name)) for group in groups}) > 1]
    if len(groups) == 1:
        return [str(groups[0].settings.get(runs.called_by, runs.main))]
    if not differing or len(differing) > MOST_DIFFERENCES:
        return [f"{group.name} ({position})" for position, group in enumerate(groups, 1)]
    return [", ".join(f"{name} {group.settings.get(name)}" for name in differing) for group in groups]


def seed_differences(groups: Sequence[Group], runs: Runs) -> list[dict[str, Any]]:
    """Compares each group with its baselines and with every other group, as one family for Holm's correction."""
    labelled = list(zip(labels(groups, runs), groups, strict=True))
    family = [
        (label, name, group, group, name)
        for label, group in labelled
        for name in group.values
        if name not in (runs.main, group.settings.get(runs.called_by))
    ]
    family += [(one, other, first, second, runs.main) for (one, first), (other, second) in combinations(labelled, 2)]
    return _compared(family, runs)


def _compared(family: Sequence[tuple[str, str, Group, Group, str]], runs: Runs) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for label, rival, first, second, against in family:
        ours, theirs = first.values.get(runs.main, {}), second.values.get(against, {})
        gaps = {
            seed: (theirs[seed].lead if first is second else None) or ours[seed].less(theirs[seed])
            for seed in sorted(ours.keys() & theirs.keys())
        }
        known, lowest, highest = (of_runs([gap[end] for gap in gaps.values()]) for end in range(3))
        if not known or not lowest or not highest:
            continue
        if against in runs.flattered and known.difference < 0:
            known = replace(known, p_value=None)
        rows.append(
            {
                "measure": runs.measure,
                "groups": [label, rival],
                "batches": [first.batches, second.batches],
                "same_held_out": all(_alike(first.held_out.get(seed), second.held_out.get(seed)) for seed in gaps),
                "paired": True,
                "seeds": list(gaps),
                "by_seed": [gap for gap, *_ in gaps.values()],
                **BoundedContrast(known, lowest, highest).as_json(),
                "seeds_missing": max(0, SEEDS_FOR_A_VERDICT - known.clusters),
                "estimand": SPEAKS_OF["replicates"],
            }
        )
    for row, p_value in zip(rows, corrected([row["p_value"] for row in rows]), strict=True):
        flattered = p_value is None and not row["seeds_missing"]
        verdict = FLATTERED if flattered else seeds_in_words(len(row["seeds"]), row["difference"], p_value)
        row |= {"p_value_holm": p_value, "verdict": verdict}
    withhold_reversible(rows)
    return [{**row, "note": row["verdict"] if row["p_value"] is None else ""} for row in rows]


def _alike(first: frozenset[str] | None, second: frozenset[str] | None) -> bool:
    """Returns whether two sets of held-out items are the same, apart from unanswered items."""
    return not first or not second or 2 * len(first & second) >= min(len(first), len(second))


# -- blocks ------------------------------------------------------------------------------------------------------------


BAND = "Means over seeds. The bands are Student's 95 % intervals over seeds, truncated at the ends of the scale."


def blocks_over_seeds(
    batches: Sequence[Mapping[str, Any]], differences: Sequence[Mapping[str, Any]], runs: Runs
) -> list[Block]:
    """Returns the blocks for `differences` from `seed_differences`, or no blocks without several seeds."""
    if not any("seeds" in gap for gap in differences):
        return []
    by_batch = {batch["batch_id"]: (batch["seed"], runs.read(batch["statistics"])) for batch in batches}
    members = {gap["groups"][0]: gap["batches"][0] for gap in differences}
    members |= {gap["groups"][1]: gap["batches"][1] for gap in differences if gap["batches"][0] != gap["batches"][1]}
    groups = {label: dict(by_batch[batch] for batch in ids) for label, ids in members.items()}
    curves = [_curve(label, list(group.values())) for label, group in groups.items()]
    figure = replace(runs.curves, series=tuple(filter(None, curves)))
    same = all(gap.get("same_held_out", True) for gap in differences)
    return [*_held_out(groups, runs, same), *([figure] if figure.series else []), *_verdicts(differences, runs)]


def _held_out(groups: Mapping[str, Mapping[int, RunRead]], runs: Runs, same: bool) -> Iterator[Block]:
    rows: list[tuple[Cell, ...]] = []
    shown: dict[tuple[str, int | None], Estimate] = {}
    for label, group in groups.items():
        scaled = {seed: run.worth * runs.scale for seed, run in sorted(group.items()) if run.worth is not None}
        mean = mean_over_seeds(list(scaled.values()), (0.0, runs.scale), runs.digits)
        unclear = [100 * run.unclear for run in group.values() if run.unclear is not None]
        rows.append((label, len(scaled), mean, Number(fmean(unclear) if unclear else None, 1, " %")))
        shown[label, None] = mean
        shown |= {(label, seed): Estimate(value) for seed, value in scaled.items()}
    shares = any(run.unclear is not None for group in groups.values() for run in group.values())
    columns = ("who", "seeds", f"{runs.unit} (95 %)", "unclear")[: 4 if shares else 3]
    yield table(runs.title, columns, [row[: len(columns)] for row in rows])
    shared = (
        f"Runs of one seed have the same held-out {runs.noun}."
        if same
        else f"Some runs of one seed have different held-out {runs.noun}, which may explain a difference between their groups."
    )
    yield Figure(
        "means",
        f"{runs.unit} by seed",
        (series_of(runs.unit, list(shown.values())),),
        labels=tuple(label if seed is None else f"seed {seed}" for label, seed in shown),
        caption=f"Each mean has Student's 95 % interval over seeds, and its runs below it. {shared}",
    )


def mean_over_seeds(values: Sequence[float], bounds: Interval, digits: int = 3) -> Estimate:
    """Returns the mean with Student's interval, truncated at the bounds of the scale."""
    return Estimate(fmean(values) if values else None, interval_of_mean(values, bounds), digits)


def _curve(label: str, runs: Sequence[RunRead]) -> Series | None:
    """Returns the mean curve over the points that all runs have reached."""
    shared = sorted(set.intersection(*(set(run.curve) for run in runs)))
    means = [mean_over_seeds([run.curve[x] for run in runs], (0.0, runs[0].most)) for x in shared]
    intervals = [mean.interval for mean in means]
    return line(label, shared, [mean.value for mean in means], intervals=intervals) if shared else None


def _verdicts(differences: Sequence[Mapping[str, Any]], runs: Runs) -> Iterator[Block]:
    for row in differences:
        first, second = row["groups"]
        gap = text_of(difference_of(row, runs.scale, runs.digits))
        against = f"{first} against {runs.baselines.get(second, second)}, {counted(len(row['seeds']), 'seed')}"
        yield Words(f"{against}: {gap}, {row['verdict']}", "warning" if row["verdict"].startswith("worse") else "plain")
    yield Words(
        "Comparisons are exploratory and made seed by seed, with Student's 95 % intervals and tests and Holm's correction over all "
        f"of these differences. A verdict needs at least {SEEDS_FOR_A_VERDICT} seeds of each group.",
        "quiet",
    )
