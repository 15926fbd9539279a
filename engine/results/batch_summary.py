"""The summary of a batch as an object: typed figures, rows of the file, and still the mapping that --json prints."""

import json
import sqlite3
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from tidepool.engine.errors import UsageError
from tidepool.engine.inference.typed import Statistics, reader_of
from tidepool.storage.batches import find_batch
from tidepool.storage.file import reading
from tidepool.storage.states import BatchStatus
from tidepool.storage.views import ColumnType

if TYPE_CHECKING:
    import pandas
    import polars


# -- tables of rows ----------------------------------------------------------------------------------------------------


class RowTable:
    """The rows of a view. Nothing is read before it is asked for, and going through it holds one page at a time."""

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
        """Named tuples: `row.speaker`."""
        row = namedtuple("Row", self._columns)  # type: ignore[misc]
        return map(row._make, self._values({"boolean": bool, "JSON": json.loads}))

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
        columns = list(zip(*self._values({"boolean": bool}), strict=True))
        return dict(zip(self.columns, columns or [()] * len(self.columns), strict=True))

    def _values(self, readers: Mapping[ColumnType, Callable[[Any], Any]]) -> Iterator[list[Any]]:
        """Rows with values as Python has them; nothing stays nothing."""
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
            f"A data frame needs the package {name}, which is not installed: pip install {name}. Without it the rows "
            "can be gone through one by one."
        ) from None


# -- the summary -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class UnitCounts(Statistics):
    """Conversations, simulations, genome evaluations or episodes."""

    total: int
    completed: int
    failed: int


@dataclass(frozen=True)
class CallCounts(Statistics):
    total: int
    """distinct calls of the batch"""
    bought: int
    """those a provider was paid for in the batch's whole life, repeats included"""
    cached: int
    """those answered by the shared cache"""
    replayed: int
    """answers read back by the last resume"""
    retried: int
    failed: int


@dataclass(frozen=True)
class TokenCounts(Statistics):
    input: int
    output: int
    reasoning: int = 0
    """a part of the output"""


@dataclass(frozen=True)
class ReplyCounts(Statistics):
    """Replies that are not what a study hopes for."""

    cut: int
    """answers that reached their length limit"""
    unusable: int
    """paid for, and no answers: empty, filtered, broken off, or perhaps charged without a word"""
    usage_missing: int
    """without believable usage: counted at the most that they can have cost"""


@dataclass(frozen=True)
class ServedModel(Statistics):
    """A model as it was asked for, and as the provider says that it answered."""

    model: str
    served: str
    replies: int


@dataclass(frozen=True)
class WaveFigures(Statistics):
    """Calls with the same wave number."""

    index: int
    calls: int
    failed: int
    seconds: float
    seconds_per_message: float | None
    transport: str


@dataclass(frozen=True)
class FailureCount(Statistics):
    """Calls that were lost, and units that failed, for the same reason."""

    error: str | None
    calls: int
    """lost: in a kind that goes on without them, no unit fails for it"""
    units: int
    first: int
    """sequence number of the first of them"""


@dataclass(frozen=True)
class Performance(Statistics):
    calls_per_second: float | None
    cache_hit_rate: float
    mean_latency: float | None
    peak_concurrency: int
    calls_in_flight_mean: float | None
    """calls at a provider at the same moment, on average over the run; without those that wait for their turn"""
    speedup_over_sequential: float | None
    """None: not measured. A call in flight beside others may take longer than it would alone"""


class Summary(dict[str, Any]):
    """The summary of a batch: what `run_batch` returns and what `tidepool show --json` prints.

    Its figures are attributes (`summary.calls.bought`), its statistics a mapping as in the JSON
    (`summary["statistics"]["overall"]`), and what was said is read from the file when it is asked for
    (`summary.messages()`, which also makes data frames).
    """

    batch_id: str
    name: str
    kind: str
    status: BatchStatus
    reason: str | None
    """why the batch stopped, where something stopped it"""
    seed: int
    simulated: bool
    """whether any answer came from the simulated provider"""
    simulated_roles: list[str]
    """who of those that were asked was simulated: the rewriter, the judge, …"""
    version: str | None
    """the version of Tidepool that made the batch"""
    created_at: str | None
    """such as 2026-01-31T08:15:30.250Z"""
    finished_at: str | None
    """when it last ended or was stopped; None while it runs"""
    metadata: dict[str, Any]
    units: UnitCounts
    calls: CallCounts
    replies: ReplyCounts
    served_models: list[ServedModel]
    waves: list[WaveFigures]
    failures: list[FailureCount]
    """why calls were lost and units failed, the most frequent reason first"""
    tokens: TokenCounts
    cost_usd: float | None
    """None where a price is unknown"""
    seconds: float
    performance: Performance
    statistics: dict[str, Any]
    """the kind's own statistics, under the keys of the JSON"""

    def __init__(self, content: Mapping[str, Any], database: Path) -> None:
        super().__init__(content)
        self.database = database

    def __getattr__(self, name: str) -> Any:
        if name not in (hints := _hints()) or name not in self:
            raise AttributeError(f"A summary has no {name}.")
        return reader_of(hints[name])(self[name])

    def to_dict(self) -> dict[str, Any]:
        """The JSON object, as a plain dictionary."""
        return dict(self)

    # -- what is in the file -----------------------------------------------------------------------------

    def conversations(self) -> RowTable:
        """Every unit of the batch: conversations, simulations, evaluations, episodes."""
        return self._table("conversations")

    def messages(self) -> RowTable:
        """Every reply that was shown to somebody."""
        return self._table("messages")

    def outcomes(self) -> RowTable:
        """Each side of each conversation of a secret game: what it revealed and learned."""
        return self._table("outcomes")

    def judgements(self) -> RowTable:
        """What a judge said of each entity of a simulation."""
        return self._table("judgements")

    def genomes(self) -> RowTable:
        """Every prompt of an evolution, with its fitness."""
        return self._table("genomes")

    def answers(self) -> RowTable:
        """Every reply of a prompt to a problem, as it was graded."""
        return self._table("answers")

    def training(self) -> RowTable:
        """Every update of a mutation's learner."""
        return self._table("training")

    def steps(self) -> RowTable:
        """Every step of a mutation's episodes: the query, what was made of it, what was answered, what that earned."""
        from tidepool.storage.transfer.tables import COLUMNS, step_rows

        return RowTable(self.database, self.batch_id, COLUMNS, step_rows)

    def log(self) -> RowTable:
        """What the batch told while it ran."""
        return self._table("log")

    def _table(self, view: str) -> RowTable:
        from tidepool.storage.transfer.tables import rows_of
        from tidepool.storage.views import VIEWS

        columns = {column.name: column.type for column in VIEWS[view].columns}
        return RowTable(self.database, self.batch_id, columns, lambda file, batch: rows_of(file, view, batch))


@lru_cache(maxsize=1)
def _hints() -> dict[str, Any]:
    return get_type_hints(Summary)
