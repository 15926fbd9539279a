"""The redraws of a branch: the kind's own story, some of whose questions are answered already."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from tidepool.engine.branching.origin import ASSIGNED, Origin, Redraw
from tidepool.engine.branching.talks import OUTCOME, BranchKind, BranchStage, GivenAnswer, OriginTalk, branch_in
from tidepool.engine.call import Call, Reply
from tidepool.engine.providers.protocol import Answer
from tidepool.engine.runtime.batch_run import BatchRun
from tidepool.engine.runtime.unit import Unit, UnitPlan
from tidepool.storage.states import FinishReason

_FINISH = {reason.value: reason for reason in FinishReason}


async def play(run: BatchRun, kind: BranchKind) -> None:
    branch = branch_in(run.ledger.reader, run.ledger.batch_number)
    stage = kind.stage(run.config, branch.earlier, run)
    talks = {talk.number: talk for talk in branch.talks}
    run.expect_units(branch.origin.units)
    await run.units(_redraws(run, stage, branch.origin, talks))


def _redraws(run: BatchRun, stage: BranchStage, origin: Origin, talks: dict[int, OriginTalk]) -> Iterator[UnitPlan]:
    for redraw in origin.redraws():
        talk = talks[redraw.conversation]
        yield UnitPlan(
            redraw.number,
            RedrawnTalk(run, stage, talk, origin, redraw).play,
            participants=talk.participants,
            game=talk.game,
            round=talk.round,
            interaction_type=talk.interaction_type,
            details=json.dumps({**talk.details, "branch": redraw.as_json()}, ensure_ascii=False),
        )


@dataclass(frozen=True, slots=True)
class RedrawnTalk:
    run: BatchRun
    stage: BranchStage
    talk: OriginTalk
    origin: Origin
    redraw: Redraw

    async def play(self, unit: Unit) -> None:
        said: dict[str, str] = {}
        given = {one.step: one for one in self.talk.before}

        async def ask(unit: Unit, call: Call) -> Reply:
            if call.step in given:
                return self.run.give(unit, call, _answer(given[call.step]))
            if call.step == self.origin.at and self.redraw.arm == "altered":
                return self.run.give(
                    unit, call._replace(model=ASSIGNED), Answer(self.origin.say or "", cost_usd=0.0, finish=None)
                )
            reply = await self.run.ask(unit, call)
            if call.turn is not None and not (call.step == self.origin.at and self.origin.say is not None):
                said[call.step] = reply.text
            return reply

        unit.ask_through(ask)
        await self.stage.story(self.talk)(unit)
        if not unit.settled:
            unit.ledger.put_record(
                OUTCOME, 0, {**self.redraw.as_json(), **self.stage.kept(self.talk, said)}, unit.number
            )


def _answer(given: GivenAnswer) -> Answer:
    return Answer(
        given.text,
        cost_usd=0.0,
        truth=given.truth,
        finish=_FINISH.get(given.finish_reason or ""),
        served_model=given.served_model,
        thought=given.thought,
    )
