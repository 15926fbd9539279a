"""The statistics of a secret game by other means: whole matrices, scipy's distributions, one figure at a time.

Nothing of the engine is used here. Rows are those of an exported `outcomes.csv`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy
from scipy import stats

Row = Mapping[str, Any]
Key = Callable[[Row], Any]

SEAT: Key = lambda row: (row["agent"], row["opponent"], row["opener"])  # noqa: E731
DIRECTION: Key = lambda row: (row["agent"], row["opponent"])  # noqa: E731
AGENT: Key = lambda row: row["agent"]  # noqa: E731
PAIR: Key = lambda row: tuple(sorted((row["agent"], row["opponent"])))  # noqa: E731


def interval(
    rows: Sequence[Row],
    value: Key,
    ways: Sequence[Key],
    levels: Sequence[Key],
    likeness: float = 0.0,
    missing: float = 0.0,
) -> list[float] | None:
    """In percent; `missing` is the share of the talks that failed. `ways` are what rows hang together by; talks, where they are the way, are few below ten."""
    values = numpy.array([float(value(row)) for row in rows])
    share = values.mean()
    clusters = [[way(row) for row in rows] for way in ways]
    number = [len(set(one)) for one in clusters]
    if ways == [TALK] and number[0] < 10:
        alike = 1 + (len(rows) / number[0] - 1) * likeness
        return _ends(share, len(rows) / alike, stats.norm.ppf(0.975))
    if min(number) < 2:
        return None
    variance, freedom = _spread(rows, values, clusters, levels)
    variance += missing * max(0.0, _spread(rows, values, clusters, [])[0] - variance)
    if share in (0.0, 1.0):
        effective = float(min(number))
    else:
        effective = min(10 * len(rows), share * (1 - share) / variance) if variance > 1e-24 else len(rows)
        rare = values.sum() * 2 < len(values)
        held = min(len({c for c, v in zip(one, values, strict=True) if bool(v) == rare}) for one in clusters)
        if held < min(10, *number):
            effective = min(effective, min(number) * held)
    return _ends(share, effective, stats.t.ppf(0.975, freedom))


TALK: Key = lambda row: row["conversation_id"]  # noqa: E731


def _ends(share: float, trials: float, z: float) -> list[float]:
    whole = 1 + z * z / trials
    centre = (share + z * z / (2 * trials)) / whole
    reach = z / whole * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials**2))
    low, high = (0.0 if share == 0 else centre - reach), (1.0 if share == 1 else centre + reach)
    for events, of_none in ((share * trials, True), ((1 - share) * trials, False)):
        if 0 < events <= 3.5 and min(share, 1 - share) > 0:
            limit = stats.gamma.ppf(0.05, events) / trials
            low, high = (min(low, limit), high) if of_none else (low, max(high, 1 - limit))
    return [100 * low, 100 * high]


def _spread(
    rows: Sequence[Row], values: numpy.ndarray, clusters: Sequence[Sequence[Any]], levels: Sequence[Key]
) -> tuple[float, float]:
    for level in (*levels, None):
        strata = [level(row) if level else 0 for row in rows]
        ways = [*clusters, list(zip(*clusters, strict=True))] if len(clusters) == 2 else clusters
        found = [_one_way(values, way, strata, plain=level is None) for way in ways]
        if level is None or all(
            2 * (len(set(way)) - left) <= len(set(way)) + 1e-9 for way, (_, left) in zip(ways, found, strict=True)
        ):
            break
    if len(clusters) == 1:
        return found[0]
    (first, one), (second, other), (both, _) = found
    return max(first + second - both, first, second), min(one, other)


def _one_way(
    values: numpy.ndarray, clusters: Sequence[Any], strata: Sequence[Any], *, plain: bool
) -> tuple[float, float]:
    own, parts = list(dict.fromkeys(clusters)), list(dict.fromkeys(strata))
    makeup = numpy.zeros((len(own), len(parts)))
    place, part = {c: i for i, c in enumerate(own)}, {s: i for i, s in enumerate(parts)}
    for cluster, stratum in zip(clusters, strata, strict=True):
        makeup[place[cluster], part[stratum]] += 1 / len(values)
    means = [values[[s == stratum for s in strata]].mean() for stratum in parts]
    sums = numpy.zeros(len(own))
    for value, cluster, stratum in zip(values, clusters, strata, strict=True):
        sums[place[cluster]] += (value - means[part[stratum]]) / len(values)
    if plain:
        return float((sums**2).sum()) * len(own) / (len(own) - 1), len(own) - 1
    size = numpy.diag(makeup.sum(axis=1))
    left = size - makeup @ numpy.diag(1 / makeup.sum(axis=0)) @ makeup.T
    factor = numpy.trace(size @ size) / numpy.trace(left @ left) if numpy.trace(left @ left) > 1e-18 else math.inf
    return float((sums**2).sum()) * factor, len(own) / factor


def likeness(rows: Sequence[Row]) -> float:
    """How alike the two sides of a talk are beyond their agents' own rates."""
    mean = {
        agent: numpy.mean([r["revealed"] for r in rows if r["agent"] == agent]) for agent in {r["agent"] for r in rows}
    }
    rest = [row["revealed"] - mean[row["agent"]] for row in rows]
    whole = sum(one**2 for one in rest)
    return max(0.0, 2 * sum(a * b for a, b in zip(rest[::2], rest[1::2], strict=True)) / whole) if whole else 0.0
