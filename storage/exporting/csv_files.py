"""CSV for spreadsheets and data frames: UTF-8, one header, and no cell that a spreadsheet would run.

Excel takes a file without a mark at its beginning for Latin-1, and programs take such a mark for a part of the first
column's name: so there is one only where it is asked for (`bom`).

Only text can be a formula; numbers stay as they are. A text that begins like one gets an apostrophe in front,
which spreadsheets take as "this is text". Text is made plain as everywhere: what a control character was, is a mark.
"""

import csv
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from tidepool.storage.exporting.contents import ExportTable
from tidepool.storage.exporting.factors import tables_of
from tidepool.storage.exporting.files import finished
from tidepool.storage.plain_text import MARK, Plain, in_document

_FORMULA = re.compile(rf"[\t\n]|[\s\"'{MARK}]*[=+\-@|%＝＋－＠﹦﹢﹣﹫−]")
"""a formula, also behind spaces, quotes and signs that some program leaves out"""


LONG = 1_000_000
"""letters of a cell"""


def harmless(cell: Any) -> Any:
    if not isinstance(cell, str):
        return cell
    text = in_document(cell)
    return Plain("'" + text) if _FORMULA.match(text) else text


def write_rows(stream: TextIO, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A header and rows, every cell made harmless."""
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow(map(harmless, columns))
    for row in rows:
        cells = [harmless(cell) for cell in row]
        if any(type(cell) is Plain and len(cell) > LONG for cell in cells):
            stream.write(_quoted(cells))
        else:
            writer.writerow(cells)


def _quoted(cells: Sequence[Any]) -> str:
    """A row that Python's own writer would take seconds for, deaf to Ctrl+C."""
    texts = ("" if cell is None else str(cell) for cell in cells)
    return ",".join('"' + text.replace('"', '""') + '"' for text in texts) + "\r\n"


@contextmanager
def csv_file(path: Path, *, bom: bool = False) -> Iterator[TextIO]:
    """A CSV file that appears under its name only when it is whole."""
    encoding = "utf-8-sig" if bom else "utf-8"
    with finished(path) as unfinished, unfinished.open("w", encoding=encoding, newline="") as stream:
        yield stream


def export_csv(
    connection: sqlite3.Connection,
    batch: sqlite3.Row,
    folder: Path,
    views: Iterable[str],
    tables: Iterable[ExportTable] = (),
    *,
    bom: bool = False,
) -> list[Path]:
    """One file for each of the views and tables."""
    return write_tables(folder, tables_of(connection, batch, views, tables), bom=bom)


def write_tables(folder: Path, tables: Iterable[ExportTable], *, bom: bool = False) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for table in tables:
        path = folder / f"{table.name}.csv"
        with csv_file(path, bom=bom) as stream:
            write_rows(stream, tuple(table.columns), table.rows)
        written.append(path)
    return written
