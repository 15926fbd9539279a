"""Prompt evolution: the reading half.

Batches of one seed and one problem set have the same held-out problems, so they are compared problem by problem; others are
two samples. Runs of one config over several seeds are compared seed by seed. Either way the champions were chosen on training
problems only.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.inference.contrasts import Contrast, stratified
from tidepool.engine.inference.grouped import numpy
from tidepool.engine.inference.intervals import UNIT
from tidepool.engine.inference.measures import PERCENT, BatchValues, Outcome, Sections, number
from tidepool.engine.inference.significance import pairwise
from tidepool.engine.reports.blocks import Block, Cell, Figure, Headline, KindMethods, Number
from tidepool.engine.reports.seeds import BAND, Runs, blocks_over_seeds, groups_of, seed_differences
from tidepool.engine.studies.evolution import methods, report, statistics
from tidepool.engine.studies.evolution.records import ACCURACY, RESULT, VALIDATION, Scores, by_problem_contrast
from tidepool.engine.studies.evolution.replies import mistakes
from tidepool.engine.studies.evolution.statistics import EvolutionStatistics
from tidepool.engine.studies.results import Batch, Results, Statistics
from tidepool.storage.queries.summary import finding
from tidepool.storage.transfer.tables import ExportContents

CALLS = "calls"


class EvolutionResults(Results):
    contents = ExportContents(
        views=("messages", "genomes"), where_filled=("answers",), beside_units=("genomes",), details=None
    )

    def measures(self, sections: Sections) -> list[Outcome]:
        accuracy = "accuracy of the champion on held-out problems"
        return [
            Outcome(name=ACCURACY, words=accuracy, unit=PERCENT, bounds=UNIT, per_talk=False, also=("accuracy",)),
            Outcome(name=CALLS, words="calls that the search took", per_talk=False, digits=0),
        ]

    def values(self, connection: sqlite3.Connection, batch: Batch, sections: Sections) -> BatchValues:
        """Of a run that came to its end."""
        stored: Mapping[str, Any] = finding(connection, batch["number"], RESULT) or {}
        champion = stored.get(CHAMPION) or {}
        return BatchValues(
            of_batch={ACCURACY: number(champion.get("validation_accuracy")), CALLS: number(stored.get("search_calls"))}
        )

    def statistics(self, connection: sqlite3.Connection, batch: Batch, config: StoredConfig) -> dict[str, Any]:
        return statistics.statistics(connection, batch, config)

    def blocks(self, statistics: Statistics) -> list[Block]:
        return report.blocks(statistics)

    def headline(self, statistics: Statistics) -> Headline | None:
        generations = statistics["generations"]
        if (held_out := super().headline(statistics)) or not generations:
            return held_out
        best = Number(max(row["best"] for row in generations), 3)
        return Headline("training fitness", best, f"generation {generations[-1]['generation']:,}")

    def further(self, connection: sqlite3.Connection, batch: Batch) -> list[Block]:
        return mistakes(connection, batch)

    def figures(self, statistics: Statistics) -> dict[str, Cell]:
        return report.figures(statistics)

    def differences(self, connection: sqlite3.Connection, batches: Sequence[sqlite3.Row]) -> list[dict[str, Any]]:
        """Of batches that came to their end; where a config was run with several seeds, of whole runs."""
        groups = groups_of(connection, batches, RUNS)
        if len(groups) < len(batches):
            return seed_differences(groups, RUNS)
        judged = [finding(connection, batch["number"], VALIDATION) for batch in batches]
        return pairwise([batch["id"] for batch in batches], judged, _compared, "held-out accuracy of the champion")

    def compared(self, batches: Sequence[Statistics], differences: Sequence[Statistics]) -> list[Block]:
        """Of several seeds."""
        return blocks_over_seeds(batches, differences, RUNS) if any("seeds" in row for row in differences) else []

    def methods(
        self, batch: Batch, config: StoredConfig, statistics: Statistics, connection: sqlite3.Connection
    ) -> KindMethods:
        return methods.methods(batch, config, statistics, connection)


CHAMPION = "champion"


def _values(connection: sqlite3.Connection, batch: sqlite3.Row) -> Mapping[str, float | None]:
    stored: Mapping[str, Any] = finding(connection, batch["number"], RESULT) or {}
    roles = (CHAMPION, "baseline", "random_search")
    return {name: row["validation_accuracy"] for name in roles if (row := stored.get(name))}


def _held_out(connection: sqlite3.Connection, batch: sqlite3.Row) -> frozenset[str]:
    judged: Mapping[str, Any] = finding(connection, batch["number"], VALIDATION) or {}
    return frozenset(filter(None, (judged.get("problems"),)))


def _of_run(statistics: Mapping[str, Any]) -> tuple[float | None, dict[int, float]]:
    run = EvolutionStatistics.from_json(statistics)
    accuracy = run.champion.validation_accuracy if run.champion else None
    return accuracy, {row.generation: row.best for row in run.generations}


RUNS = Runs(
    section="evolution",
    main=CHAMPION,
    measure="held-out accuracy of a run's champion",
    called_by="strategy",
    values=_values,
    held_out=_held_out,
    read=_of_run,
    title="champions on held-out problems, over seeds",
    unit="held out %",
    noun="problems",
    curves=Figure(
        "lines", "best fitness in training, over seeds", (), xlabel="generation", ylabel="fitness", caption=BAND
    ),
    baselines={"baseline": "the best seed prompt", "random_search": "random search"},
    scale=100,
    digits=1,
    bulky=("seed_prompts",),
    drawn=("frozen",),
)


def _compared(first: dict[str, Any] | None, second: dict[str, Any] | None) -> dict[str, Any] | None:
    if first is None or second is None:
        return None
    scores: tuple[Scores, Scores] = (first["champion"], second["champion"])
    paired = first["problems"] == second["problems"]
    answered = [[value for value in values if value is not None] for values in scores]
    contrast = by_problem_contrast(*scores) if paired else _two_samples(*answered)
    if contrast is None:
        return None
    return {
        "paired": paired,
        "problems": contrast.clusters if paired else list(map(len, answered)),
        **contrast.as_json(),
    }


def _two_samples(first: Sequence[float], second: Sequence[float]) -> Contrast | None:
    values = numpy.array([*first, *second])
    return stratified(numpy.arange(len(values)) < len(first), values, numpy.zeros(len(values), dtype=int))
