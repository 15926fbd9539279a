"""Everything Tidepool raises on purpose.

TidepoolError
├── UsageError        wrong config, command or input: nothing was called, nothing written   (exit 2)
├── RunError          a batch could not go on: systemic faults, told with advice            (exit 1)
└── CallFailed        one call failed for good: data, which fails its unit or counts as missing

Every message is one readable paragraph: what is wrong, where, and what to do.
"""


class TidepoolError(Exception):
    exit_code = 1


class UsageError(TidepoolError):
    exit_code = 2


class RunError(TidepoolError):
    exit_code = 1


class CallFailed(TidepoolError):
    """A call that no retry healed. Its words are the provider's."""
