"""Environments of queries that are rewritten step by step: one episode, one step, and many environments together.

A query is rewritten up to `episode_length` times, and each rewriting builds on the one before. An episode succeeds
(`terminated`) when a reward reaches `success`. It is cut (`truncated`) when its length is used up. A lost step (the target never
answered) is *masked*: the episode ends before it, as if it had not been tried. It is neither rewarded nor punished, and does not
count towards the budget. With `on_error = "refusal"` it counts as an answer with a reward of zero instead.

Environments step together: rewrites are one wave, answers one, judgements one, embeddings one request. Autoreset happens in
the same step: when an episode ends, the returned observation is the first of the next one. With `batching = False` the
environments step one after another.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tidepool.engine.call import stream
from tidepool.engine.errors import RunError
from tidepool.engine.studies.mutation import rewards
from tidepool.engine.studies.mutation.operators import (
    OPERATOR_NAMES,
    Prompt,
    Rewrite,
    apply_rewrite,
    operator_named,
    rewrite_prompt,
)
from tidepool.engine.studies.mutation.queries import Query
from tidepool.engine.studies.mutation.rewards import Vectors, similarity


@dataclass(frozen=True, slots=True)
class EpisodeRules:
    episode_length: int = 5
    success: float = 0.7
    reward: str = "similarity"
    """keyword, similarity or judge"""
    on_error: str = "mask"
    """mask or refusal"""
    operators: tuple[str, ...] = OPERATOR_NAMES
    """the possible operators, in the order in which learners number them"""


@dataclass(frozen=True, slots=True)
class Episode:
    environment: int
    number: int
    query: Query
    text: str
    """the query after the rewritings so far"""
    serial: int = 0
    """its number among all episodes, assigned with its first step; 0 before"""
    rewards: tuple[float, ...] = ()

    @property
    def steps(self) -> int:
        return len(self.rewards)

    @property
    def score(self) -> float | None:
        """The mean reward of its answered steps; None if no step was answered."""
        return sum(self.rewards) / len(self.rewards) if self.rewards else None


def observation(embedding: NDArray[np.float32], steps: int, rules: EpisodeRules) -> NDArray[np.float32]:
    """The embedding of the current query, and the used share of the episode length."""
    return np.append(embedding, np.float32(min(1.0, steps / rules.episode_length)))


def credit_reward(reward: float, steps: int, terminated: bool, rules: EpisodeRules, gamma: float) -> float:
    """The reward for a return-maximising learner: a success also earns its reward for the steps that it makes unnecessary.

    Rewards are never negative. Without this, the best return would be to stay just below success for the whole episode. `steps`
    includes this one.
    """
    if not terminated:
        return reward
    left = rules.episode_length - steps
    return reward * sum(gamma**ahead for ahead in range(left + 1))


REWRITE, ANSWER, JUDGE = "rewrite", "answer", "judge"


@dataclass(frozen=True, slots=True)
class PromptRequest:
    episode: Episode
    """the environment, number and steps so far of this episode identify the call"""
    system: str
    text: str


class PromptTransport(Protocol):
    """`moment` is the number of the environment step that a request belongs to. Embeddings after one step belong to the next
    step, which observes them.
    """

    async def ask(self, stage: str, moment: int, requests: Sequence[PromptRequest]) -> Sequence[str | None]:
        """One wave: the replies in order, None for a reply that failed for good. Stages: rewrite, answer, judge."""
        ...

    async def embed(self, name: str, moment: int, texts: Sequence[str], *, needed: bool = False) -> Vectors | None:
        """One request: a unit vector per text, or None if it failed for good. The name is unique in a run. If it fails and is
        `needed`, the run stops, and a resume sends the request again.
        """
        ...


TARGET_SYSTEM = "Answer the question in one or two sentences."


@dataclass(slots=True)
class StepCall:
    episode: Episode
    operator: str
    rewrite: Rewrite
    answer: str | None = None
    reward: float | None = None


Schedule = Callable[[int, int], Query | None]
"""(environment, episode number) → its query; None: the environment is finished"""


def endless(queries: Sequence[Query], seed: int) -> Schedule:
    """For training: every episode draws its query from its own random stream."""
    return lambda environment, episode: stream(seed, "query", environment, episode).choice(queries)


@dataclass(frozen=True, slots=True)
class Step:
    """One environment's step, used for learning, counts and transcripts."""

    serial: int
    """the episode's number among all"""
    index: int
    """from 0 within the episode"""
    query: Query
    """the query at the start of the episode"""
    operator: str
    after: str
    """the rewritten query that was sent"""
    fell_back: bool
    reward: float | None
    """None: masked"""
    terminated: bool
    truncated: bool

    @property
    def masked(self) -> bool:
        return self.reward is None

    @property
    def ended(self) -> bool:
        return self.terminated or self.truncated


