"""Everything Tidepool raises on purpose.

TidepoolError
├── FileError, NotFound, BatchLocked   of the study file (storage)
├── UsageError        wrong config, command or input: nothing was called, nothing written   (exit 2)
├── RunError          a batch could not go on: a systemic fault, told with advice           (exit 1)
├── CallFailed        one call failed for good: data, which fails its unit or counts as missing
└── ReplayMismatch    a resumed story asked something else than what was bought

Every message is one readable paragraph: what is wrong, where, and what to do.
"""

from tidepool.storage.errors import BatchLocked, FileError, NotFound, TidepoolError

__all__ = [
    "BatchLocked",
    "CallFailed",
    "FileError",
    "NotFound",
    "ReplayMismatch",
    "RunError",
    "TidepoolError",
    "UsageError",
]


class UsageError(TidepoolError):
    exit_code = 2


class RunError(TidepoolError):
    exit_code = 1


class ReplayMismatch(RunError):
    """The stored hash of a request differs from the one asked now: going on would mix two studies."""


class CallFailed(TidepoolError):
    """A call that no retry healed. Its words are the provider's."""
