"""Query mutation: the reading half. Batches are compared query by query; runs of one config over several seeds, seed by seed."""

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.inference.contrasts import of_pairs
from tidepool.engine.inference.grouped import numpy
from tidepool.engine.inference.intervals import UNIT
from tidepool.engine.inference.measures import BatchValues, Outcome, Sections, number
from tidepool.engine.inference.significance import pairwise
from tidepool.engine.reports.blocks import Block, Cell, Estimate, Figure, Headline, KindMethods
from tidepool.engine.reports.seeds import BAND, Runs, blocks_over_seeds, groups_of, seed_differences
from tidepool.engine.studies.mutation import methods, report, statistics
from tidepool.engine.studies.mutation.statistics import POLICY, REWARD, REWARDS, MutationStatistics
from tidepool.engine.studies.results import Batch, Exporter, Results, Statistics
from tidepool.storage.queries.summary import finding
from tidepool.storage.transfer.tables import ExportContents, steps_table


class MutationResults(Results):
    contents = ExportContents(
        views=("messages", "training"), beside_units=("training",), tables=(steps_table,), details="episode"
    )

    def measures(self, sections: Sections) -> list[Outcome]:
        words = "mean reward of the policy on held-out queries"
        return [Outcome(name=REWARD, words=words, bounds=UNIT, per_talk=False, also=("reward",), digits=3)]

    def values(self, connection: sqlite3.Connection, batch: Batch, sections: Sections) -> BatchValues:
        heldout: Mapping[str, Any] = finding(connection, batch["number"], "heldout") or {}
        return BatchValues(of_batch={REWARD: number((heldout.get(POLICY) or {}).get("mean_reward"))})

    def statistics(self, connection: sqlite3.Connection, batch: Batch, config: StoredConfig) -> dict[str, Any]:
        return statistics.statistics(connection, batch, config)

    def blocks(self, statistics: Statistics) -> list[Block]:
        return report.blocks(statistics)

    def headline(self, statistics: Statistics) -> Headline | None:
        updates = statistics["updates"]
        if (held_out := super().headline(statistics)) or not updates:
            return held_out
        last = updates[-1]
        reward = Estimate(last["smoothed"], last["smoothed_ci95"], 3)
        return Headline("training reward", reward, f"{last['env_steps']:,} steps, update {last['update']:,}")

    def figures(self, statistics: Statistics) -> dict[str, Cell]:
        return report.figures(statistics)

    def differences(self, connection: sqlite3.Connection, batches: Sequence[sqlite3.Row]) -> list[dict[str, Any]]:
        groups = groups_of(connection, batches, RUNS)
        if len(groups) < len(batches):
            return seed_differences(groups, RUNS)
        rewards = [finding(connection, batch["number"], REWARDS) or {} for batch in batches]
        measure = "reward of the policy on a held-out query"
        return pairwise([batch["id"] for batch in batches], rewards, compared, measure)

    def compared(self, batches: Sequence[Statistics], differences: Sequence[Statistics]) -> list[Block]:
        """Of several seeds."""
        return blocks_over_seeds(batches, differences, RUNS) if any("seeds" in row for row in differences) else []

    def methods(
        self, batch: Batch, config: StoredConfig, statistics: Statistics, connection: sqlite3.Connection
    ) -> KindMethods:
        return methods.methods(batch, config, statistics, connection)

    def formats(self) -> Mapping[str, Exporter]:
        from tidepool.engine.studies.mutation.policy import formats

        return formats()


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


def compared(first: Mapping[str, float], second: Mapping[str, float]) -> dict[str, Any] | None:
    """None where fewer than two queries were answered in both."""
    gain = of_pairs(numpy.array([first[query] - second[query] for query in first if query in second]))
    if gain is None or gain.clusters < 2:
        return None
    return {"paired": True, "queries": gain.clusters, **gain.as_json()}
