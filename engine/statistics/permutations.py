"""Permutation tests of means, two-sided: every rearrangement where they are few, else a seeded sample of them that
counts what was seen."""

import math
from collections.abc import Sequence
from itertools import combinations, product
from typing import Any

RESAMPLES = 9_999


def sign_flip_p_value(differences: Sequence[float], seed: int = 0) -> float:
    """Of the mean of paired differences: under no difference, each might as well have had the other sign."""
    import numpy

    values = numpy.array(differences, dtype=float)
    exact = 2 ** len(values) <= RESAMPLES
    if exact:
        kept = numpy.array(list(product((True, False), repeat=len(values))))
    else:
        either = numpy.tile(numpy.array([True, False]), (RESAMPLES, len(values), 1))
        kept = numpy.random.default_rng(seed).permuted(either, axis=-1)[..., 0]
    return _two_sided(numpy.where(kept, values, -values).mean(axis=1), float(values.mean()), exact)


def mean_difference_p_value(first: Sequence[float], second: Sequence[float], seed: int = 0) -> float:
    """Of the difference of two independent means: under none, any value might have come from the other sample."""
    import numpy

    values = numpy.array([*first, *second], dtype=float)
    size, total = len(first), len(values)
    exact = math.comb(total, size) <= RESAMPLES
    if exact:
        chosen = numpy.array(list(combinations(range(total), size)))
    else:
        random = numpy.random.default_rng(seed)
        chosen = numpy.array([random.permutation(total)[:size] for _ in range(RESAMPLES)])
    sums = values[chosen].sum(axis=1)
    gaps = sums / size - (values.sum() - sums) / (total - size)
    return _two_sided(gaps, float(values[:size].mean() - values[size:].mean()), exact)


def _two_sided(possible: Any, observed: float, exact: bool) -> float:
    """Sums of the same numbers in another order differ in their last digits, and count as equal."""
    seen = 0 if exact else 1
    close = 1e-12 * max(1.0, abs(observed))
    below = int((possible <= observed + close).sum()) + seen
    above = int((possible >= observed - close).sum()) + seen
    return min(1.0, 2 * min(below, above) / (len(possible) + seen))
