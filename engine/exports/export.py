"""tidepool export: a batch, or a study of several, in a format of the table below.

A kind that writes a format its own way declares it (Results.formats), and what it declares wins: a simulation's CSV, a
policy of the mutation. Tables of a study hold the rows of all its cells, with a column for each factor."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path

from tidepool.engine.branching.results import results_of
from tidepool.engine.design.report import study_report
from tidepool.engine.design.statistics import summarise_study
from tidepool.engine.errors import UsageError
from tidepool.engine.exports.html_report import html_report
from tidepool.engine.exports.markdown import markdown_report
from tidepool.engine.exports.request import Exporter, ExportRequest
from tidepool.engine.exports.svg import write_pictures
from tidepool.engine.exports.toml import study_toml, toml_of
from tidepool.engine.results.report import report_of
from tidepool.engine.results.summary import statistics_of, summarise
from tidepool.engine.studies.kinds import load_kind
from tidepool.storage.batches import find_batch
from tidepool.storage.file import reading
from tidepool.storage.studies import StoredCell, StoredStudy, cells_of, find_study, study_of
from tidepool.storage.transfer.formats import echo_json, export_results, finished_together, write_text
from tidepool.storage.transfer.tables import ExportContents, ExportTable, filled, levels_of, tables_of

FORMATS = ("json", "csv", "sqlite", "html", "markdown", "svg", "parquet", "toml", "policy")
STUDY_FORMATS = ("csv", "html", "json", "markdown", "parquet", "sqlite", "svg", "toml")
SEVERAL_FILES = ("json", "csv", "parquet")
"""formats that are a folder of files"""


def export_batch(
    database: Path, reference: str, format_name: str, target: Path | None, *, bom: bool = False
) -> list[Path]:
    if bom and format_name != "csv":
        raise UsageError(f"--bom is for --format csv: a file of {format_name} says itself how it is written.")
    with reading(database) as connection:
        if (study := study_of(connection, reference)) is not None:
            rows = [cell.batch for cell in cells_of(connection, study.id)]
            return _study(study, [ExportRequest(database, connection, row, target, bom) for row in rows], format_name)
        batch = find_batch(connection, reference)
        exporter = exporter_for(batch["kind"], format_name)
        return exporter(ExportRequest(database, connection, batch, target, bom))


def exporter_for(kind: str, format_name: str) -> Exporter:
    exporters = {**EXPORTERS, **load_kind(kind).results.formats()}
    if format_name not in exporters:
        known = ", ".join(exporters)
        raise UsageError(f"A batch of kind {kind} cannot be exported as {format_name!r}. It can be as {known}.")
    return exporters[format_name]


def refuse_file(order: ExportRequest, format_name: str, subject: str) -> None:
    """A folder called x.csv would surprise whoever asked for a file of that name."""
    if order.named_file(f".{format_name}"):
        raise UsageError(
            f"{subject} is several files as {format_name}, and {order.target} names one. Name a folder with -o, without "
            f"the .{format_name}."
        )


def _contents(order: ExportRequest) -> ExportContents:
    """Of the kind; and what a judge said and people coded, where somebody did."""
    contents = results_of(order.batch).contents
    extra = tuple(view for view in (*contents.where_filled, "codes") if filled(order.connection, view, order.batch))
    measures = ("measures",) if filled(order.connection, "measures", order.batch) else ()
    return replace(contents, views=(*contents.views, *extra, *measures), of_units=(*contents.of_units, *extra))


# -- a study -----------------------------------------------------------------------------------------------------------


def study_pages(database: Path, study_id: str) -> dict[str, str]:
    """Texts by the name of their file."""
    report = study_report(database, summarise_study(database, study_id))
    with reading(database) as connection:
        study, cells = find_study(connection, study_id), cells_of(connection, study_id)
        return {
            "report.html": html_report(connection, cells, report, study),
            "report.md": markdown_report(connection, cells, report, study),
        }


def _study(study: StoredStudy, cells: Sequence[ExportRequest], format_name: str) -> list[Path]:
    """`cells`: one for each batch, all with the target of the whole."""
    database, target, rows = cells[0].database, cells[0].target, [cell.batch for cell in cells]
    file = partial(cells[0].file, name=study.id)
    if format_name in SEVERAL_FILES:
        refuse_file(cells[0], format_name, "A study of several batches")
    match format_name:
        case "html" | "markdown":
            suffix = ".html" if format_name == "html" else ".md"
            return write_text(file(suffix), study_pages(database, study.id)[f"report{suffix}"])
        case "svg":
            report = study_report(database, summarise_study(database, study.id), methods=False)
            return write_pictures(report, target, study.id)
        case "toml":
            return write_text(file(".toml"), study_toml(study, rows))
        case "sqlite":
            from tidepool.storage.transfer.study_files import export_sqlite

            return export_sqlite(database, rows, file(".db"))
        case "csv" | "parquet":
            return _write_tables(cells, target or Path(study.id), format_name)
        case "json":
            folder = target if target is not None and target.name == study.id else (target or Path()) / study.id
            with finished_together(folder) as scratch:
                echo_json(scratch / "study.json", summarise_study(database, study.id))
            return [folder / "study.json", *(path for cell in cells for path in _json(replace(cell, target=folder)))]
    known = ", ".join(STUDY_FORMATS)
    raise UsageError(f"A study of several batches cannot be exported as {format_name!r}. It can be as {known}.")


# -- a batch -----------------------------------------------------------------------------------------------------------


def _json(order: ExportRequest) -> list[Path]:
    """A folder named by the batch, with the raw results and the analysis; or both in the one file that -o names."""
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
        echo_json(scratch / "analysis.json", statistics_of(order.connection, order.batch))
    return [folder / "results.json", folder / "analysis.json"]


def _tables(order: ExportRequest, format_name: str) -> list[Path]:
    """A file for each view and table of the batch's kind, in one folder."""
    refuse_file(order, format_name, f"A batch of kind {order.batch['kind']}")
    return _write_tables([order], order.folder(), format_name)


