"""Statistics and comparisons of mutations, from the file alone: also of one that is under way, as far as it has come.

Batches of one seed and one set of queries hold back the same ones, so policies are compared query by query. Queries that only
one of them held back say nothing. Where a config was run with several seeds, runs are compared instead.
"""

import json
import math
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.design.outcomes import (
    BatchValues,
    KindOutcomes,
    Outcome,
    PlannedBatch,
    PlannedRivals,
    PlannedValues,
    Sections,
    number,
)
from tidepool.engine.inference.contrasts import matched
from tidepool.engine.inference.distributions import student_quantile
from tidepool.engine.inference.grouped import numpy
from tidepool.engine.inference.intervals import UNIT, Interval, share_interval
from tidepool.engine.inference.significance import pairwise
from tidepool.engine.inference.typed import Statistics
from tidepool.engine.results.blocks import Figure
from tidepool.engine.results.seeds import BAND, Runs, groups_of, seed_differences
from tidepool.storage.queries.learning import training_updates
from tidepool.storage.queries.summary import finding

if TYPE_CHECKING:
    from tidepool.engine.config.sections import FrozenConfig

SMOOTHING = 0.3
"""how much of a smoothed curve is its newest point"""


@dataclass(frozen=True)
class UpdateStatistics(Statistics):
    LEFT_OUT = frozenset({"quartiles", "uses", "error", "episodes", "ended", "smoothed_ci95", "success_rate_ci95"})

    update: int
    env_steps: int
    mean_reward: float
    success_rate: float
    """the share of episodes ended since the last update that ended well"""
    quartiles: Interval | None
    """between which the middle half of the rewards lies"""
    uses: Mapping[str, int] | None
    """of each operator"""
    error: float | None
    """standard error of the mean reward, over episodes; this and what follows from it came with later batches"""
    episodes: int | None
    ended: int | None
    """episodes that ended since the last update"""
    smoothed: float
    smoothed_ci95: Interval | None
    success_rate_ci95: Interval | None


@dataclass(frozen=True)
class OperatorStatistics(Statistics):
    uses: int
    mean_reward: float | None


@dataclass(frozen=True)
class Baseline(Statistics):
    """A learner that ran beside the one of the study."""

    updates: tuple[UpdateStatistics, ...]
    operators: Mapping[str, OperatorStatistics]


@dataclass(frozen=True)
class Reward(Statistics):
    mean_reward: float | None
    ci95: Interval | None


@dataclass(frozen=True)
class OperatorReward(Reward):
    operator: str


@dataclass(frozen=True)
class RewardGain(Statistics):
    difference: float | None
    ci95: Interval | None


@dataclass(frozen=True)
class RewardDifference(RewardGain):
    """What the policy gains over a baseline, query by query."""

    p_value: float
    p_value_holm: float
    """corrected for all the baselines that the policy is compared with"""


@dataclass(frozen=True)
class HeldOutRewards(Statistics):
    LEFT_OUT = frozenset({"unchanged", "differences"})

    policy: Reward
    random: Reward
    best_constant: OperatorReward
    unchanged: Reward | None
    """of the query as it is, asked by the same rules; this and the differences came with later batches"""
    policy_over_random: RewardGain
    policy_over_best_constant: RewardGain
    differences: Mapping[str, RewardDifference] | None
    """by baseline: random, best_constant, unchanged, and learners that ran beside"""
    others: Mapping[str, Reward]
    queries: int
    missing: int


@dataclass(frozen=True)
class MutationStatistics(Statistics):
    EMPTY = frozenset({"heldout"})

    learner: str
    reward: str
    updates: tuple[UpdateStatistics, ...]
    operators: Mapping[str, OperatorStatistics]
    heldout_operators: Mapping[str, OperatorStatistics]
    baselines: Mapping[str, Baseline]
    heldout: HeldOutRewards | None
    masked_steps: int
    fallback_rewrites: int
    phases: Mapping[str, Mapping[str, int]]


def statistics(connection: sqlite3.Connection, batch: Mapping[str, Any], config: StoredConfig) -> dict[str, Any]:
    return mutation_statistics(connection, batch["number"], config.sections["mutation"]).as_json()


def mutation_statistics(
    connection: sqlite3.Connection, batch_number: int, settings: Mapping[str, Any]
) -> MutationStatistics:
    training, heldout = (finding(connection, batch_number, name) or {} for name in ("training", "heldout"))
    losses = {"training": training.get("losses", {}), "heldout": heldout.pop("losses", {})}
    baselines = training.get("baselines", {})
    losses.update((name, baseline.pop("losses")) for name, baseline in baselines.items())
    heldout_operators = heldout.pop("operators", None)
    unused = {name: {"uses": 0, "mean_reward": None} for name in settings["operators"]}
    return MutationStatistics.from_json(
        {
            "learner": "policy" if settings["policy_content"] else settings["learner"],
            "reward": settings["reward"],
            "updates": smooth(read_updates(connection, batch_number)),
            "operators": training.get("operators") or heldout_operators or unused,
            "heldout_operators": heldout_operators or unused,
            "baselines": {name: {**entry, "updates": smooth(entry["updates"])} for name, entry in baselines.items()},
            "heldout": heldout,
            "masked_steps": sum(loss.get("masked_steps", 0) for loss in losses.values()),
            "fallback_rewrites": sum(loss.get("fallback_rewrites", 0) for loss in losses.values()),
            "phases": losses,
        }
    )


