"""The course of a mutation study: train the learner beside its baselines, then let all compete on held-out queries.

All players step in the same environments, so their calls share waves, and a baseline meets the same queries in the
same order as the learner. What is found is written down with every update, so an interrupted study can be read.
"""

import asyncio
import base64
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from tidepool.engine.runtime.batch_run import BatchRun
from tidepool.engine.studies.mutation.config import MutationSettings
from tidepool.engine.studies.mutation.environment import Environments, Outcome, endless
from tidepool.engine.studies.mutation.evaluation import (
    compare,
    contenders,
    play_heldout,
)
from tidepool.engine.studies.mutation.inputs import (
    heldout_episodes,
    heldout_for,
    queries_of,
    rules_of,
    saved_policy,
    settings_of,
)
from tidepool.engine.studies.mutation.learners import make_learner
from tidepool.engine.studies.mutation.ledger import HELDOUT, TRAINING, EpisodeRecorder, LedgerTransport
from tidepool.engine.studies.mutation.policy import Policy, PolicyCard, SavedPolicy, TrainedPolicy, policy_bytes
from tidepool.engine.studies.mutation.queries import Query, Split, split_queries
from tidepool.engine.studies.mutation.statistics import REWARDS
from tidepool.engine.studies.mutation.training import DETAILS, Losses, Player, TrainingRecord, no_uses, train


async def play(run: BatchRun) -> None:
    await Story(run, settings_of(run.config)).run()


