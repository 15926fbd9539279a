"""Runs of a mutation over several seeds: what each is worth, and how they are shown."""

import sqlite3
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

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
from tidepool.engine.results.blocks import Block, Figure
from tidepool.engine.results.seeds_report import BAND, SeedWords, curve_over_seeds, members_of, seed_blocks
from tidepool.engine.statistics.rates import UNIT
from tidepool.engine.studies.mutation.config import FOREIGN
from tidepool.engine.studies.mutation.statistics import MutationStatistics
from tidepool.engine.studies.several_seeds import Runs
from tidepool.storage.queries.summary import finding

if TYPE_CHECKING:
    from tidepool.engine.config.frozen import FrozenConfig

POLICY = "policy"
REWARDS = "heldout_rewards"
"""the finding that holds the policy's mean reward on each held-out query, by the query's fingerprint"""
WORDS = SeedWords(
    title="policies on held-out queries, over seeds",
    measure="mean reward",
    held_out="queries",
    kind="learner",
    baselines={
        "random": "random play",
        "best_constant": "the best constant operator",
        "unchanged": "the unchanged query",
    },
)


def _values(connection: sqlite3.Connection, batch: sqlite3.Row) -> Mapping[str, float | None]:
    heldout: Mapping[str, Any] = finding(connection, batch["number"], "heldout") or {}
    learnt = {name: row for name, row in heldout.get("others", {}).items() if name == "bandit"}
    told = {name: heldout.get(name) for name in (POLICY, "random", "best_constant", "unchanged")} | learnt
    return {name: row["mean_reward"] for name, row in told.items() if row}


def _held_out(connection: sqlite3.Connection, batch: sqlite3.Row) -> frozenset[str]:
    return frozenset(finding(connection, batch["number"], REWARDS) or ())


RUNS = Runs(
    section="mutation",
    main=POLICY,
    measure="mean reward of a run's policy on held-out queries",
    called_by="learner",
    values=_values,
    held_out=_held_out,
    flattered=("best_constant",),
    bulky=("query_list", "policy_content"),
    by_name=lambda settings: settings.get("learner") == FOREIGN,
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


OUTCOMES = KindOutcomes(_listed, _read, _planned)


def blocks_over_seeds(batches: Sequence[Mapping[str, Any]], differences: Sequence[Mapping[str, Any]]) -> list[Block]:
    known = {batch["batch_id"]: (batch["seed"], MutationStatistics.from_json(batch["statistics"])) for batch in batches}
    groups = {label: dict(known[batch] for batch in ids) for label, ids in members_of(differences).items()}
    rewards = {
        label: {seed: run.heldout.policy.mean_reward for seed, run in runs.items() if run.heldout}
        for label, runs in groups.items()
    }
    curves = [
        one
        for label, runs in groups.items()
        if (
            one := curve_over_seeds(
                label, [{row.env_steps: row.smoothed for row in run.updates} for run in runs.values()]
            )
        )
    ]
    drawn = Figure(
        "lines",
        "reward while learning, over seeds",
        tuple(curves),
        xlabel="answered steps",
        ylabel="mean reward",
        caption=f"Smoothed. {BAND}",
    )
    return seed_blocks(rewards, differences, WORDS, [drawn] if curves else [])
