"""What happens to one episode when a step of it is answered, or lost: pure state transitions.

A query is rewritten up to `episode_length` times, each rewriting standing on the one before. It ends well
(`terminated`) when a reward reaches `success`, and is cut (`truncated`) when its length is used up.

A lost step (the target never answered) is *masked*: the episode ends before it, as if it had not been tried.
It is neither rewarded nor punished, and does not count towards the budget. `on_error = "refusal"` takes it
for an answer worth nothing instead, which teaches a learner to avoid whatever it did while the network was
down.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tidepool.engine.studies.mutation.operators import OPERATOR_NAMES, Rewrite
from tidepool.engine.studies.mutation.queries import Query


@dataclass(frozen=True, slots=True)
class EpisodeRules:
    episode_length: int = 5
    success: float = 0.7
    reward: str = "similarity"
    """keyword, similarity or judge"""
    on_error: str = "mask"
    """mask or refusal"""
    operators: tuple[str, ...] = OPERATOR_NAMES
    """what can be done to a query, in the order in which learners number it"""


@dataclass(frozen=True, slots=True)
class Episode:
    environment: int
    number: int
    query: Query
    text: str
    """the query as it stands after the rewritings so far"""
    serial: int = 0
    """its number among all episodes, given with its first step; 0 before"""
    rewards: tuple[float, ...] = ()

    @property
    def steps(self) -> int:
        return len(self.rewards)

    @property
    def score(self) -> float | None:
        """The mean reward of its answered steps; None when none was answered."""
        return sum(self.rewards) / len(self.rewards) if self.rewards else None


@dataclass(frozen=True, slots=True)
class Advance:
    episode: Episode
    terminated: bool = False
    truncated: bool = False
    masked: bool = False

    @property
    def ended(self) -> bool:
        return self.terminated or self.truncated


def begin(environment: int, number: int, query: Query) -> Episode:
    return Episode(environment, number, query, query.text)


def advance(episode: Episode, rewrite: Rewrite, reward: float | None, rules: EpisodeRules) -> Advance:
    """`reward` is None when the step was lost."""
    if reward is None:
        return Advance(episode, truncated=True, masked=True)
    after = replace(episode, text=rewrite.text, rewards=(*episode.rewards, reward))
    won = reward >= rules.success
    return Advance(after, terminated=won, truncated=not won and after.steps >= rules.episode_length)


def reward_of_lost_answer(rules: EpisodeRules) -> float | None:
    return 0.0 if rules.on_error == "refusal" else None


def observation(embedding: NDArray[np.float32], steps: int, rules: EpisodeRules) -> NDArray[np.float32]:
    """The embedding of the query as it stands, and how much of the episode is used up."""
    return np.append(embedding, np.float32(min(1.0, steps / rules.episode_length)))


def credited(reward: float, steps: int, terminated: bool, rules: EpisodeRules, gamma: float) -> float:
    """The reward a return-maximising learner sees: a success keeps its reward for the steps it makes
    unnecessary.

    Rewards are never negative, so without this the best return would be had by staying just below success for
    the whole episode. `steps` counts this one.
    """
    if not terminated:
        return reward
    left = rules.episode_length - steps
    return reward * sum(gamma**ahead for ahead in range(left + 1))
