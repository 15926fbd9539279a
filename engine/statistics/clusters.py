"""Means of values that come in clusters which may overlap, such as talks that several entities share.

Leaving out one unit at a time, with every value it had a part in, shows how much the mean hangs on it: the jackknife.
Where units share no values that is the ordinary interval over units. One unit says nothing about others, and has no
interval.
"""

import math
from collections import Counter
from collections.abc import Iterable
from itertools import chain, repeat, starmap

from tidepool.engine.statistics.intervals import LEVEL, Interval
from tidepool.engine.statistics.rates import Rate, effective_number, quantile

Total = tuple[float, int]
"""a sum, and of how many values"""


def jackknife_variance(without: Iterable[float]) -> float:
    """From the estimates without each unit in turn, or how often each occurs: sums are exact, so equal ones go together."""
    often = Counter(without)
    number = often.total()
    middle = math.fsum(often.elements()) / number
    squares = [((one - middle) ** 2, units) for one, units in often.items()]
    return (number - 1) / number * math.fsum(chain.from_iterable(starmap(repeat, squares)))


def interval_over(whole: Total, parts: Iterable[Total], bounds: Interval) -> Interval | None:
    """The interval of the mean of the whole, by the part of it that each unit has a hand in.

    Parts may be given with how often each occurs. On a scale with two ends it is Wilson's; else Student's. None where there are fewer than two units, or where one has
    a hand in everything.
    """
    total, count = whole
    often: Counter[float] = Counter()
    for (part, times), units in Counter(parts).items():
        if times == count:
            return None
        if times:
            often[(total - part) / (count - times)] += units
    if (number := often.total()) < 2:
        return None
    mean, freedom = total / count, number - 1
    variance = jackknife_variance(often)
    low, high = bounds
    if math.isfinite(low) and math.isfinite(high) and low < high:
        share, spread = (mean - low) / (high - low), variance / (high - low) ** 2
        return Rate(mean, effective_number(share, spread, number, count), freedom, count, bounds).interval()
    reach = quantile(freedom, LEVEL) * math.sqrt(variance)
    return max(low, mean - reach), min(high, mean + reach)
