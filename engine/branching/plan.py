"""What a branch will take, before anything is called: only the turn that is drawn again, and what follows it.

Talks are rehearsed with replies of the usual length, and of the greatest, so what is counted is what is asked.
"""

from tidepool.engine.branching.origin import Origin
from tidepool.engine.branching.rehearsal import OneByOne, rehearse
from tidepool.engine.branching.talks import Branch, BranchKind, BranchStage, OriginTalk
from tidepool.engine.call import Call, expected_input, most_input, most_tokens
from tidepool.engine.config.sections import FrozenConfig
from tidepool.engine.studies.planned_calls import EXPECTED, MOST, Plan, PlannedCalls, Sizing, UsualTokens, merged

MESSAGE, VERDICT = UsualTokens(60, 25), UsualTokens(45, 13)
REHEARSED = 2_000
"""talks at most: of more, these stand for all"""
FEW_TALKS, MANY_REDRAWS = 30, 5


def plan_of(kind: BranchKind, config: FrozenConfig, branch: Branch) -> Plan:
    stage = kind.stage(config, branch.earlier, OneByOne())
    talks = branch.talks[:: -(-len(branch.talks) // REHEARSED)]
    share = len(branch.talks) / len(talks)
    expected, most = (
        merged(call for talk in talks for call in _calls(stage, talk, branch.origin, sizing, share))
        for sizing in (EXPECTED, MOST)
    )
    return Plan(branch.origin.units, expected, tuple(_notes(branch.origin)), at_most=most)


def _calls(stage: BranchStage, talk: OriginTalk, origin: Origin, sizing: Sizing, share: float) -> list[PlannedCalls]:
    given = {one.step: one.text for one in talk.before}
    planned: list[PlannedCalls] = []

    def answer(call: Call) -> str:
        if (text := given.get(call.step)) is not None:
            return text
        arms = 1 if call.step == origin.at else len(origin.arms)
        asked = most_input(call) if sizing.worst else expected_input(call)
        usual = VERDICT if call.form else MESSAGE
        room = call.max_reasoning_tokens
        said = call.most_output if sizing.worst else sizing.reply(call.model, usual, call.max_tokens) + room // 2
        planned.append(PlannedCalls(call.wave, call.model, round(share * origin.times * arms), asked, said))
        reply = "x" * (2 if sizing.worst else 4) * sizing.read_again(call.model, usual, call.max_tokens)
        assigned = (origin.say or "") if call.step == origin.at and sizing.worst else ""
        return max(reply, assigned, key=most_tokens)

    rehearse(stage, talk, answer)
    return planned


def _notes(origin: Origin) -> list[str]:
    notes = [f"What was said before {origin.at} is taken over, and not bought again."]
    if origin.say is not None and len(origin.conversations) < FEW_TALKS:
        notes.append(advice(origin))
    return notes


def advice(origin: Origin) -> str:
    """The conversation is the unit: more redraws of few say little about others."""
    if len(origin.conversations) == 1:
        return (
            "One conversation tells of this conversation alone. For a claim beyond it, branch many conversations, with "
            f"{MANY_REDRAWS} redraws of each."
        )
    return f"The conversation is the unit: many conversations with {MANY_REDRAWS} redraws tell more than few with many."
