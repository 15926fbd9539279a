"""The summary of a batch as a Python object: the mapping that --json prints, with attributes and tables of rows."""

import json
import sqlite3
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidepool.engine.errors import UsageError
from tidepool.engine.reports.blocks import Headline, read_headline
from tidepool.storage.batches import find_batch
from tidepool.storage.file import reading
from tidepool.storage.queries.watching import BatchLine, read_batches
from tidepool.storage.views import ColumnType

if TYPE_CHECKING:
    import pandas
    import polars

    from tidepool.engine.reports.blocks import Report


# -- tables of rows ----------------------------------------------------------------------------------------------------


class RowTable:
    """The rows of a view. Rows are read on demand; iteration holds one page in memory."""

    def __init__(
        self,
        database: Path,
        batch_id: str,
        columns: Mapping[str, ColumnType],
        read_rows: Callable[[sqlite3.Connection, sqlite3.Row], Iterable[tuple[Any, ...]]],
    ) -> None:
        self._database, self._batch_id = database, batch_id
        self._columns, self._read_from = columns, read_rows

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self._columns)

    def __iter__(self) -> Iterator[Any]:
        """Iterates over the rows as named tuples, such as `row.speaker`."""
        row = namedtuple("Row", self._columns)  # type: ignore[misc]
        return map(row._make, self._values({"boolean": bool, "JSON": json.loads}))

    def to_pandas(self) -> "pandas.DataFrame":
        """Returns the rows as a data frame. Needs the package pandas."""
        return _package("pandas").DataFrame(self._by_column())

    def to_polars(self) -> "polars.DataFrame":
        """Returns the rows as a data frame. Needs the package polars."""
        package = _package("polars")
        types = {"integer": package.Int64, "real": package.Float64, "boolean": package.Boolean}
        schema = {name: types.get(kind, package.String) for name, kind in self._columns.items()}
        return package.DataFrame(self._by_column(), schema=schema)

    def _repr_html_(self) -> str:
        """Returns the first rows, for notebooks."""
        from tidepool.engine.reports.html import table

        return table(self.columns, islice(self._values({}), 10), left=len(self.columns))

    def _by_column(self) -> dict[str, Sequence[Any]]:
        """Returns the values by column. JSON and times stay text, as in all export formats."""
        columns = list(zip(*self._values({"boolean": bool}), strict=True))
        return dict(zip(self.columns, columns or [()] * len(self.columns), strict=True))

    def _values(self, readers: Mapping[ColumnType, Callable[[Any], Any]]) -> Iterator[list[Any]]:
        """Yields rows with values converted to Python types; NULL becomes None."""
        by_column = [readers.get(kind) for kind in self._columns.values()]
        with reading(self._database) as connection:
            for values in self._read_from(connection, find_batch(connection, self._batch_id)):
                yield [
                    value if read is None or value is None else read(value)
                    for value, read in zip(values, by_column, strict=True)
                ]


def _package(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise UsageError(
            f"A data frame needs the package {name}, which is not installed. Run pip install {name}, or iterate over "
            "the rows instead."
        ) from None


# -- the summary -------------------------------------------------------------------------------------------------------


class Figures(dict[str, Any]):
    """A JSON object whose values are also attributes: `calls.bought` is `calls["bought"]`."""

    def __getattr__(self, name: str) -> Any:
        if name not in self:
            raise AttributeError(f"Unknown attribute {name}. Known attributes: {', '.join(self)}.")
        return _figures(self[name])

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]


def _figures(value: Any) -> Any:
    if isinstance(value, dict):
        return Figures(value)
    return [_figures(item) for item in value] if isinstance(value, list) else value


