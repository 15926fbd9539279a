"""What a design compares in a secret game: what was revealed and obtained, and points; of all sides, or of one agent's.

What one side obtained the other revealed, so over both sides the two are one figure: of a whole study only `revealed` is
shown, and `obtained` where somebody asks. Of one agent they are two.
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.design.outcomes import (
    PERCENT,
    BatchValues,
    KindOutcomes,
    Outcome,
    PlannedBatch,
    PlannedRivals,
    PlannedValues,
    Sections,
    Talk,
    number,
)
from tidepool.engine.results.summary import checked
from tidepool.engine.statistics.intervals import Interval
from tidepool.engine.statistics.rates import UNIT
from tidepool.engine.studies.secret_game.findings.played_with import PlayedWith
from tidepool.engine.studies.secret_game.scoring import SCORING, points_between
from tidepool.storage.queries.conversations import sides_by_talk

if TYPE_CHECKING:
    from tidepool.engine.config.frozen import FrozenConfig
    from tidepool.engine.studies.secret_game.pairing import Schedule

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
    talks = [
        sides
        for _, rows in groupby(sides_by_talk(connection, batch["number"]), key=itemgetter(0))
        if len(sides := list(rows)) == 2  # in a damaged file a talk may lack a side
    ]
    agents = [str(agent["name"]) for agent in sections.get("agents", ())]
    by_talk: dict[str, list[float | None]] = {}
    for measure, place in PLACES.items():
        pairs = [(opener[3], number(opener[place]), partner[3], number(partner[place])) for opener, partner in talks]
        by_talk[measure] = [_mean(first, second) for _, first, _, second in pairs]
        by_talk |= {f"{measure} of {agent}": [_own(agent, pair) for pair in pairs] for agent in agents}
    return BatchValues(talks=[_talk(sides, played) for sides in talks], by_talk=by_talk, linked=played.linked)


def _talk(sides: Sequence[tuple[Any, ...]], played: PlayedWith) -> Talk:
    place, game, scenario, opener, *_ = sides[0]
    secrets = played.scenarios[scenario - 1] if scenario and scenario <= len(played.scenarios) else ()
    return Talk(place, game or 0, scenario or 0, "\x1f".join((opener, sides[1][3], *secrets)))


def _mean(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else (first + second) / 2


def _own(agent: str, pair: tuple[str, float | None, str, float | None]) -> float | None:
    """Of one agent: its side's, or the mean of both where it met itself."""
    opener, first, partner, second = pair
    if opener == partner == agent:
        return _mean(first, second)
    return first if opener == agent else second if partner == agent else None


# -- before anything is run --------------------------------------------------------------------------------------


def planned(config: "FrozenConfig") -> PlannedBatch:
    from tidepool.engine.studies.secret_game.casting import Cast, schedule_of, settings_of

    schedule, settings, linked = schedule_of(config), settings_of(config), Cast.of(config).linked
    games = -(-schedule.total_rounds // schedule.rounds) if schedule.rounds else schedule.games
    scenarios = min(len(settings.scenarios), schedule.total_rounds)
    return PlannedBatch(
        counted="talks",
        outcomes=_numbers(schedule),
        sizes=_sizes(schedule, linked=linked),
        rivals=tuple(_rivals(schedule)),
        games=max(1, min(games, schedule.total_rounds)),
        linked=linked,
        scenarios=scenarios if 1 < scenarios < schedule.total else 0,
    )


def _numbers(schedule: "Schedule") -> dict[str, PlannedValues]:
    from tidepool.engine.studies.secret_game.tally import tally_of

    tally, size = tally_of(schedule), len(schedule.agents)
    of_all = {measure: PlannedValues(schedule.total, 2) for measure in MEASURES}
    for name in schedule.agents:
        sides = tally.opened[name] + tally.answered[name]
        alone = schedule.total / size**2 if schedule.pairing == "ordered" else 0.0
        own = PlannedValues(sides - alone, sides / max(1.0, sides - alone))
        of_all |= {f"{measure} of {name}": own for measure in MEASURES}
    return of_all


def _sizes(schedule: "Schedule", *, linked: bool) -> dict[str, int]:
    """More talks; where games link them, more games of the same length."""
    if schedule.num_interactions is None:
        return {"secret_game.games": schedule.games}
    whole = {"secret_game.num_interactions": schedule.num_interactions}
    return whole | ({"secret_game.games": schedule.games} if linked and not schedule.rounds else {})


def _rivals(schedule: "Schedule") -> Iterator[PlannedRivals]:
    """Two agents of as many: every two meet equally often."""
    size = len(schedule.agents)
    ordered = schedule.pairing == "ordered"
    met = 2 * schedule.total / (size**2 if ordered else size * (size - 1))
    if size > 1:
        yield PlannedRivals("two agents, head to head", "revealed", met, "correlation")
    if size > 2:
        yield PlannedRivals("two agents, against third agents", "revealed", met * (size - 2), "")


OUTCOMES = KindOutcomes(listed, read, planned)
