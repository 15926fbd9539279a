"""Is power told rightly? Half-widths and powers that are told beforehand, against planted tables that were then drawn.

No model is asked: outcomes are drawn with known rates and likenesses and handed to the very code that reports effects.
"""

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy

from benchmarks.inference.worlds import Planted
from benchmarks.inference.worlds import World as PlantedWorld
from tidepool.engine.bench import Measurement, at_least, at_most
from tidepool.engine.config.freezing import freeze
from tidepool.engine.config.loading import config_from
from tidepool.engine.inference.effects import OutcomeTable, cell_mean, effect
from tidepool.engine.inference.hypotheses import ContrastSpec, Difference, Factor, Factors, Weighing, weigh
from tidepool.engine.inference.intervals import UNIT
from tidepool.engine.inference.measures import PERCENT, Outcome
from tidepool.engine.inference.power import Comparison, Layout, World, half_width, power, smallest
from tidepool.engine.planning.assumptions import Assumptions
from tidepool.engine.planning.foresight import forecast
from tidepool.engine.planning.pilot import Pilot, apply_pilot
from tidepool.engine.studies.secret_game.analysis import analyse_sides
from tidepool.engine.studies.secret_game.contrasts import HEAD, THIRD
from tidepool.engine.studies.simulation.casting import combinations
from tidepool.engine.studies.simulation.measures import SpeechTally
from tidepool.engine.studies.simulation.results import compared
from tidepool.storage.queries.units import SpokenPage

TABLES, PANELS, PILOTS = 1_000, 500, 400
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
        found.append(Shape(f"{talks} conversations, rate {rate}, correlation of sides {correlation}", world, talks))
    for rate, matched in product((0.2, 0.5), (0.3, 0.6)):
        world = World(rate=rate, correlation=0.3, matched=matched)
        found.append(Shape(f"2 × 2 × 2 replicates, rate {rate}, matched {matched}", world, 40, (2, 2), 2))
        found.append(Shape(f"interaction, rate {rate}, matched {matched}", world, 80, (2, 2), 2, interaction=True))
    for games, likeness in product((8, 20, 50), (0.1, 0.3)):
        world = World(rate=0.3, correlation=0.3, game=likeness)
        found.append(Shape(f"{games} games of 8, correlation {likeness}", world, 8 * games, games=games))
    for scenarios, likeness in product((8, 20), (0.05, 0.2)):
        world = World(rate=0.4, correlation=0.3, scenario=likeness)
        name = f"{scenarios} scenarios, correlation {likeness}"
        found.append(Shape(name, world, 10 * scenarios, scenarios=scenarios))
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


# -- simulations -------------------------------------------------------------------------------------------------


SCALE = (-1.0, 7.0)
"""wide enough for normal ratings around three, of standard deviation one"""
RATING = Outcome(name="rating", words="judge's rating", bounds=SCALE)


@dataclass(frozen=True)
class Panel:
    """Two simulations with the same entities, of other seeds; or as two cells of a design, in which the same meet."""

    entities: int
    talks: int
    reaction: float
    entity: float = 0.5
    correlation: float = 0.2
    size: int = 2
    design: bool = False

    def __str__(self) -> str:
        kind = "design" if self.design else "two batches"
        return f"{kind}: {self.entities} entities, {self.talks} conversations of {self.size}, reaction {self.reaction}"

    @property
    def world(self) -> World:
        return World(sd=1.0, entity=self.entity, correlation=self.correlation, reaction=self.reaction)

    @property
    def layout(self) -> Layout:
        return Layout(talks=self.talks, each=self.size, entities=self.entities)

    def draw(self, random: Any, difference: float) -> list[tuple[Any, Any]]:
        """Of both conditions: who met, and their ratings; means below three and above it."""
        own = random.normal(0, math.sqrt(self.entity - self.reaction), self.entities)
        conditions = []
        seed = int(random.integers(2**31))
        for place, shift in enumerate((difference / 2, -difference / 2)):
            seed += 0 if self.design else place
            drawn = combinations(self.entities, self.size, self.talks, seed)
            casts = numpy.array([one.members for one in drawn])
            means = 3 + shift + own + random.normal(0, math.sqrt(self.reaction), self.entities)
            shared = random.normal(0, math.sqrt(self.correlation), (self.talks, 1))
            noise = random.normal(0, math.sqrt(1 - self.entity - self.correlation), casts.shape)
            conditions.append((casts, means[casts] + shared + noise))
        return conditions

    def p_value(self, conditions: Sequence[tuple[Any, Any]]) -> float:
        """By the code of `compare`, or of the report of a design."""
        if not self.design:
            first, second = (tally_of(*one) for one in conditions)
            return float((compared(first, second) or {})["p_value"])
        factors = Factors((Factor("f", ("a", "b"), frozenset()),))
        weighing = weigh(ContrastSpec((Difference("f", "b", "a"),)), factors, factors.cells)
        assert weighing is not None
        return effect(self.table(conditions[::-1]), weighing).p_value or 1.0

    def table(self, conditions: Sequence[tuple[Any, Any]]) -> OutcomeTable:
        values = numpy.stack([ratings.mean(axis=1) for _, ratings in conditions], axis=1)
        nothing, zeros = numpy.zeros(self.talks, dtype=int), numpy.zeros(values.shape, dtype=int)
        linked = numpy.zeros(len(conditions), dtype=bool)
        cells = (("a",), ("b",))[: len(conditions)]
        return OutcomeTable(RATING, cells, values, nothing + 1, nothing, zeros, zeros, linked, conditions[0][0])


