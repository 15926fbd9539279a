"""Tails and quantiles of the distributions that intervals and tests need, in plain Python.

scipy has them all, but loading it takes longer than a small study. The tests compare these functions with scipy.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist

_STANDARD = NormalDist()
_SMALLEST = 1e-300
_MOST_STEPS = 100_000


def normal_quantile(share: float) -> float:
    return _STANDARD.inv_cdf(share)


def normal_tail(z: float) -> float:
    """Returns the probability of a value above `z`."""
    return math.erfc(z / math.sqrt(2)) / 2


def student_tail(freedom: float, t: float) -> float:
    """Returns the probability of a value above `t` in Student's distribution."""
    if t < 0:
        return 1 - student_tail(freedom, -t)
    total = freedom + t * t
    return _beta_share(freedom / 2, 0.5, freedom / total, t * t / total) / 2


def student_quantile(freedom: float, share: float) -> float:
    return -_student_beyond(freedom, share) if share < 0.5 else _student_beyond(freedom, 1 - share)


@lru_cache(maxsize=4096)
def _student_beyond(freedom: float, tail: float) -> float:
    """Returns the point with this upper tail, by Newton's method from below, which never overshoots on a convex tail."""
    z = -normal_quantile(tail)
    t = z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    if student_tail(freedom, t) < tail:
        t = z
    while True:
        closer = t + (student_tail(freedom, t) - tail) / _student_density(freedom, t)
        if closer <= t:
            return t
        t = closer


def _student_density(freedom: float, t: float) -> float:
    scale = _log_gamma_step(freedom / 2, 0.5) - math.log(freedom * math.pi) / 2
    return math.exp(scale - (freedom + 1) / 2 * math.log1p(t * t / freedom))


def chi_squared_tail(freedom: int, value: float) -> float:
    """Returns the probability of a value above `value`, as a finite sum, since the degrees of freedom are whole."""
    if value <= 0:
        return 1.0
    half = value / 2
    powers = [power / 2 for power in range(freedom % 2, freedom, 2)]
    terms = (math.exp(power * math.log(half) - half - math.lgamma(power + 1)) for power in powers)
    return math.fsum((math.erfc(math.sqrt(half)) if freedom % 2 else 0.0, *terms))


@lru_cache(maxsize=4096)
def fewest_expected(events: float, chance: float) -> float:
    """Returns the smallest Poisson mean for which at least `events` events have this probability."""
    return root(lambda mean: _gamma_share(events, mean) - chance, 0.0, events)


def root(function: Callable[[float], float], low: float, high: float) -> float:
    """Returns the zero of an increasing function, by false position (the Illinois method)."""
    at_low, at_high = function(low), function(high)
    side = 0
    for _ in range(_MOST_STEPS):
        if at_low >= 0 or at_high <= 0 or abs(high - low) < 1e-13 * max(1.0, abs(high)):
            break
        middle = (low * at_high - high * at_low) / (at_high - at_low)
        value = function(middle)
        if abs(value) < 1e-14:
            return middle
        if value < 0:
            low, at_low, at_high, side = middle, value, at_high / (1 + (side < 0)), -1
        else:
            high, at_high, at_low, side = middle, value, at_low / (1 + (side > 0)), 1
    return low if at_low >= 0 else high if at_high <= 0 else (low + high) / 2


def _gamma_share(shape: float, x: float) -> float:
    """Returns the regularised lower incomplete gamma function, by its series, for x up to about the shape."""
    if x <= 0:
        return 0.0
    term, total, step = 1.0, 1.0, shape
    while term > 1e-16 * total:
        step += 1
        term *= x / step
        total += term
    return total * math.exp(shape * math.log(x) - x - math.lgamma(shape + 1))


def _beta_share(a: float, b: float, x: float, rest: float) -> float:
    """Returns the regularised incomplete beta function at `x`; `rest` is 1 - x, computed more exactly by the caller."""
    if x <= 0 or rest <= 0:
        return 0.0 if x <= 0 else 1.0
    scale = math.exp(_log_gamma_step(a, b) - math.lgamma(b) + a * math.log(x) + b * math.log(rest))
    if x > (a + 1) / (a + b + 2):
        return 1 - scale * _beta_fraction(b, a, rest) / b
    return scale * _beta_fraction(a, b, x) / a


def _beta_fraction(a: float, b: float, x: float) -> float:
    """Returns the continued fraction of the beta function, by Lentz's method; fast if x < (a + 1) / (a + b + 2)."""
    upper, lower = 1.0, 1 / _not_zero(1 - (a + b) * x / (a + 1))
    value = lower
    for step in range(1, _MOST_STEPS):
        even = step * (b - step) * x / ((a + 2 * step - 1) * (a + 2 * step))
        odd = -(a + step) * (a + b + step) * x / ((a + 2 * step) * (a + 2 * step + 1))
        change = 1.0
        for numerator in (even, odd):
            lower = 1 / _not_zero(1 + numerator * lower)
            upper = _not_zero(1 + numerator / upper)
            change *= lower * upper
        value *= change
        if abs(change - 1) < 1e-15:
            break
    return value


def _log_gamma_step(value: float, step: float) -> float:
    """Returns lgamma(value + step) - lgamma(value), by Stirling's series for large values, which would cancel."""
    if value < 1000:
        return math.lgamma(value + step) - math.lgamma(value)
    after = value + step
    return (value - 0.5) * math.log1p(step / value) + step * (math.log(after) - 1) + (1 / after - 1 / value) / 12


def _not_zero(value: float) -> float:
    return value if abs(value) > _SMALLEST else _SMALLEST
