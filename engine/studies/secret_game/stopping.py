"""What a stop rule sees of a secret game: its blocks, and what each of them came to.

A block is what makes blocks alike: all pairs once (both ways round where an agent is asked about and there is room), with
all scenarios; whole games where memory or kept secrets link their talks; one round where pairs are drawn at random.
"""

import math
import sqlite3
from collections.abc import Iterator
from difflib import get_close_matches
from itertools import islice

from tidepool.engine.config.frozen import FrozenConfig
from tidepool.engine.config.stop import StopWhenSure
from tidepool.engine.errors import UsageError
from tidepool.engine.statistics.intervals import Interval
from tidepool.engine.statistics.rates import UNIT
from tidepool.engine.stopping.checking import refuse_few_blocks, refuse_line, refuse_outcome
from tidepool.engine.stopping.watched import ENOUGH_BLOCKS, Known
from tidepool.engine.studies.secret_game.casting import Cast, schedule_of, settings_of
from tidepool.engine.studies.secret_game.findings.clustering import Clustering
from tidepool.engine.studies.secret_game.findings.outcomes import Labels, SideOutcome, Sides
from tidepool.engine.studies.secret_game.findings.shares import Shares, overall_rate
from tidepool.engine.studies.secret_game.pairing import PlannedConversation, Schedule
from tidepool.storage.queries.conversations import outcomes_between

OUTCOMES = ("revealed", "obtained")


def watched(config: FrozenConfig) -> "WatchedGame":
    """Raises where the rule cannot be kept."""
    settings, schedule = config.stop, schedule_of(config)
    assert settings is not None
    refuse_outcome(settings, OUTCOMES, "secret_game")
    agents = _agents(settings, schedule.agents)
    bounds = (-1.0, 1.0) if len(agents) == 2 else UNIT
    refuse_line(settings, (-1.0, 1.0) if settings.difference else UNIT)
    scenarios, linked = len(settings_of(config).scenarios), Cast.of(config).linked
    game = WatchedGame(
        schedule, settings.outcome, agents, bounds, linked, game_rounds(schedule, scenarios, bool(agents))
    )
    if linked and game.schedule.conversations_in_game(1) == schedule.total:
        told = "[stop] needs several games: memory or kept secrets link all talks of a game, and one game says nothing of others."
        raise UsageError(f"{told} Write games = 100, say, and rounds for the length of each.", ("secret_game", "games"))
    refuse_few_blocks(settings, game, ("secret_game", "num_interactions"))
    return game


