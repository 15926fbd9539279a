"""Opening the app on a file, and leaving the file as one plain file behind."""

import sys
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from contextlib import suppress
from pathlib import Path

from tidepool.storage.errors import TidepoolError
from tidepool.storage.file import prepare, reading, settle
from tidepool.storage.queries.watching import read_batches
from tidepool.tui.app.app import TidepoolApp
from tidepool.tui.drawing.text import console, one_line

PATIENCE = 0.4
"""seconds after which it is said what is waited for"""


def open_app(path: Path) -> int:
    """Runs the app on a study file, made if missing; returns the exit code."""
    _prepare(path)
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


def _prepare(path: Path) -> None:
    """Another program may hold the file: nobody looks at an empty screen meanwhile."""
    with ThreadPoolExecutor(1) as thread:
        prepared = thread.submit(prepare, path)
        try:
            prepared.result(PATIENCE)
        except NotYet:
            waits = f"Opening {path}: another program holds it, or it is brought up to date …"
            console(sys.stderr).print(one_line(waits), markup=False, highlight=False)
            prepared.result()


def _leave_single_file(path: Path) -> None:
    """Nobody else at work: the file goes back to a single plain one."""
    with suppress(TidepoolError):
        with reading(path) as connection:
            busy = any(batch.running for batch in read_batches(connection, path))
        if not busy:
            settle(path)