class ReportedFigures(Figures):
    """A summary that notebooks show as its report."""

    def __init__(self, content: Mapping[str, Any], database: Path) -> None:
        super().__init__(content)
        self.database = database

    def report(self) -> "Report":
        """Returns the report without its methods text."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        from tidepool.engine.reports.html_blocks import in_frame

        report = self.report()
        return in_frame(report.title, (*report.overview, *report.findings))


class Summary(ReportedFigures):
    """The summary of a batch, as returned by `run_batch` and printed by `tidepool show --json`.

    Counts are attributes (`summary.calls.bought`). Statistics are a mapping as in the JSON
    (`summary["statistics"]["overall"]`). Messages and other rows are read from the file on demand, such as
    `summary.messages()`, and convert to data frames.
    """

    batch_id: str
    name: str
    kind: str
    status: str
    reason: str | None
    """why the batch stopped early, or None"""
    seed: int
    simulated: bool
    """whether any reply came from the simulated provider"""
    simulated_roles: list[str]
    """the roles with a simulated model, such as the rewriter or the judge"""
    version: str | None
    """the version of Tidepool that created the batch"""
    created_at: str | None
    """such as 2026-01-31T08:15:30.250Z"""
    finished_at: str | None
    """when the batch last ended or stopped; None while it runs"""
    metadata: dict[str, Any]
    units: Figures
    """total, completed, failed"""
    calls: Figures
    """total, bought, cached, replayed, retried, failed"""
    replies: Figures
    """cut, unusable, usage_missing"""
    served_models: list[Figures]
    waves: list[Figures]
    failures: list[Figures]
    """why requests and units failed, the most frequent reason first"""
    tokens: Figures
    """input, output, reasoning"""
    cost_usd: float | None
    """None if a price is unknown"""
    seconds: float
    performance: Figures
    statistics: dict[str, Any]
    """the statistics of the kind, with the keys of the JSON"""

    def report(self) -> "Report":
        from tidepool.engine.results.report import report_of

        return report_of(self.database, self, methods=False)

    def to_dict(self) -> dict[str, Any]:
        """Returns the JSON object as a plain dictionary."""
        return dict(self)

    # -- what is in the file -----------------------------------------------------------------------------

    def conversations(self) -> RowTable:
        """Returns every unit of the batch: conversations, simulations, evaluations or episodes."""
        return self._table("conversations")

    def messages(self) -> RowTable:
        """Returns every reply that a participant received."""
        return self._table("messages")

    def outcomes(self) -> RowTable:
        """Returns each side of each conversation of a secret game, with what it revealed and obtained."""
        return self._table("outcomes")

    def judgements(self) -> RowTable:
        """Returns a judge's verdicts on each persona of a simulation."""
        return self._table("judgements")

    def genomes(self) -> RowTable:
        """Returns every prompt of an evolution, with its fitness."""
        return self._table("genomes")

    def answers(self) -> RowTable:
        """Returns every reply of a prompt to a problem, with its grade."""
        return self._table("answers")

    def training(self) -> RowTable:
        """Returns every update of a mutation's learner."""
        return self._table("training")

    def steps(self) -> RowTable:
        """Returns every step of a mutation's episodes: the query, its rewrite, the answer and the reward."""
        from tidepool.storage.transfer.tables import COLUMNS, step_rows

        return RowTable(self.database, self.batch_id, COLUMNS, step_rows)

    def log(self) -> RowTable:
        """Returns the log of the batch."""
        return self._table("log")

    def _table(self, view: str) -> RowTable:
        from tidepool.storage.transfer.tables import rows_of
        from tidepool.storage.views import VIEWS

        columns = {column.name: column.type for column in VIEWS[view].columns}
        return RowTable(self.database, self.batch_id, columns, lambda file, batch: rows_of(file, view, batch))


# -- the batches of a file ---------------------------------------------------------------------------------------------


_IN_LIST = (
    "number id kind name status paused reason simulated created_at finished_at units_total units_completed units_failed calls "
    "cost_usd seconds resting partly_simulated seed study_id cells"
).split()


def batches(database: str | Path = "tidepool.db") -> list[Figures]:
    """The batches and studies of a file, the newest first, as `tidepool list --json` prints them."""
    with reading(Path(database)) as connection:
        lines = read_batches(connection, Path(database), -1)
    return [
        Figures(
            {name: getattr(batch, name) for name in _IN_LIST}
            | {"origin": batch.branched_off, "headline": headline.text if (headline := main_result(batch)) else None}
        )
        for batch in lines
    ]


def main_result(batch: BatchLine) -> Headline | None:
    """The main result, which was stored when the batch ended."""
    return None if batch.running or batch.cells else read_headline(batch.headline)
