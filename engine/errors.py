"""All exceptions that Tidepool raises on purpose.

TidepoolError
├── FileError, NotFound, BatchLocked   of the study file (storage)
├── UsageError        wrong config, command or input: nothing was sent, nothing was written   (exit 2)
│   └── NotTrusted    a file asks for something that the user has not trusted
├── RunError          a batch could not continue: a fatal error, with advice                (exit 1)
├── CallFailed        one call failed for good: data, which fails its unit or counts as missing
└── ReplayMismatch    a resumed unit sent another request than the stored one

Every message is one readable paragraph: what is wrong, where, and what to do.
"""

from tidepool.storage.errors import BatchLocked as BatchLocked
from tidepool.storage.errors import FileError as FileError
from tidepool.storage.errors import NotFound as NotFound
from tidepool.storage.errors import TidepoolError as TidepoolError

Location = tuple[int | str, ...]
"""A path of keys and list places, from the top of a config."""


class UsageError(TidepoolError):
    """Invalid input of the user. `where` is its place in the config, empty if it has none."""

    exit_code = 2

    def __init__(self, message: str, where: Location = ()) -> None:
        super().__init__(message)
        self.where = where


class NotTrusted(UsageError):
    """A file names a server, a key or a provider batch that the user has not trusted. Nothing was sent."""


class located:
    """Adds a place to errors that are raised inside; the error's own place follows it.

    A class, not a generator, since it is entered several times for each of thousands of entities.
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
    """The hash of a request differs from the stored one. Continuing would mix two studies."""


class CallFailed(TidepoolError):
    """A call that failed after all retries. Its text is the provider's."""