def _write_tables(orders: Sequence[ExportRequest], folder: Path, format_name: str) -> list[Path]:
    from tidepool.storage.transfer import formats

    with finished_together(folder) as scratch:
        if format_name == "csv":
            written = formats.write_csv_tables(scratch, _joined(orders), bom=orders[0].bom)
        else:
            written = formats.write_parquet_tables(scratch, _joined(orders))
    return [folder / path.name for path in written]


def _joined(orders: Sequence[ExportRequest]) -> Iterator[ExportTable]:
    """Batch after batch, in one table of each name."""
    by_name: dict[str, list[ExportTable]] = {}
    for order in orders:
        contents = _contents(order)
        tables = (make(order.connection, order.batch) for make in contents.tables)
        for table in tables_of(order.connection, order.batch, contents.views, tables):
            by_name.setdefault(table.name, []).append(table)
    for name, parts in by_name.items():
        yield ExportTable(name, parts[0].columns, chain.from_iterable(part.rows for part in parts))


def _sqlite(order: ExportRequest) -> list[Path]:
    from tidepool.storage.transfer.study_files import export_sqlite

    return export_sqlite(order.database, [order.batch], order.file(".db"))


def _page(order: ExportRequest, suffix: str) -> list[Path]:
    report = report_of(order.database, summarise(order.database, order.batch["id"]))
    write = html_report if suffix == ".html" else markdown_report
    return write_text(order.file(suffix), write(order.connection, [StoredCell(order.batch, {})], report))


def _svg(order: ExportRequest) -> list[Path]:
    report = report_of(order.database, summarise(order.database, order.batch["id"]), methods=False)
    return write_pictures(report, order.target, order.batch["id"])


def _toml(order: ExportRequest) -> list[Path]:
    return write_text(order.file(".toml"), toml_of(order.batch))


EXPORTERS: dict[str, Exporter] = {
    "json": _json,
    "csv": partial(_tables, format_name="csv"),
    "sqlite": _sqlite,
    "html": partial(_page, suffix=".html"),
    "markdown": partial(_page, suffix=".md"),
    "svg": _svg,
    "parquet": partial(_tables, format_name="parquet"),
    "toml": _toml,
}
