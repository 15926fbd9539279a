"""What a secret game will measure, before it is run: the number of values for power, and the blocks for stop rules.

Blocks of a stop rule must be alike. A block contains all pairs once, with all scenarios (in both orders if the rule watches an
agent and the plan is long enough). If memory or collected secrets link conversations, a block is made of whole games. If pairs are
random, it is one round.
"""

import math
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from difflib import get_close_matches
from itertools import chain, combinations, islice, pairwise

from tidepool.engine.config.sections import FrozenConfig, StopWhenSure
from tidepool.engine.errors import UsageError
from tidepool.engine.inference.contrasts import FEWEST_TESTED
from tidepool.engine.inference.grouped import numpy
from tidepool.engine.inference.intervals import UNIT, Interval
from tidepool.engine.inference.measures import PlannedBatch, PlannedRivals, PlannedValues
from tidepool.engine.runtime.stop_rules import ENOUGH_BLOCKS, ReportEstimate, refuse_few_blocks, refuse_line
from tidepool.engine.studies.secret_game.casting import Cast, schedule_of, settings_of
from tidepool.engine.studies.secret_game.contrasts import MOST_COMPARED
from tidepool.engine.studies.secret_game.pairing import COUNTED, PlannedConversation, Schedule, tally_of
from tidepool.engine.studies.secret_game.scoring import MEASURES
from tidepool.engine.studies.secret_game.sides import Clustering, SideColumns, SideOutcome
from tidepool.storage.queries.conversations import outcomes_between


