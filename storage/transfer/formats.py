"""Writes exports as CSV, Parquet and JSON. A file appears under its name only when it is complete.

CSV is UTF-8 with one header. A text that a spreadsheet would run as a formula gets an apostrophe in front. Excel needs a
byte-order mark, which other programs read as part of the first column's name, so it is written only on request (`bom`).
Parquet needs the extra `parquet`. JSON is written unit by unit.
"""

import csv
import json
import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

from tidepool.storage.codes import MOST_CODES
from tidepool.storage.errors import FileError
from tidepool.storage.file import PREFIX, whole_folder
from tidepool.storage.queries.summary import MOST_WAVES, findings
from tidepool.storage.text import MARK, Plain, in_document, json_text
from tidepool.storage.transfer.tables import (
    PLAIN,
    ExportContents,
    ExportTable,
    RowPage,
    columns_of,
    page_of,
    rows_of,
    unit_pages,
)


@contextmanager
def finished(path: Path) -> Iterator[Path]:
    """Yields a path to write to. The file moves to `path` at the end, or is removed after an error."""
    if any(part.startswith(PREFIX) for part in path.parts):  # one of several files that are moved together
        yield path
        return
    with _explained(path), whole_folder(path.parent) as scratch:
        yield scratch / path.name


@contextmanager
def finished_together(folder: Path) -> Iterator[Path]:
    """Yields a folder to write to. All its files move to `folder` at the end, or none."""
    with _explained(folder), whole_folder(folder) as scratch:
        yield scratch


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        target = path if path.name else path.absolute()
        raise FileError(f"Cannot write {target}: {error.strerror or error}. Choose another path with -o.") from error


def write_text(path: Path, content: str) -> list[Path]:
    with finished(path) as unfinished:
        unfinished.write_text(content, encoding="utf-8", errors="replace")
    return [path]


_FORMULA = re.compile(rf"[\t\n]|[\s\"'{MARK}]*[=+\-@|%＝＋－＠﹦﹢﹣﹫−]")
"""the beginning of a formula, even after spaces, quotes and characters that some programs ignore"""


def harmless(cell: Any) -> Any:
    if not isinstance(cell, str):
        return cell
    text = in_document(cell)
    return Plain("'" + text) if _FORMULA.match(text) else text


