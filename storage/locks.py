"""Who runs a batch holds an OS lock on a file beside the database (lock_files).

The lock frees itself when its process dies, however it dies, and does not travel with a copy. The lock file is
removed by its holder before it lets go; `filelock` tries again where it locked a file that had just been removed.
"""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from filelock import FileLock

from tidepool.storage.errors import BatchLocked
from tidepool.storage.file import reading, value_of
from tidepool.storage.lock_files import lock_path
from tidepool.storage.states import BatchStatus

HEARTBEAT_SECONDS = 1.0
PROBE_SECONDS = 1.0
"""longer than anyone holds a lock merely to ask whether it is free"""


def host_name() -> str:
    """What this machine is called in a batch's row."""
    return socket.gethostname()


@contextmanager
def holding(path: Path, batch_id: str) -> Iterator[None]:
    """Holds the lock of a batch, or of the study it is a part of; raises BatchLocked at once where somebody else does."""
    _refuse_second_host(path, batch_id)
    where = lock_path(path, _locked_as(path, batch_id))
    lock = _acquired(where, batch_id)
    try:
        yield
    finally:
        where.unlink(missing_ok=True)
        lock.release()


def _locked_as(path: Path, batch_id: str) -> str:
    """All batches of a study are run together, under one lock that has the study's id."""
    with reading(path) as connection:
        return value_of(connection, "SELECT study_id FROM batch WHERE id = ?", (batch_id,)) or batch_id


def _acquired(lock_file: Path, batch_id: str) -> "FileLock":
    from filelock import FileLock, Timeout

    lock = FileLock(lock_file, timeout=PROBE_SECONDS)
    try:
        lock.acquire(poll_interval=0.01)
    except Timeout:
        raise BatchLocked(
            f"Batch {batch_id} is being run by another process. Watch it with `tidepool show {batch_id}`, "
            f"or end it with `tidepool stop {batch_id}`."
        ) from None
    return lock


def _refuse_second_host(path: Path, batch_id: str) -> None:
    """OS locks do not cross a network share: there the heartbeat tells, watched rather than compared by clocks."""
    query = (
        "SELECT b.host, b.status, p.heartbeat FROM batch b JOIN progress p ON p.batch_number = b.number "
        "WHERE b.id = ? OR b.study_id = ? ORDER BY b.status = 'in_progress' DESC"
    )
    with reading(path) as connection:
        before = connection.execute(query, (batch_id, batch_id)).fetchone()
        if before is None or before["status"] != BatchStatus.IN_PROGRESS or before["host"] in (None, host_name()):
            return
        time.sleep(3 * HEARTBEAT_SECONDS)
        after = connection.execute(query, (batch_id, batch_id)).fetchone()
    if after["heartbeat"] != before["heartbeat"]:
        raise BatchLocked(
            f"Batch {batch_id} is being run on the host {before['host']}, which shares this file. "
            "Stop it there, or work on a copy of the file."
        )
