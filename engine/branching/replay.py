"""Plans and runs the redraws of a branch.

A branch only requests the resampled turn and the turns after it. A redraw runs the kind's own conversation code, with stored
answers for the earlier requests."""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

from tidepool.engine.call import Call, Reply, most_tokens
from tidepool.engine.config.sections import FrozenConfig
from tidepool.engine.errors import FileError
from tidepool.engine.providers.protocol import Answer
from tidepool.engine.runtime.batch_run import BatchRun
from tidepool.engine.runtime.plans import EXPECTED, MOST, Plan, PlannedCalls, Sizing, UsualTokens, merged
from tidepool.engine.runtime.unit import Unit, UnitPlan
from tidepool.engine.studies.branches import (
    ASSIGNED,
    REDRAW,
    Branch,
    BranchKind,
    BranchStage,
    Origin,
    OriginTalk,
    Redraw,
    Story,
    branch_in,
)
from tidepool.engine.studies.conversation import OneByOne, rehearse, reply_text, sized
from tidepool.engine.studies.study import Study, study_from
from tidepool.storage.states import FinishReason

MESSAGE, VERDICT = UsualTokens(60, 25), UsualTokens(45, 13)
REHEARSED = 2_000
"""at most this many conversations are planned; they represent all others"""
FEW_TALKS, MANY_REDRAWS = 30, 5


def _calls(stage: BranchStage, talk: OriginTalk, origin: Origin, sizing: Sizing, share: float) -> list[PlannedCalls]:
    texts = {answered.step: answered.text for answered in talk.before}
    planned: list[PlannedCalls] = []

    def answer(call: Call) -> str:
        if (text := texts.get(call.step)) is not None:
            return text
        arms = 1 if call.step == origin.at else len(origin.arms)
        usual = VERDICT if call.form else MESSAGE
        count = round(share * origin.times * arms)
        planned.append(PlannedCalls(call.wave, call.model, count, *sized(call, usual, sizing)))
        assigned = (origin.say or "") if call.step == origin.at and sizing.worst else ""
        return max(reply_text(call, usual, sizing), assigned, key=most_tokens)

    rehearse(stage.story(talk), answer, talk.number)
    return planned


def _notes(origin: Origin) -> list[str]:
    notes = [f"Messages before {origin.at} are copied from the batch at no cost."]
    if origin.say is not None and len(origin.conversations) < FEW_TALKS:
        notes.append(
            "One conversation says nothing about others. To generalise, branch many conversations, with "
            f"{MANY_REDRAWS} redraws of each."
            if len(origin.conversations) == 1
            else f"{MANY_REDRAWS} redraws of each of many conversations tell more than many redraws of a few."
        )
    return notes


_FINISH = {reason.value: reason for reason in FinishReason}


class BranchStudy(Study):
    """A batch that continues conversations of another batch. It is a study of the same kind with another plan."""

    stoppable = False

    def __init__(self, config: FrozenConfig, branch: Branch) -> None:
        super().__init__(config)
        self.branch = branch
        self._study = study_from(config)
        kind = self._study.branches
        if kind is None or branch.origin.at not in kind.steps(config):
            raise FileError(
                "The conversations that this branch continues cannot be read: the file was changed or is damaged."
            )
        self._kind: BranchKind = kind

    def plan(self) -> Plan:
        branch = self.branch
        stage = self._kind.stage(self.config, branch.earlier, OneByOne())
        talks = branch.talks[:: -(-len(branch.talks) // REHEARSED)]
        share = len(branch.talks) / len(talks)
        expected, most = (
            merged(call for talk in talks for call in _calls(stage, talk, branch.origin, sizing, share))
            for sizing in (EXPECTED, MOST)
        )
        return Plan(branch.origin.units, expected, tuple(_notes(branch.origin)), at_most=most)

    def code(self) -> tuple[str, ...]:
        return self._study.code()

    def find_code(self, folders: Sequence[Path]) -> None:
        self._study.find_code(folders)

    async def play(self, run: BatchRun) -> None:
        stage = self._kind.stage(run.config, self.branch.earlier, run)
        run.expect_units(self.branch.origin.units)
        await run.units(self._redraws(run, stage))

    def _redraws(self, run: BatchRun, stage: BranchStage) -> Iterator[UnitPlan]:
        origin, talks = self.branch.origin, {talk.number: talk for talk in self.branch.talks}
        for redraw in origin.redraws():
            talk = talks[redraw.conversation]
            linked = self.branch.earlier and talk.game is not None  # its conversations are not independent
            cluster = f"game {talk.game}" if linked else f"conversation {talk.number}"
            yield UnitPlan(
                redraw.number,
                _redrawn(run, stage, talk, origin, redraw, cluster),
                participants=talk.participants,
                game=talk.game,
                round=talk.round,
                interaction_type=talk.interaction_type,
                details=json.dumps({**talk.details, "branch": redraw.as_json()}, ensure_ascii=False),
            )


def study_to_run(connection: sqlite3.Connection, batch: sqlite3.Row, config: FrozenConfig) -> Study:
    """The study of a batch in a file. For a branch, reads the conversations that it continues."""
    return (
        study_from(config) if batch["origin"] is None else BranchStudy(config, branch_in(connection, batch["number"]))
    )


def _redrawn(
    run: BatchRun, stage: BranchStage, talk: OriginTalk, origin: Origin, redraw: Redraw, cluster: str
) -> Story:
    earlier_answers = {answered.step: answered for answered in talk.before}

    async def play(unit: Unit) -> None:
        new_texts: dict[str, str] = {}

        async def ask(unit: Unit, call: Call) -> Reply:
            if call.step in earlier_answers:
                stored = earlier_answers[call.step]
                answer = Answer(
                    stored.text,
                    cost_usd=0.0,
                    truth=stored.truth,
                    finish=_FINISH.get(stored.finish_reason or ""),
                    served_model=stored.served_model,
                    thought=stored.thought,
                )
                return run.give(unit, call, answer)
            if call.step == origin.at and redraw.arm == "altered":
                assigned = Answer(origin.say or "", cost_usd=0.0, finish=None)
                return run.give(unit, call._replace(model=ASSIGNED), assigned)
            reply = await run.ask(unit, call)
            if call.turn is not None and not (call.step == origin.at and origin.say is not None):
                new_texts[call.step] = reply.text
            return reply

        unit.ask_through(ask)
        result = await stage.story(talk)(unit)
        if unit.settled:
            return
        for name, value in stage.measured(talk, origin.at, new_texts, result).items():
            unit.measure(name, value, cluster=cluster)
        unit.ledger.put_record(REDRAW, 0, redraw.as_json(), unit.number)

    return play
