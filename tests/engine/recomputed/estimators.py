"""Estimators as docs/statistics.md describes them, by scipy and statsmodels. Nothing of the engine is used here."""

import math
from collections.abc import Callable, Sequence
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
FEW_TALKS = 10  # in a group: their spread is that of all conversations
FEW_VARIED = 10  # clusters with a value off the commonest: they limit the effective number
FEW_EVENTS = 3.5  # effective events: the nearer end is Poisson's
MOST_EFFECTIVE = 10  # effective values for each real one
FEW_IN_AN_ARM = 5
FEWEST_FOR_DRIFT = 40


def correct(rows: list[dict[str, Any]], name: str = "p_value_holm", *, untested: float | None = None) -> None:
    """Holm's correction of all rows; those without a test are left out, or count as `untested`."""
    known = [row for row in rows if row["p_value"] is not None or untested is not None]
    values = [untested if row["p_value"] is None else row["p_value"] for row in known]
    corrected = dict(
        zip(map(id, known), multipletests(values, method="holm")[1].tolist() if known else [], strict=True)
    )
    for row in rows:
        row[name] = None if row["p_value"] is None else corrected[id(row)]


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
    also: pandas.Series | None = None,
) -> Rate | None:
    """With `likeness` the clusters are conversations: that of their two sides, which counts where they are few. `also` are
    clusters of a second way."""
    if values.empty:
        return None
    ways = [clusters] if also is None else [clusters, also]
    number, count = min(way.nunique() for way in ways), len(values)
    mean = float(numpy.average(values, weights=weights))
    if likeness is not None and number < FEW_TALKS:
        return Rate(mean, count / (1 + (count / number - 1) * likeness), math.inf, bounds)
    if number < 2:
        return Rate(mean, count, 0, bounds)
    variances = [cluster_variance(values, way, weights) for way in ways]
    if also is not None:
        both = clusters.astype(str) + " " + also.astype(str)
        variances.append(sum(variances) - cluster_variance(values, both, weights))
    effective = effective_number(mean, max(variances), number, count, bounds)
    varied = min(way[values != values.mode().iloc[-1]].nunique() for way in ways)
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

    def row(self, scale: float = 1.0, most: float = math.inf) -> dict[str, Any]:
        """Of a report; an interval ends where differences do, which are `most` at most."""
        limit = max(most, abs(self.difference))
        return {
            "difference": scale * self.difference,
            "difference_ci95": self.interval and [scale * min(limit, max(-limit, end)) for end in self.interval],
            "p_value": self.p_value,
            "method": self.method,
        }


def student(
    values: tuple[float, float], freedom: float, unit: str, clusters: int, method: str, middle: float | None = None
) -> Contrast:
    """From a difference and its variance; `middle` where the interval is not around the difference."""
    difference, variance = values
    centre = difference if middle is None else middle
    error, may_test = math.sqrt(variance), clusters >= FEWEST[unit]
    if freedom <= 0:
        return Contrast(difference, None, None, method, clusters)
    if error < 1e-9:
        return Contrast(difference, None, 1.0 if may_test and abs(centre) < 1e-9 else None, method, clusters)
    distribution = stats.norm if math.isinf(freedom) else stats.t(freedom)
    reach = distribution.ppf((1 + LEVEL) / 2) * error
    p_value = float(2 * distribution.sf(abs(centre) / error)) if may_test else None
    return Contrast(difference, (centre - reach, centre + reach), p_value, method, clusters)


def mean_interval(values: Sequence[float] | numpy.ndarray, bounds: Interval) -> Interval | None:
    """Student's, of independent values, within the ends of their scale."""
    if len(values) < 2 or numpy.std(values) < 1e-9:
        return None
    ends = stats.ttest_1samp(values, 0.0).confidence_interval(LEVEL)
    return max(bounds[0], float(ends.low)), min(bounds[1], float(ends.high))


