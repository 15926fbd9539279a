"""Parquet for data frames: the same views as in CSV, with types. Needs the extra `parquet`, which is light (12 MB)."""

import sqlite3
from collections.abc import Iterable, Iterator
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any

from tidepool.storage.errors import FileError
from tidepool.storage.exporting.contents import ExportTable
from tidepool.storage.exporting.factors import tables_of
from tidepool.storage.exporting.files import finished

ROWS_A_GROUP = 20_000

TYPES = {"integer": "int64", "real": "float64", "boolean": "bool"}
"""what a column of a view holds → its type; anything else is text"""


def export_parquet(
    connection: sqlite3.Connection,
    batch: sqlite3.Row,
    folder: Path,
    views: Iterable[str],
    tables: Iterable[ExportTable] = (),
) -> list[Path]:
    """One file for each of the views and tables."""
    return write_tables(folder, tables_of(connection, batch, views, tables))


def write_tables(folder: Path, tables: Iterable[ExportTable]) -> list[Path]:
    try:
        from arro3.io import write_parquet
    except ImportError:
        raise FileError(
            "Parquet needs two small packages that are not installed: pip install 'tidepool-lab[parquet]'. CSV needs none."
        ) from None
    written = []
    for table in tables:
        path = folder / f"{table.name}.parquet"
        with finished(path) as unfinished:
            content = BytesIO()  # given a path, it panics where the disk is full
            write_parquet(_reader(table), content, compression="zstd(1)")
            unfinished.write_bytes(content.getbuffer())
        written.append(path)
    return written


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
