"""How much more must be asked for a given precision, if what was seen so far goes on."""

from bisect import bisect_left
from math import ceil

from tidepool.engine.statistics.distributions import normal_quantile
from tidepool.engine.statistics.intervals import LEVEL, wilson
from tidepool.engine.statistics.rates import Rate


def values_needed(rate: Rate, half_width: float) -> int:
    """Values still needed until the interval of this rate is no wider than ± `half_width`.

    Each of them says as much as those seen so far: where they come in clusters, less than an independent one.
    """
    reach = normal_quantile((1 + LEVEL) / 2)

    def narrow_enough(trials: int) -> bool:
        low, high = wilson(rate.share, trials, reach)
        return high - low <= 2 * half_width

    enough = ceil(1 / half_width**2)  # for any share: at one half, (1.96 / 2)² stands above half_width²
    trials = bisect_left(range(enough), True, lo=1, key=narrow_enough)
    return max(0, ceil(trials * rate.count / rate.effective) - rate.count)
