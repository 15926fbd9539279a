"""Estimators as docs/statistics.md describes them, by scipy and statsmodels. Nothing of the engine is used here."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy
import pandas
from scipy import optimize, special, stats
from statsmodels.api import OLS, WLS
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

Interval = tuple[float, float]
LEVEL = 0.95
UNIT = (0.0, 1.0)

# -- thresholds --------------------------------------------------------------------------------------------------------

FEWEST = {"talks": 2, "games": 10, "scenarios": 10, "entities": 10, "combinations": 10, "pairs": 10}
"""clusters that a p-value takes"""
FEW_TALKS = 10
"""fewer conversations in a group take their spread from all of them"""
FEW_VARIED = 10
"""fewer clusters with a value off the commonest limit the effective number"""
FEW_EVENTS = 3.5
"""effective events for which the nearer end is Poisson's"""
MOST_EFFECTIVE = 10
"""effective values for each real one, at most"""
FEW_IN_AN_ARM = 5


def tested(unit: str, clusters: int) -> bool:
    return clusters >= FEWEST[unit]


def holm(p_values: Iterable[float | None]) -> list[float | None]:
    """Over those that were tested."""
    listed = list(p_values)
    known = [value for value in listed if value is not None]
    corrected = iter(multipletests(known, method="holm")[1].tolist() if known else [])
    return [None if value is None else next(corrected) for value in listed]


# -- rates of values that come in clusters -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Rate:
    mean: float
    effective: float
    freedom: float
    bounds: Interval = UNIT

    def interval(self, level: float = LEVEL) -> Interval | None:
        low, high = self.bounds
        if not self.freedom:
            return None
        share, chance = (self.mean - low) / (high - low), (1 - level) / 2
        reach = stats.norm.isf(chance) if math.isinf(self.freedom) else stats.t.isf(chance, self.freedom)
        ends = proportion_confint(
            share * self.effective, self.effective, alpha=2 * stats.norm.sf(reach), method="wilson"
        )
        first = min(ends[0], self._poisson_end(share, 1 - level))
        last = max(ends[1], 1 - self._poisson_end(1 - share, 1 - level))
        return low + (high - low) * first, low + (high - low) * last

    def _poisson_end(self, share: float, chance: float) -> float:
        events = share * self.effective
        return special.gammaincinv(events, chance) / self.effective if 1e-12 < events <= FEW_EVENTS else 1.0


def rate(
    values: pandas.Series,
    clusters: pandas.Series,
    bounds: Interval = UNIT,
    weights: pandas.Series | None = None,
    likeness: float | None = None,
) -> Rate | None:
    """With `likeness` the clusters are conversations: that of their two sides, which counts where they are few."""
    if values.empty:
        return None
    number, count, mean = clusters.nunique(), len(values), float(numpy.average(values, weights=weights))
    if likeness is not None and number < FEW_TALKS:
        return Rate(mean, count / (1 + (count / number - 1) * likeness), math.inf, bounds)
    if number < 2:
        return Rate(mean, count, 0, bounds)
    variance = cluster_variance(values, clusters, weights)
    effective = effective_number(mean, variance, number, count, bounds)
    varied = clusters[values != values.mode().iloc[-1]].nunique()
    if varied < min(FEW_VARIED, number):
        effective = min(effective, number * max(1, varied))
    return Rate(mean, effective, number - 1, bounds)


def effective_number(mean: float, variance: float, clusters: int, count: int, bounds: Interval) -> float:
    low, high = bounds
    share, spread = (mean - low) / (high - low), variance / (high - low) ** 2
    if min(share, 1 - share) < 1e-12:
        return clusters
    return min(MOST_EFFECTIVE * count, share * (1 - share) / spread) if spread > 1e-24 else count


def cluster_variance(values: pandas.Series, clusters: pandas.Series, weights: pandas.Series | None = None) -> float:
    """Of a mean: statsmodels' cluster-robust variance of a regression on nothing but a constant."""
    groups = pandas.factorize(clusters)[0]
    model = WLS(values.to_numpy(float), numpy.ones(len(values)), 1.0 if weights is None else weights.to_numpy(float))
    return float(model.fit(cov_type="cluster", cov_kwds={"groups": groups}).cov_params()[0, 0])


def likeness(values: pandas.Series, owner: pandas.Series, talk: pandas.Series) -> float:
    """How alike the two sides of a conversation are, beyond the means of their owners."""
    rest = values - values.groupby(owner).transform("mean")
    total = float((rest**2).sum())
    products = rest.groupby(talk).prod()
    return min(1.0, max(0.0, 2 * float(products.sum()) / total)) if total else 0.0


# -- contrasts ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Contrast:
    difference: float
    interval: Interval | None
    p_value: float | None
    method: str
    clusters: int


