"""What a mutation study will take: how many steps are trained is known, how soon episodes end well is not."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from tidepool.engine.call import TOKENS_PER_MESSAGE
from tidepool.engine.config.endpoints import resolve_model
from tidepool.engine.config.sections import FrozenConfig
from tidepool.engine.runtime.services import SERVICES, batch_from
from tidepool.engine.studies.mutation.config import HASHING, MutationSettings
from tidepool.engine.studies.mutation.environment import ANSWER, JUDGE, REWRITE, TARGET_SYSTEM
from tidepool.engine.studies.mutation.inputs import heldout_episodes, heldout_for, queries_of, saved_policy, settings_of
from tidepool.engine.studies.mutation.ledger import EMBED, JUDGE_TOKENS, stages_of
from tidepool.engine.studies.mutation.operators import operator_named, rewrite_prompt, with_noop
from tidepool.engine.studies.mutation.queries import Query, split_queries
from tidepool.engine.studies.mutation.rewards import judge_prompt
from tidepool.engine.studies.planned_calls import (
    EXPECTED,
    MOST,
    Plan,
    PlannedCalls,
    Sizing,
    UsualTokens,
    reasoning_notes,
)

QUERY_TOKENS, ANSWER_TOKENS, SCORE_TOKENS = UsualTokens(30, 21), UsualTokens(60, 19), UsualTokens(8, 2)
"""a rewritten query, an answer and a grade usually have"""
MOST_STEPS = 20_000
"""told one by one; of more, several stand together under the number of their last wave"""
MIDDLING, SLOPE = 0.38, 9.0
"""half of all steps earn about so much; and how steeply fewer earn more"""
ALIKE = 1.5
"""how alike queries are: those that earned too little at first are the harder ones, so each step has fewer successes"""
SAMPLED = 200
"""queries that are measured"""


def plan(config: FrozenConfig) -> Plan:
    settings = settings_of(config)
    expected, most = (_MutationPlan(config, sizing) for sizing in (EXPECTED, MOST))
    training = expected.training_steps * settings.num_processes * expected.players
    units = math.ceil(training / settings.episode_length) + expected.heldout
    notes = (*_notes(config, settings, expected), *reasoning_notes(settings))
    return Plan(units, tuple(expected.calls()), notes, at_most=tuple(most.calls()))


def held_out_queries(config: FrozenConfig) -> tuple[int, int]:
    """How many there are, and how often each is played."""
    return _MutationPlan(config, EXPECTED).queries_held_out, settings_of(config).repeats


@dataclass(frozen=True, slots=True)
class _Moment:
    """One environment step, or several alike: how many environments step in it, and how many of them ask for a rewrite."""

    times: int
    steps: int
    rewrites: int


@dataclass(frozen=True)
class _MutationPlan:
    """The same steps by either sizing."""

    config: FrozenConfig
    sizing: Sizing

    @cached_property
    def settings(self) -> MutationSettings:
        return settings_of(self.config)

    @cached_property
    def players(self) -> int:
        return 0 if self.settings.policy_content else 1 + len(self.settings.stated_baselines())

    @cached_property
    def training_steps(self) -> int:
        return math.ceil(self.settings.num_env_steps / self.settings.num_processes) if self.players else 0

    @cached_property
    def _learnt(self) -> int:
        """Contenders that choose their operators: the policy, chance, and what else has learnt."""
        return 2 + sum(name != "random" for name in self.settings.stated_baselines())

    @cached_property
    def heldout(self) -> int:
        """Episodes of the comparison, those of the unchanged query among them."""
        return heldout_episodes(self.settings, self.queries_held_out)

    @cached_property
    def _queries(self) -> Sequence[Query]:
        return queries_of(self.settings)

    @cached_property
    def queries_held_out(self) -> int:
        if (saved := saved_policy(self.settings)) is not None:
            return len(heldout_for(saved.card, self._queries))
        return len(split_queries(self._queries, self.settings.heldout, self.config.batch.seed).heldout)

    # -- how many ----------------------------------------------------------------------------------------

    def calls(self) -> Iterator[PlannedCalls]:
        wave = 0
        stages = stages_of(self.settings)
        training = self._training(), self.players * self.settings.num_processes
        for phase, environments in (training, (self._comparison(), self.heldout)):
            for place, moment in enumerate(phase):
                wave += len(stages) * (moment.times - 1)
                for stage in stages:
                    wave += 1
                    yield from self._stage(stage, wave, moment, environments if place == 0 else 0)

    def _training(self) -> Iterator[_Moment]:
        settings, share = self.settings, self._rewriting_share
        several = math.ceil(self.training_steps / MOST_STEPS) or 1
        for first in range(0, self.training_steps, several):
            times = min(several, self.training_steps - first)
            done = first * settings.num_processes
            steps = min(settings.num_env_steps - done, times * settings.num_processes)
            before = self._repeats * self.players * done
            total_steps = self._repeats * self.players * steps
            rewrites = math.ceil((before + total_steps) * share) - math.ceil(before * share)
            yield _Moment(self._repeats * times, total_steps, rewrites)

    @property
    def _repeats(self) -> int:
        """A step whose grade cannot be read is made again: at most every second one is taken to be such."""
        return 2 if self.sizing.worst and self.settings.reward == "judge" else 1

    def _comparison(self) -> Iterator[_Moment]:
        contenders = self._learnt + len(with_noop(self.settings.operators))
        share = (self._learnt * self._rewriting_share + self._instructed) / contenders
        # As of the simulated target, a guess for others.
        success = 1 / (1 + math.exp(SLOPE * (self.settings.success - MIDDLING)))
        open_episodes = float(self.heldout)
        for step in range(self.settings.episode_length):
            yield _Moment(1, round(open_episodes), math.ceil(open_episodes * share))
            open_episodes *= 1.0 if self.sizing.worst else 1 - success * ALIKE / (ALIKE + step)

    @cached_property
    def _instructed(self) -> int:
        """Operators that ask a model; noop asks nobody."""
        return sum(bool(operator_named(name).instruction) for name in self.settings.operators)

    @cached_property
    def _rewriting_share(self) -> float:
        """Of the steps whose operator is chosen."""
        if self.sizing.worst and self._instructed:
            return 1.0
        return self._instructed / len(self.settings.operators)

    def _stage(self, stage: str, wave: int, moment: _Moment, beginning: int) -> Iterator[PlannedCalls]:
        """`beginning`: environments that begin at this moment, and whose first queries are embedded before."""
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

    @cached_property
    def _models(self) -> dict[str, str]:
        settings = self.settings
        models = {REWRITE: settings.mutator, ANSWER: settings.target, JUDGE: settings.judge, EMBED: settings.encoder}
        return {stage: resolve_model(models[stage]) for stage in {*stages_of(settings), REWRITE, ANSWER}}

    # -- how long ----------------------------------------------------------------------------------------

    @cached_property
    def _measured(self) -> Sequence[Query]:
        if self.sizing.worst:
            return self._queries
        return self._queries[:: max(1, len(self._queries) // SAMPLED)]

    @cached_property
    def _first_query(self) -> int:
        return self.sizing.longest(query.text for query in self._measured)

    @cached_property
    def _query(self) -> int:
        """As it stands in an episode: as it began, or as it was last rewritten."""
        again = self.sizing.read_again(self._models[REWRITE], QUERY_TOKENS, self.settings.max_tokens)
        return max(self._first_query, again) if self.sizing.worst else (self._first_query + again) // 2

    @cached_property
    def _answer(self) -> int:
        return self.sizing.read_again(self._models[ANSWER], ANSWER_TOKENS, self.settings.max_tokens)

    @cached_property
    def _reference(self) -> int:
        return self.sizing.longest(query.reference for query in self._measured)

    @cached_property
    def _opening(self) -> int:
        """The first query of an episode, and what its answers are compared with."""
        compared = self._reference + TOKENS_PER_MESSAGE if self.settings.reward == "similarity" else 0
        return self._first_query + TOKENS_PER_MESSAGE + compared

    @cached_property
    def _embedded(self) -> int:
        """Of one step: the query as it now stands, its answer, and at most the next opening."""
        graded = self._answer + TOKENS_PER_MESSAGE if self.settings.reward == "similarity" else 0
        return self._query + TOKENS_PER_MESSAGE + graded + (self._opening if self.sizing.worst else 0)

    @cached_property
    def _sizes(self) -> dict[str, tuple[int, int]]:
        return {stage: self._size(stage) for stage in stages_of(self.settings) if stage != EMBED}

    def _size(self, stage: str) -> tuple[int, int]:
        """The tokens of a call, in and out."""
        settings, sizing, model = self.settings, self.sizing, self._models[stage]
        match stage:
            case "rewrite":
                prompts = [rewrite_prompt(operator_named(name), "") for name in settings.operators]
                prompt = sizing.longest(system + text for system, text in prompts) + self._query
                usual, most = QUERY_TOKENS, settings.max_tokens
            case "answer":
                prompt = sizing.text(TARGET_SYSTEM) + self._query
                usual, most = ANSWER_TOKENS, settings.max_tokens
            case _:
                prompt = sizing.text("".join(judge_prompt("", "", "")))
                prompt += self._first_query + self._reference + self._answer
                usual, most = SCORE_TOKENS, JUDGE_TOKENS
        return prompt + TOKENS_PER_MESSAGE, sizing.reply(model, usual, most, settings)


def _notes(config: FrozenConfig, settings: MutationSettings, planned: _MutationPlan) -> Iterator[str]:
    yield (
        "Episodes end when they succeed: how soon is a guess; at most all held-out ones are played to their length. A step that is "
        "lost is made again: at most every second grade of a judge is taken to be unreadable, and no call to fail for good."
    )
    if planned.players > 1:
        named = " and ".join(settings.stated_baselines())
        yield f"The baseline {named} plays the same budget beside the learner: baselines = [] saves that."
    provider = resolve_model(settings.target).partition(":")[0]
    limits = config.limits_for(provider)
    together = max(planned.players, 1) * settings.num_processes
    if settings.use_batching and limits.max_concurrent < together:
        yield (
            f"A wave has up to {together} calls and service.max_concurrent is {limits.max_concurrent}: "
            f"service.max_concurrent = {together} lets each wave go at once."
        )
    worth_it = together >= batch_from(config.service, provider, limits)
    if SERVICES[config.service.name].batched and worth_it and provider not in ("simulated", "ollama"):
        yield 'Each wave waits for the one before: through a batch API that takes long. service.name = "live" is quicker.'
    if settings.encoder == HASHING:
        yield "The encoder hashing is lexical: it sees which words are used, not what they mean."


def shape(config: FrozenConfig) -> list[str]:
    """How steps make updates."""
    settings = settings_of(config)
    together, steps = settings.num_processes, settings.num_steps
    updates = -(-settings.num_env_steps // (together * steps))
    return [f"{together:,} environments × {steps:,} steps = {together * steps:,} an update, {updates:,} updates"]
