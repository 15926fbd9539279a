"""The base class of all Tidepool errors, and the errors of the study file."""


class TidepoolError(Exception):
    """An error whose message is one paragraph that says what is wrong, where, and what to do."""

    exit_code = 1


class FileError(TidepoolError):
    """The study file cannot be opened, read or written."""


class NotFound(TidepoolError):
    """No batch, unit or library item has that name."""

    exit_code = 2


class BatchLocked(TidepoolError):
    """Another process runs this batch."""