def student(
    values: tuple[float, float], freedom: float, unit: str, clusters: int, method: str, middle: float | None = None
) -> Contrast:
    """From a difference and its variance; `middle` where the interval is not around the difference."""
    difference, variance = values
    centre = difference if middle is None else middle
    error, may_test = math.sqrt(variance), tested(unit, clusters)
    if freedom <= 0:
        return Contrast(difference, None, None, method, clusters)
    if error < 1e-9:
        return Contrast(difference, None, 1.0 if may_test and abs(centre) < 1e-9 else None, method, clusters)
    distribution = stats.norm if math.isinf(freedom) else stats.t(freedom)
    reach = distribution.ppf((1 + LEVEL) / 2) * error
    p_value = float(2 * distribution.sf(abs(centre) / error)) if may_test else None
    return Contrast(difference, (centre - reach, centre + reach), p_value, method, clusters)


def mean_of(values: Sequence[float] | numpy.ndarray, unit: str) -> Contrast | None:
    """Student's, of independent values."""
    number = len(values)
    if number < 2:
        return None
    moments = float(numpy.mean(values)), float(numpy.var(values, ddof=1)) / number
    return student(moments, number - 1, unit, number, "t")


def paired(
    differences: pandas.Series,
    unit: str,
    clusters: pandas.Series | None = None,
    most: float = 1.0,
    order: pandas.Series | None = None,
) -> Contrast | None:
    """Differences that were each taken within one pair. Without `clusters` pairs are independent; `most` is how far apart two
    values can be; the groups of `order` count alike."""
    if differences.empty:
        return None
    labels = pandas.Series(range(len(differences)), index=differences.index) if clusters is None else clusters
    weights = None if order is None else 1 / order.groupby(order).transform("size")
    number, mean = labels.nunique(), float(numpy.average(differences, weights=weights))
    by_cluster = differences.groupby(labels).mean()
    if number >= 2 and few_differ(by_cluster):
        return bonett_price(by_cluster, mean, unit, 0.0 if clusters is not None else most / 2, most)
    variance = cluster_variance(differences, labels, weights) if number >= 2 else 0.0
    return student((mean, variance), number - 1, unit, number, "t")


def few_differ(values: pandas.Series) -> bool:
    varied = len(values) - int(values.value_counts().iloc[0])
    alike = values[values != 0].abs().nunique() < 2
    return (varied < 10 and 2 * varied < len(values)) or (alike and len(values) < 20)


def bonett_price(values: pandas.Series, mean: float, unit: str, least: float, most: float) -> Contrast:
    """One more of either sign, as far apart as any was, or half of what is possible."""
    largest = float(values.abs().max())
    size = max(least, largest) if largest else most
    total = len(values) + 2
    middle = mean * len(values) / total
    variance = ((float((values**2).sum()) + 2 * size**2) / total - middle**2) / total
    return student((mean, variance), math.inf, unit, len(values), "Bonett–Price", middle)


def stratified(
    values: pandas.Series,
    first: pandas.Series,
    strata: pandas.Series,
    unit: str,
    clusters: pandas.Series | None = None,
    bounds: Interval = UNIT,
) -> Contrast | None:
    """First arm less second by least squares on arm and stratum, in strata that have both."""
    shared = first.groupby(strata).transform("nunique") == 2
    values, first, strata = values[shared], first[shared], strata[shared]
    if values.empty:
        return None
    labels = pandas.Series(range(len(values)), index=values.index) if clusters is None else clusters[shared]
    if min(_off_commonest(values[arm], strata[arm]) for arm in (first, ~first)) < FEW_IN_AN_ARM:
        return _arms_joined(values, first, strata, labels, unit, bounds)
    dummies = pandas.get_dummies(strata).to_numpy(float)
    if clusters is None:
        moments, freedom = _single_rows(values.to_numpy(float), first.to_numpy(float), dummies)
        return student(moments, freedom, unit, len(values), "CR2")
    moments, freedom = _by_cluster(values.to_numpy(float), first.to_numpy(float), dummies, labels)
    if math.sqrt(moments[1]) < 1e-9:
        return _arms_joined(values, first, strata, labels, unit, bounds)
    return student(moments, freedom, unit, labels.nunique(), "clusters")


def _off_commonest(values: pandas.Series, strata: pandas.Series) -> int:
    return sum(len(own) - int(own.value_counts().iloc[0]) for _, own in values.groupby(strata))


def _single_rows(values: numpy.ndarray, first: numpy.ndarray, dummies: numpy.ndarray) -> tuple[Interval, float]:
    """HC2, which is CR2 where each row is a cluster, with Satterthwaite's degrees of freedom (Bell and McCaffrey)."""
    design = numpy.column_stack([first, dummies])
    fit = OLS(values, design).fit(cov_type="HC2")
    inverse = numpy.linalg.inv(design.T @ design)
    hat = design @ inverse @ design.T
    pull = (inverse @ design.T)[0] / numpy.sqrt(1 - numpy.diag(hat))
    spread = (numpy.eye(len(values)) - hat) * pull
    gram = spread.T @ spread
    freedom = float(numpy.trace(gram) ** 2 / (gram**2).sum())
    return (float(fit.params[0]), float(fit.cov_params()[0, 0])), freedom


