"""The plan of a mutation study. The number of training steps is known; how soon episodes succeed is estimated."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from tidepool.engine.call import TOKENS_PER_MESSAGE
from tidepool.engine.config.endpoints import resolve_model
from tidepool.engine.config.sections import FrozenConfig
from tidepool.engine.runtime.plans import EXPECTED, MOST, Plan, PlannedCalls, Sizing, UsualTokens, reasoning_notes
from tidepool.engine.runtime.services import SERVICES, batch_from
from tidepool.engine.studies.mutation.config import HASHING, MutationSettings
from tidepool.engine.studies.mutation.environment import ANSWER, JUDGE, REWRITE, TARGET_SYSTEM
from tidepool.engine.studies.mutation.inputs import heldout_episodes, heldout_for, queries_of, saved_policy, settings_of
from tidepool.engine.studies.mutation.ledger import EMBED, JUDGE_TOKENS, stages_of
from tidepool.engine.studies.mutation.operators import operator_named, rewrite_prompt, with_noop
from tidepool.engine.studies.mutation.queries import split_queries
from tidepool.engine.studies.mutation.rewards import judge_prompt

QUERY_TOKENS, ANSWER_TOKENS, SCORE_TOKENS = UsualTokens(30, 21), UsualTokens(60, 19), UsualTokens(8, 2)
"""usual lengths of a rewritten query, an answer and a grade"""
MOST_STEPS = 20_000
"""planned one by one; further steps are grouped under the number of their last wave"""
MIDDLING, SLOPE = 0.38, 9.0
"""the reward that half of all steps reach, and the slope at which fewer steps earn more"""
ALIKE = 1.5
"""correlation of queries: those with a low first reward are harder, so later steps succeed less often"""
SAMPLED = 200
"""how many queries are measured"""


def plan(config: FrozenConfig) -> Plan:
    settings = settings_of(config)
    expected, most = (_MutationPlan(config, sizing) for sizing in (EXPECTED, MOST))
    training = expected.training_steps * settings.num_processes * expected.players
    units = math.ceil(training / settings.episode_length) + expected.heldout
    notes = (*_notes(config, settings, expected), *reasoning_notes(settings))
    return Plan(units, tuple(expected.calls()), notes, at_most=tuple(most.calls()))


def held_out_queries(config: FrozenConfig) -> tuple[int, int]:
    """The number of held-out queries, and how often each is played."""
    return _MutationPlan(config, EXPECTED).queries_held_out, settings_of(config).repeats


@dataclass(frozen=True, slots=True)
class _Moment:
    """One environment step, or several equal ones: the number of environments that step, and of those that need a rewrite."""

    times: int
    steps: int
    rewrites: int


class _MutationPlan:
    """The same steps for either sizing."""

    def __init__(self, config: FrozenConfig, sizing: Sizing) -> None:
        settings = settings_of(config)
        self.settings, self.sizing, self.stages = settings, sizing, stages_of(settings)
        baselines = settings.stated_baselines()
        self.players = 0 if settings.policy_content else 1 + len(baselines)
        self.training_steps = math.ceil(settings.num_env_steps / settings.num_processes) if self.players else 0
        self._queries = queries_of(settings)
        if (saved := saved_policy(settings)) is not None:
            self.queries_held_out = len(heldout_for(saved.card, self._queries))
        else:
            self.queries_held_out = len(split_queries(self._queries, settings.heldout, config.batch.seed).heldout)
        self.heldout = heldout_episodes(settings, self.queries_held_out)
        """episodes of the comparison, including those of the unchanged query"""
        self._learnt = 2 + sum(name != "random" for name in baselines)
        """contenders that choose their operators: the policy, random play, and other learners"""
        self._instructed = sum(bool(operator_named(name).instruction) for name in settings.operators)
        """operators that call a model; noop does not"""
        worst = sizing.worst and self._instructed
        self._rewriting_share = 1.0 if worst else self._instructed / len(settings.operators)
        """of the steps with a chosen operator"""
        self._repeats = 2 if sizing.worst and settings.reward == "judge" else 1
        """a step with an unreadable grade is repeated: the maximum assumes that every second grade is unreadable"""
        models = {REWRITE: settings.mutator, ANSWER: settings.target, JUDGE: settings.judge, EMBED: settings.encoder}
        self._models = {stage: resolve_model(models[stage]) for stage in {*self.stages, REWRITE, ANSWER}}
        self._measure()

    # -- counts ----------------------------------------------------------------------------------------

    def calls(self) -> Iterator[PlannedCalls]:
        wave = 0
        training = self._training(), self.players * self.settings.num_processes
        for phase, environments in (training, (self._comparison(), self.heldout)):
            for place, moment in enumerate(phase):
                wave += len(self.stages) * (moment.times - 1)
                for stage in self.stages:
                    wave += 1
                    yield from self._stage(stage, wave, moment, environments if place == 0 else 0)

    def _training(self) -> Iterator[_Moment]:
        settings, share, all_players = self.settings, self._rewriting_share, self._repeats * self.players
        several = math.ceil(self.training_steps / MOST_STEPS) or 1
        for first in range(0, self.training_steps, several):
            times = min(several, self.training_steps - first)
            done = first * settings.num_processes
            steps = all_players * min(settings.num_env_steps - done, times * settings.num_processes)
            rewrites = math.ceil((all_players * done + steps) * share) - math.ceil(all_players * done * share)
            yield _Moment(self._repeats * times, steps, rewrites)

    def _comparison(self) -> Iterator[_Moment]:
        contenders = self._learnt + len(with_noop(self.settings.operators))
        share = (self._learnt * self._rewriting_share + self._instructed) / contenders
        # As measured for the simulated target; an estimate for others.
        success = 1 / (1 + math.exp(SLOPE * (self.settings.success - MIDDLING)))
        open_episodes = float(self.heldout)
        for step in range(self.settings.episode_length):
            yield _Moment(1, round(open_episodes), math.ceil(open_episodes * share))
            open_episodes *= 1.0 if self.sizing.worst else 1 - success * ALIKE / (ALIKE + step)

    def _stage(self, stage: str, wave: int, moment: _Moment, beginning: int) -> Iterator[PlannedCalls]:
        """`beginning`: environments that begin now, and whose first queries must be embedded first."""
        model = self._models[stage]
        if stage == EMBED and beginning:
            openings = min(beginning, len(self._queries)) * self._opening
            yield PlannedCalls(wave, model, 1, openings, 0, operation=EMBED)
        if stage == EMBED and moment.steps:
            requests = moment.times if self.settings.use_batching else moment.steps
            texts = math.ceil(moment.steps / requests) * self._embedded
            yield PlannedCalls(wave, model, requests, texts, 0, requests, operation=EMBED)
        elif stage != EMBED and (calls := moment.rewrites if stage == REWRITE else moment.steps):
            rounds = moment.times if self.settings.use_batching else calls
            yield PlannedCalls(wave, model, calls, *self._sizes[stage], rounds)

    # -- lengths ----------------------------------------------------------------------------------------

    def _measure(self) -> None:
        settings, sizing = self.settings, self.sizing
        measured = self._queries[:: 1 if sizing.worst else max(1, len(self._queries) // SAMPLED)]
        first = sizing.longest(query.text for query in measured)
        reference = sizing.longest(query.reference for query in measured)
        again = sizing.read_again(self._models[REWRITE], QUERY_TOKENS, settings.max_tokens)
        query = max(first, again) if sizing.worst else (first + again) // 2
        """a query within an episode: the original, or the last rewriting"""
        answer = sizing.read_again(self._models[ANSWER], ANSWER_TOKENS, settings.max_tokens)
        compared = settings.reward == "similarity"
        self._opening = first + TOKENS_PER_MESSAGE + (reference + TOKENS_PER_MESSAGE if compared else 0)
        """the first query of an episode, and the reference for its answers"""
        self._embedded = query + TOKENS_PER_MESSAGE + (answer + TOKENS_PER_MESSAGE if compared else 0)
        """for one step: the current query, its answer, and at most the next opening"""
        if sizing.worst:
            self._embedded += self._opening
        prompts = [rewrite_prompt(operator_named(name), "") for name in settings.operators]
        judged = sizing.text("".join(judge_prompt("", "", ""))) + first + reference + answer
        usual = {
            REWRITE: (sizing.longest(map("".join, prompts)) + query, QUERY_TOKENS, settings.max_tokens),
            ANSWER: (sizing.text(TARGET_SYSTEM) + query, ANSWER_TOKENS, settings.max_tokens),
            JUDGE: (judged, SCORE_TOKENS, JUDGE_TOKENS),
        }
        self._sizes = {
            stage: (prompt + TOKENS_PER_MESSAGE, sizing.reply(self._models[stage], tokens, most, settings))
            for stage, (prompt, tokens, most) in usual.items()
            if stage in self.stages
        }
        """by stage: input and output tokens of a call"""


def _notes(config: FrozenConfig, settings: MutationSettings, planned: _MutationPlan) -> Iterator[str]:
    yield (
        "Episodes end when they succeed, and the expected number of steps is an estimate. The maximum assumes that all held-out "
        "episodes reach their full length. A lost step is repeated. The maximum assumes that every second grade of a judge is "
        "unreadable, and that no request fails for good."
    )
    if planned.players > 1:
        named = " and ".join(settings.stated_baselines())
        yield f"The baseline {named} uses the same budget as the learner. Set baselines = [] to save it."
    provider = resolve_model(settings.target).partition(":")[0]
    limits = config.limits_for(provider)
    together = max(planned.players, 1) * settings.num_processes
    if settings.use_batching and limits.max_concurrent < together:
        yield (
            f"A wave has up to {together} requests and service.max_concurrent is {limits.max_concurrent}. "
            f"Set service.max_concurrent = {together} to send each wave at once."
        )
    worth_it = together >= batch_from(config.service, provider, limits)
    if SERVICES[config.service.name].batched and worth_it and provider not in ("simulated", "ollama"):
        yield 'Each wave waits for the one before, which takes long with a batch API. service.name = "live" is faster.'
    if settings.encoder == HASHING:
        yield (
            'encoder = "hashing" compares words, not their meaning. To compare meaning, name an embedding model, such as '
            "ollama:nomic-embed-text."
        )
