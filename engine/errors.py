"""Everything Tidepool raises on purpose.

TidepoolError
├── FileError, NotFound, BatchLocked   of the study file (storage)
├── UsageError        wrong config, command or input: nothing was called, nothing written   (exit 2)
│   └── NotTrusted    what only a file says, and nobody here has vouched for
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
    "Location",
    "NotFound",
    "NotTrusted",
    "ReplayMismatch",
    "RunError",
    "TidepoolError",
    "UsageError",
    "located",
]


Location = tuple[int | str, ...]
"""A path of keys and list places, from the top of a config."""


class UsageError(TidepoolError):
    """Something the user wrote cannot be meant. `where` is its place in the config, empty where it has none."""

    exit_code = 2

    def __init__(self, message: str, where: Location = ()) -> None:
        super().__init__(message)
        self.where = where


class NotTrusted(UsageError):
    """A file names a server, a key or a provider batch that nobody here has vouched for. Nothing was sent."""


class located:
    """Whatever is wrong in here is wrong at this place: what an error says of its own place goes on from there.

    A class, not a generator: it is entered several times for each of thousands of entities.
    """

    __slots__ = ("_where",)

    def __init__(self, *where: int | str) -> None:
        self._where = where

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, UsageError):
            error.where = (*self._where, *error.where)


class RunError(TidepoolError):
    exit_code = 1


class ReplayMismatch(RunError):
    """The stored hash of a request differs from the one asked now: going on would mix two studies."""


class CallFailed(TidepoolError):
    """A call that no retry healed. Its words are the provider's."""
