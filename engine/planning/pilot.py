"""What a finished batch or study shows about a planned one: rates, spread, and correlations.

A pilot is small, so each of its estimates is a range. At least four of five pilots have the true value within the range. If
an outcome has fewer than ten events, or non-events, the pilot is not used for it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from tidepool.engine.design.statistics import cell_rows, read_cells
from tidepool.engine.errors import UsageError
from tidepool.engine.inference.distributions import normal_quantile
from tidepool.engine.inference.effects import OutcomeTable, tables_of
from tidepool.engine.inference.grouped import Array, numpy, pair_codes
from tidepool.engine.inference.hypotheses import Factors
from tidepool.engine.inference.measures import PERCENT, Outcome
from tidepool.engine.inference.power import Layout, World
from tidepool.engine.planning.assumptions import Three
from tidepool.storage.batches import find_batch
from tidepool.storage.file import reading
from tidepool.storage.studies import study_of

FEWEST_EVENTS = 10
SURE = normal_quantile(0.95)
"""coverage of either end of a range"""
_TINY = 1e-9
_MOST_ENTITIES = 2_000


@dataclass(frozen=True, slots=True)
class Pilot:
    name: str
    kind: str
    tables: Mapping[str, OutcomeTable]


class Update(NamedTuple):
    """The pilot's values for an outcome in place of the assumptions; or the reason why it is not used."""

    worlds: tuple[World, ...]
    ranges: dict[str, Three]
    """by assumption: low, as seen, high"""
    refusal: str = ""


def read_pilot(path: Path, reference: str) -> Pilot:
    """Of a batch, or of a study if the reference names one."""
    with reading(path) as connection:
        study = study_of(connection, reference)
        batch = None if study else find_batch(connection, reference)
        rows = cell_rows(connection, study.id, Factors.of(study.design)) if study else [(dict(batch or {}), ())]
        name = study.id if study else rows[0][0]["id"]
        if not rows:
            raise UsageError(f"The study {name} has no batch that can serve as a pilot.")
        outcomes, batches = read_cells(connection, rows)
    cells = list(dict.fromkeys(cell for _, cell in rows))
    return Pilot(name, str(rows[0][0]["kind"]), tables_of(outcomes, cells, batches))


def apply_pilot(pilot: Pilot, outcome: Outcome, layout: Layout, assumed: Sequence[World]) -> Update:
    """`layout` has the number of values per conversation; what the pilot does not show stays as assumed."""
    table = pilot.tables.get(outcome.name)
    present = numpy.zeros((0, 0), dtype=bool) if table is None else ~numpy.isnan(table.values)
    if table is None or not present.any():
        return _unusable(assumed, f"the pilot has no {outcome.name}")
    values = _Values(table, present)
    share = outcome.unit == PERCENT
    sides = values.number * (layout.each if outcome.per_talk else layout.talks)
    few, what = min((values.mean * sides, "events"), ((1 - values.mean) * sides, "non-events"))
    if share and few < FEWEST_EVENTS:
        return _unusable(assumed, f"{few:,.0f} {what} of {outcome.name} in the pilot, fewer than {FEWEST_EVENTS}")
    if outcome.per_talk:
        if values.freedom < FEWEST_EVENTS or values.variance <= 0:
            return _unusable(assumed, f"the pilot's {values.number:,} conversations are too few for {outcome.name}")
        return _of_talks(values, layout, assumed, share=share)
    update = _update(assumed, {"rate": (values.mean,) * 3} if share else {})
    return update._replace(refusal="a pilot does not show how much batches differ. The assumption stays in place.")


def _unusable(assumed: Sequence[World], why: str) -> Update:
    return Update(tuple(assumed), {}, f"{why}. The assumptions are used instead.")


GAINS = ("correlation", "matched")
"""the higher the correlation, the less a difference varies: the low-variance world has the highest"""


def _update(assumed: Sequence[World], seen: Mapping[str, Three | None]) -> Update:
    """Worlds with the pilot's values in place of the assumed ones."""
    ranges = {name: three for name, three in seen.items() if three is not None}
    worlds = [
        replace(world, **{name: three[2 - index if name in GAINS else index] for name, three in ranges.items()})
        for index, world in enumerate(assumed)
    ]
    return Update(tuple(worlds), ranges)


