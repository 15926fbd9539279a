"""A batch of simulations as one CSV file, a simulation a row."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tidepool.engine.config.freezing import load_frozen
from tidepool.engine.exports.request import Exporter, ExportRequest
from tidepool.engine.studies.simulation.casting import settings_of
from tidepool.engine.studies.simulation.conversation import SpokenLine, joined
from tidepool.storage.exporting.csv_files import csv_file, write_rows
from tidepool.storage.reading.units import StoredUnit, units_in_pages

COLUMNS = (
    "Simulation ID",
    "Sequence Number",
    "Interaction Type",
    "Entity IDs",
    "Entity Names",
    "Context",
    "Content",
    "Timestamp",
    "Status",
)


def export_csv(order: ExportRequest) -> list[Path]:
    path = _target(order)
    with csv_file(path) as stream:
        write_rows(stream, COLUMNS, rows_of(order))
    return [path]


def _target(order: ExportRequest) -> Path:
    """What -o says where that is a CSV file; else a file in the folder it names, as with the other kinds."""
    if order.target is None or order.target.suffix.lower() == ".csv":
        return order.file(".csv")
    return order.target / "simulations.csv"


def rows_of(order: ExportRequest) -> Iterator[tuple[Any, ...]]:
    context = settings_of(load_frozen(order.batch["config"])).context
    for unit in units_in_pages(order.connection, order.batch["number"]):
        yield (
            simulation_id(order.batch["id"], unit.sequence_number),
            unit.sequence_number,
            unit.interaction_type,
            "; ".join(map(str, unit.details.get("entity_ids", ()))),
            "; ".join(unit.participants),
            context,
            content_of(unit),
            moment(unit.finished_at or unit.started_at),
            unit.status,
        )


def simulation_id(batch_id: str, sequence_number: int) -> str:
    """The same in every file the batch is in."""
    return f"{batch_id}-{sequence_number}"


def content_of(unit: StoredUnit) -> str:
    return joined(SpokenLine(message.speaker, message.content, message.thought) for message in unit.messages)


def moment(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


FORMATS: dict[str, Exporter] = {"csv": export_csv}