def tally_of(casts: Any, ratings: Any) -> SpeechTally:
    tally, names = SpeechTally(), [[str(one) for one in cast] for cast in casts.tolist()]
    rated = [
        (unit, name, value)
        for unit, (cast, row) in enumerate(zip(names, ratings.tolist(), strict=True))
        for name, value in zip(cast, row, strict=True)
    ]
    units = range(len(names))
    page = SpokenPage(units, ["completed"] * len(names), ["dyadic"] * len(names), names, ([], [], []), rated)
    tally.take(page)
    return tally


def panels() -> list[Panel]:
    shapes = product((False, True), (12, 20), (90, 180), (0.0, 0.05, 0.2))
    pairs = [Panel(entities, talks, reaction, design=design) for design, entities, talks, reaction in shapes]
    groups = [Panel(15, 60, reaction, size=4, design=design) for design, reaction in product((False, True), (0.0, 0.1))]
    return pairs + groups


def judged_panel(panel: Panel, tables: int = PANELS, seed: int = 4) -> Verdict:
    random = numpy.random.default_rng(seed)
    comparison = Comparison(words="", outcome=RATING, layout=panel.layout, alike="matched" if panel.design else "")
    told = smallest(panel.world, comparison)
    assert told is not None
    widths, hits = [], []
    for _ in range(tables):
        conditions = panel.draw(random, told)
        hits.append(panel.p_value(conditions) < 0.05)
        first = tally_of(*conditions[0])
        (mean,) = first.group_means("rating", [list(first.places)], SCALE)
        low, high = (mean or {})["ci95"]
        widths.append((high - low) / 2)
    expected = half_width(panel.world, panel.layout, SCALE)
    assert expected is not None
    return Verdict(str(panel), float(numpy.mean(widths)) / expected, told, 100 * float(numpy.mean(hits)))


# -- agents ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Match:
    """A game of agents that reveal alike, but for the first of them against one other, or against all others but that one."""

    agents: int
    met: int
    """conversations of two agents"""
    head: bool
    rate: float = 0.3
    correlation: float = 0.3

    def __str__(self) -> str:
        return f"{self.agents} agents, {self.met} conversations a pair, {HEAD if self.head else THIRD}"

    @property
    def talks(self) -> int:
        return self.met * math.comb(self.agents, 2)

    @property
    def comparison(self) -> Comparison:
        """Of the plan of such a study."""
        agents = [
            {"name": name, "model": "simulated:guarded", "secret": f"word {name}"} for name in "ABCDEFGH"[: self.agents]
        ]
        game = {"num_interactions": self.talks}
        config = config_from({"batch": {"kind": "secret_game"}, "secret_game": game, "agents": agents}, source="")
        found = forecast(freeze(config, Path("none.db")))
        assert found is not None
        return next(one for one in found.comparisons if one.words == f"two agents, {HEAD if self.head else THIRD}")


class Meetings(Planted):
    """Its schedule, with the sides' correlation as planned."""

    def found(self, random: Any, match: Match, difference: float) -> float:
        """The p-value of the planted difference after Holm's correction over the whole report."""
        against = self.opponent == 1
        shifted = (self.agent == 0) & (against if match.head else ~against)
        rates = match.rate + difference * shifted
        revealed = _sides(random, match.talks, match.correlation) < rates.reshape(-1, 2)
        rows = analyse_sides(self._sides(revealed))["comparisons"]
        wanted = (HEAD if match.head else THIRD, "revealed %", {"A", "B"})
        (row,) = (one for one in rows if (one["question"], one["measure"], set(one["agents"])) == wanted)
        return float(row["p_value_holm"])


def matches() -> list[Match]:
    return [Match(agents, met, head) for agents, met, head in product((3, 4), (60, 150), (True, False))]


