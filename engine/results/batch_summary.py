"""What a batch came to, as an object: its figures typed, its rows readable, and still the mapping that `--json` prints."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from tidepool.engine.errors import UsageError
from tidepool.engine.statistics.typed import Statistics
from tidepool.storage.states import BatchStatus

if TYPE_CHECKING:
    from tidepool.engine.results import rows
    from tidepool.engine.results.table import RowTable

S = TypeVar("S", bound=Statistics)


@dataclass(frozen=True, slots=True)
class UnitCounts:
    """Conversations, simulations, genome evaluations or episodes."""

    total: int
    completed: int
    failed: int


@dataclass(frozen=True, slots=True)
class CallCounts:
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


@dataclass(frozen=True, slots=True)
class TokenCounts:
    input: int
    output: int
    reasoning: int = 0
    """a part of the output"""


@dataclass(frozen=True, slots=True)
class ReplyCounts:
    """Replies that are not what a study hopes for."""

    cut: int
    """answers that reached their length limit"""
    unusable: int
    """paid for, and no answers: empty, filtered, broken off, or perhaps charged without a word"""
    usage_missing: int
    """without believable usage: counted at the most that they can have cost"""


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model as it was asked for, and as the provider says that it answered."""

    model: str
    served: str
    replies: int


@dataclass(frozen=True, slots=True)
class WaveFigures:
    """Calls with the same wave number."""

    index: int
    calls: int
    failed: int
    seconds: float
    seconds_per_message: float | None
    transport: str


@dataclass(frozen=True, slots=True)
class FailureCount:
    """Calls that were lost, and units that failed, for the same reason."""

    error: str | None
    calls: int
    """lost: in a kind that goes on without them, no unit fails for it"""
    units: int
    first: int
    """sequence number of the first of them"""


