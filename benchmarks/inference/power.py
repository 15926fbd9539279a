"""Is power told rightly? Half-widths and powers that are told beforehand, against planted tables that were then drawn.

No model is asked: outcomes are drawn with known rates and likenesses and handed to the very code that reports effects.
"""

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy

from tidepool.engine.bench import Measurement, at_least, at_most
from tidepool.engine.inference.effects import OutcomeTable, cell_mean, effect
from tidepool.engine.inference.hypotheses import ContrastSpec, Difference, Factor, Factors, Weighing, weigh
from tidepool.engine.inference.intervals import UNIT
from tidepool.engine.inference.measures import PERCENT, Outcome
from tidepool.engine.inference.power import Comparison, Layout, World, half_width, power, smallest
from tidepool.engine.planning.assumptions import Assumptions
from tidepool.engine.planning.pilot import Pilot, apply_pilot

TABLES, PILOTS = 1_000, 400
REVEALED = Outcome(name="revealed", words="sides that revealed", unit=PERCENT, bounds=UNIT)
ACCURACY = Outcome(name="accuracy", words="accuracy", unit=PERCENT, bounds=UNIT, per_talk=False)


@dataclass(frozen=True)
class Shape:
    name: str
    world: World
    talks: int = 60
    """of a batch"""
    levels: tuple[int, ...] = (2,)
    replicates: int = 1
    games: int = 0
    scenarios: int = 0
    redraws: bool = False
    interaction: bool = False
    per_batch: bool = False

    @property
    def factors(self) -> Factors:
        keys = frozenset({"secret_game.pairing"}) if self.redraws else frozenset()
        return Factors(
            tuple(Factor(f"f{place}", tuple("abc"[:number]), keys) for place, number in enumerate(self.levels))
        )

    @property
    def weighing(self) -> Weighing:
        names = self.factors.names if self.interaction else self.factors.names[:1]
        found = weigh(
            ContrastSpec(tuple(Difference(name, "b", "a") for name in names)), self.factors, self.factors.cells
        )
        assert found is not None
        return found

    @property
    def comparison(self) -> Comparison:
        by_batch = self.redraws or self.per_batch
        times = 1 if by_batch else self.replicates
        layout = Layout(
            talks=self.talks * times,
            each=1 if self.per_batch else 2,
            games=self.games * times,
            scenarios=self.scenarios,
            replicates=self.replicates if by_batch else 0,
        )
        outcome = ACCURACY if self.per_batch else REVEALED
        weights = tuple(self.weighing.weights.values())
        return Comparison(
            words=self.name, outcome=outcome, layout=layout, weights=weights, alike="" if self.redraws else "matched"
        )

    def draw(self, random: Any, difference: float = 0.0) -> OutcomeTable:
        """Of a rate and a shift in every cell whose weight is above zero, towards one half."""
        rate, number = self.world.rate or 0.0, len(self.factors.cells)
        shift = (difference if rate <= 0.5 else -difference) / self.comparison.rise
        weights = [self.weighing.weights.get(cell, 0.0) for cell in self.factors.cells]
        rates = numpy.array([rate + shift * (weight > 0) for weight in weights])
        times = numpy.arange(1, self.replicates + 1)
        if self.per_batch:
            chances = rates + random.normal(0, self.world.between, (self.replicates, number))
            values = random.binomial(self.talks, chances.clip(0, 1)) / self.talks
            nothing, one = numpy.zeros(values.shape, dtype=int), numpy.zeros(len(values), dtype=int)
            return OutcomeTable(
                ACCURACY, self.factors.cells, values, times, one, nothing, nothing, numpy.zeros(number, bool)
            )
        place = numpy.arange(self.talks)
        values = numpy.concatenate([self._replicate(random, rates, place) for _ in times])
        talks = numpy.tile(place, self.replicates)
        game = numpy.repeat((talks % self.games if self.games else 0 * talks)[:, None], number, axis=1)
        scenario = talks % self.scenarios + 1 if self.scenarios else 0 * talks
        linked = numpy.full(number, bool(self.games))
        replicate = numpy.repeat(times, self.talks)
        return OutcomeTable(REVEALED, self.factors.cells, values, replicate, scenario, game, 0 * game, linked)

    def _replicate(self, random: Any, rates: Any, place: Any) -> Any:
        """Talks × cells: the mean of both sides."""
        world = self.world
        common = _sides(random, self.talks, world.correlation)
        columns = []
        for rate in rates:
            own = _sides(random, self.talks, world.correlation)
            self._copy(random, own, common, world.matched, place)
            for number, likeness in ((self.games, world.game), (self.scenarios, world.scenario)):
                if number:
                    self._copy(random, own, _sides(random, number, world.correlation), likeness, place % number)
            columns.append((own < rate).mean(axis=1))
        return numpy.stack(columns, axis=1)

    @staticmethod
    def _copy(random: Any, own: Any, from_: Any, likeness: float, places: Any) -> None:
        """Two that each copy with the root of a chance are alike with that chance."""
        taken = random.random(len(own)) < likeness**0.5
        own[taken] = from_[places[taken]]