def paired(
    differences: pandas.Series,
    unit: str = "talks",
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


def stratified(rows: pandas.DataFrame, unit: str, bounds: Interval = UNIT) -> Contrast | None:
    """First arm less second by least squares on arm and stratum, in strata that have both. A row has a `value`, whether it is of
    the `first` arm, a `stratum` and a `cluster`."""
    rows = rows[rows.groupby("stratum")["first"].transform("nunique") == 2]
    if rows.empty:
        return None
    rare = min(
        sum(len(own) - int(own.value_counts().iloc[0]) for _, own in arm.groupby("stratum")["value"])
        for _, arm in rows.groupby("first")
    )
    if rare >= FEW_IN_AN_ARM:
        values, first = rows["value"].to_numpy(float), rows["first"].to_numpy(float)
        design = numpy.column_stack([first, pandas.get_dummies(rows["stratum"]).to_numpy(float)])
        if unit == "talks":
            return student(*_single_rows(values, design), unit, len(rows), "CR2")
        moments, freedom = _by_cluster(values, design, rows["cluster"])
        if moments[1] >= 1e-18:
            number = int(rows.groupby("first")["cluster"].nunique().min())
            return student(moments, freedom if number > 1 else 0.0, unit, number, "clusters")
    return _arms_joined(rows, unit, bounds)


def _single_rows(values: numpy.ndarray, design: numpy.ndarray) -> tuple[Interval, float]:
    """HC2, which is CR2 where each row is a cluster, with Satterthwaite's degrees of freedom (Bell and McCaffrey)."""
    fit = OLS(values, design).fit(cov_type="HC2")
    inverse = numpy.linalg.inv(design.T @ design)
    hat = design @ inverse @ design.T
    pull = (inverse @ design.T)[0] / numpy.sqrt(1 - numpy.diag(hat))
    spread = (numpy.eye(len(values)) - hat) * pull
    gram = spread.T @ spread
    freedom = float(numpy.trace(gram) ** 2 / (gram**2).sum())
    return (float(fit.params[0]), float(fit.cov_params()[0, 0])), freedom


def _by_cluster(values: numpy.ndarray, design: numpy.ndarray, clusters: pandas.Series) -> tuple[Interval, float]:
    """Sums of what is left, cluster by cluster, each enlarged by what the cluster weighs itself."""
    tilt = OLS(design[:, 0], design[:, 1:]).fit().resid
    fit = OLS(values, design).fit()
    table = pandas.DataFrame({"weight": tilt**2, "sum": tilt * fit.resid}).groupby(clusters.to_numpy()).sum()
    power = table["weight"].sum()
    weight = table["weight"] / power
    variance = float((table["sum"] ** 2 / (1 - weight)).sum() / power**2)
    adjusted, squares = weight**2 / (1 - weight), float((weight**2).sum())
    freedom = 1 / max(squares, squares + float(adjusted.sum() ** 2 - (adjusted**2).sum()))
    return (float(fit.params[0]), variance), freedom


def _arms_joined(rows: pandas.DataFrame, unit: str, bounds: Interval) -> Contrast:
    """The arms' own rates, over strata as least squares weighs them, and their intervals joined (MOVER)."""
    sizes = rows.groupby(["stratum", "first"])["value"].transform("size")
    others = rows.groupby("stratum")["value"].transform("size") - sizes
    weights = others / (sizes + others)
    arms = [rows[rows["first"]], rows[~rows["first"]]]
    first, second = (rate(own["value"], own["cluster"], bounds, weights[own.index]) for own in arms)
    assert first and second
    joined, number = mover(first, second), min(own["cluster"].nunique() for own in arms)
    p_value = inverted(joined) if number >= FEWEST[unit] and joined(LEVEL) else None
    return Contrast(first.mean - second.mean, joined(LEVEL), p_value, "MOVER", number)


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


def over_the_run(values: pandas.Series, bounds: Interval, scale: float = 1.0) -> dict[str, Any] | None:
    """Of values in the order of the plan: the means of its quarters, and whether values go with their place."""
    if len(values) < FEWEST_FOR_DRIFT:
        return None
    found = stats.pearsonr(range(len(values)), values)
    quarters = [
        {
            "units": len(part),
            "mean": scale * float(part.mean()),
            "ci95": [scale * end for end in mean_interval(part, bounds) or ()],
        }
        for part in numpy.array_split(values.to_numpy(float), 4)
    ]
    return {"quarters": quarters, "correlation": float(found.statistic), "p_value": float(found.pvalue)}
