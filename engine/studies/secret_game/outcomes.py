"""What a design compares in a secret game: what was revealed and obtained, and points; of all sides, or of one agent's.

What one side obtained the other revealed, so over both sides the two are one figure: of a whole study only `revealed` is
shown, and `obtained` where somebody asks. Of one agent they are two.
"""

import math
import sqlite3
from collections.abc import Mapping, Sequence
from itertools import groupby
from statistics import fmean
from typing import Any

from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.design.outcomes import PERCENT, BatchValues, KindOutcomes, Outcome, Sections, Talk
from tidepool.engine.results.summary import checked
from tidepool.engine.statistics.intervals import Interval
from tidepool.engine.statistics.rates import UNIT
from tidepool.engine.studies.secret_game.findings.played_with import PlayedWith
from tidepool.engine.studies.secret_game.scoring import SCORING, points_between
from tidepool.storage.study_rows.design_values import sides_by_talk

MEASURES = {"revealed": "sides that revealed", "obtained": "sides that obtained", "score": "points of a side"}
PLACES = {"revealed": 4, "obtained": 5, "score": 6}
"""of the row of a side"""


def listed(sections: Sections) -> list[Outcome]:
    names = [str(agent["name"]) for agent in sections.get("agents", ())]
    settings = sections.get("secret_game", {})
    scoring = {**SCORING, **settings.get("scoring", {})}
    points = points_between([settings.get("mode", "standard")], scoring, len(names))
    return [
        *(_outcome(measure, points) for measure in MEASURES),
        *(_outcome(measure, points, name) for name in names for measure in MEASURES),
    ]


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


def read(connection: sqlite3.Connection, batch: Mapping[str, Any], sections: Sections) -> BatchValues:
    played = PlayedWith.of(StoredConfig(batch["config"], checked))
    talks: list[Talk] = []
    by_talk: dict[str, list[float | None]] = {one.name: [] for one in listed(sections)}
    for number, rows in groupby(sides_by_talk(connection, batch["number"]), key=lambda row: row[0]):
        sides = list(rows)
        if len(sides) == 2:  # in a damaged file a talk may lack a side
            talks.append(_talk(number, sides, played))
            _take(by_talk, sides)
    return BatchValues(talks=talks, by_talk=by_talk, linked=played.linked)


def _talk(number: int, sides: Sequence[tuple[Any, ...]], played: PlayedWith) -> Talk:
    _, game, scenario, opener, *_ = sides[0]
    secrets = played.scenarios[scenario - 1] if scenario and scenario <= len(played.scenarios) else ()
    return Talk(number, game or 0, scenario or 0, "\x1f".join((opener, sides[1][3], *secrets)))


def _take(by_talk: Mapping[str, list[float | None]], sides: Sequence[tuple[Any, ...]]) -> None:
    for measure, place in PLACES.items():
        of_agent: dict[str, list[float | None]] = {}
        for side in sides:
            of_agent.setdefault(side[3], []).append(_number(side[place]))
        by_talk[measure].append(_mean([_number(side[place]) for side in sides]))
        for agent, values in of_agent.items():
            if (name := f"{measure} of {agent}") in by_talk:
                by_talk[name].append(_mean(values))
    for values in by_talk.values():
        if len(values) < len(by_talk["revealed"]):
            values.append(None)


def _number(value: Any) -> float | None:
    """A stranger's file may hold what is no number."""
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if len(known) == len(values) else None


OUTCOMES = KindOutcomes(listed, read)
