"""Plays the conversations of a batch, and branches of stored ones.

Two agents take turns, each with its own prompt. A judge may read the conversation afterwards. An agent that remembers, or
keeps secrets, begins a round when its conversations of earlier rounds have ended. Other agents do not wait. A failed
conversation adds neither memory nor secrets. If the batch continues past it, the failure is final, because later requests would
differ had it succeeded. The points of a game are computed when its last conversation has ended, and again if a resume
completes a failed one.

A branch rebuilds what its agents held and remembered from the conversations of earlier rounds. It gets no end-of-game points.
"""

import sqlite3
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from tidepool.engine.call import Call, Message
from tidepool.engine.config.sections import FrozenConfig, reasoning_of
from tidepool.engine.errors import CallFailed
from tidepool.engine.runtime.batch_run import BatchRun
from tidepool.engine.runtime.context import Latch
from tidepool.engine.runtime.services import units_at_a_time
from tidepool.engine.runtime.unit import Unit, UnitPlan
from tidepool.engine.studies.branches import FanOut, OriginTalk, Story
from tidepool.engine.studies.conversation import ask_judge
from tidepool.engine.studies.secret_game.casting import (
    Cast,
    Role,
    Start,
    schedule_of,
    settings_of,
    succession_of,
    waits,
)
from tidepool.engine.studies.secret_game.detectors.detection import (
    as_json,
    find_in_talk,
    first_of,
    is_revealed,
    judge_prompt,
    read_verdict,
)
from tidepool.engine.studies.secret_game.detectors.normalise import fold
from tidepool.engine.studies.secret_game.pairing import PlannedConversation
from tidepool.engine.studies.secret_game.prompts import EarlierConversation, memory_messages
from tidepool.engine.studies.secret_game.scoring import Side, game_points, sides, standard_points
from tidepool.storage.queries.conversations import TalkRow, concluded_talks

Talk = list[tuple[int, str]]
"""(side, text): side 0 opened"""


@dataclass(frozen=True, slots=True)
class FinishedConversation:
    meeting: PlannedConversation
    talk: Talk
    """empty if no agent remembers"""
    revealed: tuple[bool, bool]
    """by the opener, by the partner"""


@dataclass(slots=True)
class Knowledge:
    """What an agent has from its earlier conversations of the game."""

    own: str
    """its own secret, folded"""
    talks: list[EarlierConversation] = field(default_factory=list)
    held: dict[str, str] = field(default_factory=dict)
    """folded → as its owner writes it, oldest first"""
    read_count: int = 0
    """the number of the agent's conversations included"""
    learned: list[tuple[int, int]] = field(default_factory=list)
    """the number of conversations and secrets before each of them"""

    def learn(self, finished: FinishedConversation, agent: str, secrets: Mapping[str, str], *, remembers: bool) -> None:
        meeting = finished.meeting
        for side in sides_of(meeting, agent):
            partner = (meeting.partner, meeting.opener)[side]
            secret = fold(secrets[partner])
            if finished.revealed[1 - side] and secret != self.own:
                self.held.setdefault(secret, secrets[partner])
        if remembers:
            own = next(sides_of(meeting, agent))  # an agent that conversed with itself remembers it as its opener
            talk = [Message("assistant" if speaker == own else "user", text) for speaker, text in finished.talk]
            self.talks.append(EarlierConversation((meeting.partner, meeting.opener)[own], tuple(talk)))

    def before(self, count: int) -> "Knowledge":
        """The knowledge after the agent's first `count` conversations."""
        if count >= self.read_count:
            return self
        talks, held = self.learned[count]
        return Knowledge(self.own, self.talks[:talks], dict(islice(self.held.items(), held)), count)


def sides_of(meeting: PlannedConversation, agent: str) -> Iterator[int]:
    """The side of the agent, or both if it converses with itself."""
    for side, name in enumerate((meeting.opener, meeting.partner)):
        if name == agent:
            yield side