def _by_cluster(
    values: numpy.ndarray, first: numpy.ndarray, dummies: numpy.ndarray, clusters: pandas.Series
) -> tuple[Interval, float]:
    """Sums of what is left, cluster by cluster, each enlarged by what the cluster weighs itself."""
    tilt = OLS(first, dummies).fit().resid
    fit = OLS(values, numpy.column_stack([first, dummies])).fit()
    table = pandas.DataFrame({"weight": tilt**2, "sum": tilt * fit.resid}).groupby(clusters.to_numpy()).sum()
    power = table["weight"].sum()
    weight = table["weight"] / power
    variance = float((table["sum"] ** 2 / (1 - weight)).sum() / power**2)
    adjusted, squares = weight**2 / (1 - weight), float((weight**2).sum())
    freedom = 1 / max(squares, squares + float(adjusted.sum() ** 2 - (adjusted**2).sum()))
    return (float(fit.params[0]), variance), freedom


def _arms_joined(
    values: pandas.Series,
    first: pandas.Series,
    strata: pandas.Series,
    clusters: pandas.Series,
    unit: str,
    bounds: Interval,
) -> Contrast:
    """The arms' own rates, over strata as least squares weighs them, and their intervals joined (MOVER)."""
    sizes = pandas.DataFrame({"first": first, "second": ~first}).groupby(strata).transform("sum")
    pull = sizes["first"] * sizes["second"] / (sizes["first"] + sizes["second"])
    weights = pull / sizes["first"].where(first, sizes["second"])
    arms = [rate(values[arm], clusters[arm], bounds, weights[arm]) for arm in (first, ~first)]
    number = min(clusters[arm].nunique() for arm in (first, ~first))
    assert arms[0] is not None and arms[1] is not None
    joined = mover(arms[0], arms[1])
    p_value = inverted(joined) if tested(unit, number) and joined(LEVEL) else None
    return Contrast(arms[0].mean - arms[1].mean, joined(LEVEL), p_value, "MOVER", number)


def mover(first: Rate, second: Rate) -> Callable[[float], Interval | None]:
    """By level."""

    def interval(level: float) -> Interval | None:
        ours, theirs = first.interval(level), second.interval(level)
        if ours is None or theirs is None:
            return None
        gap = first.mean - second.mean
        below = math.hypot(first.mean - ours[0], theirs[1] - second.mean)
        return gap - below, gap + math.hypot(ours[1] - first.mean, second.mean - theirs[0])

    return interval


def inverted(interval: Callable[[float], Any]) -> float:
    """The p-value of no difference: one less the level at which the interval just touches zero."""
    low, high = interval(0.0)
    if abs(low + high) < 1e-15:
        return 1.0

    def nearer_end(log_p: float) -> float:
        low_end, high_end = interval(1 - math.exp(log_p))
        return float(low_end if low + high > 0 else -high_end)

    if nearer_end(math.log(1e-12)) >= 0:
        return 1e-12
    return math.exp(optimize.brentq(nearer_end, math.log(1e-12), 0.0, xtol=1e-14))


# -- the jackknife -----------------------------------------------------------------------------------------------------


def jackknife_variance(without: Sequence[float]) -> float:
    return (len(without) - 1) * float(numpy.var(without))


def jackknife(mean: float, without: Sequence[float], count: int, bounds: Interval) -> Interval | None:
    """From the estimate and the estimates without each unit: Wilson's on a scale with two ends, else Student's."""
    number = len(without)
    if number < 2:
        return None
    variance = jackknife_variance(without)
    if all(map(math.isfinite, bounds)):
        return Rate(mean, effective_number(mean, variance, number, count, bounds), number - 1, bounds).interval()
    reach = stats.t.ppf((1 + LEVEL) / 2, number - 1) * math.sqrt(variance)
    return max(bounds[0], mean - reach), min(bounds[1], mean + reach)


# -- drift -------------------------------------------------------------------------------------------------------------

FEWEST_FOR_DRIFT = 40


def over_the_run(values: pandas.Series, bounds: Interval, scale: float = 1.0) -> dict[str, Any] | None:
    """Of values in the order of the plan: the means of its quarters, and whether values go with their place."""
    if len(values) < FEWEST_FOR_DRIFT:
        return None
    found = stats.pearsonr(range(len(values)), values)
    quarters = []
    for part in numpy.array_split(values.to_numpy(float), 4):
        own = mean_of(part, "talks")
        assert own is not None and own.interval is not None
        ends = max(bounds[0], own.interval[0]), min(bounds[1], own.interval[1])
        quarters.append({"units": len(part), "mean": scale * own.difference, "ci95": [scale * end for end in ends]})
    return {"quarters": quarters, "correlation": float(found.statistic), "p_value": float(found.pvalue)}
