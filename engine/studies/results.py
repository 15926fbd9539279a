"""The results of a kind of study: everything that is computed from the file alone.

Reading loads neither pydantic nor the code that runs a study. The default suits a kind that only declares its measures. A kind
overrides what differs."""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from operator import itemgetter
from statistics import fmean
from types import MappingProxyType
from typing import Any

from tidepool.engine.coding.report import coding_blocks
from tidepool.engine.coding.statistics import with_coding
from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.inference.contrasts import few_clusters, two_samples
from tidepool.engine.inference.effects import (
    SPEAKS_OF,
    CellBatch,
    CellMean,
    cell_mean,
    difference,
    difference_as_json,
    of_two,
    tables_of,
)
from tidepool.engine.inference.grouped import numpy, places_in
from tidepool.engine.inference.intervals import scaled
from tidepool.engine.inference.measures import BatchValues, Outcome, Sections, Talk, number
from tidepool.engine.inference.significance import pairwise
from tidepool.engine.kinds import load_kind
from tidepool.engine.reports.blocks import (
    Block,
    Cell,
    Estimate,
    Figure,
    Headline,
    KindMethods,
    Number,
    ends_of,
    section,
    series_of,
    table,
)
from tidepool.engine.reports.export_request import Exporter, ExportRequest
from tidepool.storage.queries.conversations import measured_by_unit
from tidepool.storage.transfer.tables import PLAIN, ExportContents, ExportTable

__all__ = ["Batch", "Exporter", "Results", "Statistics", "difference_of", "number_in", "values_by_talk"]

Batch = Mapping[str, Any]
"""a row of the table `batch`"""
Statistics = Mapping[str, Any]
"""the `statistics` of the JSON summary"""
COMMON = 0.9
"""share of the units of both batches that must match to compare them one by one"""


class Results:
    contents: ExportContents = PLAIN
    shares_participants = False
    """participants were sampled, so conversations that share one are not independent"""
    in_quarters = ""
    """the measure with a trend test over the run"""

    def measures(self, sections: Sections) -> Sequence[Outcome]:
        """The measures that designs compare, from a config alone."""
        return ()

    def branch_measures(self, sections: Sections) -> Sequence[Outcome]:
        """The measures of redraws, for kinds whose conversations can be branched."""
        return ()

    def values(self, connection: sqlite3.Connection, batch: Batch, sections: Sections) -> BatchValues:
        """The values of these measures in the batch."""
        return values_by_talk(connection, batch, self.measures(sections), sampled=self.shares_participants)

    def statistics(self, connection: sqlite3.Connection, batch: Batch, config: StoredConfig) -> dict[str, Any]:
        """The `statistics` of the JSON summary: by default the mean of each measure."""
        measures = self.measures(config.sections)
        tables = tables_of(measures, [()], [CellBatch((), 1, self.values(connection, batch, config.sections))])
        means = {one.name: _mean(one, cell_mean(tables[one.name], ())) for one in measures}
        return with_coding(connection, batch, {"measures": means}) if measures else {}

    def blocks(self, statistics: Statistics) -> list[Block]:
        """The statistics as a report."""
        others = {name: value for name, value in statistics.items() if name not in ("measures", "coding")}
        coded = section("coding", *coding_blocks(statistics))
        return [*_measure_blocks(statistics.get("measures", {})), *coded, *plain_blocks("statistics", others)]

    def estimand(self, statistics: Statistics) -> str:
        """What intervals describe, unless a row of the statistics states something else."""
        return "units like these"

    def headline(self, statistics: Statistics) -> Headline | None:
        """The main result of a batch, also while it runs; `None` before the first result."""
        return next((block for block in self.blocks(statistics) if isinstance(block, Headline)), None)

    def figures(self, statistics: Statistics) -> dict[str, Cell]:
        """The values by which batches are compared, by name; those of a part are named `part: value`."""
        return {row["words"]: _estimate(row) for row in statistics.get("measures", {}).values()}

    def differences(self, connection: sqlite3.Connection, batches: Sequence[sqlite3.Row]) -> list[dict[str, Any]]:
        """Tests the differences between batches, by default in the first measure."""
        sections = [StoredConfig(batch["config"]).sections for batch in batches]
        if not (measures := self.measures(sections[0])):
            return []
        values = [
            self.values(connection, dict(batch), section) for batch, section in zip(batches, sections, strict=True)
        ]
        compare = partial(difference_of, measures[0])
        words = f"{measures[0].words}, {unit}" if (unit := measures[0].unit) else measures[0].words
        return pairwise([batch["id"] for batch in batches], values, compare, words)

    def compared(self, batches: Sequence[Statistics], differences: Sequence[Statistics]) -> list[Block]:
        """Blocks for several summaries, in place of their values side by side; empty: the values are shown."""
        return []

    def methods(
        self, batch: Batch, config: StoredConfig, statistics: Statistics, connection: sqlite3.Connection
    ) -> KindMethods:
        """The methods text, in sentences for a paper."""
        return KindMethods(())

    def formats(self) -> Mapping[str, Exporter]:
        """Export formats that only this kind has, or that it writes differently."""
        return {}

    def tables(self, request: ExportRequest) -> Sequence[ExportTable]:
        """Tables that replace the kind's own CSV in the export of a whole study."""
        return ()


