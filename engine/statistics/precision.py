"""How much more must be asked for a given precision, if what was seen so far goes on."""

from bisect import bisect_left
from collections.abc import Mapping
from math import ceil, fsum

from tidepool.engine.statistics.distributions import normal_quantile
from tidepool.engine.statistics.intervals import LEVEL, mean_of_counts, share_interval


def trials_needed(successes: int, trials: int, half_width: float) -> int:
    """Trials still needed until Wilson's interval of this share is no wider than ± `half_width`.

    With nothing tried yet the share is taken as one half, the worst case.
    """

    def narrow_enough(total: int) -> bool:
        expected = round(total * successes / trials) if trials else total // 2
        low, high = share_interval(expected, total)
        return high - low <= 2 * half_width

    enough = ceil(1 / half_width**2)  # for any share: at one half, (1.96 / 2)² stands above half_width²
    total = bisect_left(range(enough), True, lo=1, key=narrow_enough)
    return max(0, total - trials)


def values_needed(counts: Mapping[float, int], half_width: float) -> int | None:
    """Values needed until the interval of their mean is about ± `half_width`; None of less than two."""
    total = sum(counts.values())
    if total < 2:
        return None
    mean = mean_of_counts(counts)
    variance = fsum(times * (value - mean) ** 2 for value, times in counts.items()) / (total - 1)
    return max(0, ceil(normal_quantile((1 + LEVEL) / 2) ** 2 * variance / half_width**2) - total)
