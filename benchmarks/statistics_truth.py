"""Do the statistics of a secret game hold? Every reported interval and test, over thousands of planted outcome tables.

No model is asked: outcomes are drawn from known rates, with talks, games and scenarios that differ in openness, and
handed to the very code that reports them. What an interval must cover is what was planted, or, for what follows from
it, the mean over all tables. `run_end_to_end` does it through the whole program with the simulated provider.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy
from scipy.special import ndtr  # type: ignore[import-untyped]

from tidepool.engine.bench.figures import Measurement, at_least, at_most
from tidepool.engine.studies.secret_game.findings.analysis import Played, SecretGameStatistics, analysed_sides
from tidepool.engine.studies.secret_game.findings.clustering import Clustering
from tidepool.engine.studies.secret_game.findings.hearing import turns
from tidepool.engine.studies.secret_game.findings.outcomes import Labels, Sides
from tidepool.engine.studies.secret_game.pairing import Schedule
from tidepool.engine.studies.secret_game.scoring import SCORING, game_points, sides

TABLES = 2_000
LEAST, MOST, ALARMS = 93.0, 97.0, 6.0
ENOUGH = 10
"""events, non-events and clusters expected, from which an interval must not be too wide either"""
MESSAGES = 6


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
    by_opponent: float = 0.0
    """how much better, in normal deviates, each next agent draws secrets out of others"""


def like(agents: int, rate: float = 0.3) -> tuple[float, ...]:
    return (rate,) * agents


def unlike(agents: int, low: float = 0.1, high: float = 0.9) -> tuple[float, ...]:
    return tuple(float(rate) for rate in numpy.linspace(low, high, agents))


WORLDS = (
    *(World(f"{n} like agents, {talks} talks", like(n), talks) for n, talks in ((2, 30), (3, 60), (8, 100), (4, 1000))),
    *(World(f"{n} unlike agents, {talks} talks", unlike(n), talks) for n, talks in ((2, 30), (4, 100), (8, 300))),
    World("5 agents that reveal rarely, 150 talks", like(5, 0.05), 150),
    World("two alike among unlike, 120 talks", (0.3, 0.3, 0.8, 0.1), 120),
    World("agents that draw out unlike, 200 talks", like(4), 200, by_opponent=0.4),
    World("random pairing, 5 agents, 150 talks", unlike(5, 0.2, 0.7), 150, pairing="random"),
    World(
        "ordered with self-play, two models, 90 talks", (0.3, 0.3, 0.6), 90, pairing="ordered", models=("a", "a", "b")
    ),
    World("unlinked, divided into 30 games, 150 talks", like(4), 150, games=30),
    World("long memory, 10 games of 12 talks", (0.3, 0.3, 0.5, 0.6), 120, 0.2, 0.3, games=10, linked=True),
    World("long memory, 40 games of 6 talks", like(4), 240, 0.2, 0.3, games=40, linked=True),
    World("retained, 12 games of 15 talks", like(5), 180, 0.2, 0.3, games=12, mode="retained", linked=True),
    World(
        "diversity, 20 games of 12 talks", (0.3, 0.3, 0.6, 0.2), 240, 0.2, 0.3, games=20, mode="diversity", linked=True
    ),
    World("targeted, 20 games of 12 talks", like(4), 240, 0.2, 0.3, games=20, mode="targeted", linked=True),
    World("8 scenarios, ordered, 3 agents", (0.3, 0.3, 0.6), 72, 0.2, 0.0, 0.3, scenarios=8, pairing="ordered"),
    World("20 scenarios twice, ordered, 3 agents", like(3), 360, 0.2, 0.0, 0.3, scenarios=20, pairing="ordered"),
    World("40 scenarios, 4 agents by turns, 480 talks", like(4), 480, 0.2, 0.0, 0.3, scenarios=40),
    World(
        "12 scenarios in 12 games, ordered", (0.3, 0.3, 0.6), 12 * 12 * 9, 0.1, 0.2, 0.2, 12, 12, "ordered", linked=True
    ),
)


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
        revealed = mood[:, None] + alone * random.standard_normal((talks, 2)) < self.lines
        return self._sides(revealed, random), scenario

    @cached_property
    def odds_after_hearing(self) -> float:
        """In the log, of a table a thousand times as long."""
        random = numpy.random.default_rng(99)
        above = below = 0.0
        for _ in range(1_000):
            drawn, _ = self.draw(random)
            for turn in turns(Clustering(drawn, linked=False), MESSAGES):
                part = turn.pulls(0.0)
                above, below = above + part[0], below + part[1]
        return math.log(above / below)

    def _sides(self, revealed: Any, random: Any) -> Sides:
        talks = len(revealed)
        own, other = revealed.ravel(), revealed[:, ::-1].ravel()
        turns = 1 + 2 * random.integers(0, MESSAGES // 2, size=(talks, 2)) + numpy.array([0, 1])
        return Sides(
            talk=numpy.repeat(numpy.arange(talks), 2),
            mode=Labels((self.world.mode,), numpy.zeros(2 * talks, dtype=int)),
            game=numpy.repeat(self.games, 2),
            names=tuple("ABCDEFGH"[: len(self.world.rates)]),
            agent=self.agent,
            opponent=self.opponent,
            opener=numpy.tile([True, False], talks),
            revealed=own,
            obtained=other,
            turn=numpy.where(own, turns.ravel(), 0),
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


# -- what was reported ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Claim:
    """One reported figure: of which family, its value and interval, and what it is about."""

    family: str
    key: str
    value: float
    interval: tuple[float, float] | None
    truth: float | None = None
    """None: the mean over all tables"""
    count: float = 0.0
    """sides or talks it rests on; 0: no rate, and never called too wide"""
    clusters: int = 0
    p_value: float | None = None
    null: bool = False


SIDE_FIELDS = ("times_revealed_secret", "times_obtained_secret", "optimal_strategy")
TALK_FIELDS = ("secrets_revealed", "both_revealed", "one_sided_reveals")


def claims(planted: Planted, found: SecretGameStatistics, scenario: Any) -> Iterator[Claim]:
    world = planted.world
    rate = dict(enumerate(numpy.bincount(planted.agent, planted.rates) / numpy.bincount(planted.agent)))
    places = {name: place for place, name in enumerate("ABCDEFGH")}
    clusters = _clusters(world)

    def side_claims(
        family: str, key: str, row: Any, truth: float | None, number: Callable[[int], int]
    ) -> Iterator[Claim]:
        for name in SIDE_FIELDS:
            value, interval = getattr(row, f"{name}_percentage"), getattr(row, f"{name}_ci95")
            known = 100 * truth if truth is not None and name == SIDE_FIELDS[0] else None
            yield Claim(f"{family}: {name}", key, value, interval, known, row.interactions, number(row.interactions))
        if hasattr(row, "score_mean"):
            yield Claim(f"{family}: mean score", key, row.score_mean, row.score_mean_ci95)

    def talk_claims(family: str, key: str, row: Any, truth: float | None) -> Iterator[Claim]:
        for name in TALK_FIELDS:
            value, interval = getattr(row, f"{name}_percentage"), getattr(row, f"{name}_ci95")
            known = 100 * truth if truth is not None and name == TALK_FIELDS[0] else None
            sides_counted = 2 if name == TALK_FIELDS[0] else 1
            talks = row.total_interactions
            yield Claim(f"{family}: {name}", key, value, interval, known, sides_counted * talks, clusters(talks))

    yield from talk_claims("overall", "all", found.overall, float(planted.rates.mean()))
    for name, row in found.agents.items():
        yield from side_claims("agents", name, row, rate[places[name]], clusters)
    for name, pair in found.pairs.items():
        yield from talk_claims("pairs", name, pair, None)
        for agent, side in pair.sides.items():
            if len(pair.sides) == 2:
                yield from side_claims("sides of pairs", f"{name} {agent}", side, None, clusters)
    for name, row in {**(found.models or {}), **found.openers, **found.modes}.items():
        yield from side_claims("models, openers, modes", name, row, None, clusters)
    for place in found.ranking:
        if place.rank_ci95:
            yield from _rank_claims(world, places[place.agent], place.agent, place.rank_ci95)
    if found.verdicts:
        yield Claim(
            "judge's verdicts",
            "all",
            found.verdicts.overall.revealed_percentage or 0.0,
            found.verdicts.overall.revealed_ci95,
        )
    for comparison in found.comparisons:
        first, second = comparison.agents
        null = _alike(world, places[first], places[second])
        yield Claim(
            f"{comparison.estimand}: {comparison.measure.split()[0]}",
            f"{first}-{second} {comparison.measure}",
            comparison.difference,
            comparison.difference_ci95,
            0.0 if null else None,
            p_value=comparison.p_value,
            null=null,
        )
    if found.hearing and found.hearing.odds_ratio:
        logs = found.hearing.odds_ratio_ci95 and tuple(map(math.log, found.hearing.odds_ratio_ci95))
        truth = planted.odds_after_hearing
        yield Claim("odds ratio after hearing", "all", math.log(found.hearing.odds_ratio), logs, truth)  # type: ignore[arg-type]
    for name, talks in (found.scenarios or {}).items():
        yield from _scenario_claim(planted, name, talks, scenario)


def _clusters(world: World) -> Callable[[int], int]:
    fixed = [number for number, counts in ((world.games, world.linked), (world.scenarios, world.scenarios)) if counts]
    return lambda talks: min(fixed) if fixed else talks


def _alike(world: World, first: int, second: int) -> bool:
    return world.rates[first] == world.rates[second] and not world.by_opponent and world.mode != "targeted"


def _rank_claims(world: World, place: int, agent: str, ranks: tuple[int, int]) -> Iterator[Claim]:
    """Ranks of agents that differ are not known beforehand: only where all are alike, and any rank is right."""
    if len(set(world.rates)) == 1 and not world.by_opponent and world.mode == "standard":
        whole = ranks == (1, len(world.rates))
        yield Claim("ranks of like agents", agent, 1.0, (1.0, 1.0) if whole else (0.0, 0.0), 1.0)


def _scenario_claim(planted: Planted, name: str, row: Any, scenario: Any) -> Iterator[Claim]:
    """Within a scenario the truth is that scenario's own."""
    world = planted.world
    rows = numpy.repeat(planted.scenarios, 2) == int(name)
    left = math.sqrt(1 - world.in_scenario)
    own = ndtr((planted.lines.ravel()[rows] - math.sqrt(world.in_scenario) * scenario[int(name)]) / left).mean()
    yield Claim("by scenario: secrets_revealed", name, 0.0, row.secrets_revealed_ci95, 100 * float(own))