def study_outcomes(kind: str, configs: Sequence[Mapping[str, Any]]) -> list[Outcome]:
    """The outcomes of batches with these configs, with bounds that hold for all; empty if the kind lists none."""
    outcomes: dict[str, Outcome] = {}
    for sections in configs:
        for item in load_kind(kind).results.measures(sections):
            low, high = outcomes.get(item.name, item).bounds
            outcomes[item.name] = replace(item, bounds=(min(low, item.bounds[0]), max(high, item.bounds[1])))
    return list(outcomes.values())


# -- values of units -----------------------------------------------------------------------------------------------------


def values_by_talk(
    connection: sqlite3.Connection,
    batch: Batch,
    measures: Sequence[Outcome],
    *,
    linked: bool = False,
    blocks: Mapping[int, str] = MappingProxyType({}),
    sampled: bool = False,
) -> BatchValues:
    """The measures of each unit, from the view: over all participants, if none is missing, and of each one.

    `linked`: units of a game are not independent; `blocks`: the content of numbered blocks, such as secrets; `sampled`: units
    that share a participant are not independent.
    """
    talks: list[Talk] = []
    by_talk: dict[str, list[float | None]] = {measure.name: [] for measure in measures}
    for place, rows in groupby(measured_by_unit(connection, batch["id"]) if by_talk else (), key=itemgetter(0)):
        values: dict[str, list[float | None]] = {}
        unit = list(rows)
        for _, _, participant, measure, value, _, _ in unit:
            for name in (measure, f"{measure} of {participant}"):
                values.setdefault(name, []).append(number(value))
        participants, cluster, block = unit[0][1], unit[0][5], unit[0][6]
        scenario = number_in(block)
        everybody = tuple(sorted(json.loads(participants)))
        cast = tuple({row[2]: None for row in unit if row[2]}) or everybody  # the others had nothing to measure
        members = everybody if sampled else ()
        drawn = "\x1f".join(members) or f"{participants}\x1f{blocks.get(scenario, '')}"
        if blocks and block is None:  # it failed
            drawn = ""
        talks.append(Talk(place, number_in(cluster) if linked else 0, scenario, drawn, members, cast))
        for name, column in by_talk.items():
            known = [value for value in values.get(name, ()) if value is not None]
            column.append(fmean(known) if known and len(known) == len(values[name]) else None)
    return BatchValues(talks=talks, by_talk=by_talk, linked=linked, sampled=sampled)


def number_in(label: object) -> int:
    """The number of a game or a scenario; 0 without one."""
    digits = str(label).rpartition(" ")[2]
    return int(digits) if digits.isdecimal() else 0


# -- means and differences of measures -------------------------------------------------------------------------------------


def _mean(measure: Outcome, found: CellMean) -> dict[str, Any]:
    return {
        "words": measure.words,
        "unit": measure.unit,
        "digits": measure.digits,
        "mean": None if found.mean is None else found.mean * measure.scale,
        "ci95": scaled(found.interval, measure.scale),
        "units": found.talks,
        "missing": found.missing,
    }


def _estimate(row: Mapping[str, Any]) -> Estimate:
    return Estimate(row["mean"], ends_of(row["ci95"]), row["digits"], f" {row['unit']}" if row["unit"] else "")


