"""`tidepool export`: one batch out, in a format of the table below.

A kind that writes a format its own way declares it (`KindSpec.formats`), and what it declares wins: a simulation's CSV, a
policy of the mutation.
"""

import json
import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

from tidepool.engine.branching.kind import kind_of
from tidepool.engine.errors import UsageError
from tidepool.engine.exports.request import Exporter, ExportRequest
from tidepool.engine.studies.kinds import load_kind
from tidepool.storage.batches import find_batch
from tidepool.storage.file import reading
from tidepool.storage.studies import StoredCell, StoredStudy, cells_of, study_of
from tidepool.storage.transfer.tables import ExportContents, ExportTable, filled, levels_of

TableWriter = Callable[[sqlite3.Connection, sqlite3.Row, Path, Iterable[str], Iterable[ExportTable]], list[Path]]

FORMATS = ("json", "csv", "sqlite", "html", "markdown", "svg", "parquet", "toml", "policy")
SEVERAL_FILES = ("json", "csv", "parquet")
"""formats that are a folder of files"""


def export_batch(
    database: Path, reference: str, format_name: str, target: Path | None, *, bom: bool = False
) -> list[Path]:
    if bom and format_name != "csv":
        raise UsageError(f"--bom is for --format csv: a file of {format_name} says itself how it is written.")
    with reading(database) as connection:
        if (study := study_of(connection, reference)) is not None:
            return _study(database, connection, study, format_name, target, bom=bom)
        batch = find_batch(connection, reference)
        exporter = exporter_for(batch["kind"], format_name)
        return exporter(ExportRequest(database, connection, batch, target, bom))


def exporter_for(kind: str, format_name: str) -> Exporter:
    own = load_kind(kind).formats()
    if format_name in own:
        return own[format_name]
    if format_name in EXPORTERS:
        return EXPORTERS[format_name]
    known = ", ".join(dict.fromkeys((*EXPORTERS, *own)))
    raise UsageError(f"A batch of kind {kind} cannot be exported as {format_name!r}. It can be as {known}.")


def refuse_file(order: ExportRequest, format_name: str, what: str) -> None:
    """A folder called x.csv would surprise whoever asked for a file of that name."""
    if order.named_file(f".{format_name}"):
        raise UsageError(
            f"{what} is several files as {format_name}, and {order.target} names one. Name a folder with -o, without "
            f"the .{format_name}."
        )


def _contents(order: ExportRequest) -> ExportContents:
    """Of the kind; and what a judge said and people coded, where somebody did."""
    contents = kind_of(order.batch).contents
    more = tuple(view for view in (*contents.where_filled, "codes") if filled(order.connection, view, order.batch))
    return replace(contents, views=(*contents.views, *more), of_units=(*contents.of_units, *more))


def _json(order: ExportRequest) -> list[Path]:
    """A folder named by the batch, with the raw results and the analysis; or both in the one file that -o names."""
    from tidepool.engine.results.summary import statistics_of, summarise
    from tidepool.storage.transfer.formats import export_results, finished_together, write_json

    target = order.target or Path()
    folder = target if target.name == order.batch["id"] else target / order.batch["id"]
    head = summarise(order.database, order.batch["id"], with_statistics=False)
    head["config"] = json.loads(order.batch["config"])
    if levels := levels_of(order.connection, order.batch):
        head["study_id"], head["replicate"], head["factors"] = order.batch["study_id"], order.batch["replicate"], levels
    if order.named_file(".json"):
        analysis = statistics_of(order.connection, order.batch)
        return export_results(order.connection, order.batch, target, head, _contents(order), analysis=analysis)
    with finished_together(folder) as scratch:
        export_results(order.connection, order.batch, scratch / "results.json", head, _contents(order))
        write_json(scratch / "analysis.json", statistics_of(order.connection, order.batch))
    return [folder / "results.json", folder / "analysis.json"]


def _csv(order: ExportRequest) -> list[Path]:
    from tidepool.storage.transfer.formats import export_csv

    refuse_file(order, "csv", f"A batch of kind {order.batch['kind']}")
    return _views(order, partial(export_csv, bom=order.bom))


def _sqlite(order: ExportRequest) -> list[Path]:
    from tidepool.storage.transfer.study_files import export_sqlite

    return export_sqlite(order.database, [order.batch], order.file(".db"))


def _html(order: ExportRequest) -> list[Path]:
    from tidepool.engine.exports.html_report import html_report
    from tidepool.engine.results.report import report_of
    from tidepool.engine.results.summary import summarise
    from tidepool.storage.transfer.formats import write_text

    report = report_of(order.database, summarise(order.database, order.batch["id"]))
    return write_text(order.file(".html"), html_report(order.connection, [StoredCell(order.batch, {})], report))


def _markdown(order: ExportRequest) -> list[Path]:
    from tidepool.engine.exports.markdown_report import markdown_report
    from tidepool.engine.results.report import report_of
    from tidepool.engine.results.summary import summarise
    from tidepool.storage.transfer.formats import write_text

    report = report_of(order.database, summarise(order.database, order.batch["id"]))
    return write_text(order.file(".md"), markdown_report(order.connection, [StoredCell(order.batch, {})], report))


def _svg(order: ExportRequest) -> list[Path]:
    from tidepool.engine.exports.pictures import write_pictures
    from tidepool.engine.results.report import report_of
    from tidepool.engine.results.summary import summarise

    report = report_of(order.database, summarise(order.database, order.batch["id"]), methods=False)
    return write_pictures(report, order.target, order.batch["id"])


def _parquet(order: ExportRequest) -> list[Path]:
    from tidepool.storage.transfer.formats import export_parquet

    refuse_file(order, "parquet", f"A batch of kind {order.batch['kind']}")
    return _views(order, export_parquet)


def _toml(order: ExportRequest) -> list[Path]:
    from tidepool.engine.exports.toml import export_toml

    return export_toml(order)


def _study(
    database: Path,
    connection: sqlite3.Connection,
    study: StoredStudy,
    format_name: str,
    target: Path | None,
    *,
    bom: bool,
) -> list[Path]:
    from tidepool.engine.exports.study_export import StudyExport, summary_of
    from tidepool.storage.transfer.formats import finished_together, write_json

    cells = [ExportRequest(database, connection, cell.batch, target, bom) for cell in cells_of(connection, study.id)]
    if format_name in SEVERAL_FILES:
        refuse_file(cells[0], format_name, "A study of several batches")
    export = StudyExport(study, cells, [_contents(one) for one in cells])
    if format_name != "json":
        return export.written(format_name)
    folder = target if target is not None and target.name == study.id else (target or Path()) / study.id
    with finished_together(folder) as scratch:
        write_json(scratch / "study.json", summary_of(export))
    return [folder / "study.json", *(path for one in cells for path in _json(replace(one, target=folder)))]


def _views(order: ExportRequest, write: TableWriter) -> list[Path]:
    """A file for each view and table of the batch's kind, in one folder."""
    from tidepool.storage.transfer.formats import finished_together

    folder, contents = order.folder(), _contents(order)
    tables = (make(order.connection, order.batch) for make in contents.tables)
    with finished_together(folder) as scratch:
        written = write(order.connection, order.batch, scratch, contents.views, tables)
    return [folder / path.name for path in written]


EXPORTERS: dict[str, Exporter] = {
    "json": _json,
    "csv": _csv,
    "sqlite": _sqlite,
    "html": _html,
    "markdown": _markdown,
    "svg": _svg,
    "parquet": _parquet,
    "toml": _toml,
}
