"""The rows of one view that belong to one batch: typed when they are gone through, columns when a data frame is wanted."""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic

from tidepool.engine.errors import UsageError
from tidepool.engine.results.rows import R
from tidepool.storage.batches import find_batch
from tidepool.storage.file import reading
from tidepool.storage.views import ColumnType

if TYPE_CHECKING:
    import pandas
    import polars


class RowTable(Generic[R]):
    """Nothing is read before it is asked for, and going through it holds one page at a time."""

    def __init__(
        self,
        database: Path,
        batch_id: str,
        columns: Mapping[str, ColumnType],
        stored: Callable[[sqlite3.Connection, sqlite3.Row], Iterable[tuple[Any, ...]]],
        row: type[R],
    ) -> None:
        self._database, self._batch_id, self._row = database, batch_id, row
        self._columns, self._read_from = columns, stored

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self._columns)

    def __iter__(self) -> Iterator[R]:
        read = self._readers({"boolean": bool, "JSON": json.loads})
        return (self._row(*_read(values, read)) for values in self._stored())

    def to_pandas(self) -> "pandas.DataFrame":
        """The rows as a data frame; the package pandas has to be installed."""
        return _package("pandas").DataFrame(self._by_column())

    def to_polars(self) -> "polars.DataFrame":
        """The rows as a data frame; the package polars has to be installed."""
        package = _package("polars")
        types = {"integer": package.Int64, "real": package.Float64, "boolean": package.Boolean}
        schema = {name: types.get(kind, package.String) for name, kind in self._columns.items()}
        return package.DataFrame(self._by_column(), schema=schema)

    def _by_column(self) -> dict[str, Sequence[Any]]:
        """JSON and moments stay texts, as in every other format of an export."""
        read = self._readers({"boolean": bool})
        columns = list(zip(*(_read(values, read) for values in self._stored()), strict=True))
        return dict(zip(self.columns, columns or [()] * len(self.columns), strict=True))

    def _readers(self, by_type: dict[ColumnType, Callable[[Any], Any]]) -> list[Callable[[Any], Any] | None]:
        return [by_type.get(kind) for kind in self._columns.values()]

    def _stored(self) -> Iterator[tuple[Any, ...]]:
        with reading(self._database) as connection:
            yield from self._read_from(connection, find_batch(connection, self._batch_id))


def _read(values: Iterable[Any], readers: Iterable[Callable[[Any], Any] | None]) -> tuple[Any, ...]:
    """Values of a row as Python has them; nothing stays nothing."""
    return tuple(
        value if reader is None or value is None else reader(value)
        for value, reader in zip(values, readers, strict=True)
    )


def _package(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise UsageError(
            f"A data frame needs the package {name}, which is not installed: pip install {name}. Without it the rows "
            "can be gone through one by one."
        ) from None