def write_rows(stream: TextIO, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Writes a header and rows. No cell can run as a formula."""
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow(map(harmless, columns))
    for row in rows:
        writer.writerow(map(harmless, row))


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]], *, bom: bool = False) -> None:
    """Writes a CSV file that appears under its name only when it is complete."""
    encoding = "utf-8-sig" if bom else "utf-8"
    with finished(path) as unfinished, unfinished.open("w", encoding=encoding, newline="") as stream:
        write_rows(stream, columns, rows)


def write_csv_tables(folder: Path, tables: Iterable[ExportTable], *, bom: bool = False) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for table in tables:
        path = folder / f"{table.name}.csv"
        write_csv(path, tuple(table.columns), table.rows, bom=bom)
        paths.append(path)
    return paths


ROWS_A_GROUP = 20_000

TYPES = {"integer": "int64", "real": "float64", "boolean": "bool"}
"""type of a view's column → Parquet type; all others are text"""


def write_parquet_tables(folder: Path, tables: Iterable[ExportTable]) -> list[Path]:
    from arro3.io import write_parquet

    paths = []
    for table in tables:
        path = folder / f"{table.name}.parquet"
        with finished(path) as unfinished:
            content = BytesIO()  # in memory, because it panics on a full disk
            write_parquet(_reader(table), content, compression="zstd(1)")
            unfinished.write_bytes(content.getbuffer())
        paths.append(path)
    return paths


def _reader(table: ExportTable) -> Any:
    from arro3.core import DataType, Field, RecordBatchReader, Schema

    types = [getattr(DataType, TYPES.get(held, "string"))() for held in table.columns.values()]
    schema = Schema([Field(name, kind, nullable=True) for name, kind in zip(table.columns, types, strict=True)])
    return RecordBatchReader.from_batches(schema, list(_groups(iter(table.rows), schema, types)))


def _groups(rows: Iterator[tuple[Any, ...]], schema: Any, types: list[Any]) -> Iterator[Any]:
    from arro3.core import Array, RecordBatch

    while group := list(islice(rows, ROWS_A_GROUP)):
        columns = [
            Array([_typed(value, kind) for value in values], type=kind)
            for values, kind in zip(zip(*group, strict=True), types, strict=True)
        ]
        yield RecordBatch.from_arrays(columns, schema=schema)


def _typed(value: Any, kind: Any) -> Any:
    if value is None:
        return None
    name = str(kind)
    if "Boolean" in name:
        return bool(value)
    return float(value) if "Float" in name else value


def export_results(
    connection: sqlite3.Connection,
    batch: sqlite3.Row,
    path: Path,
    head: Mapping[str, Any],
    contents: ExportContents,
    **more: Any,
) -> list[Path]:
    """Writes `results.json`: the batch, its units with messages and outcomes, its results, its log, and `more`."""
    with finished(path) as unfinished, unfinished.open("w", encoding="utf-8") as stream:
        for piece in _pieces(connection, batch, head, contents, more):
            stream.write(piece)
    return [path]


def echo_json(path: Path, content: Any) -> list[Path]:
    return write_text(path, json_text(content, indent=1) + "\n")


def _pieces(
    connection: sqlite3.Connection,
    batch: sqlite3.Row,
    head: Mapping[str, Any],
    contents: ExportContents,
    more: Mapping[str, Any],
) -> Iterator[str]:
    yield f'{{"batch": {_dump(head)},\n"units": ['
    for count, unit in enumerate(units_of(connection, batch, contents)):
        yield (",\n" if count else "\n") + _dump(unit)
    yield "\n]"
    views = {
        view: (columns_of(connection, view), rows_of(connection, view, batch))
        for view in (*contents.beside_units, "waves", "log")
    }
    tables = {
        table.name: (list(table.columns), iter(table.rows))
        for table in (make(connection, batch) for make in contents.tables)
    }
    for name, (columns, rows) in {**views, **tables}.items():
        yield f',\n"{name}": ['
        for count, values in enumerate(islice(rows, MOST_WAVES if name == "waves" else None)):
            row = _without_batch(dict(zip(columns, values, strict=True)))
            if name == "genomes":
                row["parents"] = json.loads(row["parents"])
            yield (", " if count else "") + _dump(row)
        yield "]"
        if left := sum(1 for _ in rows):
            yield f',\n"{name}_left_out": {left}'
    for name, content in more.items():
        yield f',\n"{name}": {_dump(content)}'
    yield f',\n"findings": {_dump(findings(connection, batch["number"]))}}}\n'


def units_of(
    connection: sqlite3.Connection, batch: sqlite3.Row, contents: ExportContents = PLAIN
) -> Iterator[dict[str, Any]]:
    """Yields each unit in order, with its messages and the other data of its kind."""
    for page in unit_pages(connection, batch["number"], contents.of_units):
        left_out: Counter[int] = Counter()
        messages = _by_unit(connection, "messages", batch, page, left_out)
        rows_by_view = {view: _by_unit(connection, view, batch, page, left_out) for view in contents.of_units}
        details = _details(connection, page) if contents.details is not None else {}
        for row in page_of(connection, "conversations", batch, page):
            unit = _without_batch(dict(row))
            unit["participants"] = json.loads(unit["participants"])
            unit["messages"] = messages.get(row["id"], [])
            if contents.details is not None:
                stored = details.get(row["id"], {})
                unit |= {contents.details: stored} if contents.details else stored
            for view, rows_by_unit in rows_by_view.items():
                unit[view] = rows_by_unit.get(row["id"], [])
            if row["id"] in left_out:
                unit["codes_left_out"] = left_out[row["id"]]
            yield unit


def _by_unit(
    connection: sqlite3.Connection, view: str, batch: sqlite3.Row, page: RowPage, left_out: Counter[int]
) -> dict[int, list[dict[str, Any]]]:
    rows_by_unit: dict[int, list[dict[str, Any]]] = defaultdict(list)
    rows = page_of(connection, view, batch, page)
    for row in islice(rows, MOST_CODES if view == "codes" else None):
        content = _without_batch(dict(row))
        rows_by_unit[content.pop("conversation_id")].append(content)
    for row in rows:
        left_out[row["conversation_id"]] += 1
    return rows_by_unit


def _details(connection: sqlite3.Connection, page: RowPage) -> dict[int, dict[str, Any]]:
    """Returns the details of each unit: of a simulation the personas' ids and the replicate; of an episode the query, the steps
    and their rewards."""
    rows = connection.execute("SELECT id, details FROM unit WHERE id BETWEEN ? AND ?", (page.first, page.last))
    return {row["id"]: json.loads(row["details"] or "{}") for row in rows.fetchall()}


def _without_batch(row: dict[str, Any]) -> dict[str, Any]:
    row.pop("batch_id", None)
    return row


def _dump(content: Any) -> str:
    return json_text(content)
