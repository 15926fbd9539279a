"""Which conversations wait for others, and so how many can be asked at the same moment.

In the modes that keep secrets (retained, diversity, targeted) an agent is told in each round which secrets it holds from
the rounds before, and with long memory it hears its earlier talks. Such an agent begins a round when its talks of the
rounds before have ended: rounds of a game follow one another, however many calls could go at once. Games side by side
do not wait for each other, nor do agents of mode standard that remember nothing.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from tidepool.engine.runtime.services import groups_of
from tidepool.engine.studies.secret_game.casting import Cast
from tidepool.engine.studies.secret_game.pairing import PlannedConversation, Schedule
from tidepool.engine.studies.secret_game.tally import COUNTED


@dataclass(frozen=True, slots=True)
class Succession:
    free: int
    """conversations that wait for no other"""
    linked: int
    """conversations that wait for earlier ones"""
    rounds: int
    """that follow one another, each with an equal part of the linked conversations"""
    groups: int = 1
    """of conversations that the service takes up one after another"""

    @property
    def share_free(self) -> float:
        return self.free / (self.free + self.linked)

    def together(self, *, waits: bool) -> int:
        """How many conversations go at the pace of one that waits for earlier ones, or that does not."""
        in_a_round = self.linked / self.rounds if self.rounds else 0.0
        return max(1, round(in_a_round if waits else self.free / self.groups + in_a_round))


def succession_of(cast: Cast, schedule: Schedule, at_once: int | None = None) -> Succession:
    """`at_once`: so many conversations are taken up before others; None: all."""
    groups = groups_of(schedule.total, at_once)
    if not cast.linked:
        return Succession(schedule.total, 0, 0, groups)
    size = schedule.total if groups == 1 or at_once is None else at_once
    counted = _Count(cast, size).of(schedule, min(schedule.total, COUNTED))
    if schedule.total <= COUNTED:
        return Succession(counted.free, counted.linked, counted.rounds, groups)
    free = round(schedule.total * counted.free / (counted.free + counted.linked))
    rounds = groups * min(schedule.rounds_in_longest_game, -(-size // schedule.conversations_per_round))
    return Succession(free, schedule.total - free, rounds if free < schedule.total else 0, groups)


def waits(cast: Cast, meeting: PlannedConversation) -> list[str]:
    """Who of the two begins only when its earlier rounds are over."""
    return [name for name in {meeting.opener, meeting.partner} if cast.keeps_secrets or cast.remembers(name)]


class _Count:
    """Goes through a schedule and finds for each conversation how many must have ended before it, one after another."""

    def __init__(self, cast: Cast, group: int) -> None:
        self._cast = cast
        self._group = group
        self.free = self.linked = self.rounds = 0
        self._depth = 0
        """of the group so far"""
        self._before: dict[str, int] = defaultdict(int)
        """by agent: how deep its talks of earlier rounds lie"""
        self._now: dict[str, int] = defaultdict(int)

    def of(self, schedule: Schedule, conversations: int) -> "_Count":
        last: PlannedConversation | None = None
        for place, meeting in enumerate(islice(schedule.meetings(), conversations)):
            if last is not None:
                self._go_on(last, meeting, new_group=not place % self._group)
            self._take(waits(self._cast, meeting))
            last = meeting
        self.rounds += self._depth
        return self

    def _go_on(self, last: PlannedConversation, meeting: PlannedConversation, *, new_group: bool) -> None:
        if new_group:
            self.rounds, self._depth = self.rounds + self._depth, 0
        if new_group or meeting.game != last.game:
            self._before.clear()
            self._now.clear()
        elif meeting.round != last.round:
            self._before |= self._now

    def _take(self, waiting: Sequence[str]) -> None:
        if not waiting:
            self.free += 1
            return
        self.linked += 1
        depth = 1 + max(self._before[name] for name in waiting)
        for name in waiting:
            self._now[name] = max(self._now[name], depth)
        self._depth = max(self._depth, depth)
