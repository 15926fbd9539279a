"""A mutation study as Gymnasium's vector environment, for any learner. Loading this loads Gymnasium (extra `rl`)."""

from collections.abc import Sequence
from typing import Any, Self

import gymnasium
import numpy as np
from gymnasium.vector.utils import batch_space

from tidepool.engine.errors import UsageError
from tidepool.engine.studies.mutation.config import MutationSettings
from tidepool.engine.studies.mutation.environment.environments import Outcome, Step
from tidepool.engine.studies.mutation.environment.episodes import credited
from tidepool.engine.studies.mutation.environment.gymnasium_environment import (
    Array,
    SameStepVectorEnv,
    observation_space,
)
from tidepool.engine.studies.mutation.foreign.led_batch import LedBatch
from tidepool.engine.studies.mutation.foreign.story import Choose
from tidepool.engine.studies.mutation.inputs import rules_of


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
