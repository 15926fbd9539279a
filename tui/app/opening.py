"""Opens the app on a study file, and leaves a single plain file when it ends."""

from contextlib import suppress
from pathlib import Path

from tidepool.storage.errors import TidepoolError
from tidepool.storage.file import prepare, reading, settle
from tidepool.storage.queries.watching import read_batches
from tidepool.tui.app.app import TidepoolApp


def open_app(path: Path) -> int:
    """Runs the app on a study file, which is created if missing. Returns the exit code."""
    prepare(path)
    app = TidepoolApp(path)
    try:
        run_alone(app)
    finally:
        _leave_single_file(path)
    return app.return_code or 0


def run_alone(app: TidepoolApp) -> None:
    """Runs the app with its helper processes until it ends."""
    app.alone = True
    app.plotting.start()
    app.counting.start()
    try:
        app.run()
    finally:
        app.shut_down()


def _leave_single_file(path: Path) -> None:
    """Makes the study a single plain file again, unless a batch is running."""
    with suppress(TidepoolError):
        with reading(path) as connection:
            busy = any(batch.running for batch in read_batches(connection, path))
        if not busy:
            settle(path)