def _sides(random: Any, number: int, correlation: float) -> Any:
    """Two uniform numbers a talk, the same with this chance."""
    drawn = random.random((number, 2))
    drawn[:, 1] = numpy.where(random.random(number) < correlation, drawn[:, 0], drawn[:, 1])
    return drawn


def shapes() -> list[Shape]:
    found = []
    for rate, correlation, talks in product((0.1, 0.3, 0.5, 0.8), (0.0, 0.3, 0.6), (60, 200)):
        world = World(rate=rate, correlation=correlation)
        found.append(Shape(f"{talks} talks, rate {rate}, sides alike {correlation}", world, talks))
    for rate, matched in product((0.2, 0.5), (0.3, 0.6)):
        world = World(rate=rate, correlation=0.3, matched=matched)
        found.append(Shape(f"2 × 2 × 2 replicates, rate {rate}, matched {matched}", world, 40, (2, 2), 2))
        found.append(Shape(f"interaction, rate {rate}, matched {matched}", world, 80, (2, 2), 2, interaction=True))
    for games, likeness in product((8, 20, 50), (0.1, 0.3)):
        world = World(rate=0.3, correlation=0.3, game=likeness)
        found.append(Shape(f"{games} games of 8, alike {likeness}", world, 8 * games, games=games))
    for scenarios, likeness in product((8, 20), (0.05, 0.2)):
        world = World(rate=0.4, correlation=0.3, scenario=likeness)
        found.append(Shape(f"{scenarios} scenarios, alike {likeness}", world, 10 * scenarios, scenarios=scenarios))
    for replicates in (6, 8, 15):
        world = World(rate=0.3, correlation=0.3)
        found.append(Shape(f"{replicates} replicates, redrawn", world, 60, replicates=replicates, redraws=True))
        world = World(rate=0.6, between=0.05)
        found.append(Shape(f"{replicates} replicates of one number", world, 100, replicates=replicates, per_batch=True))
    return found


@dataclass(frozen=True)
class Verdict:
    shape: str
    width: float
    """the mean half-width ÷ the one told"""
    difference: float
    found: float | None
    """in per cent, at the smallest difference told; None where none is"""


def judged(shape: Shape, tables: int = TABLES, seed: int = 1) -> Verdict:
    random = numpy.random.default_rng(seed)
    comparison = shape.comparison
    told = smallest(shape.world, comparison)
    weighing = shape.weighing
    cell = next(cell for cell, weight in weighing.weights.items() if weight < 0)
    widths, hits = [], []
    for _ in range(tables):
        table = shape.draw(random, told or 0.0)
        hits.append((effect(table, weighing).p_value or 1.0) < 0.05)
        if interval := cell_mean(table, cell).interval:
            widths.append((interval[1] - interval[0]) / 2)
    layout = comparison.layout
    if shape.redraws:
        layout = replace(layout, talks=layout.talks * shape.replicates, replicates=0)
    expected = half_width(shape.world, layout)
    assert expected is not None
    found = 100 * float(numpy.mean(hits)) if told else None
    return Verdict(shape.name, float(numpy.mean(widths)) / expected, told or 0.0, found)