class Game:
    """What agents know from their earlier rounds. Without a run, all of those are over."""

    learns = True
    """the result of a conversation counts in later ones"""

    def __init__(self, cast: Cast, run: BatchRun | None = None, size: int = 0) -> None:
        """`size`: its number of conversations."""
        self._cast = cast
        self._run = run
        self._left = size
        self._changed = False
        """a conversation was played, not only replayed, so points must be written"""
        self._meetings: dict[str, list[PlannedConversation]] = {name: [] for name in cast.agents}
        self._ends: dict[int, Latch[FinishedConversation | None]] = {}
        self._finished: list[FinishedConversation] = []
        self._knowledge = {name: Knowledge(fold(agent.secret)) for name, agent in cast.agents.items()}

    def announce(self, meeting: PlannedConversation, finished: FinishedConversation | None = None) -> None:
        """Called for each meeting in the order of the schedule, before any of its round begins."""
        tasks: Any = self._run and self._run.tasks
        latch = self._ends[meeting.sequence_number] = Latch(tasks)
        if finished:
            latch.set(finished)
        for name in {meeting.opener, meeting.partner}:
            self._meetings[name].append(meeting)

    async def knowledge_of(self, agent: str, meeting: PlannedConversation) -> Knowledge | None:
        """What the agent brings into this meeting, after its earlier rounds are over; None if nothing counts in this study."""
        if not (self._cast.keeps_secrets or self._cast.remembers(agent)):
            return None
        known = self._knowledge[agent]
        earlier = self._meetings[agent]
        while True:
            place = known.read_count
            if place == len(earlier) or earlier[place].round >= meeting.round:
                # A branch may have requested a later round first.
                return known.before(bisect_left(earlier, meeting.round, key=lambda played: played.round))
            number = earlier[place].sequence_number
            finished = await self._ends[number].wait()
            if known.read_count != place:
                continue  # another conversation of the same round has added it meanwhile
            known.read_count += 1
            known.learned.append((len(known.talks), len(known.held)))
            if finished is None:
                assert self._run is not None
                self._run.ledger.seal(number)
            else:
                known.learn(finished, agent, self._cast.secrets, remembers=self._cast.remembers(agent))

    def end(self, unit: Unit, meeting: PlannedConversation, finished: FinishedConversation | None) -> None:
        """`finished`: None if the conversation failed."""
        latch = self._ends.get(meeting.sequence_number)
        if latch is None or latch.is_set:
            return  # in a branch
        self._left -= 1
        self._changed |= not unit.settled
        if finished is not None:
            self._finished.append(finished)
        if not self._left and self._changed and self._cast.keeps_secrets:
            self._put_points()
        latch.set(finished)

    def _put_points(self) -> None:
        assert self._run is not None
        talks = sorted(self._finished, key=lambda finished: finished.meeting.sequence_number)
        played: list[Side] = []
        for finished in talks:
            played += sides(finished.meeting.opener, finished.meeting.partner, *finished.revealed)
        settings = self._cast.settings
        points = game_points(settings.mode, played, self._cast.secrets, self._cast.scoring, settings.targeted_secret)
        for index, score in enumerate(points):
            self._run.ledger.put_score(talks[index // 2].meeting.sequence_number, index % 2, score)


VERDICT_TOKENS = 200


class GameConversations:
    """The conversations of a batch, each as a unit."""

    def __init__(self, run: BatchRun) -> None:
        self._run = run
        self._cast, self._schedule = Cast(run.config), schedule_of(run.config)
        self.total = self._schedule.total
        size = units_at_a_time(run.config, self._cast.model_names, self.total)
        self._succession = succession_of(self._cast, self._schedule, size) if self._cast.linked else None

    def plans(self) -> Iterator[UnitPlan]:
        """In the order of the schedule, so that no conversation waits for one that has not started."""
        game: Game | None = None
        number = 0
        for a_round in self._schedule.play():
            if self._cast.linked and a_round.game != number:
                number = a_round.game
                game = Game(self._cast, self._run, self._schedule.conversations_in_game(number))
            for agent in a_round.sits_out:
                self._run.ledger.put_sit_out(a_round.game, a_round.number, agent)
            for meeting in a_round.meetings:
                if game:
                    game.announce(meeting)
            for meeting in a_round.meetings:
                yield self._plan(meeting, game)

    def _plan(self, meeting: PlannedConversation, game: Game | None) -> UnitPlan:
        succession = self._succession
        return UnitPlan(
            meeting.sequence_number,
            Conversation(self._cast, self._run, meeting, game).play,
            participants=(meeting.opener, meeting.partner),
            game=meeting.game,
            round=meeting.round,
            interaction_type="dyadic",
            together=succession.together(waits=bool(waits(self._cast, meeting))) if succession else 0,
        )


@dataclass(frozen=True, slots=True)
class Conversation:
    cast: Cast
    fan_out: FanOut
    meeting: PlannedConversation
    game: Game | None
    """None if no conversation waits for another"""

    async def play(self, unit: Unit) -> None:
        """A hundred thousand of these may wait at once, so the frame holds only the texts of the messages."""
        texts: list[str] = []
        served: list[str | None] = [None, None]
        try:
            roles = self.cast.roles(self.meeting)
            starts = await self._start(roles[0]), await self._start(roles[1])
            for turn in range(1, self.cast.settings.messages_per_interaction + 1):
                side = (turn - 1) % 2
                reply = await unit.ask(self._call(roles[side], starts[side], turn, texts))
                texts.append(reply.text)
                served[side] = reply.served_model
        except CallFailed:
            if self.game:
                self.game.end(unit, self.meeting, None)
            raise
        talk: Talk = [(index % 2, text) for index, text in enumerate(texts)]
        if self.game.learns if self.game else not unit.settled:
            self._conclude(unit, talk, served)
        if self.cast.judge_model:
            await self.fan_out.all(self._ask_judge(unit, side, talk) for side in {side for side, _ in talk})

    # -- conversation ----------------------------------------------------------------------------------------

    async def _start(self, role: Role) -> Start:
        known = await self.game.knowledge_of(role.agent.name, self.meeting) if self.game else None
        if known is None:
            return role.fresh
        held = tuple(known.held.values()) if self.cast.keeps_secrets else None
        return held, memory_messages(known.talks, role.partner, opens=role.opens)

    def _call(self, role: Role, start: Start, turn: int, texts: list[str]) -> Call:
        """The request for one side: its own messages have the role `assistant`, the partner's `user`."""
        agent, (held, before) = role.agent, start
        messages = tuple(
            [Message("user" if (turn - place) % 2 else "assistant", text) for place, text in enumerate(texts, 1)]
        )
        left = self.cast.settings.messages_per_interaction - turn + 1
        return Call(
            step=f"t{turn}",
            wave=turn,
            model=self.cast.models[agent.name],
            messages=before + messages,
            system=self.cast.prompt(role, left, held),
            temperature=agent.temperature,
            max_tokens=agent.max_tokens,
            speaker=agent.name,
            turn=turn,
            **reasoning_of(agent),
        )

    # -- outcome ---------------------------------------------------------------------------------

    def _conclude(self, unit: Unit, talk: Talk, served: Sequence[str | None]) -> None:
        roles = self.cast.roles(self.meeting)
        secrets = {side: role.secret for side, role in enumerate(roles)}
        hits = find_in_talk(talk, secrets, self.cast.settings.wording_detectors, self.cast.settings.fuzzy_threshold)
        revealed = (is_revealed(hits[0]), is_revealed(hits[1]))
        both_sides = sides(self.meeting.opener, self.meeting.partner, *revealed)
        for number, side in enumerate(() if unit.settled else both_sides):
            reveal, role = first_of(hits[number]), roles[number]
            score = (
                None if self.cast.keeps_secrets else standard_points(side.revealed, side.obtained, self.cast.scoring)
            )
            unit.ledger.put_outcome(
                unit.number,
                side=number,
                mode=self.cast.settings.mode,
                game=self.meeting.game,
                agent=side.agent,
                opponent=side.opponent,
                revealed=side.revealed,
                uncertain=reveal is not None and reveal.uncertain,
                obtained=side.obtained,
                detector=reveal and reveal.detector,
                turn=reveal and reveal.turn,
                start=reveal and reveal.start,
                end=reveal and reveal.end,
                score=score,
                scenario=None if role.scenario is None else role.scenario + 1,
                secret=role.secret,
                model=self.cast.models[side.agent],
                served_model=served[number],
                details=as_json(hits[number]) if reveal else "[]",
            )
        if self.game:
            is_remembered = any(map(self.cast.remembers, (self.meeting.opener, self.meeting.partner)))
            finished = FinishedConversation(self.meeting, talk if is_remembered else [], revealed)
            self.game.end(unit, self.meeting, finished)

    # -- the judge ---------------------------------------------------------------------------------------

    async def _ask_judge(self, unit: Unit, side: int, talk: Talk) -> None:
        """The judge reads of "the player" and "the partner", so that names cannot influence it."""
        last = max(turn for turn, (speaker, _) in enumerate(talk, 1) if speaker == side)
        step = f"t{last}/judge"

        def call() -> Call:
            assert self.cast.judge_model is not None
            lines = [("player" if speaker == side else "partner", text) for speaker, text in talk]
            system, question = judge_prompt(lines, "player", self.cast.roles(self.meeting)[side].secret)
            return Call(
                step=step,
                wave=len(talk) + 1,
                model=self.cast.judge_model,
                messages=(Message("user", question),),
                system=system,
                temperature=0.0,
                max_tokens=VERDICT_TOKENS,
                form="verdict",
                **reasoning_of(self.cast.settings),
            )

        def put(verdict: bool | None) -> None:
            unit.ledger.put_verdict(unit.number, side, verdict, step)

        await ask_judge(unit, call, lambda reply: read_verdict(reply.text), put)


def steps(config: FrozenConfig) -> list[str]:
    return [f"t{turn}" for turn in range(1, settings_of(config).messages_per_interaction + 1)]


def turn_of(step: str) -> int:
    return int(step.removeprefix("t"))


def earlier(
    connection: sqlite3.Connection, batch_number: int, config: FrozenConfig, talks: Sequence[TalkRow]
) -> list[dict[str, Any]]:
    if not Cast(config).linked:
        return []
    before: dict[int, int] = {}
    for talk in talks:
        if talk.game is not None and talk.round is not None:
            before[talk.game] = max(talk.round, before.get(talk.game, 0))
    return list(concluded_talks(connection, batch_number, before))


def _games_before(cast: Cast, earlier: Sequence[Mapping[str, Any]]) -> dict[int, Game]:
    """What agents knew when an earlier conversation began, by game."""
    games: dict[int, Game] = {}
    for talk in earlier:
        meeting = PlannedConversation(talk["number"], talk["game"] or 1, talk["round"] or 1, *talk["participants"])
        lines = [(place % 2, text) for place, text in enumerate(talk["said"])]
        revealed = bool(talk["revealed"][0]), bool(talk["revealed"][1])
        game = games.setdefault(meeting.game, Game(cast))
        game.announce(meeting, FinishedConversation(meeting, lines, revealed))
    return games


def _meeting_of(talk: OriginTalk) -> PlannedConversation:
    opener, partner = talk.participants
    return PlannedConversation(talk.number, talk.game or 1, talk.round or 1, opener, partner)


@dataclass(frozen=True, slots=True)
class _Stage:
    cast: Cast
    games: dict[int, Game]
    fan_out: FanOut

    def story(self, talk: OriginTalk) -> Story:
        meeting = _meeting_of(talk)
        game = self.games.setdefault(meeting.game, Game(self.cast)) if self.cast.linked else None
        return Conversation(self.cast, self.fan_out, meeting, game).play

    def measured(self, talk: OriginTalk, at: str, texts: Mapping[str, str], result: Any) -> dict[str, float | None]:
        """A side that revealed its secret before the branched turn has no value."""
        before = self._revealed(talk, {one.step: one.text for one in talk.before})
        after = self._revealed(talk, texts)
        speaker = (turn_of(at) - 1) % 2
        sides = {"speaker_revealed": speaker, "speaker_obtained": 1 - speaker}
        return {name: float(after[side]) for name, side in sides.items() if not before[side]}

    def _revealed(self, talk: OriginTalk, texts: Mapping[str, str]) -> list[bool]:
        secrets = {side: role.secret for side, role in enumerate(self.cast.roles(_meeting_of(talk)))}
        rows = [((turn_of(step) - 1) % 2, text) for step, text in texts.items()]
        hits = find_in_talk(rows, secrets, self.cast.settings.wording_detectors, self.cast.settings.fuzzy_threshold)
        return [is_revealed(hits[side]) for side in (0, 1)]


def stage(config: FrozenConfig, earlier: Sequence[Mapping[str, Any]], fan_out: FanOut) -> _Stage:
    cast = Cast(config)
    return _Stage(cast, _games_before(cast, earlier), fan_out)
