"""How well people agree who coded the same sides, weighted back to the batch.

Cohen's kappa for two coders, Krippendorff's alpha over all of them; both are 1 − observed ÷ expected disagreement. Codes
either agree or not; ratings disagree by the square of their difference.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import product
from typing import NamedTuple, TypeVar

from tidepool.engine.coding.estimates import wilson
from tidepool.engine.statistics.intervals import Interval

LEAST_PAIRED = 10
"""sides coded by two from which on their kappa is told: of fewer it says nothing"""

Code = TypeVar("Code", bound=Hashable)
Disagreement = Callable[[Code, Code], float]


def otherwise(one: object, other: object) -> float:
    return float(one != other)


def squared(one: float, other: float) -> float:
    return (one - other) ** 2


class Paired(NamedTuple):
    """What two coders said of one side."""

    stratum: str
    weight: float
    codes: tuple[Hashable, Hashable]


class Kappa(NamedTuple):
    value: float
    interval: Interval


def kappa(pairs: Sequence[Paired], disagreement: Callable[..., float] = otherwise) -> Kappa | None:
    """None where chance alone would make them agree: both said the same of everything.

    The interval joins Wilson's limits of the disagreement in each stratum by MOVER, stretched where the expected disagreement
    varies with it (the delta method's error of kappa over that of the disagreement alone); never narrower than without.
    """
    strata = _tables(pairs)
    worst = max((disagreement(a, b) for _, table in strata for a, b in _crossed(table)), default=0.0)
    if not worst:  # they agree in every stratum, yet perhaps on one code here and on another there
        worst = max((disagreement(*codes) for codes in product(*(_said(pairs, side) for side in (0, 1)))), default=0.0)
    if not worst:
        return None
    far = {(a, b): disagreement(a, b) / worst for _, table in strata for a, b in _crossed(table)}
    joint: defaultdict[tuple[Hashable, Hashable], float] = defaultdict(float)
    for weight, table in strata:
        for codes, share in table.shares.items():
            joint[codes] += weight * share
    first, second = _margin(joint, 0), _margin(joint, 1)
    far |= {(a, b): disagreement(a, b) / worst for a in first for b in second}
    observed = sum(share * far[codes] for codes, share in joint.items())
    to_second = {a: sum(far[a, b] * share for b, share in second.items()) for a in first}
    to_first = {b: sum(far[a, b] * share for a, share in first.items()) for b in second}
    expected = sum(share * to_second[a] for a, share in first.items())
    if expected <= 0:
        return None

    def influence(codes: tuple[Hashable, Hashable]) -> float:
        moved = to_second[codes[0]] + to_first[codes[1]] - 2 * expected
        return far[codes] - observed - observed / expected * moved

    below, above = _limits(strata, far, influence)
    low, high = 1 - (observed + above) / expected, 1 - (observed - below) / expected
    return Kappa(1 - observed / expected, (max(-1.0, low), min(1.0, high)))


def _said(pairs: Iterable[Paired], side: int) -> set[Hashable]:
    return {pair.codes[side] for pair in pairs}


class _Table(NamedTuple):
    shares: Mapping[tuple[Hashable, Hashable], float]
    trials: float


def _tables(pairs: Sequence[Paired]) -> list[tuple[float, _Table]]:
    """For each stratum its share of the batch, and how often two codes met in it."""
    weights: defaultdict[str, defaultdict[tuple[Hashable, Hashable], float]] = defaultdict(lambda: defaultdict(float))
    squares: defaultdict[str, float] = defaultdict(float)
    for pair in pairs:
        weights[pair.stratum][pair.codes] += pair.weight
        squares[pair.stratum] += pair.weight**2
    total = sum(pair.weight for pair in pairs)
    found = []
    for name, codes in weights.items():
        here = sum(codes.values())
        shares = {both: weight / here for both, weight in codes.items()}
        found.append((here / total, _Table(shares, here * here / squares[name])))
    return found


def _crossed(table: _Table) -> Iterable[tuple[Hashable, Hashable]]:
    return [(a, b) for a in _margin(table.shares, 0) for b in _margin(table.shares, 1)]


def _margin(joint: Mapping[tuple[Hashable, Hashable], float], side: int) -> dict[Hashable, float]:
    found: defaultdict[Hashable, float] = defaultdict(float)
    for codes, share in joint.items():
        found[codes[side]] += share
    return found


def _limits(
    strata: Sequence[tuple[float, _Table]],
    far: Mapping[tuple[Hashable, Hashable], float],
    influence: Callable[[tuple[Hashable, Hashable]], float],
) -> Interval:
    """Distances of the observed disagreement from its limits."""
    below = above = alone = together = 0.0
    for weight, table in strata:
        mean, spread = _spread({codes: far[codes] for codes in table.shares}, table.shares)
        _, moved = _spread({codes: influence(codes) for codes in table.shares}, table.shares)
        # A mean between 0 and 1 that varies less than a share does is worth more trials.
        trials = table.trials * (mean * (1 - mean) / spread if spread > 1e-12 else 1.0)
        low, high = wilson(mean, trials)
        below += (weight * (mean - low)) ** 2
        above += (weight * (high - mean)) ** 2
        alone += weight**2 * spread / table.trials
        together += weight**2 * moved / table.trials
    stretch = max(1.0, math.sqrt(together / alone)) if alone else 1.0
    return stretch * math.sqrt(below), stretch * math.sqrt(above)


def _spread(values: Mapping[Code, float], shares: Mapping[Code, float]) -> Interval:
    mean = sum(share * values[code] for code, share in shares.items())
    return mean, max(0.0, sum(share * (values[code] - mean) ** 2 for code, share in shares.items()))


def alpha(
    units: Iterable[tuple[float, Sequence[Code]]], disagreement: Callable[[Code, Code], float] = otherwise
) -> float | None:
    """Of any number of coders, from the weight of each side and its codes. Sides with one code say nothing of agreement.

    None where all say the same of everything.
    """
    pairable = [(weight, codes) for weight, codes in units if len(codes) > 1]
    total: defaultdict[Code, float] = defaultdict(float)
    observed = 0.0
    for weight, codes in pairable:
        apart = sum(disagreement(a, b) for a in codes for b in codes)
        observed += weight * apart / (len(codes) - 1)
        for code in codes:
            total[code] += weight
    # Weights say for how many a side stands; how many were seen decides what pairs by chance are.
    seen = sum(len(codes) for _, codes in pairable)
    values = sum(total.values())
    if not values:
        return None
    same = values / seen
    apart = sum(total[a] * total[b] * disagreement(a, b) for a in total for b in total)
    expected = apart / (values - same)
    return 1 - observed / expected if expected else None
