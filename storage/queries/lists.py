"""Queries for lists and transcripts: batches, studies with their cells, conversations, the log.

All are short queries in autocommit with bounded results.
"""

import json
import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tidepool.storage.batches import batch_numbered
from tidepool.storage.file import BATCH_ID, value_of
from tidepool.storage.queries.units import StoredMessage, unit_of, whole
from tidepool.storage.queries.watching import (
    LONGEST_NAME,
    LONGEST_WORDS,
    MOST_NAMES,
    BatchLine,
    UnitLine,
    WaveCell,
    names_in,
    providers_used,
    read_batch,
)
from tidepool.storage.states import MOST_UNITS, study_reason, study_status, unit_id
from tidepool.storage.studies import StoredCell, cells_of


@dataclass(frozen=True, slots=True)
class Transcript:
    sequence_number: int
    participants: list[str]
    status: str
    error: str | None
    game: int | None
    round: int | None
    messages: list[StoredMessage]
    outcomes: list[dict[str, object]]
    judgements: list[dict[str, object]]
    details: dict[str, Any]
    """further data of the unit"""


def transcript(connection: sqlite3.Connection, batch_number: int, sequence_number: int) -> Transcript | None:
    unit = unit_of(connection, batch_number, sequence_number)
    if unit is None:
        return None
    outcomes = connection.execute(
        "SELECT * FROM outcome WHERE unit_id = ? ORDER BY side LIMIT ?",
        (unit_id(batch_number, sequence_number), MOST_NAMES),
    ).fetchall()
    return Transcript(
        sequence_number,
        [name[:LONGEST_NAME] for name in unit.participants[:MOST_NAMES]],
        unit.status,
        unit.error and unit.error[:LONGEST_WORDS],
        unit.game,
        unit.round,
        [_shown(message) for message in unit.messages[:MOST_MESSAGES]],
        [dict(outcome) for outcome in outcomes],
        [{"entity": entity, "rating": rating} for entity, rating in unit.ratings],
        unit.details,
    )


MOST_MESSAGES = 10_000
LONGEST_MESSAGE = 200_000
"""characters of a message on the screen; an export contains all of it"""


def _shown(stored: StoredMessage) -> StoredMessage:
    if not isinstance(stored.content, str):
        raise TypeError("a message is not a text")
    if len(stored.content) <= LONGEST_MESSAGE and len(stored.speaker or "") <= LONGEST_NAME:
        return stored
    content, more = stored.content[:LONGEST_MESSAGE], len(stored.content) - LONGEST_MESSAGE
    if more > 0:
        content += f" … and {more:,} characters more"
    return replace(stored, speaker=stored.speaker and stored.speaker[:LONGEST_NAME], content=content)


_PROVIDER = re.compile(r"(?:(?<=^)|(?<=, ))[\w-]+:(?=\S)")
_SUMMED = (
    *("units_total", "units_completed", "units_failed", "calls", "bought", "cached", "replayed", "retried", "failed"),
    *("input_tokens", "output_tokens", "spent_usd", "call_seconds"),
)


def with_studies(connection: sqlite3.Connection, lines: Sequence[BatchLine]) -> list[BatchLine]:
    """Adds a line for each study before its cells, which follow in the order in which they were created. A batch of a missing
    study, which only occurs in changed files, is listed by itself."""
    if not any(line.study_id for line in lines):
        return list(lines)
    rows = connection.execute(f"SELECT id, substr(name, 1, {LONGEST_NAME}) FROM study").fetchall()
    names = {row[0]: row[1] for row in rows if isinstance(row[0], str) and BATCH_ID.match(row[0])}
    lines = [line if line.study_id in names else replace(line, study_id=None) for line in lines]
    cells: dict[str, list[BatchLine]] = {}
    for line in reversed(lines):
        if line.study_id:
            cells.setdefault(line.study_id, []).append(line)
    lines_with_studies: list[BatchLine] = []
    for line in lines:
        if not line.study_id:
            lines_with_studies.append(line)
        elif line.study_id in cells:
            beneath = cells.pop(line.study_id)
            lines_with_studies.append(study_line(beneath, line.study_id, names[line.study_id]))
            lines_with_studies += beneath
    return lines_with_studies


def cell_name(name: str, study: str, width: int) -> str:
    """Returns a cell's name without the study's name. Removes the providers of models if it is wider than `width`."""
    own = name.removeprefix(f"{study} · ")
    return own if len(own) <= width else _PROVIDER.sub("", own).replace(" · replicate ", " · ")


