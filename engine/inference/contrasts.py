"""The difference of two means under equal conditions, with one estimator for interval and test.

Conditions are strata. The two arms are compared within each stratum, and strata are weighted by their precision. Values are
independent (CR2 with Satterthwaite's degrees of freedom) or clustered. If an arm hardly varies, the rates of the arms are
compared instead, because its variance is not informative. Paired differences (the same problem, query or seed) use Student's
interval and test, or those of Bonett and Price if few differences are nonzero. Differences of whole runs have a verdict only
with enough seeds.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from statistics import fmean, stdev
from typing import Any, NamedTuple

from tidepool.engine.inference.distributions import normal_tail, student_tail
from tidepool.engine.inference.grouped import (
    Array,
    Grouped,
    counted,
    distinct_number,
    numbered,
    numpy,
    pair_codes,
    spread_of,
)
from tidepool.engine.inference.intervals import (
    LEVEL,
    UNIT,
    Interval,
    gap_interval,
    jackknife_variance,
    p_value_of,
    parts_of,
    quantile,
    rates_of,
    scaled,
)

FEW = 5
"""if fewer values than this differ from the commonest, they are too few for a variance"""
FEW_PAIRS = 20
"""below this number of differences of one size, Bonett and Price's two extra differences are added"""
FEWEST_TESTED = 10
"""games, scenarios or shared entities, problems or queries: with fewer there is an interval, but no test"""
RELIABLE_FROM = 24
"""of the same units: with fewer, coverage is too low if a few units differ much from the others"""
IN_EVERY_ONE = "no verdict: one entity is in every conversation"
"""so no conversation is left without it"""
_NOTHING = 1e-9


@dataclass(frozen=True, slots=True)
class Contrast:
    difference: float
    interval: Interval | None
    p_value: float | None
    """of no difference; None if there are too few clusters for a test"""
    method: str
    clusters: int
    """of the smaller arm, if there are two"""

    def as_json(self) -> dict[str, Any]:
        return {"difference": self.difference, "difference_ci95": scaled(self.interval), "p_value": self.p_value}


def student(
    method: str,
    clusters: int,
    difference: float,
    variance: float,
    freedom: float,
    *,
    tested: bool = True,
    middle: float | None = None,
) -> Contrast:
    """Student's interval and test. `middle` is set if the interval is not centred on the difference itself.

    If the variance is only rounding error, there is no interval, and only a difference of zero has a p-value.
    """
    middle = difference if middle is None else middle
    if freedom <= 0 or math.isnan(variance):
        return Contrast(difference, None, None, method, clusters)
    error = math.sqrt(variance)
    if error < _NOTHING:
        return Contrast(difference, None, 1.0 if tested and abs(middle) < _NOTHING else None, method, clusters)
    reach = quantile(freedom, LEVEL) * error
    p_value = 2 * (normal_tail if math.isinf(freedom) else partial(student_tail, freedom))(abs(middle) / error)
    return Contrast(difference, (middle - reach, middle + reach), p_value if tested else None, method, clusters)


def few_clusters(number: int, noun: str, reliable_from: int = RELIABLE_FROM, *, fewest: int = FEWEST_TESTED) -> str:
    """A warning if the clusters are too few to rely on; else empty. `fewest` clusters allow a test."""
    if number >= reliable_from:
        return ""
    narrow = f"below {reliable_from}, intervals can be too narrow"
    if number < fewest:
        return f"no verdict: {number:,} {noun}, a test needs {fewest} ({narrow})"
    return f"only {number:,} {noun}: {narrow}"


def over_members(values: Array, members: Array) -> Contrast:
    """The mean of values that share members, such as the entities of conversations. Uses the jackknife, which leaves out each
    member with all its values."""
    total, count, parts = float(values.sum()), len(values), parts_of(values, members)
    without = [(total - part) / (count - times) for part, times in parts if times < count]
    return jackknife(total / count, without, len(parts))


