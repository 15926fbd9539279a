"""How a policy learned to rewrite queries, and how it was compared, in sentences."""

import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any

from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.reports.blocks import KindMethods, counted, listing, sampling

LEARNERS = {
    "bandit": "a contextual bandit",
    "ppo": "proximal policy optimisation (PPO)",
    "random": "a policy that chooses at random",
}
REWARDS = {
    "keyword": "by its words: 0 for a refusal, else by how many different content words it brought",
    "similarity": "by the cosine of its embedding and the reference answer's, no less than 0",
    "judge": "by {judge}, which saw the question, the reference and the answer",
}
HELD_OUT = (
    "On queries held out from training, the policy, a random one, each operator played constantly and the unchanged query had episodes by "
    "the same rules. A query's score is the mean reward of its episodes. Means have Student's 95 % intervals over queries; "
    "the policy's gains over random play, the best constant operator, the unchanged query and learners that ran beside were taken query by "
    "query, with Student's 95 % intervals and two-sided tests (Bonett and Price's where few queries differed), corrected by "
    "Holm's method. The best constant operator was picked on these very queries, which flatters it: where it was ahead, its p-value was taken "
    "times the number of operators."
)
CURVES = (
    "Rewards while learning are smoothed exponentially (0.3 of the newest update), with Student's 95 % intervals over episodes; shares of "
    "episodes that ended well have Wilson's."
)


def methods(
    batch: Mapping[str, Any], config: StoredConfig, statistics: Mapping[str, Any], connection: sqlite3.Connection
) -> KindMethods:
    settings = config.sections["mutation"]
    reward = REWARDS.get(settings["reward"], settings["reward"]).format(judge=settings["judge"])
    return KindMethods(
        design=tuple(_design(settings, listing(statistics["operators"]))),
        measures=(f"An answer was rewarded between 0 and 1 {reward}.",),
        missing=tuple(_missing(settings, statistics)),
        analysis=(HELD_OUT, *(() if settings.get("policy_content") else (CURVES,))),
    )


def _design(settings: Mapping[str, Any], operators: str) -> Iterator[str]:
    yield (
        f"In each step of an episode one of the operators {operators} was applied to a query by {settings['mutator']}, and "
        f"{settings['target']} answered the query as it then was, both with {sampling(settings, 'an answer')}."
    )
    length = counted(settings["episode_length"], "step")
    yield f"An episode ended after {length}, or with a reward of at least {settings['success']:g}."
    seen = "hashed words" if settings["encoder"] == "hashing" else f"embeddings by {settings['encoder']}"
    if settings.get("policy_content"):
        yield f"A policy that had been trained before was evaluated, and saw queries as {seen}."
    else:
        yield (
            f"Which operator to apply was learned by {LEARNERS.get(settings['learner'], settings['learner'])} over "
            f"{settings['num_env_steps']:,} answered steps, in {counted(settings['num_processes'], 'environment')} at once with an "
            f"update every {settings['num_processes'] * settings['num_steps']:,} steps; queries were seen as {seen}."
        )
        if settings["learner"] == "ppo":
            yield (
                f"PPO ran with learning rate {settings['learning_rate']:g}, γ {settings['gamma']:g}, λ {settings['gae_lambda']:g}, clip "
                f"{settings['clip']:g}, entropy {settings['entropy']:g}, {counted(settings['ppo_epoch'], 'epoch')} and "
                f"{counted(settings['num_mini_batch'], 'minibatch', 'minibatches')} an update."
            )
    number = len(settings.get("query_list") or ())
    origin = "the built-in set" if settings["queries"] == "builtin" else "a file"
    yield (
        f"Of {f'{number:,} ' if number else ''}queries of {origin}, a share of {settings['heldout']:g} was held out by the seed, and "
        f"each contender played {counted(settings['repeats'], 'episode')} on each of them."
    )


def _missing(settings: Mapping[str, Any], statistics: Mapping[str, Any]) -> Iterator[str]:
    masked, fallen = statistics["masked_steps"], statistics["fallback_rewrites"]
    if settings.get("on_error") == "refusal":
        yield "A step whose answer was lost was taken for a refusal, with a reward of 0."
    elif masked:
        yield f"{counted(masked, 'step')} whose answer was lost {'was' if masked == 1 else 'were'} masked: the episode ended before it."
    if fallen:
        yield f"{counted(fallen, 'rewrite')} failed or came to nothing, and left the query as it was."
    if lost := (statistics.get("heldout") or {}).get("missing"):
        yield f"{counted(lost, 'held-out query', 'held-out queries')} without an answer for every contender {'is' if lost == 1 else 'are'} left out."
