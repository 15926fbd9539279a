"""Heads of conversations for lists: who spoke, how it ended, who gave a secret away. Read for the rows in view."""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tidepool.storage.reading.queries import Transcript, transcript
from tidepool.storage.reading.typed_rows import whole
from tidepool.storage.reading.units import StoredMessage
from tidepool.storage.reading.watching import LONGEST_WORDS, names_in
from tidepool.storage.unit_ids import UNIT_BITS, unit_id

_MASK = (1 << UNIT_BITS) - 1


@dataclass(frozen=True, slots=True)
class ConversationHead:
    sequence_number: int
    participants: tuple[str, ...]
    status: str
    error: str | None
    revealed: tuple[str, ...]
    """the agents that gave their secret away"""


def talk_heads(
    connection: sqlite3.Connection, batch_number: int, numbers: Sequence[int]
) -> dict[int, ConversationHead]:
    ids = json.dumps([unit_id(batch_number, number) for number in numbers])
    revealed: dict[int, list[str]] = {}
    for unit, agent in connection.execute(
        "SELECT unit_id, agent FROM outcome WHERE unit_id IN (SELECT value FROM json_each(?)) AND revealed "
        "ORDER BY unit_id, side",
        (ids,),
    ):
        revealed.setdefault(unit & _MASK, []).append(agent)
    rows = connection.execute(
        f"SELECT sequence_number, participants, status, substr(error, 1, {LONGEST_WORDS}) FROM unit WHERE id IN (SELECT value FROM json_each(?))",
        (ids,),
    ).fetchall()
    return {
        row[0]: whole(ConversationHead(row[0], names_in(row[1]), row[2], row[3], tuple(revealed.get(row[0], ()))))
        for row in rows
    }


def everybody(connection: sqlite3.Connection, batch_number: int) -> list[str]:
    return speakers(connection, batch_number, 100_000)


def speakers(connection: sqlite3.Connection, batch_number: int, most: int = 200) -> list[str]:
    """Who takes part, by the batch's own config."""
    row = connection.execute("SELECT config FROM batch WHERE number = ?", (batch_number,)).fetchone()
    config = json.loads(row[0]) if row else {}
    told = (config.get(key) for key in ("agents", "entities")) if isinstance(config, dict) else ()
    people = [person for one in told if isinstance(one, list) for person in one]
    return [str(person["name"]) for person in people if isinstance(person, dict) and "name" in person][:most]


def readable(connection: sqlite3.Connection, batch_number: int, sequence_number: int) -> Transcript | None:
    """The transcript; of a unit that is no talk, such as a genome's evaluation, its prompt and what was answered."""
    found = transcript(connection, batch_number, sequence_number)
    if found is None or found.messages:
        return found
    return replace(found, messages=_replies(connection, batch_number, sequence_number, found.participants))


def _replies(
    connection: sqlite3.Connection,
    batch_number: int,
    sequence_number: int,
    participants: Sequence[str],
    most: int = 500,
) -> list[StoredMessage]:
    prompt = connection.execute(
        "SELECT prompt, operator FROM genome WHERE batch_number = ? AND genome_id = ? LIMIT 1",
        (batch_number, participants[0] if participants else ""),
    ).fetchone()
    rows = connection.execute(
        "SELECT step, text, source, model FROM call WHERE unit_id = ? AND status = 'answered' ORDER BY wave, id LIMIT ?",
        (unit_id(batch_number, sequence_number), most),
    ).fetchall()
    told = [StoredMessage(0, "the prompt", prompt[0], None, "live", prompt[1])] if prompt else []
    return told + [
        StoredMessage(n, step, text, None, source, model) for n, (step, text, source, model) in enumerate(rows, 1)
    ]
