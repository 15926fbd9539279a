"""One episode, and many environments together."""

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidepool.engine.errors import RunError
from tidepool.engine.studies.mutation.environment import (
    JUDGE,
    REWRITE,
    Environments,
    Episode,
    EpisodeRules,
    PromptRequest,
    StepCall,
    advance,
    credit_reward,
    endless,
)
from tidepool.engine.studies.mutation.operators import OPERATOR_NAMES, Rewrite
from tidepool.engine.studies.mutation.queries import Query, builtin_queries
from tidepool.engine.studies.mutation.rewards import HashingEncoder, Vectors

RULES = EpisodeRules(episode_length=3, success=0.7)
START = Episode(0, 0, Query("Q?", "A."), "Q?")


@pytest.mark.parametrize(
    ("rewards", "terminated", "truncated"),
    [
        ([0.1], False, False),
        ([0.7], True, False),
        ([0.69], False, False),
        ([0.1, 0.2], False, False),
        ([0.1, 0.2, 0.3], False, True),
        ([0.1, 0.2, 0.9], True, False),
        ([None], False, True),
        ([0.1, None], False, True),
    ],
)
def test_an_episode_ends_by_success_by_length_or_before_a_lost_step(
    rewards: list[float | None], terminated: bool, truncated: bool
) -> None:
    episode = START
    for reward in rewards:
        episode, step = advance(StepCall(episode, "noop", Rewrite("R?"), reward=reward), RULES)
    assert (step.terminated, step.truncated) == (terminated, truncated)
    assert step.masked is (rewards[-1] is None)


@given(st.floats(0.7, 1.0), st.floats(0.0, 0.69), st.floats(0.8, 1.0))
def test_succeeding_at_once_is_worth_more_than_lingering_below_success(won: float, below: float, gamma: float) -> None:
    lingering = sum(gamma**step * credit_reward(below, step + 1, False, RULES, gamma) for step in range(3))
    late = credit_reward(below, 1, False, RULES, gamma) + gamma * credit_reward(won, 2, True, RULES, gamma)
    assert credit_reward(won, 1, True, RULES, gamma) > late > lingering or gamma == 0


NOOP, SHORTEN = OPERATOR_NAMES.index("noop"), OPERATOR_NAMES.index("shorten")
QUERIES = builtin_queries()


class Scripted:
    """A transport whose answers are given; what is not scripted is the reference, or the query as it was."""

    def __init__(self, answers: dict[int, list[str | None]] | None = None, judge: str | None = "SCORE: 5") -> None:
        self.answers = answers or {}
        self.judge = judge
        self.lost_embeddings: set[str] = set()
        self.names: list[str] = []

    async def ask(self, stage: str, moment: int, requests: Sequence[PromptRequest]) -> Sequence[str | None]:
        return [self._reply(stage, request) for request in requests]

    def _reply(self, stage: str, request: PromptRequest) -> str | None:
        if stage == REWRITE:
            return None
        if stage == JUDGE:
            return self.judge
        scripted = self.answers.get(request.episode.environment)
        return scripted.pop(0) if scripted else "something else entirely"

    async def embed(self, name: str, moment: int, texts: Sequence[str], *, needed: bool = False) -> Vectors | None:
        self.names.append(name)
        return None if name in self.lost_embeddings else HashingEncoder().encode(texts)


def _environments(count: int, transport: object, rules: EpisodeRules | None = None, **settings: bool) -> Environments:
    return Environments(count, endless(QUERIES, 1), transport, rules or EpisodeRules(), **settings)  # type: ignore[arg-type]


def test_an_ended_episode_begins_the_next_in_the_same_step() -> None:
    query = QUERIES[0]
    transport = Scripted({0: [query.reference]})
    environments = Environments(1, lambda _, number: QUERIES[number], transport, EpisodeRules())
    asyncio.run(environments.reset())
    outcome = asyncio.run(environments.step([NOOP]))
    step = outcome.steps[0]
    assert step is not None and step.terminated and step.reward == pytest.approx(1.0, abs=1e-5)
    assert outcome.observations[0][-1] == 0.0
    assert (outcome.observations[0][:-1] == HashingEncoder().encode([QUERIES[1].text])[0]).all()
    assert outcome.scores[0] == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("judge", [None, "no idea"])
def test_a_lost_or_unreadable_judgement_masks_the_step(judge: str | None) -> None:
    environments = _environments(1, Scripted(judge=judge), EpisodeRules(reward="judge"))
    asyncio.run(environments.reset())
    step = asyncio.run(environments.step([NOOP])).steps[0]
    assert step is not None and step.masked


def test_a_lost_embedding_masks_its_wave_and_a_second_one_stops_the_run() -> None:
    transport = Scripted()
    environments = Environments(1, lambda _, number: QUERIES[number], transport, EpisodeRules())
    asyncio.run(environments.reset())
    transport.lost_embeddings = {"w1"}
    step = asyncio.run(environments.step([NOOP])).steps[0]
    assert step is not None and step.masked
    transport.lost_embeddings = {"w2", "w2/again"}
    with pytest.raises(RunError, match="encoder"):
        asyncio.run(environments.step([NOOP]))
    assert len(set(transport.names)) == len(transport.names)
