"""The lock files beside a database: where they lie, and which of them somebody holds.

Beneath the opening of a file: an old one is upgraded only while nobody holds a lock of its batches.
"""

import os
import re
import stat
from contextlib import suppress
from pathlib import Path

from tidepool.storage.errors import FileError

BATCH_ID = re.compile(r"[0-9A-Za-z_-]{1,64}\Z")
"""ids become names of files"""


def lock_path(path: Path, batch_id: str) -> Path:
    """The file whose lock stands for the batch."""
    if not BATCH_ID.match(batch_id):
        raise FileError("A batch of this file has an id that is none. The file was changed; take care with it.")
    real = Path(os.path.realpath(path))  # by whatever name the file is opened, it has one lock
    lock_file = real.with_name(f"{real.name}-{batch_id}.lock")
    with suppress(OSError):  # it may go away at any moment
        if not stat.S_ISREG(lock_file.lstat().st_mode):
            complaint = "should be the lock of a batch, and is no plain file. Look what it is, and remove it."
            raise FileError(f"{lock_file} {complaint}")
    return lock_file


def is_held(path: Path, batch_id: str) -> bool:
    """Whether a process of this host runs the batch. A lock file that a killed one left is removed."""
    if not BATCH_ID.match(batch_id) or not (lock_file := lock_path(path, batch_id)).exists():
        return False
    from filelock import FileLock, Timeout  # loaded where a lock is at stake: it brings asyncio with it

    probe = FileLock(lock_file, blocking=False)
    try:
        probe.acquire()
    except Timeout:
        return True
    lock_file.unlink(missing_ok=True)
    probe.release()
    return False


def tidy_locks(path: Path) -> None:
    """Removes the lock files that killed processes left: those that nobody holds."""
    real = Path(os.path.realpath(path))
    before, behind = f"{real.name}-", ".lock"
    with suppress(OSError):
        for entry in os.scandir(real.parent):
            if entry.name.startswith(before) and entry.name.endswith(behind):
                is_held(path, entry.name[len(before) : -len(behind)])