def advance(attempt: StepCall, rules: EpisodeRules) -> tuple[Episode, Step]:
    """The episode after the step; without a reward the step was lost."""
    episode, reward = attempt.episode, attempt.reward
    succeeded = reward is not None and reward >= rules.success
    after = episode
    if reward is not None:
        after = replace(episode, text=attempt.rewrite.text, rewards=(*episode.rewards, reward))
    step = Step(
        serial=episode.serial,
        index=episode.steps,
        query=episode.query,
        operator=attempt.operator,
        after=attempt.rewrite.text,
        fell_back=attempt.rewrite.fell_back,
        reward=reward,
        terminated=succeeded,
        truncated=reward is None or (not succeeded and after.steps >= rules.episode_length),
    )
    return after, step


@dataclass(frozen=True, slots=True)
class Outcome:
    steps: tuple[Step | None, ...]
    """one per environment; None if it did not step"""
    observations: Vectors
    """the current observation of each environment"""
    scores: dict[int, float] = field(default_factory=dict)
    """the mean reward of the episodes that ended, if any step was answered"""

    def part(self, first: int, count: int) -> "Outcome":
        """The outcome of some of the environments only."""
        last = first + count
        scores = {place - first: score for place, score in self.scores.items() if first <= place < last}
        return Outcome(self.steps[first:last], self.observations[first:last], scores)


