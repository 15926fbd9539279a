"""The words that the file keeps for states and ways: each is a text of its own in a column, and an enum here.

Members are strings, so rows read from the file compare with them as they are, and a text that a newer version wrote
is not an error. The texts are part of the file's format: scripts and older versions read them.
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
"""A batch counts as running while its heartbeat is fresh. The view `batches` says so itself, and can therefore be trusted in
any SQLite client, also on a copy whose process is gone."""


class UnitStatus(StrEnum):
    """The state of a unit: a conversation, a simulation, a genome's evaluation, an episode."""

    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    FAILED = "failed"


class CallStatus(StrEnum):
    """What a call came to for good."""

    ANSWERED = "answered"
    FAILED = "failed"


class Source(StrEnum):
    """Where an answer came from. Only the first three are stored; a replay is told to listeners."""

    LIVE = "live"
    BATCH = "batch"
    CACHE = "cache"
    REPLAY = "replay"


IN_FLIGHT = "under way"
"""the reason of a surplus row whose live call has left and not come back"""
KILLED = "killed"
"""it was under way when its process ended, and was asked again"""
WAS_SENT = "(attempts > 0 OR source <> 'cache')"
"""of the table `call`: somebody was asked. What a branch takes over, or says itself, is kept there too, and counts as no call"""


class FinishReason(StrEnum):
    """Why a reply ended, whatever the provider's own word for it."""

    COMPLETE = "complete"
    CUT = "cut"
    """it reached its length limit: kept, counted and told"""
    REFUSED = "refused"
    """the model declined, in words of its own or in none"""
    FILTERED = "filtered"
    """the provider withheld it"""
    TOOL = "tool"
    """it calls a tool that nobody gave it, and says nothing"""
    EMPTY = "empty"
    """nothing was said, or everything was spent on reasoning"""
    ERROR = "error"
    """the provider broke off, or sent an error in place of a reply"""


class Transport(StrEnum):
    """By which way a wave's calls travel to a provider."""

    LIVE = "live"
    BATCH = "batch"


GIVEN_UP = "given up"
"""the state at its provider of a provider batch that is given up when its batch is resumed"""


class ProviderBatchPhase(StrEnum):
    """How far a provider batch has come on our side; what the provider says of it is another column."""

    INTENDED = "intended"
    """its calls are on disk, and the provider was not asked to create anything yet"""
    CREATING = "creating"
    """the provider may have been asked: whether it exists must be looked up"""
    CREATED = "created"
    """it exists, under its remote id"""
    COLLECTED = "collected"
    CANCELLED = "cancelled"
    REFUSED = "refused"
    LOST = "lost"


OPEN_PHASES = (ProviderBatchPhase.INTENDED, ProviderBatchPhase.CREATING, ProviderBatchPhase.CREATED)
"""a resume is attached to provider batches in these"""
OPEN_PHASES_SQL = "('" + "', '".join(OPEN_PHASES) + "')"


class StopCode(StrEnum):
    """Why a batch ended before its plan did, or by a rule of its own; the reason beside it is for people."""

    BUDGET = "budget"
    SIGNAL = "signal"
    STOPPED = "stopped"
    """somebody asked for it"""
    CANCELLED = "cancelled"
    """the task that ran it was cancelled"""
    FAULT = "fault"
    """something went wrong that is not one call's"""
    RULE = "rule"
    """the study's own stop rule: it is complete"""


STUDY_BATCHES_SQL = (
    "(SELECT number FROM batch WHERE number = :batch OR study_id = (SELECT study_id FROM batch WHERE number = :batch))"
)
"""the batch, and those of its study: their provider batches hold calls of all of them"""


def study_status(cells: Collection[str]) -> BatchStatus:
    """Of a study by its cells: what one of them still needs, else how much of it is complete."""
    for unfinished in (BatchStatus.IN_PROGRESS, BatchStatus.INTERRUPTED, BatchStatus.PENDING):
        if unfinished in cells:
            begun = unfinished is BatchStatus.PENDING and any(status != unfinished for status in cells)
            return BatchStatus.INTERRUPTED if begun else unfinished
    for same in (BatchStatus.COMPLETED, BatchStatus.FAILED):
        if all(status == same for status in cells):
            return same
    return BatchStatus.PARTIAL


def study_reason(cells: Collection[tuple[str, str | None]]) -> str | None:
    """Of a study by state and reason of its cells. Those that were sure together say the same but for the calls that each
    saved; where each was sure by itself, none speaks for the study."""
    status = study_status([one for one, _ in cells])
    reasons = [reason for one, reason in cells if reason and one == status]
    if status is not BatchStatus.COMPLETED or not reasons:
        return next(iter(reasons), None)
    distinct_reasons = {reason.partition("; saved ")[0] for reason in reasons}
    alike = len(distinct_reasons) == 1 and len(reasons) == len(cells)
    return distinct_reasons.pop() if alike else f"{len(reasons):,} of {len(cells):,} cells stopped when sure"


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
    """The ids that units of a batch can have, from this sequence number to the last; unit 0 is the study itself."""
    return unit_id(batch_number, first), unit_id(batch_number, MOST_UNITS)
