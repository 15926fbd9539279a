"""`tidepool export`: one batch out, in a format of the table below.

A kind that writes a format its own way has a module `engine/KIND/exports.py` with a table `FORMATS` of the same shape; what
stands there wins (a simulation's CSV, a policy of the mutation).
"""

import json
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from tidepool.engine.errors import UsageError
from tidepool.storage.batches import find_batch
from tidepool.storage.file import reading

FORMATS = ("json", "csv", "sqlite", "html", "parquet", "policy")


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """What is to be exported, and where to."""

    database: Path
    connection: sqlite3.Connection
    batch: sqlite3.Row
    target: Path | None
    """what -o says; None: the working folder"""

    def folder(self) -> Path:
        """For formats of several files: what -o says, else a folder named by the batch."""
        return self.target if self.target is not None else Path(self.batch["id"])

    def file(self, suffix: str) -> Path:
        """For formats of one file: what -o says, or a file named by the batch in the folder that -o names."""
        if self.target is None or self.target.is_dir():
            return (self.target or Path()) / f"{self.batch['id']}{suffix}"
        return self.target


Exporter = Callable[[ExportRequest], list[Path]]
"""writes, and returns the files it wrote"""


def export_batch(database: Path, reference: str, format_name: str, target: Path | None) -> list[Path]:
    with reading(database) as connection:
        batch = find_batch(connection, reference)
        exporter = exporter_for(batch["kind"], format_name)
        return exporter(ExportRequest(database, connection, batch, target))


def exporter_for(kind: str, format_name: str) -> Exporter:
    own = own_formats(kind)
    if format_name in own:
        return own[format_name]
    if format_name in EXPORTERS:
        return EXPORTERS[format_name]
    known = ", ".join(name for name in FORMATS if name in own or name in EXPORTERS)
    raise UsageError(f"A batch of kind {kind} cannot be exported as {format_name!r}. It can be as {known}.")


def own_formats(kind: str) -> Mapping[str, Exporter]:
    name = f"tidepool.engine.studies.{kind}.exports"
    formats: Mapping[str, Exporter] = import_module(name).FORMATS if find_spec(name) else {}
    return formats


def _json(order: ExportRequest) -> list[Path]:
    """A folder named by the batch, with the raw results and the analysis."""
    from tidepool.engine.results.summary import statistics_of, summarise
    from tidepool.storage.exporting.json_files import export_results, write_json

    target = order.target or Path()
    folder = target if target.name == order.batch["id"] else target / order.batch["id"]
    head = summarise(order.database, order.batch["id"], with_statistics=False)
    head["config"] = json.loads(order.batch["config"])
    return [
        *export_results(order.connection, order.batch, folder / "results.json", head),
        *write_json(folder / "analysis.json", statistics_of(order.connection, order.batch)),
    ]


def _csv(order: ExportRequest) -> list[Path]:
    from tidepool.storage.exporting.csv_files import export_csv

    return export_csv(order.connection, order.batch, order.folder())


def _sqlite(order: ExportRequest) -> list[Path]:
    from tidepool.storage.exporting.sqlite_file import export_sqlite

    return export_sqlite(order.database, order.batch, order.file(".db"))


def _html(order: ExportRequest) -> list[Path]:
    from tidepool.engine.exports.html_report import report
    from tidepool.engine.results.summary import summarise
    from tidepool.storage.exporting.files import write_text

    summary = summarise(order.database, order.batch["id"])
    return write_text(order.file(".html"), report(order.connection, order.batch, summary))


def _parquet(order: ExportRequest) -> list[Path]:
    from tidepool.storage.exporting.parquet_files import export_parquet

    return export_parquet(order.connection, order.batch, order.folder())


EXPORTERS: dict[str, Exporter] = {"json": _json, "csv": _csv, "sqlite": _sqlite, "html": _html, "parquet": _parquet}
