"""Do sides reveal more often once their partner has? An association, turn by turn, and no effect.

Talks differ in openness, and that alone makes whoever has heard a secret likelier to give one: the odds ratio is above
one where nobody listens at all. What hearing does can only be told where the reveal was assigned.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from tidepool.engine.statistics.grouped import Array, numbered
from tidepool.engine.statistics.intervals import LEVEL, Interval, quantile
from tidepool.engine.statistics.typed import Statistics
from tidepool.engine.studies.secret_game.findings.clustering import Clustering

FEWEST = 5
"""sides in each margin of a single turn, for an interval of it"""
MOST_TURNS = 200
CAVEAT = (
    "Talks differ in openness, which alone produces such a ratio: this is no effect of hearing. The effect comes from a "
    "branch in which the reveal is assigned."
)


@dataclass(frozen=True)
class HearingTurn(Statistics):
    """Sides that had not revealed before their message of this turn."""

    turn: int
    heard: int
    heard_and_revealed: int
    not_heard: int
    not_heard_and_revealed: int
    odds_ratio: float | None
    odds_ratio_ci95: Interval | None


@dataclass(frozen=True)
class Hearing(Statistics):
    odds_ratio: float | None
    """over all turns: Mantel and Haenszel's"""
    odds_ratio_ci95: Interval | None
    turns: tuple[HearingTurn, ...]
    caveat: str


@dataclass(frozen=True, slots=True)
class Turn:
    number: int
    rows: Array
    """the sides that speak in it and have not revealed before"""
    heard: Array
    revealed: Array

    @property
    def cells(self) -> tuple[int, int, int, int]:
        """heard and revealed, heard alone, revealed alone, neither"""
        sure, heard = self.revealed, self.heard
        return (
            int((heard & sure).sum()),
            int((heard & ~sure).sum()),
            int((~heard & sure).sum()),
            int((~heard & ~sure).sum()),
        )

    def pulls(self, ratio: float) -> tuple[float, float, Array]:
        """The turn's part in numerator and denominator, and what each row adds to their balance."""
        import numpy

        a, b, c, d = self.cells
        n = len(self.rows)
        above, below = a * d / n, b * c / n
        shared = (above - ratio * below) / n
        kinds = numpy.array([d / n - shared, -ratio * c / n - shared, -ratio * b / n - shared, a / n - shared])
        return above, below, kinds[2 * ~self.heard + ~self.revealed]


def hearing(clustering: Clustering, messages: int) -> Hearing | None:
    """None where no turn has both: sides that heard and sides that did not."""
    found = list(turns(clustering, min(messages, MOST_TURNS)))
    if not found:
        return None
    ratio, interval = _odds(clustering, found)
    return Hearing(ratio, interval, tuple(_told(clustering, turn) for turn in found), CAVEAT)


def turns(clustering: Clustering, messages: int) -> Iterator[Turn]:
    import numpy

    sides = clustering.sides
    own = sides.turn * sides.revealed
    order = numpy.argsort(sides.talk, kind="stable")
    other = numpy.zeros(len(sides), dtype=int)
    other[order[::2]], other[order[1::2]] = own[order[1::2]], own[order[::2]]
    for number in range(2, messages + 1):
        speaks = sides.opener == (number % 2 == 1)
        rows = numpy.flatnonzero(speaks & ((own == 0) | (own >= number)))
        heard = (other[rows] > 0) & (other[rows] < number)
        if heard.any() and not heard.all():
            yield Turn(number, rows, heard, own[rows] == number)


def _told(clustering: Clustering, turn: Turn) -> HearingTurn:
    a, b, c, d = turn.cells
    ratio, interval = _odds(clustering, [turn])
    if min(a + b, c + d, a + c, b + d) < FEWEST:
        interval = None
    return HearingTurn(turn.number, a + b, a, c + d, c, ratio, interval)


def _odds(clustering: Clustering, turns: list[Turn]) -> tuple[float | None, Interval | None]:
    import numpy

    parts = [turn.pulls(0.0) for turn in turns]
    above, below = (sum(part[place] for part in parts) for place in (0, 1))
    if not above or not below:
        return None, None
    ratio = above / below
    balance = numpy.zeros(len(clustering.sides))
    for turn in turns:
        balance[turn.rows] += turn.pulls(ratio)[2]
    present = numbered(numpy.concatenate([turn.rows for turn in turns]))[0]
    errors = []
    for way in (*clustering.ways, clustering.sides.talk):
        _, cluster = numbered(way[present])
        number = int(cluster.max()) + 1
        if number < 2:
            return ratio, None
        sums = numpy.bincount(cluster, balance[present])
        errors.append((float((sums**2).sum()) * number / (number - 1), number - 1))  # never surer than talks alone
    square, freedom = max(errors)[0], min(errors, key=lambda one: one[1])[1]
    reach = quantile(freedom, LEVEL) * math.sqrt(square) / (ratio * below)
    return ratio, (ratio * math.exp(-reach), ratio * math.exp(reach))
