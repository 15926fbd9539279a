"""How many secrets are out so far, and whose: both sides of every conversation that has ended."""

import sqlite3
from collections.abc import Iterator

from tidepool.engine.results.blocks import Block, Cell, Estimate, Figure, Named, Series, table
from tidepool.engine.results.glimpse import CAPTION, Sums, Told, hundred
from tidepool.engine.statistics.distributions import normal_quantile
from tidepool.engine.statistics.intervals import Interval, share_interval, wilson
from tidepool.engine.studies.secret_game.report import MOST_DRAWN
from tidepool.storage.queries.units import MOST_UNITS, NewRows


class GameGlimpse:
    def __init__(self) -> None:
        self._rows = NewRows("outcome", "unit_id, agent, opponent, revealed, obtained", "side = 0")
        self._known = bytearray()
        """by conversation: 0 nothing yet, else 1 and the opener's two verdicts as bits"""
        self._pairs: dict[tuple[str, str], list[int]] = {}
        """conversations by opener and partner: none revealed, the opener alone, the partner alone, both"""

    def take_in(self, connection: sqlite3.Connection, batch_number: int) -> bool:
        known, pairs = self._known, self._pairs
        for unit, agent, opponent, revealed, obtained in self._rows.read(connection, batch_number):
            number = unit & MOST_UNITS
            if number >= len(known):
                known.extend(bytes(number + 1024 - len(known)))
            counts = pairs.setdefault((agent, opponent), [0, 0, 0, 0])
            if before := known[number]:
                counts[before - 1] -= 1
            verdict = bool(revealed) + 2 * bool(obtained)
            counts[verdict] += 1
            known[number] = verdict + 1
        return self._rows.more

    def told(self) -> Told | None:
        secrets = Sums()
        for counts in self._pairs.values():
            for verdict, times in enumerate(counts):
                secrets.add((0.0, 0.5, 0.5, 1.0)[verdict], times)
        share = secrets.mean
        if share is None:
            return None
        rate = Estimate(100 * share, hundred(_of_talks(share, secrets)), 1, " %")
        return Told("revealed", rate, f"n = {secrets.count:,} conversations", tuple(self._blocks()))

    def _blocks(self) -> Iterator[Block]:
        sides = self._sides()
        names = tuple(list(sides)[:MOST_DRAWN])
        yield Figure(
            "bars",
            "who reveals, who obtains (% of talks)",
            tuple(
                _bars(verb, [(sides[name][place], sides[name][0]) for name in names], colour)
                for place, verb, colour in ((1, "revealed", "failed"), (2, "obtained", "done"))
            ),
            labels=names,
            caption=CAPTION,
            places=tuple(range(len(names))),
        )
        rows: list[tuple[Cell, ...]] = [
            (Named(name, place), talks, _share(revealed, talks), _share(obtained, talks))
            for place, (name, (talks, revealed, obtained)) in enumerate(sides.items())
        ]
        yield table("agents so far", ("agent", "talks", "revealed %", "obtained %"), rows)

    def _sides(self) -> dict[str, tuple[int, int, int]]:
        """Of each agent: its sides, in how many it revealed, and in how many it obtained."""
        found: dict[str, list[int]] = {}
        for (opener, partner), (none, first, second, both) in self._pairs.items():
            for name, revealed, obtained in ((opener, first, second), (partner, second, first)):
                sums = found.setdefault(name, [0, 0, 0])
                sums[0] += none + first + second + both
                sums[1] += revealed + both
                sums[2] += obtained + both
        return {name: (sums[0], sums[1], sums[2]) for name, sums in sorted(found.items())}


def _of_talks(share: float, secrets: Sums) -> Interval:
    """Wilson's, of as many independent sides as the spread between conversations allows for."""
    spread = secrets.variance / secrets.count
    worth = share * (1 - share) / spread if spread else secrets.count
    return wilson(share, worth, normal_quantile(0.975))


def _share(times: int, of: int) -> Estimate:
    return Estimate(100 * times / of, hundred(share_interval(times, of)), 1)


def _bars(name: str, counts: list[tuple[int, int]], colour: str) -> Series:
    shares = [_share(*one) for one in counts]
    return Series(
        name, tuple(one.value for one in shares), colour=colour, intervals=tuple(one.interval for one in shares)
    )
