"""Query mutation: trains the learner with its baselines, then compares all of them on held-out queries.

All players step in the same environments, so their requests share waves, and a baseline gets the same queries in the same order
as the learner. Results are stored with every update, so you can read an interrupted study.
"""

import asyncio
import base64
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from tidepool.engine.config.sections import Config
from tidepool.engine.inference.measures import PlannedBatch, PlannedRivals, PlannedValues
from tidepool.engine.runtime.batch_run import BatchRun
from tidepool.engine.runtime.plans import Plan
from tidepool.engine.studies.mutation import plan
from tidepool.engine.studies.mutation.config import MutationSettings
from tidepool.engine.studies.mutation.environment import Environments, Outcome, endless
from tidepool.engine.studies.mutation.evaluation import compare, contenders, play_heldout
from tidepool.engine.studies.mutation.inputs import (
    heldout_episodes,
    heldout_for,
    queries_of,
    rules_of,
    saved_policy,
    settings_of,
    with_files,
)
from tidepool.engine.studies.mutation.learners import make_learner
from tidepool.engine.studies.mutation.ledger import HELDOUT, TRAINING, EpisodeRecorder, LedgerTransport
from tidepool.engine.studies.mutation.policy import Policy, PolicyCard, SavedPolicy, TrainedPolicy, policy_bytes
from tidepool.engine.studies.mutation.queries import Query, Split, split_queries
from tidepool.engine.studies.mutation.results import REWARD, REWARDS
from tidepool.engine.studies.mutation.training import Losses, Player, TrainingRecord, no_uses, train
from tidepool.engine.studies.study import Study
from tidepool.storage import tables


class Mutation(Study):
    @classmethod
    def freeze(cls, config: Config, folder: Path | None) -> Config:
        return config.model_copy(update={"settings": with_files(settings_of(config), folder)})

    def plan(self) -> Plan:
        return plan.plan(self.config)

    async def play(self, run: BatchRun) -> None:
        await Story(run, settings_of(self.config)).run()

    def shape(self) -> list[str]:
        """How steps form updates."""
        settings = settings_of(self.config)
        together, steps = settings.num_processes, settings.num_steps
        updates = -(-settings.num_env_steps // (together * steps))
        return [f"{together:,} environments × {steps:,} steps = {together * steps:,} per update, {updates:,} updates"]

    def values_planned(self) -> PlannedBatch:
        """The number of held-out queries is a share of all queries."""
        held_out, repeats = plan.held_out_queries(self.config)
        return PlannedBatch(
            counted="held-out queries",
            outcomes={REWARD: PlannedValues(held_out, repeats)},
            sizes={},
            rivals=(PlannedRivals("the policy and random play", REWARD, held_out, "matched"),),
        )


class Story:
    """One run of a study, from its first request to its last."""

    def __init__(self, run: BatchRun, settings: MutationSettings) -> None:
        self._run = run
        self._settings = settings
        self._rules = rules_of(settings)
        self._recorder = EpisodeRecorder(run)
        self._transport = LedgerTransport(run, settings, self._recorder)

    async def run(self) -> None:
        if (saved := saved_policy(self._settings)) is not None:
            await self._compare(saved.policy, {}, heldout_for(saved.card, queries_of(self._settings)), 0, 0)
            return
        split = split_queries(queries_of(self._settings), self._settings.heldout, self._run.seed)
        environments, (chosen, *others) = await self._train(split)
        policy = chosen.learner.policy()
        self._keep_policy(policy, split)
        learned = {other.name: other.learner.policy() for other in others if other.name != "random"}
        await self._compare(policy, learned, split.heldout, environments.steps, environments.episodes)

    # -- training ----------------------------------------------------------------------------------------

    async def _train(self, split: Split) -> tuple[Environments, list[Player]]:
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
        players = [await self._player(name, place * per_player, size) for place, name in enumerate(names)]
        still = heldout_episodes(settings, len(split.heldout))
        self._expect(environments.episodes, players, still)
        reported = 0

        def on_outcome(outcome: Outcome) -> None:
            nonlocal reported
            self._recorder.take(outcome)
            if (updates := sum(len(player.record.updates) for player in players)) > reported:
                reported = updates
                self._save_updates(players)
                self._expect(environments.episodes, players, still)

        await train(environments, players, on_outcome=on_outcome, is_live=lambda: self._transport.fresh)
        self._recorder.close_rest()
        self._save_updates(players)
        return environments, players

    async def _player(self, name: str, first: int, size: int) -> Player:
        settings = self._settings
        learner = await asyncio.to_thread(make_learner, name, settings, self._rules, size, self._run.seed)
        record = TrainingRecord(settings.num_processes * settings.num_steps, operators=no_uses(settings.operators))
        return Player(name, learner, settings.num_env_steps, first, settings.num_processes, record)

    def _expect(self, begun: int, players: Sequence[Player], still: int) -> None:
        """Updates the estimated number of episodes, which end when they succeed."""
        played = sum(player.record.env_steps for player in players)
        left = sum(max(0, player.left) for player in players)
        steps_each = played / begun if played else self._settings.episode_length
        self._run.expect_units(begun + math.ceil(left / steps_each) + still)

    def _save_updates(self, players: Sequence[Player]) -> None:
        """Each row replaces the one before; a replay writes the same rows again."""
        chosen, *others = players
        for update in chosen.record.updates:
            self._run.ledger.put(
                tables.TrainingUpdate,
                update_number=update.update,
                env_steps=update.env_steps,
                mean_reward=update.mean_reward,
                success_rate=update.success_rate,
                details=json.dumps({"uses": update.uses}),
            )
        baselines = {
            other.name: {"updates": [asdict(update) for update in other.record.updates], **_figures(other.record)}
            for other in others
        }
        self._run.ledger.put_finding("training", {**_figures(chosen.record), "baselines": baselines})

    def _keep_policy(self, policy: Policy, split: Split) -> None:
        if not isinstance(policy, TrainedPolicy):
            return
        settings = self._settings
        card = PolicyCard(
            operators=tuple(settings.operators),
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
        settings, losses = self._settings, Losses()
        policies = contenders(policy, self._run.seed, learned, settings.operators)
        per_policy = len(heldout) * settings.repeats
        self._recorder.begin(HELDOUT, [name for name in policies for _ in range(per_policy)])
        self._run.expect_units(episodes + len(policies) * per_policy)
        record = TrainingRecord(update_size=0, operators=no_uses(settings.operators))
        """operator uses of the policy itself, which are the only training statistics if it was only evaluated"""

        def on_outcome(outcome: Outcome) -> None:
            self._recorder.take(outcome)
            losses.count(outcome)
            record.count(outcome.part(0, per_policy))

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
        comparison = compare(scores, settings.operators, tuple(learned))
        found = {**comparison, **_figures(record), "losses": asdict(losses)}
        self._run.ledger.put_finding("heldout", found)


def _figures(record: TrainingRecord) -> dict[str, object]:
    operators = {
        name: {"uses": use.uses, "mean_reward": use.total_reward / use.uses if use.uses else None}
        for name, use in record.operators.items()
    }
    return {"operators": operators, "losses": asdict(record.losses)}
