"""What a branch says: what one sentence, or chance alone, makes of a talk.

The unit is the conversation: of each, the mean over its altered redraws less the mean over its control redraws, and Student's
interval over conversations. Where games link their talks, by memory or kept secrets, games are the clusters. Of one
conversation the two groups of redraws are compared, and what comes out is said of this conversation alone.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from tidepool.engine.branching.origin import Arm, Origin
from tidepool.engine.branching.talks import EARLIER, BranchKind, Measure
from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.statistics.contrasts import Contrast, stratified, student, within
from tidepool.engine.statistics.grouped import Array, Grouped
from tidepool.engine.statistics.intervals import Interval
from tidepool.engine.statistics.rates import rates_of
from tidepool.storage.queries.conversations import games_of_units, records_of_batch

Values = Mapping[int, Mapping[Arm, Sequence[float]]]
"""of one measure: by conversation and arm, one value a redraw"""


def statistics(
    connection: sqlite3.Connection, batch: Mapping[str, Any], config: StoredConfig, kind: BranchKind, origin: Origin
) -> dict[str, Any]:
    number = batch["number"]
    found = kind.values(connection, number, origin.at)
    games = _games(connection, number, origin)
    outcomes = [
        outcome(measure, _by_conversation(found, origin, place), origin, games)
        for place, measure in enumerate(kind.measures(config))
    ]
    return {
        "branch": {
            "batch_id": origin.batch_id,
            "at": origin.at,
            "say": origin.say,
            "times": origin.times,
            "conversations": len(origin.conversations),
            "unit": "conversation" if len(origin.conversations) > 1 else "redraw of this conversation",
            "redraws": {"planned": origin.units, "completed": _completed(found, origin)},
            "outcomes": outcomes,
        }
    }


def _completed(found: Mapping[int, Sequence[float | None]], origin: Origin) -> int:
    return sum(redraw.number in found for redraw in origin.redraws())


def _games(connection: sqlite3.Connection, number: int, origin: Origin) -> Mapping[int, int]:
    """By conversation, where talks of a game hang together; else nothing."""
    if next(records_of_batch(connection, number, EARLIER), None) is None:
        return {}
    games = games_of_units(connection, number)
    return {one.conversation: games[one.number] for one in origin.redraws() if one.number in games}


def _by_conversation(found: Mapping[int, Sequence[float | None]], origin: Origin, place: int) -> Values:
    values: dict[int, dict[Arm, list[float]]] = defaultdict(lambda: defaultdict(list))
    for redraw in origin.redraws():
        if (one := found.get(redraw.number)) is not None and (value := one[place]) is not None:
            values[redraw.conversation][redraw.arm].append(value)
    return values


def outcome(measure: Measure, values: Values, origin: Origin, games: Mapping[int, int]) -> dict[str, Any]:
    """Conversations count that have a redraw in every arm; each counts the same."""
    whole = {number: arms for number, arms in values.items() if all(arms.get(arm) for arm in origin.arms)}
    alone = len(origin.conversations) == 1
    told: dict[str, Any] = {"name": measure.name, "words": measure.words, "unit": "%" if measure.percent else "points"}
    told |= {"conversations": len(whole), "left_out": len(origin.conversations) - len(whole)}
    scale = 100.0 if measure.percent else 1.0
    clusters = [games.get(number, -number) for number in whole]
    for arm in origin.arms:
        seen = [value for arms in whole.values() for value in arms[arm]] if alone else _means(whole, arm)
        mean, bounds = _mean_of(seen, list(range(len(seen))) if alone else clusters, measure.bounds)
        told |= {arm: _scaled(mean, scale), f"{arm}_ci95": _stretched(bounds, scale)}
    if origin.say is not None:
        found = _of_this_one(whole, measure) if alone else _over_conversations(whole, clusters, measure)
        told |= {
            "difference": _scaled(found.difference if found else None, scale),
            "difference_ci95": _stretched(found.interval if found else None, scale),
            "p_value": found.p_value if found else None,
            "method": found.method if found else None,
        }
    return told


def _means(whole: Values, arm: Arm) -> list[float]:
    return [fmean(arms[arm]) for arms in whole.values()]


def _over_conversations(whole: Values, clusters: Sequence[int], measure: Measure) -> Contrast | None:
    import numpy

    gaps = numpy.array(_means(whole, "altered")) - numpy.array(_means(whole, "control"))
    ways = [numpy.array(clusters)] if len(set(clusters)) < len(clusters) else []
    found = within(gaps, numpy.zeros(len(gaps), dtype=int), ways, measure.bounds[1] - measure.bounds[0])
    if found is None or found.method != "t" or ways:
        return found
    return student("t", len(gaps), found.difference, float(gaps.var(ddof=1)) / len(gaps), freedom_of(gaps))


def freedom_of(gaps: Array) -> float:
    """Degrees of freedom of their variance. Where the sentence works in few conversations, most gaps are nothing and some are
    large: such a variance is known worse than n − 1 says, by the kurtosis of the gaps (Satterthwaite)."""
    count, off = len(gaps), gaps - gaps.mean()
    excess = float((off**4).mean() / (off**2).mean() ** 2) - 3
    if count > 3:  # a small sample shows less of it than there is
        excess = (count - 1) / ((count - 2) * (count - 3)) * ((count + 1) * excess + 6)
    return 2 * count / (max(0.0, excess) + 2 * count / (count - 1))


def _of_this_one(whole: Values, measure: Measure) -> Contrast | None:
    import numpy

    if not whole:
        return None
    (arms,) = whole.values()
    values = numpy.array([*arms["altered"], *arms["control"]])
    first = numpy.arange(len(values)) < len(arms["altered"])
    return stratified(first, values, numpy.zeros(len(values), dtype=int), bounds=measure.bounds)


def _mean_of(
    values: Sequence[float], clusters: Sequence[int], bounds: Interval
) -> tuple[float | None, Interval | None]:
    import numpy

    if not values:
        return None, None
    seen: Array = numpy.array(values)
    grouped = Grouped(numpy.zeros(len(seen), dtype=int), 1, [numpy.array(clusters)])
    (rate,) = rates_of(grouped.spread(seen, bounds=bounds), bounds)
    return (rate.mean, rate.interval()) if rate else (None, None)


def _scaled(value: float | None, scale: float) -> float | None:
    return None if value is None else scale * value


def _stretched(bounds: Interval | None, scale: float) -> list[float] | None:
    return None if bounds is None else [scale * bounds[0], scale * bounds[1]]
