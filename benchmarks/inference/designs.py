"""Hypotheses of designs: false findings where nothing is planted, power where an effect is, coverage of effects.

A side reveals where its number, drawn uniformly from 0 to 1, is below its cell's rate. Sides of a conversation, conversations
of a game and cells of a replicate share numbers with known probability, so every correlation is known exactly.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations, product
from typing import Any

import numpy
from scipy.special import nctdtr, ndtr, stdtrit  # type: ignore[import-untyped]

from benchmarks.inference.judging import ALARMS, LEAST, Judged, settled_one
from tidepool.engine.bench import Measurement, at_least, at_most
from tidepool.engine.design.statistics import FOUND, tested
from tidepool.engine.inference.effects import OutcomeTable
from tidepool.engine.inference.hypotheses import Cell, Factors, read_hypotheses, weigh
from tidepool.engine.inference.intervals import UNIT
from tidepool.engine.inference.measures import PERCENT, Outcome

Array = Any
REVEALED = Outcome(name="revealed", words="sides that revealed", unit=PERCENT, bounds=UNIT)
SCORE = Outcome(name="score", words="points", bounds=(0.0, 3.0))
RATING = Outcome(name="rating", words="judge's rating", bounds=(1.0, 5.0), digits=2)
ACCURACY = Outcome(name="accuracy", words="held-out accuracy", unit=PERCENT, bounds=UNIT, per_talk=False)
PROBLEMS = 100
"""that an accuracy is measured on"""
SIDES = 0.3
"""how alike the two sides of a talk are"""


@dataclass(frozen=True)
class World:
    name: str
    shape: tuple[int, ...] = (2,)
    """levels of each factor"""
    replicates: int = 1
    talks: int = 40
    """of a batch"""
    rate: float = 0.3
    shifts: Mapping[Cell, float] = field(default_factory=dict)
    """added to the rate of a cell"""
    hypotheses: tuple[tuple[str, str], ...] = (("a: 1 - 0", "two-sided"),)
    common: float = 0.5
    """how alike cells are in a talk: by common random numbers"""
    games: int = 0
    """of a batch, that link their talks; 0: nothing does"""
    in_game: float = 0.3
    """how alike the talks of a game are"""
    scenarios: int = 0
    in_scenario: float = 0.0
    """how much scenarios differ in what a level does: the spread of their own differences"""
    lost: float = 0.0
    """talks that failed"""
    outcome: Outcome = REVEALED
    entities: int = 0
    """that are rated in pairs, from 1 to 5; 0: no ratings"""
    reaction: float = 0.0
    """how differently entities react to a level: the standard deviation of their own differences"""
    run_spread: float = 0.0
    """of whole runs, beyond what their problems explain"""
    sets: str = "agents.*.instructions"
    """the key that the first factor sets"""
    mode: str = "full"

    @property
    def design(self) -> dict[str, Any]:
        return {
            "mode": self.mode,
            "replicates": self.replicates,
            "factors": [
                {
                    "name": "abcdef"[place],
                    "levels": [{"level": str(level), "set": {self.sets: level}} for level in range(levels)],
                }
                for place, levels in enumerate(self.shape)
            ],
            "hypotheses": [
                {"outcome": self.outcome.name, "contrast": contrast, "direction": direction}
                for contrast, direction in self.hypotheses
            ],
        }

    @property
    def rates(self) -> Array:
        cells = Factors.of(self.design).cells
        return numpy.array([self.rate + self.shifts.get(cell, 0.0) for cell in cells])


def shift(shape: tuple[int, ...], gain: float, at: Mapping[int, str]) -> dict[Cell, float]:
    """Cells with these levels gain that much."""
    cells = product(*(map(str, range(levels)) for levels in shape))
    return {cell: gain for cell in cells if all(cell[place] == level for place, level in at.items())}


def drawn(world: World, random: numpy.random.Generator) -> OutcomeTable:
    """One study."""
    cells, rates = Factors.of(world.design).cells, world.rates
    if world.entities:
        return _rated(world, cells, rates, random)
    if not world.outcome.per_talk:
        return _whole_batches(world, cells, rates, random)
    blocks = world.replicates * world.talks
    game = numpy.arange(blocks) % world.talks * (world.games or 1) // world.talks
    replicate = numpy.arange(blocks) // world.talks
    scenario = numpy.arange(blocks) % world.scenarios + 1 if world.scenarios else numpy.zeros(blocks, dtype=int)
    numbers = _numbers(world, (replicate * (world.games or 1) + game), len(cells), random)
    own = numpy.broadcast_to(rates, (blocks, len(cells)))
    if world.in_scenario:
        tilt = random.normal(0, world.in_scenario, (world.scenarios + 1, len(cells)))
        own = numpy.clip(own + tilt[scenario], 0, 1)
    sides = numbers < own[:, :, None]
    values = sides.mean(axis=2) if world.outcome is REVEALED else _points(sides)
    values[random.random(values.shape) < world.lost] = numpy.nan
    wide = numpy.repeat(game[:, None], len(cells), axis=1)
    linked = numpy.full(len(cells), world.games > 0)
    return OutcomeTable(world.outcome, cells, values, replicate, scenario, wide, numpy.zeros_like(wide), linked)


def _numbers(world: World, game: Array, cells: int, random: numpy.random.Generator) -> Array:
    """blocks × cells × the two sides."""

    def mixed(own: Array, shared: Array, share: float) -> Array:
        taken = random.random((*own.shape[:2], 1)) < share
        return numpy.where(taken, shared, own)

    def pairs(rows: int, columns: int) -> Array:
        pair = random.random((rows, columns, 2))
        alike = random.random((rows, columns)) < SIDES
        pair[:, :, 1] = numpy.where(alike, pair[:, :, 0], pair[:, :, 1])
        return pair

    blocks = len(game)
    talks = mixed(pairs(blocks, cells), pairs(blocks, 1), world.common)
    if not world.games:
        return talks
    number = int(game.max()) + 1
    games = mixed(pairs(number, cells), pairs(number, 1), world.common)
    return mixed(talks, games[game], world.in_game)


def _rated(world: World, cells: tuple[Cell, ...], rates: Array, random: numpy.random.Generator) -> OutcomeTable:
    """Pairs of entities as often as there are conversations, the same in all cells; `rates` are added to ratings around 3."""
    pairs = numpy.array(list(combinations(range(world.entities), 2)))
    order = random.permutation(len(pairs))
    members = pairs[order[numpy.arange(world.talks) % len(pairs)]]
    own = random.normal(0, 0.7, world.entities)[members]
    reaction = random.normal(0, world.reaction, (world.entities, len(cells)))[members]
    shared = random.normal(0, 0.5, (world.talks, len(cells)))
    drawn = 3 + own[:, :, None] + reaction + rates + shared[:, None, :] + random.normal(0, 0.5, reaction.shape)
    values = numpy.clip(numpy.round(drawn), 1, 5).mean(axis=1)
    return rated_table(cells, values, members)


def rated_table(cells: tuple[Cell, ...], values: Array, members: Array) -> OutcomeTable:
    """Mean ratings of conversations by cell, and who was in them."""
    nothing, one = numpy.zeros(values.shape, dtype=int), numpy.zeros(len(values), dtype=int)
    return OutcomeTable(RATING, cells, values, one, one, nothing, nothing, numpy.zeros(len(cells), dtype=bool), members)


def _points(sides: Array) -> Array:
    """Standard scoring: 3 for obtaining alone, 1 where both did."""
    first, second = sides[:, :, 0], sides[:, :, 1]
    return numpy.where(first & second, 1.0, numpy.where(first | second, 1.5, 0.0))


def _whole_batches(world: World, cells: tuple[Cell, ...], rates: Array, random: numpy.random.Generator) -> OutcomeTable:
    """Accuracies: problems that a replicate's cells share, and what one run is worth more than another."""
    shape = (world.replicates, len(cells))
    worth = numpy.clip(rates + random.normal(0, world.run_spread, shape), 0.01, 0.99)
    own, shared = random.random((*shape, PROBLEMS)), random.random((world.replicates, 1, PROBLEMS))
    numbers = numpy.where(random.random((*shape, PROBLEMS)) < world.common, shared, own)
    values = (numbers < worth[:, :, None]).mean(axis=2)
    replicate, nothing = numpy.arange(world.replicates), numpy.zeros(shape, dtype=int)
    linked = numpy.zeros(len(cells), dtype=bool)
    scenario = numpy.zeros(world.replicates, dtype=int)
    return OutcomeTable(world.outcome, cells, values, replicate, scenario, nothing, nothing, linked)