@dataclass(frozen=True, slots=True)
class Performance:
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

    def __init__(self, content: Mapping[str, Any], database: Path) -> None:
        super().__init__(content)
        self.database = database

    def to_dict(self) -> dict[str, Any]:
        """The JSON object, as a plain dictionary."""
        return dict(self)

    # -- figures -----------------------------------------------------------------------------------------

    @property
    def batch_id(self) -> str:
        return str(self["batch_id"])

    @property
    def name(self) -> str:
        return str(self["name"])

    @property
    def kind(self) -> str:
        return str(self["kind"])

    @property
    def status(self) -> BatchStatus:
        return BatchStatus(self["status"])

    @property
    def reason(self) -> str | None:
        """Why the batch stopped, where something stopped it."""
        return None if self["reason"] is None else str(self["reason"])

    @property
    def seed(self) -> int:
        return int(self["seed"])

    @property
    def simulated(self) -> bool:
        """Whether any answer came from the simulated provider."""
        return bool(self["simulated"])

    @property
    def simulated_roles(self) -> list[str]:
        """Who of those that were asked was simulated: the rewriter, the judge, …"""
        return list(self["simulated_roles"])

    @property
    def version(self) -> str | None:
        """the version of Tidepool that made the batch"""
        return cast("str | None", self["version"])

    @property
    def created_at(self) -> str | None:
        """such as 2026-01-31T08:15:30.250Z"""
        return cast("str | None", self["created_at"])

    @property
    def finished_at(self) -> str | None:
        """when it last ended or was stopped; None while it runs"""
        return cast("str | None", self["finished_at"])

    @property
    def metadata(self) -> dict[str, Any]:
        return dict(self["metadata"])

    @property
    def units(self) -> UnitCounts:
        return UnitCounts(**self["units"])

    @property
    def calls(self) -> CallCounts:
        return CallCounts(**self["calls"])

    @property
    def replies(self) -> ReplyCounts:
        return ReplyCounts(**self["replies"])

    @property
    def served_models(self) -> list[ServedModel]:
        return [ServedModel(**served) for served in self["served_models"]]

    @property
    def waves(self) -> list[WaveFigures]:
        return [WaveFigures(**wave) for wave in self["waves"]]

    @property
    def failures(self) -> list[FailureCount]:
        """Why calls were lost and units failed, the most frequent reason first."""
        return [FailureCount(**failure) for failure in self["failures"]]

    @property
    def tokens(self) -> TokenCounts:
        return TokenCounts(**self["tokens"])

    @property
    def cost_usd(self) -> float | None:
        """None where a price is unknown."""
        return None if self["cost_usd"] is None else float(self["cost_usd"])

    @property
    def seconds(self) -> float:
        return float(self["seconds"])

    @property
    def performance(self) -> Performance:
        return Performance(**self["performance"])

    @property
    def statistics(self) -> dict[str, Any]:
        """The kind's own statistics, under the keys of the JSON."""
        return dict(self["statistics"])

    def statistics_as(self, kind: type[S]) -> S:
        """The same, typed: `summary.statistics_as(SecretGameStatistics).overall.total_interactions`."""
        known = {field.name for field in fields(cast(Any, kind))} - kind.LEFT_OUT
        if not known <= self["statistics"].keys():
            raise UsageError(f"{kind.__name__} do not fit batch {self.batch_id}, which is of kind {self.kind}.")
        return kind.from_json(self["statistics"])

    # -- what is in the file -----------------------------------------------------------------------------

    def conversations(self) -> "RowTable[rows.ConversationRow]":
        """Every unit of the batch: conversations, simulations, evaluations, episodes."""
        from tidepool.engine.results.rows import ConversationRow

        return self._table("conversations", ConversationRow)

    def messages(self) -> "RowTable[rows.MessageRow]":
        """Every reply that was shown to somebody."""
        from tidepool.engine.results.rows import MessageRow

        return self._table("messages", MessageRow)

    def outcomes(self) -> "RowTable[rows.OutcomeRow]":
        """Each side of each conversation of a secret game: what it revealed and learned."""
        from tidepool.engine.results.rows import OutcomeRow

        return self._table("outcomes", OutcomeRow)

    def judgements(self) -> "RowTable[rows.JudgementRow]":
        """What a judge said of each entity of a simulation."""
        from tidepool.engine.results.rows import JudgementRow

        return self._table("judgements", JudgementRow)

    def genomes(self) -> "RowTable[rows.GenomeRow]":
        """Every prompt of an evolution, with its fitness."""
        from tidepool.engine.results.rows import GenomeRow

        return self._table("genomes", GenomeRow)

    def answers(self) -> "RowTable[rows.AnswerRow]":
        """Every reply of a prompt to a problem, as it was graded."""
        from tidepool.engine.results.rows import AnswerRow

        return self._table("answers", AnswerRow)

    def training(self) -> "RowTable[rows.TrainingRow]":
        """Every update of a mutation's learner."""
        from tidepool.engine.results.rows import TrainingRow

        return self._table("training", TrainingRow)

    def steps(self) -> "RowTable[rows.StepRow]":
        """Every step of a mutation's episodes: the query, what was made of it, what was answered, what that earned."""
        from tidepool.engine.results.rows import StepRow
        from tidepool.engine.results.table import RowTable
        from tidepool.storage.transfer.tables import COLUMNS, step_rows

        return RowTable(self.database, self.batch_id, COLUMNS, step_rows, StepRow)

    def log(self) -> "RowTable[rows.LogRow]":
        """What the batch told while it ran."""
        from tidepool.engine.results.rows import LogRow

        return self._table("log", LogRow)

    def _table(self, view: str, row: "type[rows.R]") -> "RowTable[rows.R]":
        from tidepool.engine.results.table import RowTable
        from tidepool.storage.transfer.tables import rows_of
        from tidepool.storage.views import VIEWS

        columns = {column.name: column.type for column in VIEWS[view].columns}
        return RowTable(self.database, self.batch_id, columns, lambda file, batch: rows_of(file, view, batch), row)