class _Values:
    """The values of an outcome, and the residual of each from the mean of its cell."""

    def __init__(self, table: OutcomeTable, present: Array) -> None:
        self.table, self.present = table, present
        times = present.sum(axis=0)
        means = numpy.where(present, table.values, 0.0).sum(axis=0) / numpy.maximum(times, 1)
        self._rest = numpy.where(present, table.values - means, 0.0)
        self.rest = self._rest[present]
        self.number = len(self.rest)
        self.mean = float(table.values[present].mean())
        self.freedom = self.number - int((times > 0).sum())
        self.variance = float((self.rest**2).sum()) / max(1, self.freedom)

    def likeness(self, groups: Array, which: Array | None = None) -> Three | None:
        """The intraclass correlation within groups, with its range; None with fewer than three groups."""
        which = self.present if which is None else which
        rest = self._rest[which]
        groups = numpy.broadcast_to(groups, which.shape)[which]
        _, code, times = numpy.unique(groups, return_inverse=True, return_counts=True)
        number, freedom_within = len(times), len(rest) - len(times)
        if number < 3 or freedom_within < 3:
            return None
        means = numpy.bincount(code, rest) / times
        size = (len(rest) - float((times**2).sum()) / len(rest)) / (number - 1)
        among = float((times * means**2).sum()) / (number - 1)
        within = float(((rest - means[code]) ** 2).sum()) / freedom_within
        if within <= 0:
            return None
        ratios = _around_variance(among / within, 2 / (number - 1) + 2 / freedom_within)
        low, middle, high = (min(1.0, max(0.0, (ratio - 1) / (ratio + size - 1))) for ratio in ratios)
        return low, middle, high

    def matched(self) -> Three | None:
        """The correlation of matched conversations of two cells; None if there are too few."""
        complete = self.present.all(axis=1, keepdims=True) & self.present
        if self.present.shape[1] < 2 or complete[:, 0].sum() < FEWEST_EVENTS:
            return None
        return self.likeness(numpy.arange(len(complete))[:, None], complete)

    def split(self, members: Array) -> tuple[Three, Three] | None:
        """The variance of entities' own means, and of the rest of a conversation's mean: from the sums of squares of
        conversations and of entities, observed and expected."""
        number, size = int(members.max()) + 1, members.shape[1]
        free = self.freedom - (number - 1) * self.present.shape[1]
        if not 3 <= number <= _MOST_ENTITIES or free < 3 or members.min() < 0:
            return None
        squares, expected = numpy.zeros(2), numpy.zeros((2, 2))
        for place, present in enumerate(self.present.T):
            met, rest = members[present], self._rest[present, place]
            times, sums = numpy.bincount(met.ravel(), minlength=number), numpy.bincount(met.ravel(), rest.repeat(size))
            both = numpy.bincount((met[:, :, None] * number + met[:, None, :]).ravel(), minlength=number**2)
            shared = both.reshape(number, number) - numpy.outer(times, times) / max(1, len(rest))
            squares += (sums**2).sum(), (rest**2).sum()
            expected += ((shared**2).sum(), shared.trace()), (shared.trace(), max(0, len(rest) - 1))
        if numpy.linalg.det(expected) <= 0:
            return None
        own, noise = numpy.linalg.solve(expected, squares)
        blurred = max(_TINY, noise) * expected[0, 1] / expected[0, 0]
        low, middle, high = _around_variance(max(_TINY, own) + blurred, 2 / (number - 1))
        low, middle, high = (size**2 * max(0.0, value - blurred) for value in (low, middle, high))
        return (low, middle, high), _around_variance(max(_TINY, noise), 2 / free)


def _of_talks(values: _Values, layout: Layout, assumed: Sequence[World], *, share: bool) -> Update:
    table, number, mean, variance, each = values.table, values.number, values.mean, values.variance, layout.each
    batch = pair_codes(table.replicate[:, None], numpy.arange(len(table.cells))[None, :])
    games = pair_codes(batch, table.game.clip(0))
    repeated = 1 < len(numpy.unique(table.scenario[table.scenario > 0])) < len(table.values)
    game = values.likeness(games) if table.linked.any() else None
    crowd = 1 + (number / len(numpy.unique(games[values.present])) - 1) * game[1] if game else 1.0
    kurtosis = float((values.rest**4).mean()) / variance**2
    spread = _around_variance(variance, max(0.5, kurtosis - 1) * crowd / number, 4 / number)
    ranges = {}
    if parts := values.split(table.members) if layout.entities and table.members is not None else None:
        low, middle, high = (own / each + noise for own, noise in zip(*parts, strict=True))
        spread, ranges["sd between entities"] = (low, middle, high), _roots(parts[0])
    ranges["sd of a conversation"] = _roots(spread)
    seen: dict[str, Three | None] = {}
    if share:
        seen["rate"] = rates = _rates(mean, SURE * math.sqrt(variance * crowd / number))
        of_value = [rate * (1 - rate) for rate in rates]
        if each > 1:
            sides = (each * variance / (mean * (1 - mean)) - 1) / (each - 1)
            middle, reach = math.atanh(max(-0.99, min(0.99, sides))), SURE / math.sqrt(max(1.0, number / crowd - 3))
            seen["correlation"] = math.tanh(middle - reach), math.tanh(middle), math.tanh(middle + reach)
    else:  # values of a conversation correlate as assumed
        factors = [max(0.1, 1 + (each - 1) * world.correlation) for world in assumed]
        of_value = [own * each / factor for own, factor in zip(spread, factors, strict=True)]
    seen |= {
        "game": game,
        "scenario": values.likeness(table.scenario[:, None]) if repeated else None,
        "matched": None if layout.entities else values.matched(),
    }
    update = _update(assumed, seen)
    worlds = [
        replace(
            world,
            sd=0.0 if share else math.sqrt(value),
            talk=of_talk / value,
            each=each,
            entity=parts[0][index] / value if parts else world.entity,
        )
        for index, (world, value, of_talk) in enumerate(zip(update.worlds, of_value, spread, strict=True))
    ]
    return Update(tuple(worlds), update.ranges | ranges)


def _rates(mean: float, reach: float) -> Three:
    """The observed rate, with the rates on either side of it that vary least and most."""
    ends = sorted((min(0.99, max(0.01, mean + sign * reach)) for sign in (-1, 1)), key=lambda rate: abs(rate - 0.5))
    return ends[1], mean, 0.5 if min(ends) < 0.5 < max(ends) else ends[0]


def _around_variance(value: float, error: float, more: float = 0.0) -> Three:
    """`error` is the variance of its logarithm."""
    factor = math.exp(SURE * math.sqrt(error) + more)
    return value / factor, value, value * factor


def _roots(variances: Three) -> Three:
    low, middle, high = map(math.sqrt, variances)
    return low, middle, high
