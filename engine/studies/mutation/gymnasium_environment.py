"""A mutation study as Gymnasium's vector environment, for any learner (`tidepool.make_env`).

Autoreset is Gymnasium's SAME_STEP: when an episode ends, `step` returns the first observation of the next one, and
`infos["final_obs"]` the last of the old. A lost step returns `truncated` with reward 0 and `infos["masked"]` true: a learner
leaves it out. Rewards are the plain ones in [0, 1]; `infos["credited"]` is what to give a learner that maximises the sum of an
episode. Loading this module loads Gymnasium, which the extra `rl` brings.
"""

from typing import Any, Self

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from tidepool.engine.errors import UsageError
from tidepool.engine.studies.mutation.config import MutationSettings
from tidepool.engine.studies.mutation.environment import Outcome, credited
from tidepool.engine.studies.mutation.foreign import Choose, LedBatch
from tidepool.engine.studies.mutation.inputs import rules_of

Array = NDArray[Any]


class StudyEnv(VectorEnv):  # type: ignore[misc]
    """Environments whose every question goes through the ledger of a batch; see `tidepool.make_env`."""

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.SAME_STEP, "render_modes": []}

    def __init__(self, batch: LedBatch, settings: MutationSettings) -> None:
        self._batch = batch
        self._settings, self._rules = settings, rules_of(settings)
        self._compared = False
        self.operators = tuple(settings.operators)
        """what an action's number stands for"""
        size = batch.play(lambda story: story.observation_size())
        self.num_envs = settings.num_processes
        # A unit embedding, and the share of the episode used up.
        lowest = np.append(np.full(size - 1, -1.0), 0.0).astype(np.float32)
        self.single_observation_space = gymnasium.spaces.Box(lowest, np.ones(size, dtype=np.float32))
        self.single_action_space = gymnasium.spaces.Discrete(len(self.operators))
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    def compare(self, choose: Choose) -> None:
        """Plays a policy on the held-out queries against random play, every constant operator and the unchanged query, once.

        `choose` takes observations and returns an action for each, the same for the same ones. Training is over then.
        """
        self._compared = True
        self._batch.play(lambda story: story.compare(choose))

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begins new episodes and returns their first observations."""
        first = seed[0] if isinstance(seed, list) else seed
        super().reset(seed=first, options=options)
        return np.asarray(self._batch.play(lambda story: story.reset(first))), {}

    def step(self, actions: Any) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Plays one step of every environment."""
        if self._compared:
            raise UsageError("The policy was compared on the held-out queries: this study has no more steps.")
        numbers = [int(action) for action in actions]
        if len(numbers) != self.num_envs or not all(0 <= action < len(self.operators) for action in numbers):
            raise UsageError(f"Actions are {self.num_envs} numbers from 0 to {len(self.operators) - 1}, not {numbers}.")
        outcome: Outcome = self._batch.play(lambda story: story.step(numbers))
        steps = [step for step in outcome.steps if step is not None]
        return (
            outcome.observations,
            np.array([step.reward or 0.0 for step in steps]),
            np.array([step.terminated for step in steps]),
            np.array([step.truncated for step in steps]),
            self._infos(outcome),
        )

    def _infos(self, outcome: Outcome) -> dict[str, Any]:
        steps = [step for step in outcome.steps if step is not None]
        gamma, rules = self._settings.gamma, self._rules
        worth = [credited(step.reward or 0.0, step.index + 1, step.terminated, rules, gamma) for step in steps]
        infos: dict[str, Any] = {
            "masked": np.array([step.masked for step in steps]),
            "fell_back": np.array([step.fell_back for step in steps]),
            "query": np.array([step.after for step in steps], dtype=object),
            "answer": np.array([step.answer or "" for step in steps], dtype=object),
            "credited": np.array(worth),
        }
        if outcome.finals:
            finals = np.full(len(steps), None, dtype=object)
            for environment, final in outcome.finals.items():
                finals[environment] = final
            infos["final_obs"] = finals
            infos["_final_obs"] = np.array([final is not None for final in finals])
        return infos

    def close_extras(self, **_: Any) -> None:
        self._batch.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