WITHIN = 5.0
LARGE = (3, 2, 2)
ASKED = (
    ("a: 1 - 0", "two-sided"),
    ("a: 2 - 0", "less"),
    ("b: 1 - 0", "greater"),
    ("a: 1 - 0 × b: 1 - 0", "two-sided"),
)

NOTHING = [
    World("two levels, 1 × 40 conversations"),
    World("two levels, 1 × 15 conversations, 5 % reveal", talks=15, rate=0.05),
    World("two levels, 1 × 40 conversations, one-sided", hypotheses=(("a: 1 - 0", "less"),)),
    World("two levels, 5 × 40 conversations, 3 % reveal, cells drawn alike", replicates=5, rate=0.03, common=0.9),
    World("two levels, 8 × 20 conversations, cells drawn apart", replicates=8, talks=20, common=0.0),
    World("3 × 2 × 2, 1 × 40 conversations", LARGE, hypotheses=ASKED),
    World("3 × 2 × 2, 5 × 40 conversations", LARGE, 5, hypotheses=ASKED),
    World("3 × 2 × 2, 5 × 40 conversations, the third factor matters", LARGE, 5, shifts=shift(LARGE, 0.3, {2: "1"}), hypotheses=ASKED),
    World("3 × 2 × 2, 8 × 10 conversations, 10 % lost", LARGE, 8, 10, hypotheses=ASKED, lost=0.1),
    World("3 × 2 × 2, 1 × 30 conversations, 2 % reveal", LARGE, talks=30, rate=0.02, hypotheses=ASKED),
    World("points, 3 × 2 × 2, 1 × 40 conversations", LARGE, hypotheses=ASKED, outcome=SCORE),
    World("linked games, two levels, 1 × 10 games of 8", talks=80, games=10),
    World("linked games, 3 × 2 × 2, 5 × 2 games of 10", LARGE, 5, 20, hypotheses=ASKED, games=2),
    World("linked games, two levels, 5 × 1 game of 20", replicates=5, talks=20, games=1),
    World("linked games, 5 % reveal, 8 × 1 game of 12", replicates=8, talks=12, games=1, rate=0.05),
    World("linked games, 5 % reveal, cells drawn alike, 5 × 1 game of 20", replicates=5, talks=20, games=1, rate=0.05, common=0.9),
    World("12 scenarios that repeat and differ", replicates=5, talks=48, scenarios=12, in_scenario=0.1),
    World("linked games over scenarios", replicates=8, talks=20, games=2, scenarios=10, in_scenario=0.1),
    World("a level changes the schedule, 8 replicates", replicates=8, sets="secret_game.num_interactions"),
    World("accuracy, two levels, 6 replicates", replicates=6, rate=0.6, outcome=ACCURACY, run_spread=0.05),
    World("accuracy, 3 × 2 × 2, 8 replicates", LARGE, 8, rate=0.6, hypotheses=ASKED, outcome=ACCURACY, run_spread=0.05),
    *(
        World(f"ratings of {n} entities in {talks} pairs, reactions of {reaction}", talks=talks, rate=0.0, entities=n, reaction=reaction, outcome=RATING)
        for n, talks in ((10, 45), (20, 190), (30, 120)) for reaction in (0.0, 0.2, 0.4)
    ),
    World("in step, three steps, 5 × 20 conversations", (3, 3), 5, 20, mode="paired", hypotheses=(("a: 1 - 0", "two-sided"), ("b: 2 - 0", "two-sided"))),
]  # fmt: skip