class Story:
    """One run of a study, from its first question to its last."""

    def __init__(self, run: BatchRun, settings: MutationSettings) -> None:
        self._run = run
        self._settings = settings
        self._rules = rules_of(settings)
        self._recorder = EpisodeRecorder(run)
        self._transport = LedgerTransport(run, settings, self._recorder)
        self._players: list[Player] = []
        self._tested = Losses()
        self._updates_reported = 0
        """updates written down so far"""

    async def run(self) -> None:
        saved = saved_policy(self._settings)
        if saved is not None:
            heldout = heldout_for(saved.card, queries_of(self._settings))
            await self._compare(saved.policy, {}, heldout, 0, 0)
            return
        split = split_queries(queries_of(self._settings), self._settings.heldout, self._run.seed)
        environments = await self._train(split)
        chosen, *others = self._players
        policy = chosen.learner.policy()
        self._keep_policy(policy, split)
        learned = {other.name: other.learner.policy() for other in others if other.name != "random"}
        await self._compare(policy, learned, split.heldout, environments.steps, environments.episodes)

    # -- training ----------------------------------------------------------------------------------------

    async def _train(self, split: Split) -> Environments:
        settings, per_player = self._settings, self._settings.num_processes
        names = [settings.learner, *settings.stated_baselines()]
        self._recorder.begin(TRAINING, [name for name in names for _ in range(per_player)])
        schedule = endless(split.training, self._run.seed)
        environments = Environments(
            per_player * len(names),
            lambda environment, episode: schedule(environment % per_player, episode),
            self._transport,
            self._rules,
            batching=settings.use_batching,
        )
        size = (await environments.reset()).shape[1]
        self._players = [await self._player(name, place * per_player, size) for place, name in enumerate(names)]
        chosen, *others = [player.record for player in self._players]
        baselines = dict(zip(names[1:], others, strict=True))
        still = heldout_episodes(settings, len(split.heldout))
        self._expect(environments.episodes, [chosen, *others], still)

        def on_outcome(outcome: Outcome) -> None:
            self._recorder.take(outcome)
            if sum(len(record.updates) for record in (chosen, *others)) > self._updates_reported:
                self._save_updates(chosen, baselines)
                self._expect(environments.episodes, [chosen, *others], still)

        await train(
            environments,
            self._players,
            on_outcome=on_outcome,
            is_live=lambda: self._transport.fresh,
        )
        self._recorder.close_rest()
        self._save_updates(chosen, baselines)
        return environments

    async def _player(self, name: str, first: int, size: int) -> Player:
        settings = self._settings
        learner = await asyncio.to_thread(make_learner, name, settings, self._rules, size, self._run.seed)
        record = TrainingRecord(
            update_size=settings.num_processes * settings.num_steps, operators=no_uses(settings.operators)
        )
        return Player(name, learner, settings.num_env_steps, first, settings.num_processes, record)

    def _expect(self, begun: int, records: Sequence[TrainingRecord], still: int) -> None:
        """Episodes end when they succeed, so how many there will be is a guess that gets better."""
        played = sum(record.env_steps for record in records)
        left = sum(max(0, self._settings.num_env_steps - record.env_steps) for record in records)
        steps_each = played / begun if played else self._settings.episode_length
        self._run.expect_units(begun + math.ceil(left / steps_each) + still)

    def _save_updates(self, chosen: TrainingRecord, others: Mapping[str, TrainingRecord]) -> None:
        """Every row of it replaces the one before: a replay writes the same again."""
        self._updates_reported = sum(len(record.updates) for record in (chosen, *others.values()))
        for update in chosen.updates:
            self._run.ledger.put_training(
                update_number=update.update,
                env_steps=update.env_steps,
                mean_reward=update.mean_reward,
                success_rate=update.success_rate,
                details=json.dumps({name: getattr(update, name) for name in DETAILS}),
            )
        self._run.ledger.put_finding(
            "training",
            {
                "operators": _operators(chosen),
                "losses": asdict(chosen.losses),
                "baselines": {
                    name: {
                        "updates": [asdict(update) for update in other.updates],
                        "operators": _operators(other),
                        "losses": asdict(other.losses),
                    }
                    for name, other in others.items()
                },
            },
        )

    def _keep_policy(self, policy: Policy, split: Split) -> None:
        if not isinstance(policy, TrainedPolicy):
            return
        settings = self._settings
        card = PolicyCard(
            operators=tuple(self._settings.operators),
            learner=settings.learner,
            encoder=settings.encoder,
            observation_size=len(policy.normaliser.mean),
            episode_length=settings.episode_length,
            reward=settings.reward,
            seed=self._run.seed,
            env_steps=settings.num_env_steps,
            trained_on=tuple(query.fingerprint for query in split.training),
        )
        content = policy_bytes(SavedPolicy(card, policy))
        self._run.ledger.put_finding("policy", {"safetensors": base64.b64encode(content).decode()})

    # -- the comparison ----------------------------------------------------------------------------------

    async def _compare(
        self, policy: Policy, learned: Mapping[str, Policy], heldout: tuple[Query, ...], steps: int, episodes: int
    ) -> None:
        settings = self._settings
        policies = contenders(policy, self._run.seed, learned, self._settings.operators)
        names = [name for name in policies for _ in range(len(heldout) * settings.repeats)]
        self._recorder.begin(HELDOUT, names)
        self._run.expect_units(episodes + len(names))
        record = TrainingRecord(update_size=0, operators=no_uses(self._settings.operators))
        """what the policy itself does, which is all there is to tell of one that was only evaluated"""

        def on_outcome(outcome: Outcome) -> None:
            self._recorder.take(outcome)
            self._tested.count(outcome)
            record.count(outcome.part(0, len(heldout) * settings.repeats))

        scores = await play_heldout(
            policies,
            heldout,
            self._transport,
            self._rules,
            settings.repeats,
            batching=settings.use_batching,
            steps=steps,
            episodes=episodes,
            on_outcome=on_outcome,
        )
        self._recorder.close_rest()
        rewards = zip(heldout, scores["policy"].tolist(), strict=True)
        data = {query.fingerprint: reward for query, reward in rewards if not math.isnan(reward)}
        self._run.ledger.put_finding(REWARDS, data)
        comparison = compare(scores, self._settings.operators, tuple(learned)).as_json()
        comparison["operators"] = _operators(record)
        self._run.ledger.put_finding("heldout", {**comparison, "losses": asdict(self._tested)})


def _operators(record: TrainingRecord) -> dict[str, dict[str, float | None]]:
    return {
        name: {"uses": use.uses, "mean_reward": use.mean_reward if use.uses else None}
        for name, use in record.operators.items()
    }