def judged_match(match: Match, tables: int = PANELS, seed: int = 5) -> Verdict:
    random = numpy.random.default_rng(seed)
    told = smallest(World(rate=match.rate, correlation=match.correlation), match.comparison)
    assert told is not None
    meetings = Meetings(PlantedWorld("", (match.rate,) * match.agents, match.talks))
    hits = [meetings.found(random, match, told) < 0.05 for _ in range(tables)]
    return Verdict(str(match), 1.0, told, 100 * float(numpy.mean(hits)))


# -- pilots ----------------------------------------------------------------------------------------------------


def pilot_shapes() -> list[Shape]:
    found = [
        Shape(f"{talks} conversations, rate {rate}", World(rate=rate, correlation=0.3), talks, (1,))
        for rate, talks in product((0.2, 0.3, 0.5, 0.7), (30, 45, 60))
    ]
    for rate, talks in product((0.2, 0.5), (30, 60)):
        world = World(rate=rate, correlation=0.3, matched=0.4)
        found.append(Shape(f"{talks} conversations in each of 2 cells, rate {rate}", world, talks))
    for games in (6, 10):
        world = World(rate=0.4, correlation=0.3, game=0.2)
        found.append(Shape(f"{games} games of 6, rate 0.4", world, 6 * games, (1,), games=games))
    return found


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


def held_panel(panel: Panel, pilots: int = PILOTS, seed: int = 6) -> tuple[str, float, int]:
    """The same for simulations: the half-width and the power of one with 180 conversations."""
    random = numpy.random.default_rng(seed)
    layout = replace(panel.layout, talks=180)
    comparison = Comparison(words="", outcome=RATING, layout=layout)
    difference = smallest(panel.world, comparison) or 0.0
    stated = Assumptions.read([f"correlation={panel.correlation}", f"reaction={panel.reaction}"]).worlds(RATING)
    assert stated is not None
    figures = partial(power, comparison=comparison, difference=difference), partial(half_width, layout=layout)
    holds: list[list[bool]] = []
    for _ in range(pilots):
        table = panel.table(panel.draw(random, 0.0)[:1])
        found = apply_pilot(Pilot("", "simulation", {RATING.name: table}), RATING, layout, stated)
        told = [[figure(world) or 0.0 for world in found.worlds] for figure in figures]
        truths = [figure(panel.world) or 0.0 for figure in figures]
        holds.append([min(own) <= truth <= max(own) for own, truth in zip(told, truths, strict=True)])
    return f"{panel}, entities {panel.entity} alike", 100 * float(numpy.mean(holds, axis=0).min()), 0


def pilot_panels() -> list[Panel]:
    shapes = ((10, 45, 2, 0.8), (12, 40, 2, 0.3), (20, 60, 2, 0.5), (15, 60, 4, 0.5), (10, 60, 1, 0.5))
    return [Panel(entities, talks, 0.05, entity, 0.1, size) for entities, talks, size, entity in shapes]


def prove(tables: int = TABLES, panel_tables: int = PANELS, pilots: int = PILOTS) -> Iterator[Measurement]:
    with ProcessPoolExecutor(2) as pool:
        found = list(pool.map(judged, shapes(), [tables] * len(shapes())))
        of_panels = list(pool.map(judged_panel, panels(), [panel_tables] * len(panels())))
        of_matches = list(pool.map(judged_match, matches(), [panel_tables] * len(matches())))
        ranges = list(pool.map(held, pilot_shapes(), [pilots] * len(pilot_shapes())))
        ranges += pool.map(held_panel, pilot_panels(), [pilots] * len(pilot_panels()))
    yield from _verdicts("effects of designs", found, tables)
    yield from _verdicts("simulations, two batches and designs", of_panels, panel_tables)
    yield from _powers("agents after Holm's correction over their report", of_matches, panel_tables)
    worst = min(ranges, key=lambda one: one[1])
    yield at_least(
        f"pilots whose range holds the true figure: worst of {len(ranges)} shapes of {pilots:,} pilots ({worst[0]})",
        worst[1],
        "%",
        80,
    )


def _verdicts(what: str, found: Sequence[Verdict], tables: int) -> Iterator[Measurement]:
    off = max(found, key=lambda one: abs(one.width - 1))
    words = f"{what}: half-width planned and seen, furthest apart over {len(found)} shapes of {tables:,} tables ({off.shape})"
    yield at_most(words, 100 * abs(off.width - 1), "%", 10)
    yield from _powers(what, found, tables)


def _powers(what: str, found: Sequence[Verdict], tables: int) -> Iterator[Measurement]:
    far = max((one for one in found if one.found is not None), key=lambda one: abs((one.found or 0) - 80))
    words = f"{what}: power at the smallest difference planned, furthest from 80 % over {len(found)} shapes of {tables:,} tables"
    yield at_most(f"{words} ({far.shape})", abs((far.found or 0) - 80), "points", 5)