def _planted(name: str, world: World, gain: float) -> World:
    """The first level of the first factor gains; talks are as many as the formula asks for 80 %."""
    return World(**{**vars(world), "name": name, "shifts": shift(world.shape, gain, {0: "1"})})


PLANTED = [
    _planted("+10 points on 30 %, 1 × 229 conversations", World("", talks=229, common=0.0), 0.10),
    _planted("+15 points on 30 %, 5 × 21 conversations", World("", replicates=5, talks=21, common=0.0), 0.15),
    _planted("+8 points on 10 %, one-sided, 5 × 30 conversations", World("", replicates=5, talks=30, rate=0.1, common=0.0, hypotheses=(("a: 1 - 0", "greater"),)), 0.08),
    _planted("+8 points, 3 × 2 × 2, 5 × 18 conversations", World("", LARGE, 5, 18, common=0.0), 0.08),
    World("interaction of 15 points, 2 × 2, 5 × 40 conversations", (2, 2), 5, 40, shifts=shift((2, 2), 0.15, {0: "1", 1: "1"}), common=0.0, hypotheses=(("a: 1 - 0 × b: 1 - 0", "two-sided"),)),
    _planted("accuracy, +11 points, 8 replicates", World("", replicates=8, rate=0.6, outcome=ACCURACY, run_spread=0.05, common=0.0), 0.11),
    _planted("accuracy, +14 points, 6 replicates", World("", replicates=6, rate=0.6, outcome=ACCURACY, run_spread=0.05, common=0.0), 0.14),
]  # fmt: skip
SPARSE = [
    _planted("+8 points on 2 %, 3 × 2 × 2, cells drawn alike, 1 × 60 conversations", World("", LARGE, talks=60, rate=0.02, common=0.9), 0.08),
    _planted("+3 points on 2 %, 3 × 2 × 2, cells drawn alike, 1 × 60 conversations", World("", LARGE, talks=60, rate=0.02, common=0.9), 0.03),
    _planted("+5 points on 2 %, 1 × 15 conversations", World("", talks=15, rate=0.02), 0.05),
    _planted("+10 points on 5 %, 8 × 1 linked game of 12", World("", replicates=8, talks=12, games=1, rate=0.05), 0.10),
    _planted("+20 points on 30 %, 5 × 2 linked games of 10", World("", replicates=5, talks=20, games=2), 0.20),
]  # fmt: skip
PAIRED = _planted(
    "+10 points on 30 %, cells drawn alike, 1 × 229 conversations", World("", talks=229, common=0.7), 0.10
)


