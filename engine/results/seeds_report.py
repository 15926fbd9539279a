"""Several seeds of one config, or of several, as blocks: curves with their spread, a dot a seed, and what may be claimed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tidepool.engine.results.blocks import Block, Cell, Estimate, Figure, Series, Words, line, table, text_of
from tidepool.engine.results.forest import Row, forest
from tidepool.engine.statistics.contrasts import of_mean
from tidepool.engine.statistics.paired import SEEDS_FOR_A_VERDICT

BAND = "Means over seeds; the bands are Student's 95 % intervals over seeds."
Values = Mapping[int, float | None]
"""by seed"""
Curve = Mapping[int, float]
"""by x"""


@dataclass(frozen=True, slots=True)
class SeedWords:
    """How a kind speaks of its runs."""

    title: str
    measure: str
    """of what a run is worth, with its unit"""
    held_out: str
    """what runs of one seed have in common: queries, problems"""
    kind: str
    """what is compared: a learner, a strategy"""
    digits: int = 3
    baselines: Mapping[str, str] = field(default_factory=dict)
    """names of contenders in words"""


def members_of(differences: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """The batches of each group."""
    members = {one["groups"][0]: one["batches"][0] for one in differences}
    return members | {
        one["groups"][1]: one["batches"][1] for one in differences if one["batches"][0] != one["batches"][1]
    }


def seed_blocks(
    groups: Mapping[str, Values],
    differences: Sequence[Mapping[str, Any]],
    words: SeedWords,
    curves: Sequence[Block] = (),
    scale: float = 1.0,
) -> list[Block]:
    """`differences` are those of `several_seeds`; `scale` makes per cent of shares."""
    same = all(one.get("same_held_out", True) for one in differences)
    return [*_held_out(groups, words, scale, same), *curves, *_verdicts(differences, words, scale)]


def _held_out(groups: Mapping[str, Values], words: SeedWords, scale: float, same: bool) -> Iterator[Block]:
    known = {
        label: {seed: value * scale for seed, value in sorted(values.items()) if value is not None}
        for label, values in groups.items()
    }
    rows: list[tuple[Cell, ...]] = [
        (label, len(found), mean_over_seeds(list(found.values()), words.digits)) for label, found in known.items()
    ]
    yield table(words.title, ("who", "seeds", f"{words.measure} (95 %)"), rows)
    shown = [row for label, found in known.items() for row in _dots(label, found, words.digits)]
    names, means = zip(*shown, strict=True)
    series = Series(words.measure, tuple(one.value for one in means), intervals=tuple(one.interval for one in means))
    shared = (
        f"Runs of one seed held back the same {words.held_out}."
        if same
        else f"Not all runs of one seed held back the same {words.held_out}: a difference between such groups may be one of the {words.held_out}."
    )
    dots = f"Under each mean, with Student's 95 % interval over seeds: a dot a run. {shared}"
    yield Figure("means", f"{words.measure}, a dot a seed", (series,), labels=names, caption=dots)


def _dots(label: str, values: Mapping[int, float], digits: int) -> Iterator[tuple[str, Estimate]]:
    yield label, mean_over_seeds(list(values.values()), digits)
    yield from ((f"seed {seed}", Estimate(one)) for seed, one in values.items())


def mean_over_seeds(values: Sequence[float], digits: int = 3) -> Estimate:
    found = of_mean(values)
    return Estimate(sum(values) / len(values) if values else None, found.interval if found else None, digits)


def curve_over_seeds(label: str, runs: Sequence[Curve]) -> Series | None:
    """As far as every run has come."""
    by_x: dict[int, list[float]] = {}
    for run in runs:
        for x, value in run.items():
            by_x.setdefault(x, []).append(value)
    shared = {x: values for x, values in sorted(by_x.items()) if len(values) == len(runs)}
    if not shared:
        return None
    means = [mean_over_seeds(values) for values in shared.values()]
    return line(label, list(shared), [one.value for one in means], intervals=[one.interval for one in means])


def _verdicts(differences: Sequence[Mapping[str, Any]], words: SeedWords, scale: float) -> Iterator[Block]:
    rows: list[Row] = []
    for one in differences:
        first, second = one["groups"]
        second = words.baselines.get(second, second)
        bounds = one["difference_ci95"]
        scaled = (bounds[0] * scale, bounds[1] * scale) if bounds else None
        rows.append((f"{first} − {second}", one["difference"] * scale, scaled))
        gap = Estimate(one["difference"] * scale, scaled, words.digits, signed=True)
        number = len(one["seeds"])
        told = f"{first} against {second}, {number} seed{'s' * (number > 1)}: {text_of(gap)}, {one['verdict']}"
        yield Words(told, "warning" if one["verdict"].startswith("worse") else "plain")
    if rows:
        yield forest(f"differences over seeds: {words.measure}", rows)
    yield Words(
        f"Runs are compared seed by seed: Student's 95 % intervals, p by sign flips, Holm's correction over a {words.kind}'s "
        f"baselines and over pairs. A verdict takes at least {SEEDS_FOR_A_VERDICT} seeds of each.",
        "quiet",
    )
