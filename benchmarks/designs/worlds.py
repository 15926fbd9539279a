"""Studies whose truth is known, as tables of outcomes: what each cell's rate is, and how talks hang together.

A side reveals where its number, drawn evenly from 0 to 1, lies under its cell's rate. Numbers are shared by chance: by the
two sides of a talk, by the talks of a game, by the cells of a replicate (common random numbers). So every correlation is
known exactly.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy

from tidepool.engine.design.contrasts import Cell, Factors
from tidepool.engine.design.effects import OutcomeTable
from tidepool.engine.design.outcomes import PERCENT, Outcome
from tidepool.engine.statistics.intervals import UNIT

Array = Any
REVEALED = Outcome(name="revealed", words="sides that revealed", unit=PERCENT, bounds=UNIT)
SCORE = Outcome(name="score", words="points", bounds=(0.0, 3.0))
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