class Environments:
    def __init__(
        self,
        count: int,
        schedule: Schedule,
        transport: PromptTransport,
        rules: EpisodeRules,
        *,
        batching: bool = True,
        steps: int = 0,
        episodes: int = 0,
    ) -> None:
        """`steps` and `episodes` are the counts of the run before these environments."""
        self.count = count
        self.rules = rules
        self._schedule = schedule
        self._transport = transport
        self._batching = batching
        self._upcoming = [0] * count
        self._episodes: list[Episode | None] = [None] * count
        self._vectors: dict[str, Vectors] = {}
        self.steps = steps
        self.episodes = episodes
        self.observations: Vectors = np.zeros((count, 1), dtype=np.float32)

    @property
    def playing(self) -> list[bool]:
        return [episode is not None for episode in self._episodes]

    async def reset(self) -> Vectors:
        """Begins each environment's next episode, and drops any unfinished one."""
        await self._embed_texts(self._openings(range(self.count)), f"w{self.steps}/reset")
        size = len(next(iter(self._vectors.values()), ()))
        self.observations = np.zeros((self.count, size + 1), dtype=np.float32)
        for environment in range(self.count):
            self._begin(environment)
        return self.observations.copy()

    async def step(self, actions: Sequence[int | None]) -> Outcome:
        """Steps every environment that has an action; None leaves it unchanged."""
        self.steps += 1
        attempts = [
            StepCall(self._numbered(episode), self.rules.operators[action], Rewrite(episode.text))
            for episode, action in zip(self._episodes, actions, strict=True)
            if action is not None and episode is not None
        ]
        steps: list[Step | None] = [None] * self.count
        scores: dict[int, float] = {}
        groups = [attempts] if self._batching else [[attempt] for attempt in attempts]
        for group in filter(None, groups):
            await self._grade(group)
            for attempt in group:
                episode, step = advance(attempt, self.rules)
                environment = episode.environment
                steps[environment], self._episodes[environment] = step, episode
                if step.ended:
                    if episode.score is not None:
                        scores[environment] = episode.score
                    self._begin(environment)
        return Outcome(tuple(steps), self.observations.copy(), scores)

    def _numbered(self, episode: Episode) -> Episode:
        if episode.serial:
            return episode
        self.episodes += 1
        return replace(episode, serial=self.episodes)

    async def _grade(self, group: Sequence[StepCall]) -> None:
        """Gives each attempt its rewrite, its answer and its reward, and updates the observation of its environment.

        If the words alone decide, an answer is graded at once. A lost or unreadable judgement leaves the step without a reward:
        masked, not punished.
        """
        instructed = [attempt for attempt in group if operator_named(attempt.operator).instruction]
        prompts = [rewrite_prompt(operator_named(attempt.operator), attempt.episode.text) for attempt in instructed]
        for attempt, reply in await self._wave(REWRITE, instructed, prompts):
            attempt.rewrite = apply_rewrite(operator_named(attempt.operator), attempt.episode.text, reply)
        prompts = [(TARGET_SYSTEM, attempt.rewrite.text) for attempt in group]
        for attempt, answer in await self._wave(ANSWER, group, prompts):
            attempt.answer = answer
            if answer is None:
                attempt.reward = 0.0 if self.rules.on_error == "refusal" else None
            elif self.rules.reward == "keyword":
                attempt.reward = rewards.keyword(answer)
        if self.rules.reward == "judge":
            answered = [attempt for attempt in group if attempt.answer is not None]
            graded = ((attempt.episode.query, attempt.answer or "") for attempt in answered)
            prompts = [rewards.judge_prompt(query.text, query.reference, answer) for query, answer in graded]
            for attempt, reply in await self._wave(JUDGE, answered, prompts):
                attempt.reward = None if reply is None else rewards.read_judgement(reply)
        await self._embed(group)

    async def _wave(
        self, stage: str, attempts: Sequence[StepCall], prompts: Sequence[Prompt]
    ) -> Iterable[tuple[StepCall, str | None]]:
        if not attempts:
            return ()
        requests = [PromptRequest(attempt.episode, *prompt) for attempt, prompt in zip(attempts, prompts, strict=True)]
        return zip(attempts, await self._transport.ask(stage, self.steps, requests), strict=True)

    async def _embed(self, group: Sequence[StepCall]) -> None:
        """Embeds answers to grade, current queries, and possible next openings, in one request."""
        answers = [a.answer for a in group if a.answer is not None] if self.rules.reward == "similarity" else []
        name = f"w{self.steps}" if self._batching else f"w{self.steps}.{group[0].episode.environment}"
        rewrites = [attempt.rewrite.text for attempt in group]
        openings = self._openings([attempt.episode.environment for attempt in group])
        vectors = await self._request(name, [*answers, *rewrites, *openings])
        if vectors is None:
            await self._embed_texts(openings, f"{name}/again")
            for attempt in group:
                attempt.reward = None
            return
        self._vectors.update((text, vectors[text]) for text in openings)
        for attempt in group:
            episode = attempt.episode
            if self.rules.reward == "similarity" and attempt.answer is not None:
                attempt.reward = similarity(vectors[attempt.answer], self._vectors[episode.query.reference])
            if attempt.reward is not None:
                seen = observation(vectors[attempt.rewrite.text], episode.steps + 1, self.rules)
                self.observations[episode.environment] = seen

    def _begin(self, environment: int) -> None:
        query = self._schedule(environment, self._upcoming[environment])
        if query is None:
            self._episodes[environment] = None
            return
        self._episodes[environment] = Episode(environment, self._upcoming[environment], query, query.text)
        self._upcoming[environment] += 1
        self.observations[environment] = observation(self._vectors[query.text], 0, self.rules)

    def _openings(self, environments: Iterable[int]) -> list[str]:
        """The texts of these environments' next episodes whose vectors are needed and not yet known."""
        upcoming = [self._schedule(environment, self._upcoming[environment]) for environment in environments]
        texts = [query.text for query in upcoming if query is not None]
        if self.rules.reward == "similarity":
            texts += [query.reference for query in upcoming if query is not None]
        return [text for text in dict.fromkeys(texts) if text not in self._vectors]

    async def _embed_texts(self, texts: Sequence[str], name: str) -> None:
        if not texts:
            return
        vectors = await self._request(name, texts, needed=True)
        if vectors is None:
            raise RunError(
                f"The encoder could not embed {len(texts)} texts, so no episode can begin. Check that the "
                "encoder's server is up and has the model, then resume the batch."
            )
        self._vectors.update(vectors)

    async def _request(self, name: str, texts: Sequence[str], *, needed: bool = False) -> dict[str, Vectors] | None:
        """The vectors of all these texts. Requests only the unknown ones."""
        distinct = dict.fromkeys(texts)
        known = {text: self._vectors[text] for text in distinct if text in self._vectors}
        unknown = [text for text in distinct if text not in known]
        if not unknown:
            return known
        vectors = await self._transport.embed(name, self.steps + 1, unknown, needed=needed)
        return None if vectors is None else {**known, **dict(zip(unknown, vectors, strict=True))}