def read_updates(
    connection: sqlite3.Connection, batch_number: int, after: int | None = None
) -> Iterator[dict[str, Any]]:
    for row in training_updates(connection, batch_number, after):
        columns = {name: row[name] for name in ("env_steps", "mean_reward", "success_rate")}
        yield {"update": row["update_number"], **columns, **json.loads(row["details"] or "{}")}


def smooth(updates: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each update with the running mean of the rewards up to it, weighted to the newest, and intervals where they are known.

    The running mean is a weighted sum of means, so its variance is the sum of theirs by the squares of the weights.
    Rewards lie between 0 and 1, and so do their intervals.
    """
    level, variance = None, 0.0
    rows = []
    for update in updates:
        reward, error, episodes = update["mean_reward"], update.get("error"), update.get("episodes")
        weight = 1.0 if level is None else SMOOTHING
        level = reward if level is None else level + SMOOTHING * (reward - level)
        intervals: dict[str, Interval | None] = {"success_rate_ci95": None}
        if ended := update.get("ended"):
            intervals["success_rate_ci95"] = share_interval(round(update["success_rate"] * ended), ended)
        if error is not None and episodes:
            variance = (1 - weight) ** 2 * variance + (weight * error) ** 2
            reach = student_quantile(episodes - 1, 0.975) * math.sqrt(variance)
            intervals["smoothed_ci95"] = (max(0.0, level - reach), min(1.0, level + reach))
        rows.append({**update, "smoothed": level, **intervals})
    return rows


POLICY = "policy"
REWARDS = "heldout_rewards"
"""the finding that holds the policy's mean reward on each held-out query, by the query's fingerprint"""


def _values(connection: sqlite3.Connection, batch: sqlite3.Row) -> Mapping[str, float | None]:
    heldout: Mapping[str, Any] = finding(connection, batch["number"], "heldout") or {}
    learned = {name: row for name, row in heldout.get("others", {}).items() if name == "bandit"}
    data = {name: heldout.get(name) for name in (POLICY, "random", "best_constant", "unchanged")} | learned
    return {name: row["mean_reward"] for name, row in data.items() if row}


def _held_out(connection: sqlite3.Connection, batch: sqlite3.Row) -> frozenset[str]:
    return frozenset(finding(connection, batch["number"], REWARDS) or ())


def _of_run(statistics: Mapping[str, Any]) -> tuple[float | None, dict[int, float]]:
    run = MutationStatistics.from_json(statistics)
    reward = run.heldout.policy.mean_reward if run.heldout else None
    return reward, {row.env_steps: row.smoothed for row in run.updates}


RUNS = Runs(
    section="mutation",
    main=POLICY,
    measure="mean reward of a run's policy on held-out queries",
    called_by="learner",
    values=_values,
    held_out=_held_out,
    read=_of_run,
    title="policies on held-out queries, over seeds",
    unit="mean reward",
    noun="queries",
    curves=Figure(
        "lines",
        "reward while learning, over seeds",
        (),
        xlabel="answered steps",
        ylabel="mean reward",
        caption=f"Smoothed. {BAND}",
    ),
    baselines={
        "random": "random play",
        "best_constant": "the best constant operator",
        "unchanged": "the unchanged query",
    },
    flattered=("best_constant",),
    bulky=("query_list", "policy_content"),
)

OUTCOME = "held-out reward"


def _listed(sections: Sections) -> list[Outcome]:
    words = "mean reward of the policy on held-out queries"
    return [Outcome(name=OUTCOME, words=words, bounds=UNIT, per_talk=False, also=("reward",), digits=3)]


def _read(connection: sqlite3.Connection, batch: Mapping[str, Any], sections: Sections) -> BatchValues:
    heldout: Mapping[str, Any] = finding(connection, batch["number"], "heldout") or {}
    return BatchValues(of_batch={OUTCOME: number((heldout.get(POLICY) or {}).get("mean_reward"))})


def _planned(config: "FrozenConfig") -> PlannedBatch:
    """How many queries are held out is a share of those there are."""
    from tidepool.engine.studies.mutation.plan import held_out_queries

    held_out, repeats = held_out_queries(config)
    return PlannedBatch(
        counted="held-out queries",
        outcomes={OUTCOME: PlannedValues(held_out, repeats)},
        sizes={},
        rivals=(PlannedRivals("the policy and random play", OUTCOME, held_out, "matched"),),
    )


def outcomes() -> KindOutcomes:
    return KindOutcomes(_listed, _read, _planned)


def differences(connection: sqlite3.Connection, batches: Sequence[sqlite3.Row]) -> list[dict[str, Any]]:
    groups = groups_of(connection, batches, RUNS)
    if len(groups) < len(batches):
        return seed_differences(groups, RUNS)
    rewards = [finding(connection, batch["number"], REWARDS) or {} for batch in batches]
    return pairwise([batch["id"] for batch in batches], rewards, compared, "reward of the policy on a held-out query")


def compared(first: Mapping[str, float], second: Mapping[str, float]) -> dict[str, Any] | None:
    """None where fewer than two queries were answered in both."""
    gain = matched(numpy.array([first[query] - second[query] for query in first if query in second]))
    if gain is None or gain.clusters < 2:
        return None
    return {"paired": True, "queries": gain.clusters, **gain.as_json()}
