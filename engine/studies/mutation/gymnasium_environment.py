"""The environments as Gymnasium knows them: `QueryVectorEnv` for many at once, `QueryEnv` for a single one,
and `StudyEnv` for those of a batch (`tidepool.make_env`).

Autoreset of the vector is Gymnasium's SAME_STEP: when an episode ends, `step` returns the first observation
of the next one, and `infos["final_obs"]` the last of the old. A lost step returns `truncated` with reward 0
and `infos["masked"]` true: a learner leaves it out. Rewards are the plain ones in [0, 1]; see
`episodes.credited` for what to give a learner that maximises the sum of an episode.

Gymnasium's calls are synchronous. A transport that answers at once is simply run; for one that waits, hand in
`run`, for example `lambda coroutine: asyncio.run_coroutine_threadsafe(coroutine, loop).result()` from another
thread than the loop's. Loading this module loads Gymnasium, which the extra `rl` brings.
"""

from collections.abc import Callable, Sequence
from typing import Any, Self

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from tidepool.engine.errors import UsageError
from tidepool.engine.studies.mutation.config import MutationSettings
from tidepool.engine.studies.mutation.environment import (
    Environments,
    EpisodeRules,
    Outcome,
    PromptTransport,
    Step,
    credited,
    endless,
    finished,
)
from tidepool.engine.studies.mutation.foreign import Choose, LedBatch
from tidepool.engine.studies.mutation.inputs import rules_of
from tidepool.engine.studies.mutation.queries import Query
from tidepool.engine.studies.mutation.rewards import HASHING_DIMENSIONS

Run = Callable[[Any], Any]
Array = NDArray[Any]


class SameStepVectorEnv(VectorEnv):  # type: ignore[misc]
    """What Gymnasium sees of environments that step together, wherever they are played."""

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.SAME_STEP, "render_modes": []}

    def _began(self, seed: int | None) -> Array:
        """The first observations of new episodes."""
        raise NotImplementedError

    def _stepped(self, actions: list[int]) -> Outcome:
        raise NotImplementedError

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        first = seed[0] if isinstance(seed, list) else seed
        super().reset(seed=first, options=options)
        return self._began(first), {}

    def step(self, actions: Any) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        outcome = self._stepped([int(action) for action in actions])
        steps = [step for step in outcome.steps if step is not None]
        return (
            outcome.observations,
            np.array([step.reward or 0.0 for step in steps]),
            np.array([step.terminated for step in steps]),
            np.array([step.truncated for step in steps]),
            self._told(steps, outcome),
        )

    def _told(self, steps: Sequence[Step], outcome: Outcome) -> dict[str, Any]:
        return _vector_infos(steps, outcome)


class QueryVectorEnv(SameStepVectorEnv):
    def __init__(
        self,
        num_envs: int,
        queries: Sequence[Query],
        transport: PromptTransport,
        rules: EpisodeRules | None = None,
        *,
        dimensions: int = HASHING_DIMENSIONS,
        seed: int = 42,
        batching: bool = True,
        run: Run = finished,
    ) -> None:
        self.num_envs = num_envs
        self.single_observation_space = observation_space(dimensions)
        self.single_action_space = gymnasium.spaces.Discrete(len((rules or EpisodeRules()).operators))
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._run = run
        self._build: Callable[[int], Environments] = lambda chosen: Environments(
            num_envs, endless(queries, chosen), transport, rules or EpisodeRules(), batching=batching
        )
        self._environments = self._build(seed)

    def _began(self, seed: int | None) -> Array:
        if seed is not None:
            self._environments = self._build(seed)
        return np.asarray(self._run(self._environments.reset()))

    def _stepped(self, actions: list[int]) -> Outcome:
        outcome: Outcome = self._run(self._environments.step(actions))
        return outcome


