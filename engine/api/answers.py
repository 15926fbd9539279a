"""What the API tells of a batch, read from the file."""

import json
import sqlite3
from pathlib import Path
from typing import Any

from tidepool.engine.errors import FileError, NotFound
from tidepool.engine.studies.simulation.exports import content_of, moment, simulation_id
from tidepool.storage.api_queue import simulation_batch, simulation_batches
from tidepool.storage.batches import progress_of, shown_status
from tidepool.storage.reading.units import StoredUnit, units_in_pages


def find(connection: sqlite3.Connection, batch_id: str) -> sqlite3.Row:
    """By its whole id; batches of other kinds are none of this API's."""
    row = simulation_batch(connection, batch_id)
    if row is None:
        raise NotFound(f"There is no batch of simulations {batch_id!r} in this file.")
    return row


def all_batches(path: Path, connection: sqlite3.Connection, *, with_simulations: bool) -> list[dict[str, Any]]:
    rows = simulation_batches(connection)
    return [batch_record(path, connection, row, with_simulations=with_simulations) for row in rows]


def batch_record(
    path: Path, connection: sqlite3.Connection, batch: sqlite3.Row, *, with_simulations: bool
) -> dict[str, Any]:
    config = _config(batch)
    settings = config["simulation"]
    progress = progress_of(connection, batch["number"])
    record = {
        "id": batch["id"],
        "name": batch["name"],
        "timestamp": moment(batch["created_at"]),
        "description": batch["description"],
        "context": settings["context"],
        "status": shown_status(path, batch),
        "reason": batch["reason"],
        "simulated": bool(batch["simulated"]),
        "progress": {
            "total": progress["units_total"] or settings["num_simulations"],
            "completed": progress["units_completed"],
            "failed": progress["units_failed"],
        },
        "metadata": config["batch"]["metadata"],
    }
    if with_simulations:
        units = units_in_pages(connection, batch["number"])
        record["simulations"] = [simulation_record(batch["id"], unit, settings) for unit in units]
    return record


def _config(batch: sqlite3.Row) -> dict[str, Any]:
    """The frozen config; the file may be a stranger's."""
    try:
        config: dict[str, Any] = json.loads(batch["config"])
        if isinstance(config["batch"]["metadata"], dict) and isinstance(config["simulation"]["context"], str):
            return config
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    raise FileError(f"The config of batch {batch['id']} cannot be read: its file was changed, or is damaged.")


def simulation_record(batch_id: str, unit: StoredUnit, settings: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": simulation_id(batch_id, unit.sequence_number),
        "sequence_number": unit.sequence_number,
        "timestamp": moment(unit.finished_at or unit.started_at),
        "interaction_type": unit.interaction_type,
        "entity_ids": unit.details.get("entity_ids", []),
        "content": content_of(unit),
        "status": unit.status,
        "error": unit.error,
        "metadata": {
            "n_turns": settings["n_turns"],
            "simulation_rounds": settings["simulation_rounds"],
            "final_turn_number": max((message.turn for message in unit.messages), default=0),
        },
    }