def _agents(settings: StopWhenSure, names: tuple[str, ...]) -> tuple[str, ...]:
    """Whose sides count: of all agents (none is named), of one, or of two whose difference it is."""
    if settings.difference and not settings.contrast:
        for one in names:
            other = settings.difference.removeprefix(f"{one} - ")
            if other in names and other not in (one, settings.difference):
                return one, other
        strange = [one for one in settings.difference.split(" - ") if one not in names]
        near = get_close_matches(strange[0], names, n=1) if strange else []
        meant = f" Did you mean {near[0]!r} by {strange[0]!r}?" if near else ""
        told = (
            f'stop.difference {settings.difference!r} is not that of two agents: write "{names[0]} - {names[-1]}", say. '
            f'Of two levels of a design it is "factor: level - level".{meant}'
        )
        raise UsageError(told, ("stop", "difference"))
    if settings.agent and settings.agent not in names:
        near = get_close_matches(settings.agent, names, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise UsageError(f"stop.agent {settings.agent!r} is no agent of this study.{hint}", ("stop", "agent"))
    return (settings.agent,) if settings.agent else ()


def game_rounds(schedule: Schedule, scenarios: int, of_agents: bool) -> int:
    """How many rounds make up a block where no game is longer."""
    size = len(schedule.agents)
    cycle = size - 1 + size % 2 if schedule.pairing == "round_robin" else 1
    rounds = math.lcm(cycle, scenarios or 1)
    turned = math.lcm(2 * cycle, scenarios or 1)
    both_ways = of_agents and schedule.pairing == "round_robin" and schedule.total_rounds >= ENOUGH_BLOCKS * turned
    return turned if both_ways else rounds


def _with_next(rounds: Iterator[tuple[int, int]]) -> Iterator[tuple[tuple[int, int], tuple[int, int] | None]]:
    present = next(rounds, None)
    while present is not None:
        following = next(rounds, None)
        yield present, following
        present = following


class WatchedGame:
    noun = "talks"

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
        self._taken = 0
        self._names = tuple(sorted(schedule.agents))
        self._places = {name: place for place, name in enumerate(self._names)}
        self._columns: tuple[list[int], ...] = tuple([] for _ in range(8))
        """of the sides so far, as numbers: a look must not cost more than it has to"""

    def ends(self) -> Iterator[int]:
        since = 0
        for (game, done), following in _with_next(self.schedule.ends_of_rounds()):
            since += 1
            over = following is None or following[0] != game
            if since >= self._rounds and (over or not self.linked):
                yield done
                since = 0

    def take_in(self, connection: sqlite3.Connection, batch_number: int, last: int) -> Interval | None:
        rows = outcomes_between(connection, batch_number, self._taken + 1, last)
        return self.take_in_rows([SideOutcome(*row) for row in rows], last)

    def take_in_rows(self, rows: list[SideOutcome], last: int) -> Interval | None:
        """The sides of the next block's talks that came to their end; ids are sequence numbers."""
        meetings = list(islice(self._meetings, last - self._taken))
        self._taken = last
        self._keep(rows)
        played = {row.conversation_id for row in rows}
        lost = [meeting for meeting in meetings if meeting.sequence_number not in played]
        if not self._agents:
            return self._mean(rows, lost, None)
        first, *others = (self._mean(rows, lost, agent) for agent in self._agents)
        if not others:
            return first
        (other,) = others
        return first and other and (first[0] - other[1], first[1] - other[0])

    def _keep(self, rows: list[SideOutcome]) -> None:
        for row in rows:
            number, agent, opponent = int(row.conversation_id), self._places[row.agent], self._places[row.opponent]
            kept = (number, row.game, agent, opponent, row.opener, row.revealed, row.obtained, row.scenario or 0)
            for column, value in zip(self._columns, kept, strict=True):
                column.append(value)

    def _sides(self) -> Sides:
        import numpy

        talk, game, agent, opponent, opener, revealed, obtained, scenario = map(numpy.array, self._columns)
        unknown = numpy.full(len(talk), numpy.nan)
        return Sides(
            *(talk, Labels(("",), numpy.zeros(len(talk), dtype=int)), game, self._names, agent, opponent),
            *(opener.astype(bool), revealed.astype(bool), obtained.astype(bool), numpy.zeros(len(talk), dtype=int)),
            *(unknown, scenario, numpy.zeros(len(talk), dtype=bool), unknown),
        )

    def _mean(self, rows: list[SideOutcome], lost: list[PlannedConversation], agent: str | None) -> Interval | None:
        values = [getattr(row, self._outcome) for row in rows if agent in (None, row.agent)]
        missing = sum(agent in (None, name) for meeting in lost for name in (meeting.opener, meeting.partner))
        sides, found = len(values) + missing, sum(map(bool, values))
        return (found / sides, (found + missing) / sides) if sides else None

    def known(self) -> Known | None:
        if not self._columns[0]:
            return None
        sides = self._sides()
        lost = self._taken - len(sides) // 2
        clustering = Clustering(sides, linked=self.linked, missing=lost / self._taken)
        if not self._agents:
            rate = overall_rate(clustering)
        else:
            levels = [sides.seat, sides.direction]
            rates = Shares(clustering, UNIT).rates_of_sides(sides.agent, len(sides.names), levels)
            rate = rates[f"times_{self._outcome}_secret"][sides.names.index(self._agents[0])]
        return Known(rate.mean, rate.interval()) if rate else None