# -- judging the claims --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    world: str
    family: str
    coverage: float
    claims: int
    wide: float | None
    """coverage of those with enough events, non-events and clusters"""
    alarms: float | None


def judged(world: World, tables: int = TABLES, seed: int = 1) -> list[Verdict]:
    planted = Planted(world)
    random = numpy.random.default_rng(seed)
    names = "ABCDEFGH"[: len(world.rates)]
    models = dict(zip(names, world.models or names, strict=True))
    played = Played(models, world.linked, judged=True, messages=MESSAGES)
    gathered: dict[tuple[str, str], list[Claim]] = defaultdict(list)
    for _ in range(tables):
        drawn, scenario = planted.draw(random)
        for claim in claims(planted, analysed_sides(drawn, None, played), scenario):
            gathered[claim.family, claim.key].append(claim)
    families: dict[str, list[list[Claim]]] = defaultdict(list)
    for (family, _), same in gathered.items():
        families[family].append(same)
    return [_verdict(world.name, family, members) for family, members in families.items()]


def _verdict(world: str, family: str, members: list[list[Claim]]) -> Verdict:
    covered: list[bool] = []
    enough: list[bool] = []
    tests: list[bool] = []
    for same in members:
        middle = float(numpy.mean([claim.value for claim in same]))
        for claim in same:
            truth = middle if claim.truth is None else claim.truth
            if claim.interval is not None:
                hit = claim.interval[0] - 1e-9 <= truth <= claim.interval[1] + 1e-9
                covered.append(hit)
                expected = claim.count * truth / 100
                if min(expected, claim.count - expected, claim.clusters) >= ENOUGH:
                    enough.append(hit)
            if claim.null and claim.p_value is not None:
                tests.append(claim.p_value < 0.05)
    return Verdict(
        world,
        family,
        100 * float(numpy.mean(covered)) if covered else 100.0,
        len(covered),
        100 * float(numpy.mean(enough)) if enough else None,
        100 * float(numpy.mean(tests)) if tests else None,
    )


