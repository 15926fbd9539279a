"""What the batches of a kind hold, as far as an export must know: storage itself knows no kind."""

import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tidepool.storage.views import ColumnType


@dataclass(frozen=True, slots=True)
class ExportTable:
    """A table that is no view: a file of its own, as CSV and as Parquet."""

    name: str
    columns: dict[str, ColumnType]
    rows: Iterable[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class ExportContents:
    views: tuple[str, ...] = ("messages",)
    """a file each, as CSV and Parquet"""
    where_filled: tuple[str, ...] = ()
    """views with rows by unit that not every batch of the kind fills: a judge's verdicts"""
    beside_units: tuple[str, ...] = ()
    """views that a batch holds beside its units, in results.json"""
    of_units: tuple[str, ...] = ()
    """views with rows by unit that go into each unit, in results.json: outcomes, judgements"""
    tables: tuple[Callable[[sqlite3.Connection, sqlite3.Row], ExportTable], ...] = ()
    """what is read out of the batch for its export alone: a file each, and a list in results.json"""
    details: str | None = "details"
    """the key under which a unit's details go into results.json; "" puts them into the unit itself, None leaves them out"""


PLAIN = ExportContents()
"""of a kind that keeps generic rows only"""
