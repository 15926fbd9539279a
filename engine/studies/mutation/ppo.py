"""PPO with the networks, advantages and updates of stable-baselines3, and our own collection of steps.

The library's `collect_rollouts` cannot skip a step that must not count, so this module collects steps itself, one chain per
environment. A lost step is left out: the chain is cut before it, and the value of its last observation replaces the rest, as for
an episode cut by the end of a rollout. When enough steps are answered, the chains are copied one after another into the library's
buffer, and its own `train` does the rest. A cut by `episode_length` is a true end, since the observation shows how much is left.

All randomness comes from generators of this module, none from the global state of PyTorch or numpy. So a replay of the same
answers trains the same policy, bit by bit, on one thread. Loading this module loads PyTorch, so import it only when needed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3 import PPO
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.logger import Logger

from tidepool.engine.call import seed_of
from tidepool.engine.studies.mutation.config import MutationSettings
from tidepool.engine.studies.mutation.environment import EpisodeRules, Outcome, Step, credit_reward
from tidepool.engine.studies.mutation.policy import Layer, Normaliser, TrainedPolicy

HIDDEN = (64, 64)


@dataclass(slots=True)
class Row:
    """One answered step, as input for PPO."""

    observation: NDArray[np.float32]
    action: int
    value: float
    log_probability: float
    reward: float
    starts_episode: bool


@dataclass(frozen=True, slots=True)
class _Choice:
    observations: NDArray[np.float32]
    actions: Sequence[int]
    values: NDArray[np.float32]
    log_probabilities: NDArray[np.float32]


class PPOLearner:
    heavy = True

    def __init__(self, settings: MutationSettings, rules: EpisodeRules, size: int, operators: int, seed: int) -> None:
        torch.set_num_threads(1)
        self._settings = settings
        self._rules = rules
        self._normaliser = Normaliser(size)
        self._sampling = torch.Generator().manual_seed(seed_of(seed, "ppo", "sampling"))
        self._algorithm = _algorithm(settings, size, operators, seed)
        self._chains: list[list[Row]] = [[] for _ in range(settings.num_processes)]
        self._fresh = [True] * settings.num_processes
        self._choice: _Choice | None = None
        self._answered = 0
        self._trained = 0

    def choose(self, observations: NDArray[np.float32]) -> Sequence[int | None]:
        """Environments wait if the rollout has room for fewer steps than there are environments."""
        self._normaliser.update(observations)
        normal = self._normaliser.apply(observations).astype(np.float32)
        with torch.no_grad():
            seen = torch.from_numpy(normal)
            distribution = self._algorithm.policy.get_distribution(seen).distribution
            sampled = torch.multinomial(distribution.probs, 1, generator=self._sampling).squeeze(1)
            values = self._algorithm.policy.predict_values(seen).flatten().numpy()
            log_probabilities = distribution.log_prob(sampled).numpy()
        self._choice = _Choice(normal, sampled.tolist(), values, log_probabilities)
        remaining = self._rollout_size() - self._answered
        return [action if place < remaining else None for place, action in enumerate(self._choice.actions)]

    def learn(self, outcome: Outcome) -> None:
        for environment, step in enumerate(outcome.steps):
            if step is not None:
                self._gather(environment, step)
        if self._answered and self._answered == self._rollout_size():
            self._close_chains(outcome.observations)
            self._train()

    def policy(self) -> TrainedPolicy:
        return TrainedPolicy(self._normaliser, layers_of(self._algorithm.policy))

    def _rollout_size(self) -> int:
        """A whole rollout, or the rest of the budget for the last one."""
        whole = self._settings.num_processes * self._settings.num_steps
        return min(whole, self._settings.num_env_steps - self._trained)

    def _gather(self, environment: int, step: Step) -> None:
        assert self._choice is not None
        chain = self._chains[environment]
        if step.reward is None:
            if chain and not self._fresh[environment]:
                chain[-1].reward += self._settings.gamma * float(self._choice.values[environment])
            self._fresh[environment] = True
            return
        row = Row(
            observation=self._choice.observations[environment],
            action=self._choice.actions[environment],
            value=float(self._choice.values[environment]),
            log_probability=float(self._choice.log_probabilities[environment]),
            reward=credit_reward(step.reward, step.index + 1, step.terminated, self._rules, self._settings.gamma),
            starts_episode=self._fresh[environment],
        )
        chain.append(row)
        self._fresh[environment] = step.ended
        self._answered += 1

    def _close_chains(self, observations: NDArray[np.float32]) -> None:
        """An unfinished episode gets the expected value of its last observation."""
        normal = torch.from_numpy(self._normaliser.apply(observations).astype(np.float32))
        with torch.no_grad():
            values = self._algorithm.policy.predict_values(normal).flatten().numpy()
        for chain, fresh, value in zip(self._chains, self._fresh, values, strict=True):
            if chain:
                chain[0].starts_episode = True
                chain[-1].reward += 0.0 if fresh else self._settings.gamma * float(value)

    def _train(self) -> None:
        rows = [row for chain in self._chains for row in chain]
        buffer = self._algorithm.rollout_buffer
        buffer.buffer_size = len(rows)
        self._algorithm.batch_size = max(2, -(-len(rows) // self._settings.num_mini_batch))
        buffer.reset()
        fill(buffer, rows)
        self._algorithm.train()
        self._trained += len(rows)
        self._answered = 0
        self._chains = [[] for _ in self._chains]


def fill(buffer: RolloutBuffer, rows: Sequence[Row]) -> None:
    """Copies the chains one after another. Each starts like an episode, so that no value flows from one into another."""
    buffer.observations[:, 0] = np.stack([row.observation for row in rows])
    buffer.actions[:, 0, 0] = [row.action for row in rows]
    buffer.rewards[:, 0] = [row.reward for row in rows]
    buffer.values[:, 0] = [row.value for row in rows]
    buffer.log_probs[:, 0] = [row.log_probability for row in rows]
    buffer.episode_starts[:, 0] = [row.starts_episode for row in rows]
    buffer.pos, buffer.full = len(rows), True
    buffer.compute_returns_and_advantage(last_values=torch.zeros(1), dones=np.ones(1))


class SeededBuffer(RolloutBuffer):  # type: ignore[misc]
    """The library's buffer, shuffled by its own generator instead of numpy's global one."""

    generator_ready: bool

    def __init__(self, *arguments: Any, shuffling: np.random.Generator, **settings: Any) -> None:
        self._shuffling = shuffling
        super().__init__(*arguments, **settings)

    def get(self, batch_size: int | None = None) -> Iterator[Any]:
        if not self.generator_ready:
            for name in ("observations", "actions", "values", "log_probs", "advantages", "returns"):
                setattr(self, name, self.swap_and_flatten(getattr(self, name)))
            self.generator_ready = True
        order = self._shuffling.permutation(self.buffer_size * self.n_envs)
        for start in range(0, len(order), batch_size or len(order)):
            yield self._get_samples(order[start : start + (batch_size or len(order))])


def _algorithm(settings: MutationSettings, size: int, operators: int, seed: int) -> PPO:
    algorithm = PPO(
        "MlpPolicy",
        env=None,
        learning_rate=settings.learning_rate,
        n_steps=settings.num_processes * settings.num_steps,
        batch_size=settings.num_processes * settings.num_steps // settings.num_mini_batch,
        n_epochs=settings.ppo_epoch,
        gamma=settings.gamma,
        gae_lambda=settings.gae_lambda,
        clip_range=settings.clip,
        ent_coef=settings.entropy,
        vf_coef=0.5,
        max_grad_norm=0.5,
        policy_kwargs={"net_arch": list(HIDDEN)},
        rollout_buffer_class=SeededBuffer,
        rollout_buffer_kwargs={"shuffling": np.random.default_rng(seed_of(seed, "ppo", "shuffling"))},
        device="cpu",
        _init_setup_model=False,
    )
    algorithm.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (size,), np.float32)
    algorithm.action_space = gymnasium.spaces.Discrete(operators)
    algorithm.n_envs = 1
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed_of(seed, "ppo", "weights"))
        algorithm._setup_model()
    algorithm.set_logger(Logger(folder=None, output_formats=[]))
    return algorithm


def layers_of(policy: Any) -> tuple[Layer, ...]:
    """The policy part of the network as plain arrays: two hidden layers and the operators' preferences."""
    hidden = [module for module in policy.mlp_extractor.policy_net if isinstance(module, torch.nn.Linear)]
    return tuple(
        Layer(module.weight.detach().double().numpy().copy(), module.bias.detach().double().numpy().copy())
        for module in (*hidden, policy.action_net)
    )