def _measure_blocks(measures: Mapping[str, Mapping[str, Any]]) -> Iterator[Block]:
    if not measures:
        return
    rows = [(row["words"], row["units"], _estimate(row)) for row in measures.values()]
    words, units, estimate = rows[0]
    yield Headline(words, estimate, f"{units:,} units", next(iter(measures)))
    yield table("measures", ("measure", "units", "mean (95 %)"), rows)
    for unit in dict.fromkeys(one.unit for _, _, one in rows):
        labels, means = zip(*((name, one) for name, _, one in rows if one.unit == unit), strict=True)
        yield Figure(
            "means", f"means, in{unit}" if unit else "means", (series_of("mean", means, "primary"),), labels=labels
        )


def difference_of(measure: Outcome, first: BatchValues, second: BatchValues) -> dict[str, Any] | None:
    """Unit by unit if the same participants met in both, like the cells of a design; else as two samples, clustered by shared
    games or scenarios."""
    table = of_two(measure, first, second)
    known = ~numpy.isnan(table.values)
    drawn, units = table.drawn[known.all(axis=1)], list(map(int, known.sum(axis=0)))
    if (drawn[:, 0] == drawn[:, 1]).all() and len(drawn) >= COMMON * max(units) > 0:
        found = difference(table)
        counts = {"paired": True, "units": len(drawn), "clusters": found.number}
        return {**counts, **difference_as_json(found, measure.scale), "estimand": found.estimand, "note": found.note}
    return None if first.sampled else _two_samples(measure, (first, second))


def _two_samples(measure: Outcome, batches: Sequence[BatchValues]) -> dict[str, Any] | None:
    known = [
        [(talk, value) for talk, value in zip(one.talks, one.by_talk[measure.name], strict=True) if value is not None]
        for one in batches
    ]
    ways = _clusterings([(arm, talk) for arm, own in enumerate(known) for talk, _ in own], batches)
    first, second = ([value for _, value in own] for own in known)
    contrast = two_samples(first, second, list(ways.values()), measure.bounds)
    if contrast is None:
        return None
    clusters = " and ".join(ways)
    return {
        "paired": False,
        "units": list(map(len, known)),
        "clusters": contrast.clusters,
        **difference_as_json(contrast, measure.scale),
        "estimand": SPEAKS_OF[clusters or "talks"],
        "note": few_clusters(contrast.clusters, clusters) if ways else "",
    }


def _clusterings(units: Sequence[tuple[int, Talk]], batches: Sequence[BatchValues]) -> dict[str, Any]:
    """By game, if memory or collected secrets link its units; by scenario, if scenarios repeat."""
    ways = {}
    if any(batch.linked for batch in batches):
        ways["games"] = places_in(
            {}, [(arm, "game", talk.game) if batches[arm].linked else (arm, talk.number) for arm, talk in units]
        )
    scenarios = numpy.array([talk.scenario for _, talk in units], dtype=int)
    if 1 < len(set(scenarios.tolist()) - {0}) < len({talk.number for _, talk in units}):
        ways["scenarios"] = scenarios
    return ways


# -- statistics of any kind ----------------------------------------------------------------------------------------------


def plain_blocks(title: str, statistics: Mapping[str, Any]) -> list[Block]:
    """One table of all single values, by their path in the statistics, and one table for each list of mappings."""
    single, blocks = [], []
    for name, value in flat(statistics):
        if isinstance(value, list) and value and all(isinstance(row, Mapping) for row in value):
            rows = [dict(flat(row)) for row in value]
            columns = list(dict.fromkeys(key for row in rows for key in row))
            blocks.append(table(name, columns, [[_plain(row.get(key)) for key in columns] for row in rows]))
        else:
            single.append((name, _plain(value)))
    return [*([table(title, ("", ""), single, left=2)] if single else []), *blocks]


def flat(node: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """`agents.Ada.score`: mappings are followed, lists (intervals, series, rankings) are not."""
    for key, value in node.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _plain(value: Any) -> Cell:
    if isinstance(value, list):
        return ", ".join(str(_plain(inner)) for inner in value)
    if value is None:
        return Number(None)
    return f"{value:.4g}" if isinstance(value, float) else str(value)