def _vector_infos(steps: Sequence[Step], outcome: Outcome) -> dict[str, Any]:
    infos: dict[str, Any] = {
        "masked": np.array([step.masked for step in steps]),
        "fell_back": np.array([step.fell_back for step in steps]),
        "query": np.array([step.after for step in steps], dtype=object),
        "answer": np.array([step.answer or "" for step in steps], dtype=object),
    }
    if outcome.finals:
        finals = np.full(len(steps), None, dtype=object)
        for environment, final in outcome.finals.items():
            finals[environment] = final
        infos["final_obs"] = finals
        infos["_final_obs"] = np.array([final is not None for final in finals])
    return infos


class QueryEnv(gymnasium.Env):  # type: ignore[misc]
    """One environment, with Gymnasium's plain life: after an end, `reset` begins the next episode."""

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(
        self,
        queries: Sequence[Query],
        transport: PromptTransport,
        rules: EpisodeRules | None = None,
        *,
        dimensions: int = HASHING_DIMENSIONS,
        seed: int = 42,
        run: Run = finished,
    ) -> None:
        self.observation_space = observation_space(dimensions)
        self.action_space = gymnasium.spaces.Discrete(len((rules or EpisodeRules()).operators))
        self._run = run
        self._build: Callable[[int], Environments] = lambda chosen: Environments(
            1, endless(queries, chosen), transport, rules or EpisodeRules()
        )
        self._environments = self._build(seed)
        self._opening: Array | None = None
        """the next episode's first observation, when the last one ended by itself"""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None:
            self._environments, self._opening = self._build(seed), None
        opening = self._opening if self._opening is not None else self._run(self._environments.reset())[0]
        self._opening = None
        return opening, {}

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        outcome: Outcome = self._run(self._environments.step([int(action)]))
        step = outcome.steps[0]
        assert step is not None
        seen = outcome.observations[0]
        if step.ended:
            self._opening, seen = seen, outcome.finals[0]
        infos = {
            "masked": step.masked,
            "fell_back": step.fell_back,
            "query": step.after,
            "answer": step.answer or "",
        }
        return seen, step.reward or 0.0, step.terminated, step.truncated, infos


def observation_space(dimensions: int) -> gymnasium.spaces.Box:
    """A unit embedding and the share of the episode used up."""
    low = np.append(np.full(dimensions, -1.0), 0.0).astype(np.float32)
    return gymnasium.spaces.Box(low, np.ones(dimensions + 1, dtype=np.float32))


class StudyEnv(SameStepVectorEnv):
    """Environments whose every question goes through the ledger of a batch; see `tidepool.make_env`."""

    def __init__(self, batch: LedBatch, settings: MutationSettings) -> None:
        self._batch = batch
        self._settings, self._rules = settings, rules_of(settings)
        self._compared = False
        self.operators = tuple(settings.operators)
        """what an action's number stands for"""
        size = batch.play(lambda story: story.observation_size())
        self.num_envs = settings.num_processes
        self.single_observation_space = observation_space(size - 1)
        self.single_action_space = gymnasium.spaces.Discrete(len(self.operators))
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    def compare(self, choose: Choose) -> None:
        """Plays a policy on the held-out queries against random play, every constant operator and the unchanged query, once.

        `choose` takes observations and returns an action for each, the same for the same ones. Training is over then.
        """
        self._compared = True
        self._batch.play(lambda story: story.compare(choose))

    def _began(self, seed: int | None) -> Array:
        return np.asarray(self._batch.play(lambda story: story.reset(seed)))

    def _stepped(self, actions: list[int]) -> Outcome:
        if self._compared:
            raise UsageError("The policy was compared on the held-out queries: this study has no more steps.")
        if len(actions) != self.num_envs or not all(0 <= action < len(self.operators) for action in actions):
            raise UsageError(f"Actions are {self.num_envs} numbers from 0 to {len(self.operators) - 1}, not {actions}.")
        outcome: Outcome = self._batch.play(lambda story: story.step(actions))
        return outcome

    def _told(self, steps: Sequence[Step], outcome: Outcome) -> dict[str, Any]:
        gamma = self._settings.gamma
        worth = [credited(step.reward or 0.0, step.index + 1, step.terminated, self._rules, gamma) for step in steps]
        return {**super()._told(steps, outcome), "credited": np.array(worth)}

    def close_extras(self, **_: Any) -> None:
        self._batch.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
