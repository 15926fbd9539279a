"""tidepool export: a batch, or a study of several, in one of the formats in the table below.

A kind can declare its own format (Results.formats), which takes precedence: a simulation's CSV, or a policy of the
mutation. Tables of a study have the rows of all its cells, with a column for each factor."""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from tidepool.engine.branching.results import results_of
from tidepool.engine.design.report import study_report
from tidepool.engine.design.statistics import summarise_study
from tidepool.engine.errors import UsageError
from tidepool.engine.exports.html_report import html_report
from tidepool.engine.exports.markdown import markdown_report
from tidepool.engine.exports.toml import study_toml, toml_of
from tidepool.engine.kinds import load_kind
from tidepool.engine.reports.export_request import ExportRequest
from tidepool.engine.results.report import report_of
from tidepool.engine.results.summary import statistics_of, summarise
from tidepool.storage.batches import find_batch
from tidepool.storage.file import reading
from tidepool.storage.studies import StoredCell, StoredStudy, cells_of, study_of
from tidepool.storage.transfer.formats import echo_json, export_results, finished_together, write_text
from tidepool.storage.transfer.tables import PLAIN, ExportContents, ExportTable, filled, joined, levels_of, tables_of

FORMATS = ("json", "csv", "sqlite", "html", "markdown", "parquet", "toml", "policy")


def export_batch(
    database: Path, reference: str, format_name: str, target: Path | None, *, bom: bool = False
) -> list[Path]:
    if bom and format_name != "csv":
        raise UsageError(f"--bom only works with --format csv. Remove it for {format_name}.")
    with reading(database) as connection:
        study = study_of(connection, reference)
        cells = cells_of(connection, study.id) if study else [StoredCell(find_batch(connection, reference), {})]
        orders = [ExportRequest(database, connection, cell.batch, target, bom) for cell in cells]
        own = load_kind(cells[0].batch["kind"]).results.formats() if study is None else {}
        if format_name in own:
            return own[format_name](orders[0])
        if format_name not in EXPORTERS:
            known = ", ".join({**EXPORTERS, **own})
            raise UsageError(f"{_subject(orders, study)} cannot be exported as {format_name!r}. Use one of {known}.")
        return EXPORTERS[format_name](orders, study)


WRITERS = {".html": html_report, ".md": markdown_report}


def report_pages(
    database: Path, study: StoredStudy | None, batch: sqlite3.Row, suffixes: Iterable[str] = WRITERS
) -> dict[str, str]:
    """The report of the study, or of the batch if it has none, by the suffix of its file."""
    if study is not None:
        report = study_report(database, summarise_study(database, study.id))
    else:
        report = report_of(database, summarise(database, batch["id"]))
    with reading(database) as connection:
        cells = cells_of(connection, study.id) if study is not None else [StoredCell(batch, {})]
        return {suffix: WRITERS[suffix](connection, cells, report, study) for suffix in suffixes}


Orders = Sequence[ExportRequest]
"""one for each batch, all with the target of the whole export"""


def _subject(orders: Orders, study: StoredStudy | None) -> str:
    return "A study of several batches" if study else f"A batch of kind {orders[0].batch['kind']}"


def _name(orders: Orders, study: StoredStudy | None) -> str:
    return study.id if study else str(orders[0].batch["id"])


def _page(orders: Orders, study: StoredStudy | None, suffix: str) -> list[Path]:
    text = report_pages(orders[0].database, study, orders[0].batch, [suffix])[suffix]
    return write_text(orders[0].file(suffix, _name(orders, study)), text)


def _toml(orders: Orders, study: StoredStudy | None) -> list[Path]:
    batches = [order.batch for order in orders]
    text = study_toml(study, batches) if study else toml_of(batches[0])
    return write_text(orders[0].file(".toml", _name(orders, study)), text)


def _sqlite(orders: Orders, study: StoredStudy | None) -> list[Path]:
    from tidepool.storage.transfer.study_files import export_sqlite

    target = orders[0].file(".db", _name(orders, study))
    return export_sqlite(orders[0].database, [order.batch for order in orders], target)


