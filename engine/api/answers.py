"""What the API tells of a batch, read from the file a little at a time: what is long is sent as it is read.

The file may be a stranger's. A row that holds something else than it should is told as far as it can be read, and says
so; it is no reason to keep the others back.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidepool.engine.config import ceilings
from tidepool.engine.errors import NotFound, UsageError
from tidepool.engine.library.contents import entity_of
from tidepool.engine.studies.simulation.exports import content_of, moment, simulation_id
from tidepool.storage.api_queue import batch_told, simulation_batch
from tidepool.storage.batches import progress_of, status_now
from tidepool.storage.file import reading
from tidepool.storage.library import StoredEntity, list_entities
from tidepool.storage.lock_files import BATCH_ID
from tidepool.storage.queries.units import StoredUnit, last_unit, units_from
from tidepool.storage.states import BatchStatus

AT_A_TIME = 20
"""units that are held at once"""
ENTITIES_AT_A_TIME = 500
DAMAGED = "This batch cannot be read as a whole: its file was changed, or is damaged."


@contextmanager
def leniently(database: Path) -> Iterator[sqlite3.Connection]:
    """Reads texts that are none in UTF-8 as far as they go."""
    with reading(database) as connection:
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        yield connection


@dataclass(frozen=True, slots=True)
class SimulationPage:
    """Simulations by their places in the plan, so that a page stays the same page while the batch grows."""

    offset: int
    limit: int

    @property
    def last(self) -> int:
        return self.offset + self.limit


@dataclass(frozen=True, slots=True)
class Told:
    """A batch as it is told, without its simulations."""

    number: int
    record: dict[str, Any]
    lengths: dict[str, int]
    simulations: int
    """planned, or there"""


def find(connection: sqlite3.Connection, batch_id: str) -> sqlite3.Row:
    """By its whole id; batches of other kinds are none of this API's."""
    row = simulation_batch(connection, batch_id)
    if row is None or not BATCH_ID.match(batch_id):
        raise NotFound(f"There is no batch of simulations {batch_id!r} in this file.")
    return row


def told(path: Path, connection: sqlite3.Connection, batch: sqlite3.Row) -> Told:
    config, settings, sound = _config(batch["config"])
    progress = progress_of(connection, batch["number"])
    counts = [_count(progress[f"units_{name}"]) if progress else 0 for name in ("total", "completed", "failed")]
    planned = counts[0] or _count(settings.get("num_simulations"))
    status = _status(path, batch, progress)
    whole = sound and progress is not None and batch["status"] in list(BatchStatus)
    record = {
        "id": _text(batch["id"]),
        "name": _text(batch["name"]),
        "timestamp": _moment(batch["created_at"]),
        "description": _text(batch["description"]),
        "context": _text(settings.get("context"))[: ceilings.CONTEXT],
        "status": status,
        "reason": None if batch["reason"] is None and whole else _text(batch["reason"]) or DAMAGED,
        "simulated": bool(batch["simulated"]),
        "progress": {"total": planned, "completed": counts[1], "failed": counts[2]},
        "metadata": config["batch"]["metadata"] if sound else {},
    }
    lengths = {name: _count(settings.get(name)) for name in ("n_turns", "simulation_rounds")}
    return Told(batch["number"], record, lengths, max(planned, last_unit(connection, batch["number"])))


def batches_sent(database: Path, numbers: Iterable[int], page: SimulationPage | None) -> Iterator[bytes]:
    """The batches as JSON, one after the other; with a page of the simulations of each where that is asked for."""
    separator = b""
    for number in numbers:
        with leniently(database) as connection:
            batch = batch_told(connection, number)
            one = told(database, connection, batch) if batch else None
        if one is not None:  # else it was deleted meanwhile
            yield separator
            yield from batch_sent(database, one, page)
            separator = b","