def study_line(cells: Sequence[BatchLine], study_id: str, name: str) -> BatchLine:
    """Sums the cells of a study. Its number is the negative number of its first batch, so it differs from every batch's."""
    running = next((cell for cell in cells if cell.running), cells[-1])
    ends = [cell.finished_at for cell in cells]
    costs = [cell.cost_usd for cell in cells]
    asks = {name for cell in cells for name in providers_used(cell.limits)}
    sums: dict[str, Any] = {name: sum(getattr(cell, name) for cell in cells) for name in _SUMMED}
    return replace(
        running,
        id=study_id,
        name=name,
        number=-min(cell.number for cell in cells),
        status=study_status([cell.status for cell in cells]),
        paused=any(cell.paused and cell.running for cell in cells),
        reason=study_reason([(cell.status, cell.reason) for cell in cells]),
        simulated=any(cell.simulated for cell in cells),
        created_at=min(cell.created_at for cell in cells),
        finished_at=None if None in ends else max(end for end in ends if end is not None),
        cost_usd=None if None in costs else sum(cost for cost in costs if cost is not None),
        seconds=max(cell.seconds for cell in cells),
        limits=json.dumps({**json.loads(running.limits), "asks": sorted(asks)}),
        study_id=None,
        seed=cells[0].seed,
        cells=len(cells),
        **sums,
    )


def read_batch_or_study(connection: sqlite3.Connection, path: Path, number: int) -> BatchLine | None:
    """Returns a batch, or for a negative number the study with this first batch."""
    if number >= 0:
        return read_batch(connection, path, number)
    cells = study_cells(connection, number)
    lines = [line for cell in cells if (line := read_batch(connection, path, cell.batch["number"])) is not None]
    if not lines or lines[0].study_id is None:
        return None
    study_id = lines[0].study_id
    name = value_of(connection, f"SELECT substr(name, 1, {LONGEST_NAME}) FROM study WHERE id = ?", (study_id,))
    return study_line(lines, study_id, name or study_id)


def study_cells(connection: sqlite3.Connection, number: int) -> list[StoredCell]:
    first = batch_numbered(connection, -number)
    return cells_of(connection, first["study_id"]) if first is not None and first["study_id"] else []


def study_number(connection: sqlite3.Connection, study_id: str) -> int | None:
    first = value_of(connection, "SELECT min(number) FROM batch WHERE study_id = ?", (study_id,))
    return None if first is None else -int(first)


def cell_lines(cells: list[StoredCell], first: int, last: int) -> list[UnitLine]:
    """Returns the cells of a study as rows, numbered from 1."""
    lines = []
    for place, cell in enumerate(cells, 1):
        if first <= place <= last:
            levels = [level[:LONGEST_NAME] for level in cell.levels.values()]
            label = ", ".join([*levels, f"replicate {cell.replicate}"])
            status, reason = str(cell.batch["status"]), cell.batch["reason"]
            lines.append(UnitLine(place, (label,), status, reason, None, cell.replicate))
    return lines


def cell_waves(connection: sqlite3.Connection, cells: list[StoredCell], first: int, last: int) -> list[WaveCell]:
    """Returns the state of each wave of the visible cells: done if every unit's call is answered, else running."""
    wave_cells: list[WaveCell] = []
    for place, cell in enumerate(cells, 1):
        if not first <= place <= last:
            continue
        ended = cell.batch["status"] in ("completed", "partial")
        for wave, calls, failed, cached, units in connection.execute(
            "SELECT w.wave, w.calls, w.failed, w.cached, p.units_total FROM wave w "
            "JOIN progress p ON p.batch_number = w.batch_number WHERE w.batch_number = ? ORDER BY w.wave LIMIT 1000",
            (cell.batch["number"],),
        ):
            running = not ended and calls < units
            state = "failed" if failed else "running" if running else "cached" if cached == calls else "done"
            wave_cells.append(WaveCell(place, wave, state))
    return wave_cells


@dataclass(frozen=True, slots=True)
class ConversationHead:
    sequence_number: int
    participants: tuple[str, ...]
    status: str
    error: str | None
    revealed: tuple[str, ...]
    """the agents that revealed their secret"""


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
        revealed.setdefault(unit & MOST_UNITS, []).append(agent)
    rows = connection.execute(
        f"SELECT sequence_number, participants, status, substr(error, 1, {LONGEST_WORDS}) FROM unit WHERE id IN (SELECT value FROM json_each(?))",
        (ids,),
    ).fetchall()
    return {
        row[0]: whole(ConversationHead(row[0], names_in(row[1]), row[2], row[3], tuple(revealed.get(row[0], ()))))
        for row in rows
    }


def everybody(connection: sqlite3.Connection, batch_number: int) -> list[str]:
    """Returns the names of the participants from the batch's config."""
    config = json.loads(value_of(connection, "SELECT config FROM batch WHERE number = ?", (batch_number,)) or "{}")
    sections = (config.get(key) for key in ("agents", "entities")) if isinstance(config, dict) else ()
    people = [person for records in sections if isinstance(records, list) for person in records]
    return [str(person["name"]) for person in people if isinstance(person, dict) and "name" in person]


def readable(connection: sqlite3.Connection, batch_number: int, sequence_number: int) -> Transcript | None:
    """Returns the transcript. For a unit without messages, such as a genome's evaluation, returns its prompt and replies."""
    unit = transcript(connection, batch_number, sequence_number)
    if unit is None or unit.messages:
        return unit
    return replace(unit, messages=_replies(connection, batch_number, sequence_number, unit.participants))


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
    messages = [StoredMessage(0, "the prompt", prompt[0], None, "live", prompt[1])] if prompt else []
    return messages + [
        StoredMessage(n, step, text, None, source, model) for n, (step, text, source, model) in enumerate(rows, 1)
    ]
