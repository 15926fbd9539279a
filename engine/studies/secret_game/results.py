"""The results of a secret game.

Over both sides, `revealed` equals `obtained`, so a whole study shows only `revealed`. For one agent, the two differ.
"""

import json
import sqlite3
from typing import Any

from tidepool.engine.coding.statistics import with_coding
from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.inference.intervals import UNIT, Interval
from tidepool.engine.inference.measures import PERCENT, BatchValues, Outcome, Sections
from tidepool.engine.studies.results import Batch, Results, Statistics, values_by_talk
from tidepool.engine.studies.secret_game import methods, report
from tidepool.engine.studies.secret_game.analysis import GameDesign, analyse_sides
from tidepool.engine.studies.secret_game.scoring import MEASURES, SCORING, points_between
from tidepool.engine.studies.secret_game.sides import Sides
from tidepool.storage.queries.conversations import failures_by_pair, outcomes, sit_outs
from tidepool.storage.transfer.tables import ExportContents


class GameResults(Results):
    in_quarters = "Sides that revealed (%)"
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

    def branch_measures(self, sections: Sections) -> list[Outcome]:
        """Returns the outcomes, after the branched message, of the agent that wrote it."""
        words = {"speaker_revealed": "speaker reveals", "speaker_obtained": "speaker obtains"}
        return [Outcome(name=name, words=what, unit=PERCENT, bounds=UNIT) for name, what in words.items()]

    def values(self, connection: sqlite3.Connection, batch: Batch, sections: Sections) -> BatchValues:
        design = GameDesign.of(StoredConfig(batch["config"]))
        scenarios = {number: "\x1f".join(secrets) for number, secrets in enumerate(design.scenarios, 1)}
        return values_by_talk(connection, batch, self.measures(sections), linked=design.linked, blocks=scenarios)

    def statistics(self, connection: sqlite3.Connection, batch: Batch, config: StoredConfig) -> dict[str, Any]:
        """Returns the statistics of the JSON summary, including hand codes."""
        failed = {tuple(json.loads(names)): count for names, count in failures_by_pair(connection, batch["id"])}
        found = analyse_sides(Sides.read(outcomes(connection, batch["number"])), failed, GameDesign.of(config))
        return with_coding(connection, batch, found | {"sat_out": sit_outs(connection, batch["id"])})

    def estimand(self, statistics: Statistics) -> str:
        return str(statistics["inference"]["speaks_of"])

    blocks = staticmethod(report.blocks)
    figures = staticmethod(report.figures)
    methods = staticmethod(methods.methods)


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
