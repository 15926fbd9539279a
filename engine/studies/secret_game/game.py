"""One game whose conversations depend on one another: what each leaves behind, and the points at the end.

An agent that remembers, or keeps secrets, begins a round when its talks of the rounds before have ended. Nobody else
waits: two agents with short memory in mode standard need no game at all. A talk that failed leaves nothing behind,
neither a memory nor a secret. Whoever goes on after it seals it, because a later request would differ had it succeeded.

Points are worked out when the last talk of the game has ended, from the talks that came to an end. That changes no
request, so it seals nothing: when a resume brings a failed talk to its end, the game is counted anew.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from tidepool.engine.call import Message
from tidepool.engine.runtime.batch_run import BatchRun
from tidepool.engine.runtime.tasks import Latch
from tidepool.engine.runtime.unit import Unit
from tidepool.engine.studies.secret_game.casting import Cast
from tidepool.engine.studies.secret_game.detectors.folding import fold
from tidepool.engine.studies.secret_game.pairing import PlannedConversation
from tidepool.engine.studies.secret_game.prompts import EarlierConversation
from tidepool.engine.studies.secret_game.scoring import Side, game_points, sides

Talk = list[tuple[int, str]]
"""(side, text): side 0 opened"""


@dataclass(frozen=True, slots=True)
class FinishedConversation:
    meeting: PlannedConversation
    talk: Talk
    """empty where nobody remembers"""
    revealed: tuple[bool, bool]
    """by the opener, by the partner"""


@dataclass(slots=True)
class Knowledge:
    """What an agent has from its earlier talks of the game."""

    own: str
    """its own secret, folded"""
    talks: list[EarlierConversation] = field(default_factory=list)
    held: dict[str, str] = field(default_factory=dict)
    """folded → as its owner writes it, oldest first"""
    taken_in: int = 0
    """how many of the agent's talks these are"""
    learned: list[tuple[int, int]] = field(default_factory=list)
    """how many talks and secrets there were before each of them"""

    def learn(self, finished: FinishedConversation, agent: str, secrets: Mapping[str, str], *, remembers: bool) -> None:
        meeting = finished.meeting
        for side in sides_of(meeting, agent):
            partner = (meeting.partner, meeting.opener)[side]
            secret = fold(secrets[partner])
            if finished.revealed[1 - side] and secret != self.own:
                self.held.setdefault(secret, secrets[partner])
        if remembers:
            self.talks.append(_from_the_side_of(agent, finished))

    def before(self, taken_in: int) -> "Knowledge":
        """As it was when so many of the agent's talks were taken in."""
        if taken_in >= self.taken_in:
            return self
        talks, held = self.learned[taken_in]
        return Knowledge(self.own, self.talks[:talks], dict(islice(self.held.items(), held)), taken_in)


def sides_of(meeting: PlannedConversation, agent: str) -> Iterator[int]:
    """The side, or both where it talks to itself."""
    for side, name in enumerate((meeting.opener, meeting.partner)):
        if name == agent:
            yield side


def _from_the_side_of(agent: str, finished: FinishedConversation) -> EarlierConversation:
    """An agent that talked to itself remembers it as the one who opened."""
    side = next(sides_of(finished.meeting, agent))
    partner = (finished.meeting.partner, finished.meeting.opener)[side]
    said = tuple(Message("assistant" if speaker == side else "user", text) for speaker, text in finished.talk)
    return EarlierConversation(partner, said)


class Game:
    def __init__(self, cast: Cast, run: BatchRun, size: int, over: Callable[[], object] = bool) -> None:
        """`over` is called when its last conversation has ended."""
        self._over = over
        self._cast = cast
        self._run = run
        self._left = size
        self._changed = False
        """a talk was played, not merely replayed: points are to be written"""
        self._meetings: dict[str, list[PlannedConversation]] = {name: [] for name in cast.agents}
        self._ends: dict[int, Latch[FinishedConversation | None]] = {}
        self._finished: list[FinishedConversation] = []
        self._knowledge = {name: Knowledge(fold(agent.secret)) for name, agent in cast.agents.items()}

    def announce(self, meeting: PlannedConversation) -> None:
        """Called for each meeting in the order of the schedule, before any of its round begins."""
        self._ends[meeting.sequence_number] = Latch(self._run.tasks)
        for name in {meeting.opener, meeting.partner}:
            self._meetings[name].append(meeting)

    async def knowledge_of(self, agent: str, meeting: PlannedConversation) -> Knowledge | None:
        """What the agent brings into this meeting, once its earlier rounds are over; None if nothing ever counts."""
        if not (self._cast.keeps_secrets or self._cast.remembers(agent)):
            return None
        known = self._knowledge[agent]
        earlier = self._meetings[agent]
        while True:
            place = known.taken_in
            if place == len(earlier) or earlier[place].round >= meeting.round:
                # The agent's next round may have begun to take in this one's talks, before this one is told again.
                return known.before(bisect_left(earlier, meeting.round, key=lambda one: one.round))
            number = earlier[place].sequence_number
            finished = await self._ends[number].wait()
            if known.taken_in != place:
                continue  # another talk of the same round has taken it in meanwhile
            known.taken_in += 1
            known.learned.append((len(known.talks), len(known.held)))
            if finished is None:
                self._run.ledger.seal(number)
            else:
                known.learn(finished, agent, self._cast.secrets, remembers=self._cast.remembers(agent))

    def finish(self, unit: Unit, finished: FinishedConversation) -> None:
        self._end(unit, finished.meeting, finished)

    def lose(self, unit: Unit, meeting: PlannedConversation) -> None:
        self._end(unit, meeting, None)

    def _end(self, unit: Unit, meeting: PlannedConversation, finished: FinishedConversation | None) -> None:
        if self._ends[meeting.sequence_number].is_set:
            return  # told again, for its judges' sake
        self._left -= 1
        self._changed |= not unit.settled
        if finished is not None:
            self._finished.append(finished)
        if not self._left and self._changed and self._cast.keeps_secrets:
            self._put_points()
        self._ends[meeting.sequence_number].set(finished)
        if not self._left:
            self._over()

    def _put_points(self) -> None:
        talks = sorted(self._finished, key=lambda finished: finished.meeting.sequence_number)
        played: list[Side] = []
        for finished in talks:
            played += sides(finished.meeting.opener, finished.meeting.partner, *finished.revealed)
        settings = self._cast.settings
        points = game_points(settings.mode, played, self._cast.secrets, self._cast.scoring, settings.targeted_secret)
        for index, score in enumerate(points):
            self._run.ledger.put_score(talks[index // 2].meeting.sequence_number, index % 2, score)