def jackknife(mean: float, without: Sequence[float], number: int) -> Contrast:
    """Jackknife of a mean over `number` units, from its values without each unit."""
    variance = jackknife_variance(without) if len(without) == number > 1 else math.nan
    return student("jackknife", number, mean, variance, number - 1, tested=number >= FEWEST_TESTED)


def of_mean(values: Sequence[float]) -> Contrast | None:
    """Student's interval and test of the mean of independent values, such as paired differences; None below two values."""
    if len(values) < 2:
        return None
    return student("t", len(values), fmean(values), stdev(values) ** 2 / len(values), len(values) - 1)


def interval_of_mean(values: Sequence[float], bounds: Interval = (-math.inf, math.inf)) -> Interval | None:
    """Student's interval, limited to the bounds of the scale."""
    ends = found.interval if (found := of_mean(values)) else None
    return ends and (max(bounds[0], ends[0]), min(bounds[1], ends[1]))


# -- two arms, stratum by stratum ------------------------------------------------------------------------------


def two_samples(
    first: Sequence[float], second: Sequence[float], clusterings: Sequence[Array] = (), bounds: Interval = UNIT
) -> Contrast | None:
    """First arm minus second, as one stratum. Cluster labels list the first arm's values, then the second's."""
    values = numpy.array([*first, *second])
    in_first = numpy.arange(len(values)) < len(first)
    return Arms(in_first, numpy.zeros(len(values), dtype=int), clusterings).contrast(values, bounds)


