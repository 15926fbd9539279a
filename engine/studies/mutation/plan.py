"""What a mutation study will take: known for training, where the budget rules, and at most for the comparison."""

import math
from collections.abc import Iterator
from dataclasses import replace

from tidepool.engine.config.frozen import FrozenConfig
from tidepool.engine.config.presets import resolve_model
from tidepool.engine.core.services import SERVICES, batch_from
from tidepool.engine.prices import TOKENS_PER_MESSAGE, expected_tokens
from tidepool.engine.studies.mutation.config import HASHING, MutationSettings
from tidepool.engine.studies.mutation.environment.ledger_transport import EMBED, JUDGE_TOKENS, stages_of
from tidepool.engine.studies.mutation.environment.rewards import JUDGE_SYSTEM
from tidepool.engine.studies.mutation.environment.step_calls import TARGET_SYSTEM
from tidepool.engine.studies.mutation.environment.transport import ANSWER, JUDGE, REWRITE
from tidepool.engine.studies.mutation.inputs import heldout_for, queries_of, saved_policy, settings_of
from tidepool.engine.studies.mutation.operators import REWRITER_SYSTEM, operator_named
from tidepool.engine.studies.mutation.queries import split_queries
from tidepool.engine.studies.planned_calls import Plan, PlannedCalls, with_reasoning

QUERY_TOKENS, ANSWER_TOKENS = 30, 60
"""a query and an answer are taken to have, for plans"""
MOST_STEPS = 20_000
"""told one by one; of more, several stand together under the number of their last wave"""


def plan(config: FrozenConfig) -> Plan:
    settings = settings_of(config)
    calls = list(_calls(config, settings))
    training, players = _training_steps(settings)
    each = settings.episode_length
    units = math.ceil(training * players * settings.num_processes / each) + _heldout_episodes(config, settings)
    return with_reasoning(Plan(units, tuple(calls), tuple(_notes(config, settings, players))), settings)


def _training_steps(settings: MutationSettings) -> tuple[int, int]:
    """Environment steps of training, and how many players take part."""
    if settings.policy_content:
        return 0, 0
    return math.ceil(settings.num_env_steps / settings.num_processes), 1 + len(settings.stated_baselines())


def _heldout_episodes(config: FrozenConfig, settings: MutationSettings) -> int:
    saved, queries = saved_policy(settings), queries_of(settings)
    if saved is not None:
        heldout = heldout_for(saved.card, queries)
    else:
        heldout = split_queries(queries, settings.heldout, config.batch.seed).heldout
    learnt = [name for name in settings.stated_baselines() if name != "random"]
    return len(heldout) * settings.repeats * (2 + len(learnt) + len(settings.operators))


def _calls(config: FrozenConfig, settings: MutationSettings) -> Iterator[PlannedCalls]:
    training, players = _training_steps(settings)
    heldout = _heldout_episodes(config, settings)
    phases = ((training, players * settings.num_processes), (settings.episode_length, heldout))
    wave = 0
    for steps, environments in phases:
        stages = [_stage(settings, stage, environments) for stage in stages_of(settings)]
        together = math.ceil(steps / MOST_STEPS) or 1
        for first in range(0, steps, together):
            several = min(together, steps - first)
            wave += len(stages) * (several - 1)
            for stage in stages:
                wave += 1
                each = 1 if settings.use_batching else stage.calls
                yield replace(stage, wave=wave, calls=stage.calls * several, rounds=several * each)


def _stage(settings: MutationSettings, stage: str, environments: int) -> PlannedCalls:
    """Of one environment step; its wave is not known yet."""
    operation = EMBED if stage == EMBED else "chat"
    return PlannedCalls(0, _model(settings, stage), *_size(settings, stage, environments), operation=operation)


def _model(settings: MutationSettings, stage: str) -> str:
    models = {REWRITE: settings.mutator, ANSWER: settings.target, JUDGE: settings.judge, EMBED: settings.encoder}
    return resolve_model(models[stage])


def _rewriting_share(settings: MutationSettings) -> float:
    """Of all steps: the operator noop asks nobody."""
    return sum(bool(operator_named(name).instruction) for name in settings.operators) / len(settings.operators)


def _size(settings: MutationSettings, stage: str, environments: int) -> tuple[int, int, int]:
    """Calls, and the tokens in and out of each."""
    answer = min(settings.max_tokens, ANSWER_TOKENS)
    match stage:
        case "embed":
            requests = 1 if settings.use_batching else environments
            return requests, environments // requests * (QUERY_TOKENS + answer + 2 * TOKENS_PER_MESSAGE), 0
        case "rewrite":
            asked = expected_tokens(REWRITER_SYSTEM) + 2 * QUERY_TOKENS
            return math.ceil(environments * _rewriting_share(settings)), asked, min(settings.max_tokens, QUERY_TOKENS)
        case "answer":
            return environments, expected_tokens(TARGET_SYSTEM) + QUERY_TOKENS + TOKENS_PER_MESSAGE, answer
        case _:
            return environments, expected_tokens(JUDGE_SYSTEM) + QUERY_TOKENS + 2 * ANSWER_TOKENS, JUDGE_TOKENS


def _notes(config: FrozenConfig, settings: MutationSettings, players: int) -> Iterator[str]:
    yield "Episodes end when they succeed, so the comparison on held-out queries may take fewer calls, and there may be more episodes."
    if players > 1:
        named = " and ".join(settings.stated_baselines())
        yield f"The baseline {named} plays the same budget beside the learner: baselines = [] saves that."
    provider = resolve_model(settings.target).partition(":")[0]
    limits = config.limits_for(provider)
    together = max(players, 1) * settings.num_processes
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
