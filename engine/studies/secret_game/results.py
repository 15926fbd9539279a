"""The secret game: the reading half.

Over both sides `revealed` and `obtained` are one number, so a whole study shows only `revealed`; of one agent they are two.
Batches are compared conversation by conversation where nearly all are the same meetings, else as two samples.
"""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tidepool.engine.coding.statistics import with_coding
from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.inference.contrasts import FEWEST_TESTED, Contrast, matched, rate_contrast
from tidepool.engine.inference.grouped import numpy
from tidepool.engine.inference.intervals import UNIT, Interval, Rate
from tidepool.engine.inference.measures import PERCENT, BatchValues, Outcome, Sections
from tidepool.engine.inference.significance import pairwise
from tidepool.engine.reports.blocks import Block, Cell, KindMethods
from tidepool.engine.studies.results import Batch, Results, Statistics, values_by_talk
from tidepool.engine.studies.secret_game import methods, report
from tidepool.engine.studies.secret_game.analysis import GameDesign, analyse_sides
from tidepool.engine.studies.secret_game.scoring import MEASURES, SCORING, points_between
from tidepool.engine.studies.secret_game.sides import Clustering, Sides
from tidepool.storage.queries.conversations import failures_by_pair, outcomes, reveals_by_meeting, sit_outs
from tidepool.storage.transfer.tables import ExportContents


class GameResults(Results):
    contents = ExportContents(
        views=("messages", "outcomes"), where_filled=("verdicts",), of_units=("outcomes",), details=None
    )

    def measures(self, sections: Sections) -> list[Outcome]:
        names = [str(agent["name"]) for agent in sections.get("agents", ())]
        settings = sections.get("secret_game", {})
        scoring = {**SCORING, **settings.get("scoring", {})}
        points = points_between(settings.get("mode", "standard"), scoring, len(names))
        return [
            *(_outcome(measure, points) for measure in MEASURES),
            *(_outcome(measure, points, name) for name in names for measure in MEASURES),
        ]

    def values(self, connection: sqlite3.Connection, batch: Batch, sections: Sections) -> BatchValues:
        design = GameDesign.of(StoredConfig(batch["config"]))
        scenarios = {number: "\x1f".join(secrets) for number, secrets in enumerate(design.scenarios, 1)}
        return values_by_talk(connection, batch, self.measures(sections), linked=design.linked, blocks=scenarios)

    def statistics(self, connection: sqlite3.Connection, batch: Batch, config: StoredConfig) -> dict[str, Any]:
        """As the JSON summary has them, with what people coded by hand."""
        failed = {tuple(json.loads(names)): count for names, count in failures_by_pair(connection, batch["id"])}
        found = analyse_sides(_sides_of(connection, batch["number"]), failed, GameDesign.of(config))
        sat_out = sit_outs(connection, batch["id"])
        return with_coding(connection, batch, found | ({"sat_out": sat_out} if sat_out else {}))

    def blocks(self, statistics: Statistics) -> list[Block]:
        return report.blocks(statistics)

    def figures(self, statistics: Statistics) -> dict[str, Cell]:
        return report.figures(statistics)

    def differences(self, connection: sqlite3.Connection, batches: Sequence[sqlite3.Row]) -> list[dict[str, Any]]:
        read_batches = [_batch(connection, batch) for batch in batches]
        measure = "secrets revealed in a conversation"
        return pairwise([batch["id"] for batch in batches], read_batches, _compare, measure)

    def methods(
        self, batch: Batch, config: StoredConfig, statistics: Statistics, connection: sqlite3.Connection
    ) -> KindMethods:
        return methods.methods(batch, config, statistics, connection)


def _outcome(measure: str, points: Interval, agent: str = "") -> Outcome:
    share = measure != "score"
    return Outcome(
        name=f"{measure} of {agent}" if agent else measure,
        words=f"{MEASURES[measure]}, {agent}'s own" if agent else MEASURES[measure],
        unit=PERCENT if share else "",
        digits=1 if share else 2,
        bounds=UNIT if share else points,
        about=f"agents.{agent}" if agent else "",
        asked_only=measure == "obtained" and not agent,
        also=(f"{measure} by {agent}", f"{agent}: {measure}", f"{agent} {measure}") if agent else (),
    )


COMMON = 0.9
"""share of the conversations of both batches that must be the same meeting"""
METHODS = {
    "t": "Student's test of the differences of matched talks",
    "Bonett–Price": "Bonett and Price's interval of matched talks",
    "MOVER": "the two rates' own intervals, joined (MOVER)",
}


@dataclass(frozen=True, slots=True)
class _Batch:
    linked: bool
    clustering: Clustering
    meetings: dict[tuple[int, str, str], tuple[int, int | None, int]]
    """(sequence number, opener, partner) → game, scenario, secrets revealed"""


def _sides_of(connection: sqlite3.Connection, batch_number: int) -> Sides:
    return Sides.read(outcomes(connection, batch_number))


def _batch(connection: sqlite3.Connection, batch: sqlite3.Row) -> _Batch:
    design = GameDesign.of(StoredConfig(batch["config"]))
    sides = _sides_of(connection, batch["number"])
    meetings = {tuple(row[:3]): tuple(row[3:]) for row in reveals_by_meeting(connection, batch["id"])}
    return _Batch(design.linked, Clustering(sides, linked=design.linked), meetings)  # type: ignore[arg-type]


def _compare(first: _Batch, second: _Batch) -> dict[str, Any] | None:
    common = [meeting for meeting in first.meetings if meeting in second.meetings]
    paired = bool(common) and len(common) >= COMMON * max(len(first.meetings), len(second.meetings))
    contrast = _matched(first, second, common) if paired else _apart(first, second)
    if contrast is None:
        return None
    return {
        "paired": paired,
        "conversations": len(common) if paired else [len(first.meetings), len(second.meetings)],
        "clusters": contrast.clusters,
        **contrast.as_json(),
        "method": METHODS[contrast.method],
    }


def _matched(first: _Batch, second: _Batch, common: Sequence[tuple[int, str, str]]) -> Contrast | None:
    left, right = ([batch.meetings[meeting] for meeting in common] for batch in (first, second))
    gaps = numpy.array([row[2] - other[2] for row, other in zip(left, right, strict=True)])
    ways = [numpy.array([row[0] for row in rows]) for batch, rows in ((first, left), (second, right)) if batch.linked]
    ways = sorted(ways, key=lambda games: len(set(games.tolist())))[:1]
    for batch, rows in ((first, left), (second, right)):
        if batch.clustering.by_scenario and len(ways) < 2:
            ways.append(numpy.array([row[1] or 0 for row in rows]))
            break
    return matched(gaps, ways, most=2.0)


def _apart(first: _Batch, second: _Batch) -> Contrast | None:
    first_rate, second_rate = _rate(first), _rate(second)
    if first_rate is None or second_rate is None:
        return None
    fewest = min(batch.clustering.fewest for batch in (first, second))
    by_talk = first.clustering.by_talk and second.clustering.by_talk
    return rate_contrast(first_rate, second_rate, fewest, tested=by_talk or fewest >= FEWEST_TESTED)


def _rate(batch: _Batch) -> Rate | None:
    """Secrets in a conversation: twice the share of sides that revealed."""
    rate = batch.clustering.overall_rate()
    return rate and Rate(2 * rate.mean, rate.effective, rate.freedom, rate.count, (0.0, 2.0))
