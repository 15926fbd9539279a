"""The ratings so far, by entity; without a judge, how long messages are, turn by turn."""

import math
import sqlite3
from array import array
from collections.abc import Iterable, Iterator

from tidepool.engine.results.blocks import Block, Cell, Estimate, Figure, Named, Series, line, table
from tidepool.engine.results.glimpse import CAPTION, Sums, Told
from tidepool.engine.studies.simulation.report import MOST_DRAWN
from tidepool.storage.queries.units import MOST_UNITS, NewRows

NOTHING = math.nan
FEWEST_TURNS = 2
"""a curve needs as many"""


class SimulationGlimpse:
    def __init__(self) -> None:
        self._ratings = NewRows("judgement", "unit_id, place, entity, rating")
        self._messages = NewRows("call", "unit_id, turn, output_tokens", "status = 'answered' AND turn IS NOT NULL")
        self._known: dict[int, array[float]] = {}
        """by place and simulation: the rating, as it may be given anew"""
        self._entities: dict[str, Sums] = {}
        self._simulations = 0
        self._turns: dict[int, Sums] = {}

    def take_in(self, connection: sqlite3.Connection, batch_number: int) -> bool:
        for unit, place, entity, rating in self._ratings.read(connection, batch_number):
            self._rate(unit & MOST_UNITS, place, entity, rating)
        if self._ratings.more or self._known:
            return self._ratings.more
        for _, turn, tokens in self._messages.read(connection, batch_number):
            self._turns.setdefault(turn, Sums()).add(tokens)
        return self._messages.more

    def _rate(self, number: int, place: int, entity: str, rating: float | None) -> None:
        known = self._known.setdefault(place, array("d"))
        if number >= len(known):
            known.extend([NOTHING] * (number + 1024 - len(known)))
        sums = self._entities.setdefault(entity, Sums())
        before = known[number]
        if not math.isnan(before):
            sums.add(before, -1)
            self._simulations -= place == 1
        known[number] = NOTHING if rating is None else rating
        if rating is not None:
            sums.add(rating)
            self._simulations += place == 1

    def told(self) -> Told | None:
        if any(sums.count for sums in self._entities.values()):
            return self._rated()
        return self._spoken() if self._turns else None

    def _rated(self) -> Told:
        whole = _together(self._entities.values())
        figure = Estimate(whole.mean, whole.interval(max(1, self._simulations)), 2)
        n = f"n = {self._simulations:,} simulations, {whole.count:,} ratings"
        return Told("mean rating", figure, n, tuple(self._blocks()))

    def _blocks(self) -> Iterator[Block]:
        rated = {name: sums for name, sums in sorted(self._entities.items()) if sums.count}
        drawn = list(rated.items())[:MOST_DRAWN]
        series = Series(
            "mean rating",
            tuple(sums.mean for _, sums in drawn),
            colour="done",
            intervals=tuple(sums.interval() for _, sums in drawn),
        )
        labels, places = tuple(name for name, _ in drawn), tuple(range(len(drawn)))
        yield Figure("means", "mean rating", (series,), labels=labels, caption=CAPTION, places=places)
        rows: list[tuple[Cell, ...]] = [
            (Named(name, place), sums.count, Estimate(sums.mean, sums.interval(), 2))
            for place, (name, sums) in enumerate(rated.items())
        ]
        yield table("entities so far", ("entity", "ratings", "mean rating"), rows)

    def _spoken(self) -> Told:
        whole = _together(self._turns.values())
        turns = sorted(self._turns)
        rows: list[tuple[Cell, ...]] = [
            (turn, self._turns[turn].count, Estimate(self._turns[turn].mean, self._turns[turn].interval(), 1))
            for turn in turns
        ]
        blocks: list[Block] = []
        if len(turns) >= FEWEST_TURNS:
            means = line(
                "tokens",
                turns,
                [self._turns[turn].mean for turn in turns],
                "primary",
                [self._turns[turn].interval() for turn in turns],
            )
            blocks.append(Figure("lines", "tokens of a message, by turn", (means,), xlabel="turn", caption=CAPTION))
        blocks.append(table("messages so far", ("turn", "messages", "tokens"), rows, left=0))
        figure = Estimate(whole.mean, whole.interval(), 1)
        return Told("tokens a message", figure, f"n = {whole.count:,} messages", tuple(blocks))


def _together(parts: Iterable[Sums]) -> Sums:
    whole = Sums()
    for one in parts:
        whole.count += one.count
        whole.total += one.total
        whole.squares += one.squares
    return whole
