"""The root of every error Tidepool raises on purpose, and those of the file itself."""


class TidepoolError(Exception):
    """Its message is one readable paragraph: what is wrong, where, and what to do."""

    exit_code = 1


class FileError(TidepoolError):
    """The study file cannot be opened, read or written."""


class NotFound(TidepoolError):
    """No batch, unit or library item goes by that name."""

    exit_code = 2


class BatchLocked(TidepoolError):
    """Another process runs this batch."""
