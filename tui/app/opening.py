"""Opening the app on a file, and leaving the file as one plain file behind."""

from contextlib import suppress
from pathlib import Path

from tidepool.storage.errors import TidepoolError
from tidepool.storage.file import prepare, reading, settle
from tidepool.storage.queries.watching import read_batches
from tidepool.tui.app.app import TidepoolApp


def open_app(path: Path) -> int:
    """Runs the app on a study file, made if missing; returns the exit code."""
    prepare(path)
    app = TidepoolApp(path)
    try:
        run_alone(app)
    finally:
        _leave_single_file(path)
    return app.return_code or 0


def run_alone(app: TidepoolApp) -> None:
    """In a process of its own, with those beside it, to its end."""
    app.alone = True
    app.plotting.start()
    app.counting.start()
    try:
        app.run()
    finally:
        app.shut_down()


def _leave_single_file(path: Path) -> None:
    """Nobody else at work: the file goes back to a single plain one."""
    with suppress(TidepoolError):
        with reading(path) as connection:
            busy = any(batch.running for batch in read_batches(connection, path))
        if not busy:
            settle(path)
