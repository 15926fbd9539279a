"""Planted outcome tables of the secret game: known rates, and conversations, games and scenarios that differ in openness."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from statistics import NormalDist
from typing import Any

import numpy
from scipy.special import ndtr  # type: ignore[import-untyped]

from tidepool.engine.studies.secret_game.pairing import Schedule
from tidepool.engine.studies.secret_game.scoring import SCORING, game_points, sides
from tidepool.engine.studies.secret_game.sides import Sides


@dataclass(frozen=True)
class World:
    """What is planted: the rates of the agents, and how alike talks, games and scenarios make their sides."""

    name: str
    rates: Sequence[float]
    talks: int
    in_talk: float = 0.4
    in_game: float = 0.0
    in_scenario: float = 0.0
    games: int = 1
    scenarios: int = 0
    pairing: str = "round_robin"
    mode: str = "standard"
    linked: bool = False
    models: Sequence[str] = ()
    failing: float = 0.0
    leaky: float = 0.0
    """how much more open, in normal deviates, a fifth of the games (or else of the scenarios) is than the others"""
    by_opponent: float = 0.0
    """how much better, in normal deviates, each next agent draws secrets out of others"""


def like(agents: int, rate: float = 0.3) -> tuple[float, ...]:
    return (rate,) * agents


def unlike(agents: int, low: float = 0.1, high: float = 0.9) -> tuple[float, ...]:
    return tuple(float(rate) for rate in numpy.linspace(low, high, agents))


WORLDS = (
    *(World(f"{n} equal agents, {talks} conversations", like(n), talks) for n, talks in ((2, 30), (3, 60), (5, 50), (4, 1000))),
    *(World(f"{n} different agents, {talks} conversations", unlike(n), talks) for n, talks in ((2, 30), (4, 100), (5, 110))),
    World("4 agents that reveal rarely, 120 conversations", like(4, 0.05), 120),
    World("two equal agents among different ones, 120 conversations", (0.3, 0.3, 0.8, 0.1), 120),
    World("agents that differ in drawing secrets out, 200 conversations", like(4), 200, by_opponent=0.4),
    World("random pairing, 5 agents, 150 conversations", unlike(5, 0.2, 0.7), 150, pairing="random"),
    World("ordered with self-play, two models, 90 conversations", (0.3, 0.3, 0.6), 90, pairing="ordered", models=("a", "a", "b")),
    World("unlinked, divided into 30 games, 150 conversations", like(3), 150, games=30),
    World("long memory, 40 games of 6 conversations", like(4), 240, 0.2, 0.3, games=40, linked=True),
    World("retained, 24 games of 6 conversations", like(4), 144, 0.2, 0.3, games=24, mode="retained", linked=True),
    World("diversity, 24 games of 6 conversations", (0.3, 0.3, 0.6, 0.2), 144, 0.2, 0.3, games=24, mode="diversity", linked=True),
    World("targeted, 24 games of 6 conversations", like(4), 144, 0.2, 0.3, games=24, mode="targeted", linked=True),
    World("24 scenarios twice, ordered, 3 agents", like(3), 432, 0.2, 0.0, 0.3, scenarios=24, pairing="ordered"),
)  # fmt: skip
CLUSTERED = (
    World("40 scenarios in turn, 4 agents, 480 conversations", like(4), 480, 0.2, 0.0, 0.3, scenarios=40),
    World("12 scenarios in 12 games, ordered", (0.3, 0.3), 576, 0.1, 0.2, 0.2, 12, 12, "ordered", linked=True),
    *(World(f"{n} linked games of 6, a fifth leaky", like(3, 0.1), 6 * n, 0.2, games=n, linked=True, leaky=2.0) for n in (6, 10, 24, 40)),
    *(World(f"{n} scenarios, a fifth easy, 3 agents", like(3, 0.15), 24 * n, 0.2, scenarios=n, leaky=2.0) for n in (6, 12, 24, 40)),
    World("agents that reveal nearly always, 90 conversations", like(3, 0.96), 90),
    World("a tenth of the conversations fail, 4 different agents, 150 conversations", unlike(4, 0.2, 0.7), 150, failing=0.1),
)  # fmt: skip


# -- drawing a table -----------------------------------------------------------------------------------------


@dataclass
class Planted:
    """A world with its schedule, ready to be drawn again and again."""

    world: World
    pairs: Any = field(init=False)
    games: Any = field(init=False)
    scenarios: Any = field(init=False)

    def __post_init__(self) -> None:
        world = self.world
        names = tuple(map(str, range(len(world.rates))))
        schedule = Schedule(names, world.pairing, seed=5, games=world.games, num_interactions=world.talks)
        meetings = list(schedule.meetings())
        self.pairs = numpy.array([[int(one.opener), int(one.partner)] for one in meetings])
        self.games = numpy.array([one.game for one in meetings])
        self.scenarios = numpy.array(
            [(one.scenario_of(world.scenarios) or 0) + bool(world.scenarios) for one in meetings]
        )
        places = NormalDist()
        lines = numpy.array([places.inv_cdf(rate) for rate in world.rates])
        self.lines = lines[self.pairs] + world.by_opponent * (self.pairs[:, ::-1] - (len(lines) - 1) / 2)
        self.agent, self.opponent = self.pairs.ravel(), self.pairs[:, ::-1].ravel()
        self.rates = ndtr(self.lines).ravel()
        """each side's own chance"""

    def draw(self, random: Any) -> tuple[Sides, Any]:
        """A table, and the scenarios' own openness."""
        world, talks = self.world, len(self.pairs)
        alone = math.sqrt(1 - world.in_talk - world.in_game - world.in_scenario)
        scenario = random.standard_normal(world.scenarios + 1)
        mood = math.sqrt(world.in_talk) * random.standard_normal(talks)
        mood += math.sqrt(world.in_game) * random.standard_normal(world.games + 1)[self.games]
        mood += math.sqrt(world.in_scenario) * scenario[self.scenarios]
        if world.leaky:
            places = self.games if world.games > 1 else self.scenarios
            mood -= (world.leaky * (random.random(places.max() + 1) < 0.2))[places]
        revealed = mood[:, None] + alone * random.standard_normal((talks, 2)) < self.lines
        drawn = self._sides(revealed)
        if not world.failing:
            return drawn, scenario
        kept = numpy.repeat(random.random(talks) >= world.failing, 2)
        columns = {one.name: getattr(drawn, one.name)[kept] for one in fields(drawn) if one.name != "names"}
        return replace(drawn, **columns), scenario

    def _sides(self, revealed: Any) -> Sides:
        talks = len(revealed)
        own, other = revealed.ravel(), revealed[:, ::-1].ravel()
        return Sides(
            talk=numpy.repeat(numpy.arange(talks), 2),
            game=numpy.repeat(self.games, 2),
            names=tuple("ABCDEFGH"[: len(self.world.rates)]),
            agent=self.agent,
            opponent=self.opponent,
            opener=numpy.tile([True, False], talks),
            revealed=own,
            obtained=other,
            score=self._scores(revealed, own, other),
            scenario=numpy.repeat(self.scenarios, 2),
            uncertain=numpy.zeros(2 * talks, dtype=bool),
            verdict=own.astype(float),
        )

    def _scores(self, revealed: Any, own: Any, other: Any) -> Any:
        if self.world.mode == "standard":
            return numpy.where(other, numpy.where(own, SCORING["both"], SCORING["only_obtained"]), 0.0)
        secrets = {str(agent): f"secret {agent}" for agent in range(len(self.world.rates))}
        scores: list[float] = []
        for game in numpy.unique(self.games):
            rows = numpy.flatnonzero(self.games == game)
            played = [
                side
                for row in rows
                for side in sides(str(self.pairs[row, 0]), str(self.pairs[row, 1]), *map(bool, revealed[row]))
            ]
            scores += game_points(self.world.mode, played, secrets, targeted_secret="secret 1")
        return numpy.array(scores)
