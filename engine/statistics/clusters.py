"""Means of values that come in clusters which may overlap, such as talks that several entities share.

Leaving out one unit at a time, with every value it had a part in, shows how much the mean hangs on it: the jackknife.
Where units share no values that is the ordinary interval over units. One unit says nothing about others, and has no
interval.
"""

import math
from collections.abc import Sequence

from tidepool.engine.statistics.intervals import LEVEL, Interval
from tidepool.engine.statistics.rates import Rate, effective_number, quantile

Total = tuple[float, int]
"""a sum, and of how many values"""


def jackknife_variance(without: Sequence[float]) -> float:
    """From the estimates without each unit in turn."""
    number = len(without)
    middle = math.fsum(without) / number
    return (number - 1) / number * math.fsum((one - middle) ** 2 for one in without)


def interval_over(whole: Total, parts: Sequence[Total], bounds: Interval) -> Interval | None:
    """The interval of the mean of the whole, by the part of it that each unit has a hand in.

    On a scale with two ends it is Wilson's; else Student's. None where there are fewer than two units, or where one has
    a hand in everything.
    """
    total, count = whole
    rests = [(total - part, count - times) for part, times in parts if times]
    if len(rests) < 2 or not all(times for _, times in rests):
        return None
    mean, freedom = total / count, len(rests) - 1
    variance = jackknife_variance([rest / times for rest, times in rests])
    low, high = bounds
    if math.isfinite(low) and math.isfinite(high) and low < high:
        share, spread = (mean - low) / (high - low), variance / (high - low) ** 2
        return Rate(mean, effective_number(share, spread, len(rests), count), freedom, count, bounds).interval()
    reach = quantile(freedom, LEVEL) * math.sqrt(variance)
    return max(low, mean - reach), min(high, mean + reach)
