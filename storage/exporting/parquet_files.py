"""Parquet for data frames: the same views as in CSV, with types. Needs the extra `parquet`, which is light (12 MB)."""

import sqlite3
from collections.abc import Iterable, Iterator
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any

from tidepool.storage.errors import FileError
from tidepool.storage.exporting.files import finished
from tidepool.storage.exporting.rows import columns_of, rows_of
from tidepool.storage.schema.views import VIEWS

ROWS_A_GROUP = 20_000

TYPES = {"integer": "int64", "real": "float64", "boolean": "bool"}
"""what a column of a view holds → its type; anything else is text"""


def export_parquet(
    connection: sqlite3.Connection, batch: sqlite3.Row, folder: Path, views: Iterable[str]
) -> list[Path]:
    """One file for each of the views."""
    try:
        from arro3.io import write_parquet
    except ImportError:
        raise FileError(
            "Parquet needs two small packages that are not installed: pip install 'tidepool-lab[parquet]'. CSV needs none."
        ) from None
    written = []
    for view in views:
        path = folder / f"{view}.parquet"
        with finished(path) as unfinished:
            content = BytesIO()  # given a path, it panics where the disk is full
            write_parquet(_table(connection, view, batch), content, compression="zstd(1)")
            unfinished.write_bytes(content.getbuffer())
        written.append(path)
    return written


def _table(connection: sqlite3.Connection, view: str, batch: sqlite3.Row) -> Any:
    from arro3.core import DataType, Field, RecordBatchReader, Schema

    columns = columns_of(connection, view)
    types = [getattr(DataType, type_of(view, name))() for name in columns]
    schema = Schema([Field(name, kind, nullable=True) for name, kind in zip(columns, types, strict=True)])
    return RecordBatchReader.from_batches(schema, list(_groups(connection, view, batch, schema, types)))


def type_of(view: str, column: str) -> str:
    held = next(known.type for known in VIEWS[view].columns if known.name == column)
    return TYPES.get(held, "string")


def _groups(
    connection: sqlite3.Connection, view: str, batch: sqlite3.Row, schema: Any, types: list[Any]
) -> Iterator[Any]:
    from arro3.core import Array, RecordBatch

    rows = rows_of(connection, view, batch)
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