def _varied(values: Array, strata: Array) -> int:
    """How many values differ from the commonest value of their stratum."""
    distinct, value = numbered(values)
    cells, times = counted(strata * len(distinct) + value)
    most = numpy.zeros(int(strata.max()) + 1, dtype=int)
    numpy.maximum.at(most, cells // len(distinct), times)
    return int(len(values) - most.sum())


class Arms:
    """The arm and stratum of each row, shared by all values of the same rows. Without `clusterings` every value is a cluster
    of its own."""

    def __init__(self, first: Array, strata: Array, clusterings: Sequence[Array] = ()) -> None:
        _, strata = numbered(strata)
        times = numpy.bincount(strata)
        in_first = numpy.bincount(strata, first)
        self._shared = ((in_first > 0) & (in_first < times))[strata]
        if not self._shared.all():
            first, strata = first[self._shared], numbered(strata[self._shared])[1]
            clusterings = [labels[self._shared] for labels in clusterings]
        self.first, self.strata, self.clusterings = first, strata, clusterings
        self.times = numpy.bincount(strata)
        self.tilt = first - (numpy.bincount(strata, first) / numpy.maximum(self.times, 1))[strata]
        self.power = float((self.tilt**2).sum())

    def contrast(self, values: Array, bounds: Interval = UNIT) -> Contrast | None:
        """First arm minus second; None if no stratum has both arms."""
        values = values.astype(float)
        if not len(self.first):
            return None
        if not self._shared.all():
            values = values[self._shared]
        if min(_varied(values[rows], self.strata[rows]) for rows in (self.first, ~self.first)) < FEW:
            return _rate_against_rate(self, values, bounds)
        # least squares on arm and stratum: the arm's coefficient is the difference
        difference = float((self.tilt * values).sum()) / self.power
        inside = values - (numpy.bincount(self.strata, values) / self.times)[self.strata]
        rest = inside - difference * self.tilt
        if not self.clusterings:
            variance, freedom = _independent(self, rest)
            return student("CR2", len(values), difference, variance, freedom)
        variance, freedom = _clustered(self, rest)
        if math.sqrt(variance) < _NOTHING:
            return _rate_against_rate(self, values, bounds)
        fewest = min(distinct_number(way[rows]) for way in self.clusterings for rows in (self.first, ~self.first))
        freedom = freedom if fewest > 1 else 0.0
        return student("clusters", fewest, difference, variance, freedom, tested=fewest >= FEWEST_TESTED)

    @cached_property
    def kinds(self) -> tuple[Array, Array, Array, Array]:
        """Groups rows by arm and stratum, since these have the same influence: each row's kind, and the tilt, stratum and size
        of each kind."""
        codes, kind = numbered(pair_codes(self.strata, self.first.astype(int)))
        example = numpy.zeros(len(codes), dtype=int)
        example[kind] = numpy.arange(len(kind))
        return kind, self.tilt[example], self.strata[example], numpy.bincount(kind)


def _independent(arms: Arms, rest: Array) -> tuple[float, float]:
    """CR2 with every value as its own cluster. Satterthwaite's degrees of freedom are computed from kinds, not from values."""
    kind, tilt, stratum, number = arms.kinds
    leverage = 1 / arms.times[stratum] + tilt**2 / arms.power
    pull = tilt**2 / numpy.maximum(1 - leverage, 1e-9)
    variance = float((pull * numpy.bincount(kind, rest**2)).sum()) / arms.power**2
    same = stratum[:, None] == stratum[None, :]
    overlap = -(same / arms.times[stratum][:, None]) - tilt[:, None] * tilt[None, :] / arms.power
    shared = (numpy.sqrt(pull)[:, None] * numpy.sqrt(pull)[None, :] * overlap) ** 2
    pairs = number[:, None] * number[None, :] - numpy.diag(number)
    trace = float((number * pull * (1 - leverage)).sum())
    trace_squared = float((number * (pull * (1 - leverage)) ** 2).sum() + (shared * pairs).sum())
    return variance, trace**2 / trace_squared if trace_squared else 0.0


def _clustered(arms: Arms, rest: Array) -> tuple[float, float]:
    """Variance and degrees of freedom from the residual sums of clusters, each enlarged for the cluster's own leverage."""
    variances, freedom, clusters = [], [], []
    crossed = [pair_codes(*arms.clusterings)] if len(arms.clusterings) == 2 else []
    for labels in (*arms.clusterings, *crossed):
        _, cluster = numbered(labels)
        weight = numpy.bincount(cluster, arms.tilt**2) / arms.power
        free = numpy.maximum(1 - weight, 1e-9)
        sums = numpy.bincount(cluster, arms.tilt * rest)
        variances.append(float((sums**2 / free).sum()) / arms.power**2)
        adjusted = weight**2 / free
        weight_sum = float((weight**2).sum())
        freedom.append(1 / max(weight_sum, weight_sum + float(adjusted.sum() ** 2 - (adjusted**2).sum())))
        clusters.append(len(weight))
    if len(variances) == 1:
        return variances[0], freedom[0]
    first, second, both = variances
    return max(first + second - both, first, second), min(*freedom[:2], min(clusters[:2]) - 1)


def _rate_against_rate(arms: Arms, values: Array, bounds: Interval) -> Contrast:
    in_first, clusterings = numpy.bincount(arms.strata, arms.first), arms.clusterings
    in_second = arms.times - in_first
    pull = in_first * in_second / arms.times
    weights = numpy.where(arms.first, (pull / in_first)[arms.strata], (pull / in_second)[arms.strata])
    spread = Grouped((~arms.first).astype(int), 2, clusterings).spread(values, weights)
    first, second = rates_of(spread, bounds)
    assert first is not None and second is not None
    clusters = int(spread.clusters.min())
    tested, interval = not clusterings or clusters >= FEWEST_TESTED, gap_interval(first, second)
    p_value = p_value_of(partial(gap_interval, first, second)) if tested and interval else None
    return Contrast(first.mean - second.mean, interval, p_value, "MOVER", clusters)


# -- paired differences ------------------------------------------------------------------------------------------------


def matched(
    differences: Array, clusterings: Sequence[Array] = (), most: float = 1.0, order: Array | None = None
) -> Contrast | None:
    """The mean of differences that were each taken within one pair, such as the two sides of a conversation.

    `most` is the largest possible difference of two values. Without bounds the interval is always Student's. The groups of
    `order`, such as who opened, are weighted equally. Student's interval and test are used. If few values differ, Bonett and
    Price's are used instead, because the variance is too small to be informative. They add one difference of either sign, as
    large as the largest seen or half of what is possible. If no value differs, they add the largest possible difference.
    """
    if not len(differences):
        return None
    values, weights = differences.astype(float), None
    if order is not None:
        _, group = numbered(order.astype(int))
        weights = 1 / numpy.bincount(group)[group]
    spread = spread_of(values, clusterings, weights)
    mean, variance, clusters = float(spread.mean[0]), float(spread.variance[0]), int(spread.clusters[0])
    tested = not clusterings or clusters >= FEWEST_TESTED
    if len(clusterings) == 1:
        _, cluster = numbered(clusterings[0])
        values = numpy.bincount(cluster, values) / numpy.bincount(cluster)
    if clusters < 2 or len(clusterings) > 1 or math.isinf(most) or not _few_differ(values):
        return student("t", clusters, mean, variance, clusters - 1, tested=tested)
    largest = float(abs(values).max())
    size = max(0.0 if clusterings else most / 2, largest) if largest else most
    middle, total = mean * clusters / (clusters + 2), clusters + 2
    variance = ((float((values**2).sum()) + 2 * size**2) / total - middle**2) / total
    return student("Bonett–Price", clusters, mean, variance, math.inf, tested=tested, middle=middle)


def _few_differ(values: Array) -> bool:
    """Too few differ for a variance: most values are equal, or there are few values and all nonzero ones are the same."""
    varied = _varied(values, numpy.zeros(len(values), dtype=int))
    alike = len(numpy.unique(abs(values[values != 0]))) < 2
    return (varied < 2 * FEW and 2 * varied < len(values)) or (alike and len(values) < FEW_PAIRS)


TOO_FEW_PAIRS = "too few pairs for a verdict"


def of_pairs(differences: Array, fewest: int = FEWEST_TESTED) -> Contrast | None:
    """`matched`, with a test only if there are enough pairs for a verdict."""
    contrast = matched(differences)
    return contrast if contrast is None or contrast.clusters >= fewest else replace(contrast, p_value=None)


SEEDS_FOR_A_VERDICT = 8
"""fewer runs do not show how much runs vary"""
SIGNIFICANT = 0.05


def of_runs(differences: Sequence[float]) -> Contrast | None:
    """The difference between whole runs. With enough runs there is a test; with fewer, an interval and no verdict."""
    return of_pairs(numpy.array(differences), SEEDS_FOR_A_VERDICT)


class BoundedContrast(NamedTuple):
    """A contrast of the known values, and two with all unclear ones: the worst and the best case for the first arm."""

    known: Contrast
    lowest: Contrast
    highest: Contrast

    @property
    def p_value(self) -> float | None:
        """The largest p-value that unclear values allow; 1 if they could reverse the sign."""
        against = self.lowest if self.known.difference > 0 else self.highest
        if self.known.p_value is None:
            return None
        if against.p_value is None or against.difference * self.known.difference <= 0:
            return 1.0
        return max(self.known.p_value, against.p_value)

    def as_json(self) -> dict[str, Any]:
        bounds = [self.lowest.difference, self.highest.difference]
        return {**self.known.as_json(), "difference_bounds": bounds, "p_value_bounded": self.p_value}


def compared_in_words(p_value: float | None, difference: float) -> str:
    """ "better", "worse", or "not distinguishable"."""
    if p_value is None:
        return "no test"
    message = "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"
    if p_value >= SIGNIFICANT:
        return f"not distinguishable ({message})"
    return f"{'better' if difference > 0 else 'worse'} ({message})"


def reversible_in_words(bounds: Interval) -> str:
    """Takes the bounds of the difference of shares if all unclear replies count against it, and for it."""
    ends = " to ".join(f"{100 * end:+.1f}" for end in bounds)
    return f"no verdict, since unclear replies could reverse it ({ends} points)"


def seeds_in_words(number: int, difference: float, p_value: float | None) -> str:
    """A verdict from runs paired by seed; `p_value` may be corrected for several tests."""
    more = SEEDS_FOR_A_VERDICT - number
    if more <= 0:
        return compared_in_words(p_value, difference)
    return (
        f"no verdict from {number} seed{'s' * (number > 1)}: {more} more of each {'are' if more > 1 else 'is'} needed"
    )