def _json(orders: Orders, study: StoredStudy | None) -> list[Path]:
    """Writes a folder named after the batch, with the raw results and the analysis, or both in the one file of -o. For a study,
    writes a folder with its summary and the folders of its batches."""
    if study is None:
        return _json_of_batch(orders[0])
    _refuse_file(orders, study, "json")
    folder = _folder_named(orders[0].target, study.id)
    with finished_together(folder) as scratch:
        echo_json(scratch / "study.json", summarise_study(orders[0].database, study.id))
    return [folder / "study.json", *(path for one in orders for path in _json_of_batch(replace(one, target=folder)))]


def _json_of_batch(order: ExportRequest) -> list[Path]:
    folder = _folder_named(order.target, order.batch["id"])
    head = summarise(order.database, order.batch["id"], with_statistics=False)
    head["config"] = json.loads(order.batch["config"])
    if levels := levels_of(order.connection, order.batch):
        head["study_id"], head["replicate"], head["factors"] = order.batch["study_id"], order.batch["replicate"], levels
    if order.target is not None and order.named_file(".json"):
        analysis = statistics_of(order.connection, order.batch)
        return export_results(order.connection, order.batch, order.target, head, _contents(order), analysis=analysis)
    with finished_together(folder) as scratch:
        export_results(order.connection, order.batch, scratch / "results.json", head, _contents(order))
        echo_json(scratch / "analysis.json", statistics_of(order.connection, order.batch))
    return [folder / "results.json", folder / "analysis.json"]


def _folder_named(target: Path | None, name: str) -> Path:
    return target if target is not None and target.name == name else (target or Path()) / name


def _tables(orders: Orders, study: StoredStudy | None, format_name: str) -> list[Path]:
    """Writes a file for each view and table of the batch's kind, in one folder."""
    from tidepool.storage.transfer import formats

    _refuse_file(orders, study, format_name)
    folder = orders[0].target or Path(_name(orders, study))
    with finished_together(folder) as scratch:
        tables = joined(_all_tables(orders))
        if format_name == "csv":
            written = formats.write_csv_tables(scratch, tables, bom=orders[0].bom)
        else:
            written = formats.write_parquet_tables(scratch, tables)
    return [folder / path.name for path in written]


def _all_tables(orders: Orders) -> Iterator[ExportTable]:
    for order in orders:
        contents = _contents(order)
        tables = (make(order.connection, order.batch) for make in contents.tables)
        yield from tables_of(order.connection, order.batch, contents.views, tables)
        yield from load_kind(order.batch["kind"]).results.tables(order)


def _contents(order: ExportRequest) -> ExportContents:
    """The contents of the kind, and what only some batches have: judge and coding results, measures, records."""
    contents = results_of(order.batch).contents
    own = (*contents.where_filled, "codes", "measures", *(("records",) if contents is PLAIN else ()))
    found = [view for view in own if filled(order.connection, view, order.batch)]
    by_unit = (view for view in found if view not in ("measures", "records"))
    beside = (view for view in found if view in ("measures", "records") and contents is PLAIN)
    return replace(
        contents,
        views=(*contents.views, *found),
        of_units=(*contents.of_units, *by_unit),
        beside_units=(*contents.beside_units, *beside),
    )


def _refuse_file(orders: Orders, study: StoredStudy | None, format_name: str) -> None:
    """Rejects a folder with a name like x.csv, which looks like a file."""
    if orders[0].named_file(f".{format_name}"):
        raise UsageError(
            f"{_subject(orders, study)} becomes several files as {format_name}, but {orders[0].target} is one file. Name a folder "
            f"with -o, without the .{format_name}."
        )


EXPORTERS: dict[str, Callable[[Orders, StoredStudy | None], list[Path]]] = {
    "json": _json,
    "csv": partial(_tables, format_name="csv"),
    "sqlite": _sqlite,
    "html": partial(_page, suffix=".html"),
    "markdown": partial(_page, suffix=".md"),
    "parquet": partial(_tables, format_name="parquet"),
    "toml": _toml,
}