def planned(config: FrozenConfig) -> PlannedBatch:
    schedule, settings, linked = schedule_of(config), settings_of(config), Cast(config).linked
    games = -(-schedule.total_rounds // schedule.rounds) if schedule.rounds else schedule.games
    games = max(1, min(games, schedule.total_rounds))
    scenarios = min(len(settings.scenarios), schedule.total_rounds)
    repeated = scenarios if 1 < scenarios < schedule.total else 0
    # The config keys that add conversations; if games link them, that add games of the same length.
    whole = schedule.num_interactions
    sizes = {} if whole is None else {"secret_game.num_interactions": whole}
    sizes |= {"secret_game.games": schedule.games} if whole is None or (linked and not schedule.rounds) else {}
    return PlannedBatch(
        counted="conversations",
        outcomes=_numbers(schedule),
        sizes=sizes,
        rivals=tuple(_rivals(schedule, games if linked else 0, repeated and len(settings.scenarios))),
        games=games,
        linked=linked,
        scenarios=repeated,
    )


def _numbers(schedule: Schedule) -> dict[str, PlannedValues]:
    (opened, answered), size = tally_of(schedule), len(schedule.agents)
    of_all = dict.fromkeys(MEASURES, PlannedValues(schedule.total, 2))
    for name in schedule.agents:
        sides = opened[name] + answered[name]
        alone = schedule.total / size**2 if schedule.pairing == "ordered" else 0.0
        own = PlannedValues(sides - alone, sides / max(1.0, sides - alone))
        of_all |= {f"{measure} of {name}": own for measure in MEASURES}
    return of_all


def _rivals(schedule: Schedule, games: int, scenarios: int) -> Iterator[PlannedRivals]:
    """Two agents of the study: any two meet equally often, and the pair with the fewest games or scenarios counts. The report
    corrects over all pairs: score and revealed head to head, and these and obtained against third agents. `games` link their
    conversations, and `scenarios` repeat; 0: none."""
    size = len(schedule.agents)
    ordered = schedule.pairing == "ordered"
    met = 2 * schedule.total / (size**2 if ordered else size * (size - 1))
    heads, thirds = _clusters_by_pair(schedule, games, scenarios)
    tests = 2 * len(heads) + 3 * len(thirds)
    for words, talks, alike, pairs in (
        ("two agents, head to head", met, "correlation", heads),
        ("two agents, against third agents", met * (size - 2), "", thirds),
    ):
        if pairs:
            yield PlannedRivals(words, "revealed", talks, alike, tests, *map(min, zip(*pairs, strict=True)))


def _clusters_by_pair(schedule: Schedule, games: int, scenarios: int) -> tuple[list[tuple[int, int]], ...]:
    """By pair, in how many games and scenarios the two met, and in how many both met third agents from the same side with the
    same scenario. Pairs without any are left out. For a large plan, only its first conversations are counted."""
    if (
        schedule.total > COUNTED and len(schedule.agents) > MOST_COMPARED
    ):  # the first conversations have too few of a pair
        return ([(games, scenarios)] * math.comb(MOST_COMPARED, 2),) * 2
    met: defaultdict[str, set[tuple[str, bool, int | None, int]]] = defaultdict(set)
    for one in islice(schedule.meetings(), COUNTED):
        met[one.opener].add((one.partner, True, one.scenario_of(scenarios), one.game))
        met[one.partner].add((one.opener, False, one.scenario_of(scenarios), one.game))
    strata = {name: {row[:3] for row in met[name]} for name in schedule.agents}
    by_claim: tuple[list[tuple[int, int]], ...] = ([], [])
    scale = max(1.0, schedule.total / COUNTED)
    for pair in combinations(schedule.agents[:MOST_COMPARED], 2):
        head = [[row for row in met[pair[0]] if row[0] == pair[1]]]
        third = [
            [row for row in met[one] if row[:3] in strata[other] and row[0] not in pair]
            for one, other in (pair, pair[::-1])
        ]
        for found, arms in zip(by_claim, (head, third), strict=True):
            if all(arms):
                fewest = min(len({row[3] for row in arm}) for arm in arms)
                found.append((min(games, round(scale * fewest)), scenarios and len({row[2] for row in arms[0]})))
    return by_claim


def watch_game(config: FrozenConfig) -> "WatchedGame":
    """Raises if the rule cannot work."""
    settings, schedule = config.stop, schedule_of(config)
    assert settings is not None
    if settings.outcome not in OUTCOMES:
        raise UsageError(
            f"stop.outcome {settings.outcome!r} is unknown. Use {' or '.join(OUTCOMES)}.", ("stop", "outcome")
        )
    agents = _agents(settings, schedule.agents)
    bounds = (-1.0, 1.0) if len(agents) == 2 else UNIT
    refuse_line(settings, (-1.0, 1.0) if settings.difference else UNIT)
    scenarios, linked = len(settings_of(config).scenarios), Cast(config).linked
    if 1 < scenarios < schedule.total:
        raise UsageError(
            "[stop] cannot be used with repeated scenarios: more conversations over the same scenarios add little about scenarios "
            "like these. Remove [stop], or give each conversation its own scenario.",
            ("stop",),
        )
    game = WatchedGame(schedule, settings.outcome, agents, bounds, linked, game_rounds(schedule, bool(agents)))
    if linked and game.schedule.conversations_in_game(1) == schedule.total:
        message = "[stop] needs several games, because memory or collected secrets link all conversations of a game."
        raise UsageError(
            f"{message} For example, set games = 100, and rounds for the length of each game.", ("secret_game", "games")
        )
    refuse_few_blocks(settings, game, ("secret_game", "num_interactions"))
    return game


def _agents(settings: StopWhenSure, names: tuple[str, ...]) -> tuple[str, ...]:
    """The agents whose sides count: all (empty), one, or the two whose difference is watched."""
    if settings.difference:
        for name in names:
            other = settings.difference.removeprefix(f"{name} - ")
            if other in names and other not in (name, settings.difference):
                return name, other
        strange = [name for name in settings.difference.split(" - ") if name not in names]
        near = get_close_matches(strange[0], names, n=1) if strange else []
        meant = f" Did you mean {near[0]!r} by {strange[0]!r}?" if near else ""
        message = f'stop.difference {settings.difference!r} must name two agents. For example: "{names[0]} - {names[-1]}".{meant}'
        raise UsageError(message, ("stop", "difference"))
    if settings.agent and settings.agent not in names:
        near = get_close_matches(settings.agent, names, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise UsageError(f"stop.agent {settings.agent!r} is not an agent of this study.{hint}", ("stop", "agent"))
    return (settings.agent,) if settings.agent else ()


def game_rounds(schedule: Schedule, of_agents: bool) -> int:
    """How many rounds form a block, if no game is longer."""
    size = len(schedule.agents)
    if schedule.pairing != "round_robin":
        return 1
    cycle = size - 1 + size % 2
    both_ways = of_agents and schedule.total_rounds >= 2 * ENOUGH_BLOCKS * cycle
    return 2 * cycle if both_ways else cycle


OUTCOMES = ("revealed", "obtained")


class WatchedGame:
    noun = "conversations"
    in_percent = True

    def __init__(
        self,
        schedule: Schedule,
        outcome: str,
        agents: tuple[str, ...] = (),
        bounds: Interval = UNIT,
        linked: bool = False,
        rounds: int = 1,
    ) -> None:
        self.schedule, self.bounds, self.linked = schedule, bounds, linked
        self.units = schedule.total
        self.together = schedule.conversations_per_round if linked else schedule.total
        self._outcome, self._agents, self._rounds = outcome, agents, rounds
        self._meetings = schedule.meetings()
        self._read_count = 0
        self._columns = SideColumns()

    def ends(self) -> Iterator[int]:
        since = 0
        behind_the_last = (0, 0)
        for (game, done), (following, _) in pairwise(chain(self.schedule.ends_of_rounds(), [behind_the_last])):
            since += 1
            if since >= self._rounds and (following != game or not self.linked):
                yield done
                since = 0

    def read_block(self, connection: sqlite3.Connection, batch_number: int, last: int) -> Interval | None:
        rows = outcomes_between(connection, batch_number, self._read_count + 1, last)
        return self.take_in_rows([SideOutcome(*row) for row in rows], last)

    def take_in_rows(self, rows: list[SideOutcome], last: int) -> Interval | None:
        """Adds the sides of the next block's completed conversations; ids are sequence numbers."""
        meetings = list(islice(self._meetings, last - self._read_count))
        self._read_count = last
        if rows:
            self._columns.add([row.conversation_id for row in rows], [row[1:] for row in rows])
        played = {row.conversation_id for row in rows}
        missing = [meeting for meeting in meetings if meeting.sequence_number not in played]
        if not self._agents:
            return self._mean(rows, missing, None)
        first, *others = (self._mean(rows, missing, agent) for agent in self._agents)
        if not others:
            return first
        (other,) = others
        return first and other and (first[0] - other[1], first[1] - other[0])

    def _mean(self, rows: list[SideOutcome], lost: list[PlannedConversation], agent: str | None) -> Interval | None:
        values = [getattr(row, self._outcome) for row in rows if agent in (None, row.agent)]
        missing = sum(agent in (None, name) for meeting in lost for name in (meeting.opener, meeting.partner))
        sides, count = len(values) + missing, sum(map(bool, values))
        return (count / sides, (count + missing) / sides) if sides else None

    def known(self) -> ReportEstimate | None:
        sides = self._columns.of_whole_talks()
        clustering = Clustering(sides, linked=self.linked)
        if not len(sides) or (self.linked and clustering.games < FEWEST_TESTED):
            return None
        likeness = clustering.likeness(sides.revealed)
        if self._agents:
            grouped, values = clustering.grouped(sides.agent, len(sides.names)), getattr(sides, self._outcome)
            rate = clustering.rates(grouped, values, likeness=likeness)[sides.names.index(self._agents[0])]
        else:
            grouped = clustering.grouped(numpy.zeros(len(sides), dtype=int), 1)
            (rate,) = clustering.rates(grouped, sides.revealed, likeness=likeness)
        return ReportEstimate(rate.mean, rate.interval()) if rate else None