def verdicts(tables: int = TABLES) -> list[Verdict]:
    with ProcessPoolExecutor(2) as pool:
        found = pool.map(judged, WORLDS, [tables] * len(WORLDS))
        return [one for world in found for one in world]


def prove() -> Iterator[Measurement]:
    found = verdicts()
    families = list(dict.fromkeys(one.family for one in found))
    for family in families:
        own = [one for one in found if one.family == family]
        worst = min(own, key=lambda one: one.coverage)
        tables = f"over {len(own)} worlds of {TABLES:,} tables"
        yield at_least(f"coverage, {family}: worst {tables} ({worst.world})", worst.coverage, "%", LEAST)
        if wide := [one for one in own if one.wide is not None]:
            widest = max(wide, key=lambda one: one.wide or 0)
            yield at_most(
                f"coverage, {family}, where all is ten or more: most {tables} ({widest.world})",
                widest.wide or 0,
                "%",
                MOST,
            )
        if tested := [one for one in own if one.alarms is not None]:
            most = max(tested, key=lambda one: one.alarms or 0)
            yield at_most(f"false positives, {family}: most {tables} ({most.world})", most.alarms or 0, "%", ALARMS)


if __name__ == "__main__":
    import sys

    chosen = [world for world in WORLDS if not sys.argv[2:] or any(word in world.name for word in sys.argv[2:])]
    with ProcessPoolExecutor(2) as pool:
        for world in pool.map(judged, chosen, [int(sys.argv[1])] * len(chosen)):
            for one in world:
                bad = one.coverage < LEAST or (one.wide or 0) > MOST or (one.alarms or 0) > ALARMS
                wide = "-" if one.wide is None else f"{one.wide:.1f}"
                alarms = "-" if one.alarms is None else f"{one.alarms:.1f}"
                print(
                    f"{'!!' if bad else '  '} {one.world:48} {one.family:44} {one.coverage:6.1f} {wide:>6} {alarms:>6} {one.claims:,}",
                    flush=True,
                )