# -- pilots ----------------------------------------------------------------------------------------------------


def pilot_shapes() -> list[Shape]:
    rates, sizes = (0.2, 0.3, 0.5, 0.7), (30, 45, 60)
    plain = [
        Shape(f"{talks} talks, rate {rate}", World(rate=rate, correlation=0.3), talks, (1,))
        for rate, talks in product(rates, sizes)
    ]
    return [
        *plain,
        *(
            Shape(
                f"{talks} talks in each of 2 cells, rate {rate}", World(rate=rate, correlation=0.3, matched=0.4), talks
            )
            for rate, talks in product((0.2, 0.5), (30, 60))
        ),
        *(
            Shape(
                f"{games} games of 6, rate 0.4",
                World(rate=0.4, correlation=0.3, game=0.2),
                6 * games,
                (1,),
                games=games,
            )
            for games in (6, 10)
        ),
    ]


def held(shape: Shape, pilots: int = PILOTS, seed: int = 3) -> tuple[str, float, int]:
    """In how many of its pilots the range that is told holds the true power; and how many were refused."""
    random = numpy.random.default_rng(seed)
    cells, assumed = len(shape.factors.cells), Assumptions({}).worlds(REVEALED)
    assert assumed is not None
    layout = Layout(talks=300, each=2, games=50 if shape.games else 0)
    comparison = Comparison(words="", outcome=REVEALED, layout=layout, alike="matched" if cells > 1 else "")
    difference = smallest(shape.world, comparison) or 0.0
    truth = power(shape.world, comparison, difference)
    holds, refused = [], 0
    for _ in range(pilots):
        drawn = replace(shape, levels=(max(2, *shape.levels),)) if cells == 1 else shape
        table = drawn.draw(random)
        if cells == 1:
            table = replace(
                table,
                cells=((),),
                values=table.values[:, :1],
                game=table.game[:, :1],
                drawn=table.drawn[:, :1],
                linked=table.linked[:1],
            )
        found = apply_pilot(Pilot("", "secret_game", {REVEALED.name: table}), REVEALED, layout, assumed)
        if found.refusal:
            refused += 1
            continue
        told = [power(world, comparison, difference) for world in found.worlds]
        holds.append(min(told) <= truth <= max(told))
    return shape.name, 100 * float(numpy.mean(holds)), refused


def prove(tables: int = TABLES, pilots: int = PILOTS) -> Iterator[Measurement]:
    with ProcessPoolExecutor(2) as pool:
        found = list(pool.map(judged, shapes(), [tables] * len(shapes())))
        ranges = list(pool.map(held, pilot_shapes(), [pilots] * len(pilot_shapes())))
    off = max(found, key=lambda one: abs(one.width - 1))
    yield at_most(
        f"half-width told and seen: furthest apart over {len(found)} shapes of {tables:,} tables ({off.shape})",
        100 * abs(off.width - 1),
        "%",
        10,
    )
    far = max((one for one in found if one.found is not None), key=lambda one: abs((one.found or 0) - 80))
    yield at_most(
        f"power at the smallest difference told: furthest from 80 % ({far.shape})",
        abs((far.found or 0) - 80),
        "points",
        5,
    )
    worst = min(ranges, key=lambda one: one[1])
    yield at_least(
        f"pilots whose range holds the true power: worst of {len(ranges)} shapes of {pilots:,} pilots ({worst[0]})",
        worst[1],
        "%",
        80,
    )
