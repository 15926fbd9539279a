"""The states and transports that the file stores as text, as enums.

Members are strings, so you can compare them with values from the file, and an unknown text of a newer version is not an
error. The texts are part of the file format, because scripts and older versions read them.
"""

from collections.abc import Collection
from enum import StrEnum


class BatchStatus(StrEnum):
    """The state of a user's batch."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    PARTIAL = "partial"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


STALE_SECONDS = 15
"""A batch counts as running while its heartbeat is newer than this. The view `batches` applies the rule itself, so its
status is right in any SQLite client, even in a copy whose process is gone."""


class UnitStatus(StrEnum):
    """The state of a unit: a conversation, a simulation, a genome's evaluation, an episode."""

    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    FAILED = "failed"


class CallStatus(StrEnum):
    """The final state of a call."""

    ANSWERED = "answered"
    FAILED = "failed"


class Source(StrEnum):
    """Where a reply came from. Only the first three are stored; listeners also get `replay`."""

    LIVE = "live"
    BATCH = "batch"
    CACHE = "cache"
    REPLAY = "replay"


IN_FLIGHT = "under way"
"""the reason in a surplus row of a live call that was sent and not answered"""
KILLED = "killed"
"""the call was in flight when its process ended, and was sent again"""
WAS_SENT = "(attempts > 0 OR source <> 'cache')"
"""rows of the table `call` that were sent to a model. It also holds the messages that a branch copies or assigns, which do
not count as calls."""


class FinishReason(StrEnum):
    """Why a reply ended, in the same words for every provider."""

    COMPLETE = "complete"
    CUT = "cut"
    """the reply reached its length limit; it is used, counted and reported"""
    REFUSED = "refused"
    """the model declined, with or without an explanation"""
    FILTERED = "filtered"
    """the provider withheld it"""
    TOOL = "tool"
    """the model called a tool that it was not given, and returned no text"""
    EMPTY = "empty"
    """the reply has no text, for example because reasoning used all tokens"""
    ERROR = "error"
    """the provider stopped early or sent an error instead of a reply"""


GIVEN_UP = "given up"
"""remote state of a provider batch that is abandoned when its batch is resumed"""


class ProviderBatchPhase(StrEnum):
    """The state of a provider batch on our side. The provider's own state is in another column."""

    INTENDED = "intended"
    """its calls are on disk, and no request was sent to the provider yet"""
    CREATING = "creating"
    """a request may have been sent, so the provider must be asked whether the batch exists"""
    CREATED = "created"
    """it exists at the provider, under its remote id"""
    COLLECTED = "collected"
    CANCELLED = "cancelled"
    REFUSED = "refused"
    LOST = "lost"


OPEN_PHASES = (ProviderBatchPhase.INTENDED, ProviderBatchPhase.CREATING, ProviderBatchPhase.CREATED)
"""a resumed batch waits for provider batches in these states"""
OPEN_PHASES_SQL = "('" + "', '".join(OPEN_PHASES) + "')"


class StopCode(StrEnum):
    """Why a batch ended early or by its own rule, for programs. The column `reason` explains it to people."""

    BUDGET = "budget"
    SIGNAL = "signal"
    STOPPED = "stopped"
    """a user stopped it"""
    CANCELLED = "cancelled"
    """the task that ran it was cancelled"""
    FAULT = "fault"
    """an error that concerns more than one call"""
    RULE = "rule"
    """the study's own stop rule; the batch is complete"""


STUDY_BATCHES_SQL = (
    "(SELECT number FROM batch WHERE number = :batch OR study_id = (SELECT study_id FROM batch WHERE number = :batch))"
)
"""the batch and the other batches of its study, because their provider batches hold calls of all of them"""


def study_status(cells: Collection[str]) -> BatchStatus:
    """Returns the status of a study from the statuses of its cells. An unfinished cell decides first."""
    for unfinished in (BatchStatus.IN_PROGRESS, BatchStatus.INTERRUPTED, BatchStatus.PENDING):
        if unfinished in cells:
            begun = unfinished is BatchStatus.PENDING and any(status != unfinished for status in cells)
            return BatchStatus.INTERRUPTED if begun else unfinished
    for same in (BatchStatus.COMPLETED, BatchStatus.FAILED):
        if all(status == same for status in cells):
            return same
    return BatchStatus.PARTIAL


def study_reason(cells: Collection[tuple[str, str | None]]) -> str | None:
    """Returns the reason of a study from the states and reasons of its cells.

    Cells that stopped together have equal reasons. If each cell stopped by itself, the reason only counts them.
    """
    status = study_status([one for one, _ in cells])
    reasons = [reason for one, reason in cells if reason and one == status]
    if status is not BatchStatus.COMPLETED or not reasons:
        return next(iter(reasons), None)
    alike = len(set(reasons)) == 1 and len(reasons) == len(cells)
    return reasons[0] if alike else f"{len(reasons):,} of {len(cells):,} cells stopped early"


UNIT_BITS = 32
MOST_UNITS = (1 << UNIT_BITS) - 1
"""the highest sequence number of a unit"""


def batch_number_of(unit: int) -> int:
    return unit >> UNIT_BITS


def sequence_number_of(unit: int) -> int:
    return unit & MOST_UNITS


def unit_id(batch_number: int, sequence_number: int) -> int:
    return batch_number << UNIT_BITS | sequence_number


def unit_range(batch_number: int, first: int = 0) -> tuple[int, int]:
    """Returns the range of unit ids of a batch, from this sequence number to the last. Unit 0 is the study itself."""
    return unit_id(batch_number, first), unit_id(batch_number, MOST_UNITS)