def batch_sent(database: Path, batch: Told, page: SimulationPage | None) -> Iterator[bytes]:
    if page is None:
        yield as_json(batch.record)
        return
    yield as_json(batch.record)[:-1] + b',"simulations":['
    separator = b""
    first = page.offset + 1
    while units := _units(database, batch.number, first, page):
        records = [as_json(simulation_record(batch, unit)) for unit in units]
        yield separator + b",".join(records)
        separator, first = b",", units[-1].sequence_number + 1
    yield b"]}"


def _units(database: Path, number: int, first: int, page: SimulationPage) -> list[StoredUnit]:
    with leniently(database) as connection:
        return units_from(connection, number, first, AT_A_TIME, page.last) if first <= page.last else []


def simulation_record(batch: Told, unit: StoredUnit) -> dict[str, Any]:
    turns = (message.turn for message in unit.messages if isinstance(message.turn, int))
    entity_ids = unit.details.get("entity_ids", [])
    return {
        "id": simulation_id(batch.record["id"], unit.sequence_number),
        "sequence_number": unit.sequence_number,
        "timestamp": _moment(unit.finished_at or unit.started_at),
        "interaction_type": None if unit.interaction_type is None else _text(unit.interaction_type),
        "entity_ids": [_text(one) for one in entity_ids] if isinstance(entity_ids, list) else [],
        "content": content_of(unit),
        "status": _text(unit.status),
        "error": None if unit.error is None else _text(unit.error),
        "metadata": {**batch.lengths, "final_turn_number": max(turns, default=0)},
    }


def entities_sent(database: Path, limit: int, offset: int) -> Iterator[bytes]:
    separator = b""
    for first in range(offset, offset + limit, ENTITIES_AT_A_TIME):
        size = min(ENTITIES_AT_A_TIME, offset + limit - first)
        with leniently(database) as connection:
            stored = list_entities(connection, limit=size, offset=first)
        yield (separator if stored else b"") + b",".join(as_json(_entity_record(one)) for one in stored)
        separator = b","
        if len(stored) < size:
            return


def _entity_record(stored: StoredEntity) -> dict[str, Any]:
    """One that no study could use is listed, so that it can be removed, and nothing more is told of it."""
    try:
        known = entity_of(stored).as_record()
    except (UsageError, ValueError):
        known = {"name": _text(stored.name)[: ceilings.NAME], "description": "", "attributes": {}}
    return {"id": stored.id, "type": stored.type, **known}


def as_json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8", "replace")


def _config(text: object) -> tuple[dict[str, Any], dict[str, Any], bool]:
    """The frozen config and its own section, and whether they are what they should be."""
    try:
        config = json.loads(text) if isinstance(text, str) else {}
        settings, metadata = config["simulation"], config["batch"]["metadata"]
        sound = isinstance(metadata, dict) and isinstance(settings["context"], str)
        if sound and len(as_json(metadata)) <= 2 * ceilings.METADATA:
            return config, settings, True
    except (ValueError, LookupError, TypeError, RecursionError):
        pass
    return {}, {}, False


def _status(path: Path, batch: sqlite3.Row, progress: sqlite3.Row | None) -> str:
    """One of ours, whatever the file says; a batch whose process is gone is interrupted."""
    if batch["status"] != BatchStatus.IN_PROGRESS:
        return str(batch["status"]) if batch["status"] in list(BatchStatus) else BatchStatus.FAILED
    beats = progress is not None and isinstance(progress["heartbeat_at"], float)
    named = isinstance(batch["id"], str) and BATCH_ID.match(batch["id"]) and isinstance(batch["host"], str)
    return status_now(path, batch, progress) if progress and beats and named else BatchStatus.INTERRUPTED


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _count(value: object) -> int:
    return value if isinstance(value, int) and 0 <= value < 2**53 else 0


def _moment(seconds: object) -> str | None:
    try:
        return moment(seconds) if isinstance(seconds, int | float) else None
    except (ValueError, OverflowError, OSError):
        return None
