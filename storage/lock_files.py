"""The lock files beside a database: where they lie, and which of them somebody holds.

Beneath the opening of a file: an old one is upgraded only while nobody holds a lock of its batches.
"""

import glob
from pathlib import Path


def lock_path(path: Path, batch_id: str) -> Path:
    """The file whose lock stands for the batch."""
    return path.with_name(f"{path.name}-{batch_id}.lock")


def is_held(path: Path, batch_id: str) -> bool:
    """Whether a process of this host runs the batch. A lock file that a killed one left is removed."""
    where = lock_path(path, batch_id)
    if not where.exists():
        return False
    from filelock import FileLock, Timeout  # loaded where a lock is at stake: it brings asyncio with it

    probe = FileLock(where, blocking=False)
    try:
        probe.acquire()
    except Timeout:
        return True
    where.unlink(missing_ok=True)
    probe.release()
    return False


def batches_held(path: Path) -> list[str]:
    """The ids of the batches of this file that a process of this host runs."""
    marks = (f"{path.name}-", ".lock")
    found = path.parent.glob(f"{glob.escape(marks[0])}*{marks[1]}")
    ids = [where.name[len(marks[0]) : -len(marks[1])] for where in found]
    return [batch_id for batch_id in ids if is_held(path, batch_id)]
