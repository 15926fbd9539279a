"""A step under way, and the three waves that carry a group of them: rewrites, answers, judgements."""

from collections.abc import Sequence
from dataclasses import dataclass

from tidepool.engine.call import Message
from tidepool.engine.studies.mutation.environment import rewards
from tidepool.engine.studies.mutation.environment.episodes import Episode, EpisodeRules, reward_of_lost_answer
from tidepool.engine.studies.mutation.environment.transport import (
    ANSWER,
    JUDGE,
    REWRITE,
    CallPlace,
    PromptRequest,
    PromptTransport,
)
from tidepool.engine.studies.mutation.operators import (
    OperatorPrompt,
    Rewrite,
    operator_named,
    rewrite_prompt,
    rewritten,
)

TARGET_SYSTEM = "Answer the question in one or two sentences."


@dataclass(slots=True)
class StepCall:
    episode: Episode
    operator: str
    rewrite: Rewrite
    answer: str | None = None
    reward: float | None = None

    @property
    def place(self) -> CallPlace:
        return CallPlace(self.episode.environment, self.episode.number, self.episode.steps, self.episode.serial)


async def ask_rewrites(transport: PromptTransport, moment: int, group: Sequence[StepCall]) -> None:
    asked = [attempt for attempt in group if operator_named(attempt.operator).instruction]
    prompts = [rewrite_prompt(operator_named(attempt.operator), attempt.episode.text) for attempt in asked]
    replies = dict(
        zip((attempt.place for attempt in asked), await _wave(transport, REWRITE, moment, asked, prompts), strict=True)
    )
    for attempt in group:
        operator = operator_named(attempt.operator)
        attempt.rewrite = rewritten(operator, attempt.episode.text, replies.get(attempt.place))


async def ask_answers(transport: PromptTransport, moment: int, group: Sequence[StepCall], rules: EpisodeRules) -> None:
    """Graded at once where the words alone decide."""
    prompts = [OperatorPrompt(TARGET_SYSTEM, (Message("user", attempt.rewrite.text),)) for attempt in group]
    for attempt, answer in zip(group, await _wave(transport, ANSWER, moment, group, prompts), strict=True):
        attempt.answer = answer
        if answer is None:
            attempt.reward = reward_of_lost_answer(rules)
        elif rules.reward == "keyword":
            attempt.reward = rewards.keyword(answer)


async def ask_judgements(transport: PromptTransport, moment: int, group: Sequence[StepCall]) -> None:
    """A judgement that is lost or cannot be read leaves the step without a reward: masked, not punished."""
    answered = [(attempt, attempt.answer) for attempt in group if attempt.answer is not None]
    prompts = [
        rewards.judge_prompt(attempt.episode.query.text, attempt.episode.query.reference, answer)
        for attempt, answer in answered
    ]
    asked = [attempt for attempt, _ in answered]
    for attempt, reply in zip(asked, await _wave(transport, JUDGE, moment, asked, prompts), strict=True):
        attempt.reward = None if reply is None else rewards.read_judgement(reply)


async def _wave(
    transport: PromptTransport, stage: str, moment: int, asked: Sequence[StepCall], prompts: Sequence[OperatorPrompt]
) -> Sequence[str | None]:
    if not asked:
        return []
    return await transport.ask(
        stage, moment, [PromptRequest(attempt.place, prompt) for attempt, prompt in zip(asked, prompts, strict=True)]
    )
