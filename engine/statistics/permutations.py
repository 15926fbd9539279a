"""Permutation tests of means, two-sided: every rearrangement where they are few, else a seeded sample of them that
counts what was seen."""

import math
from collections.abc import Sequence
from itertools import combinations, product
from typing import Any

RESAMPLES = 9_999
_CELLS = 1_000_000
"""signs drawn at once, to keep memory small"""


def sign_flip_p_value(differences: Sequence[float], seed: int = 0) -> float:
    """Of the mean of paired differences: under no difference, each might as well have had the other sign."""
    import numpy

    values = numpy.array(differences, dtype=float)
    if exact := 2 ** len(values) <= RESAMPLES:
        kept = numpy.array(list(product((True, False), repeat=len(values))))
        means = numpy.where(kept, values, -values).mean(axis=1)
    else:
        random, at_once = numpy.random.default_rng(seed), max(1, _CELLS // len(values))
        sizes = [min(at_once, RESAMPLES - done) for done in range(0, RESAMPLES, at_once)]
        means = numpy.concatenate([_flipped(values, size, random) for size in sizes])
    return _two_sided(means, float(values.mean()), exact)


def _flipped(values: Any, times: int, random: Any) -> Any:
    """So many means of the values with signs drawn anew."""
    import numpy

    either = numpy.tile(numpy.array([True, False]), (times, len(values), 1))
    return numpy.where(random.permuted(either, axis=-1)[..., 0], values, -values).mean(axis=1)


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
