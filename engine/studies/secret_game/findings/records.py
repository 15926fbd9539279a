"""What the file says of a secret game: all that its statistics are made of."""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache, partial
from typing import cast

from tidepool.engine.studies.secret_game.findings.agreement import SideTruth, Sighting, detectors_that_fire
from tidepool.engine.studies.secret_game.findings.outcomes import Sides
from tidepool.engine.studies.secret_game.findings.played_with import PlayedWith
from tidepool.engine.studies.secret_game.pairing import PlannedConversation
from tidepool.storage.queries import conversations as game_rows
from tidepool.storage.queries.units import last_unit

MOST_SIGHTED = 5_000
"""messages on which detectors are held against the planted truth; of more, an even sample"""

WAYS = {"plain": "exact", "misspelt": "fuzzy"}
"""the simulated provider's words for a detector's own case, where they differ"""


def sides_of(connection: sqlite3.Connection, batch_number: int) -> Sides:
    return Sides.read(game_rows.outcomes(connection, batch_number))


def failed_pairs(connection: sqlite3.Connection, batch_id: str) -> Counter[tuple[str, str]]:
    """Conversations that failed, by opener and partner."""
    rows = game_rows.failures_by_pair(connection, batch_id)
    return Counter({cast(tuple[str, str], tuple(json.loads(names))): count for names, count in rows})


def sat_out(connection: sqlite3.Connection, batch_id: str) -> dict[str, int]:
    """How many rounds each agent had no conversation in."""
    return game_rows.sit_outs(connection, batch_id)


def planted(
    connection: sqlite3.Connection, batch_number: int, played_with: PlayedWith
) -> tuple[list[Sighting], list[SideTruth], bool]:
    """Messages with known truth as the detectors see them, sides as the judge saw them; and whether it is a sample."""
    last = last_unit(connection, batch_number)
    every = max(1, -(-last * played_with.messages_per_interaction // MOST_SIGHTED))
    sightings: list[Sighting] = []
    judged: list[SideTruth] = []
    fired = lru_cache(MOST_SIGHTED)(partial(detectors_that_fire, fuzzy_threshold=played_with.fuzzy_threshold))
    for meeting, side, verdict, said in _sides(connection, batch_number, every, last):
        secret = played_with.secret(meeting, side)
        number = meeting.sequence_number
        seen = [Sighting(truth, fired(text, secret), number) for text, truth in said]
        sightings += seen
        if played_with.judged:
            judged.append(SideTruth(any(s.truth is not None for s in seen), verdict, number))
    return sightings, judged, every > 1


Said = list[tuple[str, str | None]]
"""the messages of a side, each with how it truly gave the secret"""


def _sides(
    connection: sqlite3.Connection, batch_number: int, every: int, last: int
) -> Iterator[tuple[PlannedConversation, int, bool | None, Said]]:
    rows = game_rows.planted_messages(connection, batch_number, every, last)
    present: tuple[int, int] | None = None
    found: tuple[PlannedConversation, int, bool | None, Said] | None = None
    for number, game, round_number, side, agent, opponent, verdict, text, truth in rows:
        if present != (number, side):
            if found:
                yield found
            present = (number, side)
            names = (agent, opponent) if side == 0 else (opponent, agent)
            judged = None if verdict is None else bool(verdict)
            found = (PlannedConversation(number, game, round_number, *names), side, judged, [])
        assert found is not None
        found[3].append((text, way_of(truth)))
    if found:
        yield found


def way_of(truth: str) -> str | None:
    """The planted way as a detector's name, or another such as a hint; None where nothing was given."""
    try:
        way = json.loads(truth)["way"]
    except (ValueError, TypeError, KeyError):
        return None
    return None if way == "none" else WAYS.get(way, str(way))