@dataclass(frozen=True, kw_only=True)
class Counted(Judged):
    """Shares of the studies, in per cent; coverage is of the first hypothesis."""

    any: float
    """with any finding"""
    first: float
    """with the first hypothesis found"""


def counted(world: World, studies: int, seed: int) -> Counted:
    random = numpy.random.default_rng(seed)
    factors = Factors.of(world.design)
    stated = read_hypotheses(world.design, [world.outcome])
    some = first = covered = 0
    truth = world.outcome.scale * gap_of(world)
    for _ in range(studies):
        found = tested(factors, {world.outcome.name: drawn(world, random)}, stated)
        some += any(one["verdict"] == FOUND for one in found)
        first += found[0]["verdict"] == FOUND
        low, high = found[0]["difference_ci95"]
        covered += low - 1e-9 <= truth <= high + 1e-9
    coverage, any_found, first_found = (100 * times / studies for times in (covered, some, first))
    alarms = any_found if world in NOTHING else None
    return Counted(coverage=coverage, alarms=alarms, any=any_found, first=first_found, tables=studies)


def _weights(world: World) -> Mapping[Cell, float]:
    factors = Factors.of(world.design)
    weighing = weigh(read_hypotheses(world.design, [world.outcome])[0].contrast, factors, factors.cells)
    assert weighing is not None
    return weighing.weights


def gap_of(world: World) -> float:
    """The difference that was planted."""
    rates = dict(zip(Factors.of(world.design).cells, world.rates.tolist(), strict=True))
    return math.fsum(weight * rates[cell] for cell, weight in _weights(world).items())


def planned(world: World) -> float:
    """Power in per cent, before anything is bought: of a rate's difference by the normal formula, of runs by Student's."""
    (hypothesis,) = read_hypotheses(world.design, [world.outcome])
    rates = dict(zip(Factors.of(world.design).cells, world.rates.tolist(), strict=True))
    gap, weights = abs(gap_of(world)), _weights(world)
    tail = 0.05 if hypothesis.direction != "two-sided" else 0.025
    if not world.outcome.per_talk:
        own = {cell: rate * (1 - rate) / PROBLEMS + world.run_spread**2 for cell, rate in rates.items()}
        variance = sum(weight**2 * own[cell] for cell, weight in weights.items()) / world.replicates
        freedom = world.replicates - 1
        line = float(stdtrit(freedom, 1 - tail))
        return 100 * (1 - float(nctdtr(freedom, gap / math.sqrt(variance), line)))
    own = {cell: rate * (1 - rate) * (1 + SIDES) / 2 for cell, rate in rates.items()}
    talks = world.replicates * world.talks
    variance = sum(weight**2 * own[cell] for cell, weight in weights.items()) / talks
    line = 1.6449 if tail == 0.05 else 1.96
    return 100 * float(ndtr(gap / math.sqrt(variance) - line))


def prove() -> Iterator[Measurement]:
    worlds = [*NOTHING, *PLANTED, PAIRED, *SPARSE]
    found = {world.name: settled_one(partial(counted, world)) for world in worlds}
    for world in NOTHING:
        one = found[world.name]
        told = f"studies with any confirmatory finding where nothing is planted: {world.name}"
        yield at_most(told, one.any, "%", ALARMS, f"{one.tables:,} studies")
    for world in PLANTED:
        one, expected = found[world.name], planned(world)
        told = f"planned {expected:.1f} %, found in {one.first:.1f} % of {one.tables:,} studies"
        yield at_most(f"power off its plan: {world.name}", abs(one.first - expected), "points", WITHIN, told)
    one, expected = found[PAIRED.name], planned(PAIRED)
    told = f"planned {expected:.1f} % as if cells were independent: common random numbers only gain"
    yield at_least(f"power by common random numbers: {PAIRED.name}", one.first, "%", expected - WITHIN, told)
    worst, widest = (choose(found, key=lambda name: found[name].coverage or 0) for choose in (min, max))
    least, most = (found[name].coverage or 0 for name in (worst, widest))
    told = f"coverage of effects: worst of {len(found)} worlds of {found[worst].tables:,} studies ({worst})"
    yield at_least(told, least, "%", LEAST, f"at most {most:.1f} %, {widest}")
