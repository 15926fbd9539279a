"""Exports a batch of simulations as tables: one row per simulation, and with a judge one row per rating."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tidepool.engine.config.entities import Attribute
from tidepool.engine.config.freezing import load_frozen
from tidepool.engine.config.sections import FrozenConfig
from tidepool.engine.reports.export_request import Exporter, ExportRequest
from tidepool.engine.studies.simulation.casting import cast_of, settings_of
from tidepool.engine.studies.simulation.prompts import SpokenLine, join_lines
from tidepool.storage.queries.units import StoredUnit, units_in_pages
from tidepool.storage.text import json_text
from tidepool.storage.transfer.formats import finished_together, write_csv
from tidepool.storage.transfer.tables import ExportTable, levels_of, ratings_of, view_table, with_levels
from tidepool.storage.views import ColumnType

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
BEHIND = ("Error", "Replicate", "Ratings", "Attributes")
"""columns after the original ones; the last two are JSON lists in the order of the entities"""
WHOLE = ("Sequence Number", "Replicate")
"""columns of whole numbers"""
RATING_COLUMNS: dict[str, ColumnType] = {
    "batch_id": "text",
    "simulation_id": "text",
    "sequence_number": "integer",
    "place": "integer",
    "entity_id": "text",
    "entity": "text",
    "rating": "real",
    "model": "text",
    "served_model": "text",
}

Attributes = Mapping[str, Mapping[str, Attribute]]
"""by the entity's id"""


def export_csv(order: ExportRequest) -> list[Path]:
    path = _target(order)
    tables = tables_of(order)
    ratings = "ratings.csv" if path.name == "simulations.csv" else f"{path.stem}-ratings{path.suffix}"
    paths = [path, path.with_name(ratings)][: len(tables)]
    with finished_together(path.parent) as scratch:
        for table, place in zip(tables, paths, strict=True):
            write_csv(scratch / place.name, tuple(table.columns), map(_cells, table.rows), bom=order.bom)
    return paths


def _target(order: ExportRequest) -> Path:
    """The path of -o if that is a CSV file; else a file in the folder that it names, as for the other kinds."""
    if order.target is None or order.target.suffix.lower() == ".csv":
        return order.file(".csv")
    return order.target / "simulations.csv"


def _cells(row: Iterable[Any]) -> list[Any]:
    """Writes true and false as in files of entities."""
    return [str(cell).lower() if isinstance(cell, bool) else cell for cell in row]


def export_parquet(order: ExportRequest) -> list[Path]:
    """The messages, and the tables of the CSV with types."""
    from tidepool.storage.transfer.formats import write_parquet_tables

    folder = order.folder()
    with finished_together(folder) as scratch:
        messages = view_table(order.connection, "messages", order.batch)
        written = write_parquet_tables(scratch, (messages, *tables_of(order)))
    return [folder / path.name for path in written]


def tables_of(order: ExportRequest) -> list[ExportTable]:
    """The simulations, and their ratings if there is a judge."""
    config = load_frozen(order.batch["config"])
    attributes = {member.id: member.entity.attributes for member in cast_of(config)}
    columns: dict[str, ColumnType] = {name: "integer" if name in WHOLE else "text" for name in (*COLUMNS, *BEHIND)}
    tables = [ExportTable("simulations", columns, _simulations(order, config, attributes))]
    if settings_of(config).judge is not None:
        names = list(dict.fromkeys(name for own in attributes.values() for name in own))
        types = {
            f"attribute: {name}": _type([own[name] for own in attributes.values() if name in own]) for name in names
        }
        tables.append(ExportTable("ratings", RATING_COLUMNS | types, _ratings(order, attributes, names)))
    levels = levels_of(order.connection, order.batch)
    return [with_levels(table, order.batch, levels) for table in tables]


def _simulations(order: ExportRequest, config: FrozenConfig, attributes: Attributes) -> Iterator[tuple[Any, ...]]:
    context = settings_of(config).context
    for unit in units_in_pages(order.connection, order.batch["number"]):
        ids, replicate, ratings = entity_ids(unit.details), unit.details.get("replicate"), dict(unit.ratings)
        yield (
            simulation_id(order.batch["id"], unit.sequence_number),
            unit.sequence_number,
            unit.interaction_type,
            listed(ids),
            listed(unit.participants),
            context,
            content_of(unit),
            moment(unit.finished_at or unit.started_at),
            unit.status,
            unit.error,
            replicate if isinstance(replicate, int) else None,
            json_text([ratings.get(name) for name in unit.participants]) if ratings else None,
            json_text([dict(attributes.get(entity_id, {})) for entity_id in ids]),
        )


def _ratings(order: ExportRequest, attributes: Attributes, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    for row in ratings_of(order.connection, order.batch["number"]):
        own_attributes = attributes.get(str(row["entity_id"]), {})
        yield (
            order.batch["id"],
            simulation_id(order.batch["id"], row["sequence_number"]),
            *(
                row[name]
                for name in ("sequence_number", "place", "entity_id", "entity", "rating", "model", "served_model")
            ),
            *(own_attributes.get(name) for name in names),
        )


def _type(values: Sequence[Attribute]) -> ColumnType:
    """The column type for all values of an attribute."""
    kinds: tuple[tuple[ColumnType, Callable[[Attribute], bool]], ...] = (
        ("boolean", lambda value: isinstance(value, bool)),
        ("integer", lambda value: isinstance(value, int) and not isinstance(value, bool)),
        ("real", lambda value: isinstance(value, int | float) and not isinstance(value, bool)),
    )
    return next((kind for kind, fits in kinds if all(map(fits, values))), "text")


def entity_ids(details: Mapping[str, Any]) -> list[str]:
    """In speaking order; an untrusted file may contain anything there."""
    stored = details.get("entity_ids")
    return [str(entity_id) for entity_id in stored] if isinstance(stored, list) else []


def listed(names: Iterable[str]) -> str:
    """Names in one cell, separated by semicolons. A name that contains a semicolon, or begins with a quote, is quoted as in CSV:
    `next(csv.reader([cell], delimiter=";", skipinitialspace=True))` returns the names."""
    return "; ".join(
        '"' + name.replace('"', '""') + '"' if ";" in name or name.startswith('"') else name for name in names
    )


def simulation_id(batch_id: str, sequence_number: int) -> str:
    """The same in every file that contains the batch."""
    return f"{batch_id}-{sequence_number}"


def content_of(unit: StoredUnit) -> str:
    return join_lines(SpokenLine(message.speaker, message.content, message.thought) for message in unit.messages)


def moment(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


FORMATS: dict[str, Exporter] = {"csv": export_csv, "parquet": export_parquet}
