"""What several coders say together, and the figures that follow for a game's instruments and rates."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tidepool.engine.coding.agreement import LEAST_PAIRED, Paired, kappa
from tidepool.engine.coding.code_book import NO, UNCLEAR, YES
from tidepool.engine.coding.estimates import (
    Cell,
    Share,
    TwoGroups,
    cell_of,
    corrected,
    sensitivity,
    specificity,
    two_groups,
)
from tidepool.engine.coding.frame import Frame, Verdicts
from tidepool.engine.coding.sample import POSITIVE, Place, Sample
from tidepool.engine.statistics.intervals import Interval
from tidepool.engine.statistics.typed import Statistics

LEAST_OF_AN_AGENT = 20
"""coded sides from which on an agent has a rate of its own"""


def majority(codes: Iterable[str]) -> str:
    """What most coders say; unclear where they are even."""
    counts = Counter(codes).most_common(2)
    return UNCLEAR if len(counts) > 1 and counts[0][1] == counts[1][1] else counts[0][0]


@dataclass(frozen=True)
class Accuracy(Statistics):
    """How an instrument does against the coders, weighted back to the batch."""

    LEFT_OUT = frozenset({"kappa", "kappa_ci95"})

    positives: int
    """of the batch, by the instrument"""
    negatives: int
    coded_positives: int
    coded_negatives: int
    sensitivity_percentage: float | None
    sensitivity_ci95: Interval | None
    specificity_percentage: float | None
    specificity_ci95: Interval | None
    if_positive_percentage: float | None
    """of what it calls positive, as much is: its predictive value"""
    if_positive_ci95: Interval | None
    if_negative_percentage: float | None
    """of what it does not, as much is all the same"""
    if_negative_ci95: Interval | None
    kappa: float | None = None
    """Cohen's, with the coders; of marks, from ten codes on"""
    kappa_ci95: Interval | None = None


@dataclass(frozen=True)
class CorrectedRate(Statistics):
    """The rate by the instrument's verdicts, and by what the coders say of them."""

    coded: int
    raw_percentage: float
    raw_ci95: Interval | None
    corrected_percentage: float
    corrected_ci95: Interval | None


@dataclass(frozen=True, slots=True)
class Judged:
    """A coded side of the sample that the coders are clear about."""

    place: Place
    stratum: str
    weight: float
    yes: bool


def judged_sides(sample: Sample, codes: Mapping[Place, Sequence[str]]) -> tuple[list[Judged], int]:
    """The sides on which a majority says yes or no; and how many others were coded."""
    said = {one: majority(codes[one.place]) for one in sample.chosen if codes.get(one.place)}
    clear = [Judged(one.place, one.stratum, one.weight, code == YES) for one, code in said.items() if code in (YES, NO)]
    return clear, len(said) - len(clear)


def groups(
    coded: Sequence[Judged], sizes: Mapping[tuple[str, bool], int], positive: Callable[[Place], bool]
) -> TwoGroups | None:
    """By an instrument's verdict: in each group a cell for every stratum of the sample. `sizes` counts the batch so. In a
    cell without a code the share is taken to be that of its group, and may be anything."""
    by_cell: defaultdict[tuple[str, bool], list[tuple[float, bool]]] = defaultdict(list)
    for one in coded:
        by_cell[one.stratum, positive(one.place)].append((one.weight, one.yes))
    found: dict[bool, list[Cell]] = {}
    for verdict in (True, False):
        keys = [key for key in sizes if key[1] is verdict]
        known = cell_of(1, (pair for key in keys for pair in by_cell[key]))
        found[verdict] = [cell_of(sizes[key], by_cell[key], known.share) for key in keys]
    return two_groups(found[True], found[False])


def accuracy(frame: Frame, coded: Sequence[Judged], verdicts: Verdicts) -> Accuracy:
    strata = {one.place: one.stratum for one in frame.candidates if one.place in verdicts.said}
    sizes = Counter((stratum, place in verdicts.positive) for place, stratum in strata.items())
    here = [one for one in coded if one.place in strata]
    called = sum(one.place in verdicts.positive for one in here)
    positives = sum(count for (_, positive), count in sizes.items() if positive)
    found = groups(here, sizes, verdicts.positive.__contains__)
    shares: dict[str, Share | None] = {
        "sensitivity": sensitivity(found) if found else None,
        "specificity": specificity(found) if found else None,
        "if_positive": found.if_positive if found and positives else None,
        "if_negative": found.if_negative if found and positives < len(strata) else None,
    }
    return Accuracy(positives, len(strata) - positives, called, len(here) - called, **_percent(shares))


def with_kappa(found: Accuracy, coded: Sequence[Judged], verdicts: Verdicts) -> Accuracy:
    pairs = [
        Paired(one.stratum, one.weight, (one.yes, one.place in verdicts.positive))
        for one in coded
        if one.place in verdicts.said
    ]
    agreed = kappa(pairs) if len(pairs) >= LEAST_PAIRED else None
    return replace(found, kappa=agreed.value, kappa_ci95=agreed.interval) if agreed else found


def _percent(shares: Mapping[str, Share | None]) -> dict[str, Any]:
    """By their names in the JSON."""
    told: dict[str, Any] = {}
    for name, share in shares.items():
        told[f"{name}_percentage"] = None if share is None else 100 * share.value
        told[f"{name}_ci95"] = None if share is None else hundredfold(share.limits)
    return told


def hundredfold(interval: Interval) -> Interval:
    return 100 * interval[0], 100 * interval[1]


def corrected_rate(
    frame: Frame, coded: Sequence[Judged], raw: Interval | None, agent: str | None = None
) -> CorrectedRate | None:
    """Of the batch, or of one agent; None where a group of its sides is not coded at all. `raw` is the interval, in
    percent, of the share that the instrument calls positive."""
    strata = {one.place: one.stratum for one in frame.candidates if agent in (None, frame.agents[one.place])}
    here = [one for one in coded if one.place in strata]
    sizes = Counter((stratum, stratum == POSITIVE) for stratum in strata.values())
    found = groups(here, sizes, lambda place: strata[place] == POSITIVE)
    if found is None or (agent is not None and len(here) < LEAST_OF_AN_AGENT):
        return None
    share = None if raw is None else corrected(found, (raw[0] / 100, raw[1] / 100))
    limits = None if share is None else hundredfold(share.limits)
    return CorrectedRate(len(here), 100 * found.called, raw, 100 * found.value, limits)
