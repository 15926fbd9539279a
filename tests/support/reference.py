"""The statistics of a secret game by other means: scipy's distributions, one figure at a time.

Nothing of the engine is used here. Rows are those of an exported `outcomes.csv`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy
from scipy import stats

Row = Mapping[str, Any]
Key = Callable[[Row], Any]


def interval(rows: Sequence[Row], value: Key, ways: Sequence[Key], likeness: float = 0.0) -> list[float] | None:
    """In percent. `ways` are the clusters; if these are talks, fewer than ten are few."""
    values = numpy.array([float(value(row)) for row in rows])
    share = values.mean()
    clusters = [[way(row) for row in rows] for way in ways]
    number = [len(set(one)) for one in clusters]
    if ways == [TALK] and number[0] < 10:
        alike = 1 + (len(rows) / number[0] - 1) * likeness
        return _ends(share, len(rows) / alike, stats.norm.ppf(0.975))
    if min(number) < 2:
        return None
    variance = _variance(values, clusters[0])
    if len(clusters) == 2:
        second, both = _variance(values, clusters[1]), _variance(values, list(zip(*clusters, strict=True)))
        variance = max(variance + second - both, variance, second)
    if share in (0.0, 1.0):
        effective = float(min(number))
    else:
        effective = min(10 * len(rows), share * (1 - share) / variance) if variance > 1e-24 else len(rows)
        rare = values.sum() * 2 < len(values)
        held = min(len({c for c, v in zip(one, values, strict=True) if bool(v) == rare}) for one in clusters)
        if held < min(10, *number):
            effective = min(effective, min(number) * held)
    return _ends(share, effective, stats.t.ppf(0.975, min(number) - 1))


TALK: Key = lambda row: row["conversation_id"]  # noqa: E731


def _ends(share: float, trials: float, z: float) -> list[float]:
    whole = 1 + z * z / trials
    centre = (share + z * z / (2 * trials)) / whole
    reach = z / whole * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials**2))
    low, high = (0.0 if share == 0 else centre - reach), (1.0 if share == 1 else centre + reach)
    return [100 * low, 100 * high]


def _variance(values: numpy.ndarray, clusters: Sequence[Any]) -> float:
    own = list(dict.fromkeys(clusters))
    rest = (values - values.mean()) / len(values)
    sums = [sum(one for one, label in zip(rest, clusters, strict=True) if label == cluster) for cluster in own]
    return float(sum(one**2 for one in sums)) * len(own) / (len(own) - 1)


def likeness(rows: Sequence[Row]) -> float:
    """How alike the two sides of a talk are beyond their agents' own rates."""
    mean = {
        agent: numpy.mean([r["revealed"] for r in rows if r["agent"] == agent]) for agent in {r["agent"] for r in rows}
    }
    rest = [row["revealed"] - mean[row["agent"]] for row in rows]
    whole = sum(one**2 for one in rest)
    return max(0.0, 2 * sum(a * b for a, b in zip(rest[::2], rest[1::2], strict=True)) / whole) if whole else 0.0
