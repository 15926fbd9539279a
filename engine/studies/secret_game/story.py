"""The story of one conversation: two agents take turns, each heard from its own side; a judge may read it afterwards."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from tidepool.engine.call import Call, Message
from tidepool.engine.config.sections import Reasons, reasoning_of
from tidepool.engine.errors import CallFailed
from tidepool.engine.runtime.batch_run import BatchRun
from tidepool.engine.runtime.unit import Unit, UnitPlan
from tidepool.engine.stopping.stages import units_taken_up
from tidepool.engine.studies.secret_game.casting import Cast, Part, Stand, schedule_of
from tidepool.engine.studies.secret_game.detectors.detection import (
    Reveal,
    as_json,
    find_in_talk,
    first_of,
    is_revealed,
)
from tidepool.engine.studies.secret_game.detectors.judge import judge_prompt, read_verdict
from tidepool.engine.studies.secret_game.game import FinishedConversation, Game, Talk
from tidepool.engine.studies.secret_game.pairing import PlannedConversation
from tidepool.engine.studies.secret_game.prompts import remembered
from tidepool.engine.studies.secret_game.scoring import sides, standard_points
from tidepool.engine.studies.secret_game.succession import succession_of, waits
from tidepool.storage.ledger import UnitLine

VERDICT_TOKENS = 200


async def play(run: BatchRun) -> None:
    schedule = schedule_of(run.config)
    run.expect_units(schedule.total)
    conversations = Conversations(run)
    await run.units(conversations.plans(), conversations.again)


class Conversations:
    """Those of a batch, each as a unit: for the first time, or from its row."""

    def __init__(self, run: BatchRun) -> None:
        self._run = run
        self._cast, self._schedule = Cast.of(run.config), schedule_of(run.config)
        size = units_taken_up(run.config, self._cast.asked, self._schedule.total)
        self._succession = succession_of(self._cast, self._schedule, size) if self._cast.linked else None
        self._games: dict[int, Game] = {}
        """those under way, where conversations wait for others"""

    def plans(self) -> Iterator[UnitPlan]:
        """In the order of the schedule, so that nobody waits for a conversation that was not taken up before."""
        game: Game | None = None
        number = 0
        for a_round in self._schedule.play():
            if self._cast.linked and a_round.game != number:
                number = a_round.game
                size, over = self._schedule.conversations_in_game(number), partial(self._games.pop, number)
                game = self._games[number] = Game(self._cast, self._run, size, over)
            for agent in a_round.sits_out:
                self._run.ledger.put_sit_out(a_round.game, a_round.number, agent)
            for meeting in a_round.meetings:
                if game:
                    game.announce(meeting)
            for meeting in a_round.meetings:
                yield self._plan(meeting, game)

    def again(self, line: UnitLine) -> UnitPlan:
        opener, partner = line.participants
        meeting = PlannedConversation(line.sequence_number, line.game or 0, line.round or 0, opener, partner)
        return self._plan(meeting, self._games.get(meeting.game))

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
    run: BatchRun
    meeting: PlannedConversation
    game: Game | None
    """None where no conversation waits for another"""

    async def play(self, unit: Unit) -> None:
        """A hundred thousand of these may wait at once: what waits here is only what was said, in one frame."""
        said: list[str] = []
        served: list[str | None] = [None, None]
        try:
            stands = await self._stands()
            for turn in range(1, self.cast.settings.messages_per_interaction + 1):
                stand = stands[(turn - 1) % 2]
                reply = unit.replayed_reply(f"t{turn}") or await unit.ask(self._call(stand, turn, said))
                said.append(reply.text)
                served[(turn - 1) % 2] = reply.served_model
        except CallFailed:
            if self.game:
                self.game.lose(unit, self.meeting)
            raise
        talk: Talk = [(index % 2, text) for index, text in enumerate(said)]
        if (self.game or not unit.settled) and not unit.has_replayed(f"t{len(said)}"):
            self._conclude(unit, talk, served)
        if self.cast.judge_model:
            await self.run.all(self._ask_judge(unit, side, talk) for side in {side for side, _ in talk})

    # -- the talk ----------------------------------------------------------------------------------------

    async def _stands(self) -> tuple[Stand, Stand]:
        """Of the opener and of the partner."""
        opener, partner = self.cast.stands(self.meeting)
        if self.game is None:
            return opener, partner
        return await self._informed(self.game, opener, opens=True), await self._informed(
            self.game, partner, opens=False
        )

    async def _informed(self, game: Game, stand: Stand, *, opens: bool) -> Stand:
        part = stand.part
        known = await game.knowledge_of(part.agent.name, self.meeting)
        if known is None:
            return stand
        held = tuple(known.held.values()) if self.cast.keeps_secrets else None
        return Stand(part, held, remembered(known.talks, part.partner, opens=opens))

    def _call(self, stand: Stand, turn: int, said: list[str]) -> Call:
        """What one side is asked: its own words are `assistant`, the partner's are `user`."""
        agent = stand.part.agent
        heard = tuple(
            [Message("user" if (turn - place) % 2 else "assistant", text) for place, text in enumerate(said, 1)]
        )
        left = self.cast.settings.messages_per_interaction - turn + 1
        return Call(
            step=f"t{turn}",
            wave=turn,
            model=self.cast.models[agent.name],
            messages=stand.before + heard,
            system=self.cast.prompt(stand.part, left, stand.held),
            temperature=agent.temperature,
            max_tokens=agent.max_tokens,
            speaker=agent.name,
            turn=turn,
            **reasoning_of(agent),
        )

    # -- what came of it ---------------------------------------------------------------------------------

    def _conclude(self, unit: Unit, talk: Talk, served: Sequence[str | None]) -> None:
        opener, partner = self.cast.parts(self.meeting)
        secrets = {0: opener.secret, 1: partner.secret}
        hits = find_in_talk(talk, secrets, self.cast.detectors, self.cast.settings.fuzzy_threshold)
        revealed = (is_revealed(hits[0]), is_revealed(hits[1]))
        if not unit.settled:
            self._keep(unit, hits, revealed, served)
        if self.game:
            heard = (
                talk if self.cast.remembers(self.meeting.opener) or self.cast.remembers(self.meeting.partner) else []
            )
            self.game.finish(unit, FinishedConversation(self.meeting, heard, revealed))

    def _keep(
        self,
        unit: Unit,
        hits: Mapping[int, Sequence[Reveal]],
        revealed: tuple[bool, bool],
        served: Sequence[str | None],
    ) -> None:
        parts = self.cast.parts(self.meeting)
        for number, side in enumerate(sides(self.meeting.opener, self.meeting.partner, *revealed)):
            reveal, part = first_of(hits[number]), parts[number]
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
                detector=reveal.detector if reveal else None,
                turn=reveal.turn if reveal else None,
                start=reveal.start if reveal else None,
                end=reveal.end if reveal else None,
                score=score,
                scenario=None if part.scenario is None else part.scenario + 1,
                secret=part.secret,
                model=self.cast.models[side.agent],
                served_model=served[number],
                details=as_json(hits[number]),
            )

    # -- the judge ---------------------------------------------------------------------------------------

    async def _ask_judge(self, unit: Unit, side: int, talk: Talk) -> None:
        """Kept apart from the outcome, and without it the conversation is whole: a lost verdict is a missing one."""
        assert self.cast.judge_model is not None
        part = self.cast.parts(self.meeting)[side]
        last = max(turn for turn, (speaker, _) in enumerate(talk, 1) if speaker == side)
        step = f"t{last}/judge"
        settings = self.cast.settings
        try:
            reply = unit.replayed_reply(step) or await unit.ask(
                judge_call(self.cast.judge_model, step, len(talk) + 1, talk, side, part, settings)
            )
            verdict = read_verdict(reply.text)
        except CallFailed:
            verdict = None
        if not unit.settled and not unit.has_replayed(step):
            unit.ledger.put_verdict(unit.number, side, verdict, step)


def judge_call(model: str, step: str, wave: int, talk: Talk, side: int, part: Part, settings: Reasons) -> Call:
    """A judge is not told who they are: it reads of the player and the partner, so no name can sway it."""
    said = [("player" if speaker == side else "partner", text) for speaker, text in talk]
    system, question = judge_prompt(said, "player", part.secret)
    return Call(
        step=step,
        wave=wave,
        model=model,
        messages=(Message("user", question),),
        system=system,
        temperature=0.0,
        max_tokens=VERDICT_TOKENS,
        form="verdict",
        **reasoning_of(settings),
    )
