"""A folder for exports that are being sent: gone with the server, or at the next start where it was killed."""

import os
import shutil
import tempfile
import threading
from pathlib import Path

PREFIX = "tidepool-export-"


class Scratch:
    def __init__(self) -> None:
        self._home: Path | None = None
        self._lock = threading.Lock()

    def folder(self) -> Path:
        """A new one."""
        with self._lock:
            if self._home is None:
                self._home = _home()
        return Path(tempfile.mkdtemp(dir=self._home))

    def clear(self) -> None:
        if self._home is not None:
            shutil.rmtree(self._home, ignore_errors=True)


def _home() -> Path:
    """For this process alone; what processes of this user left that are no more is removed."""
    for left in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        number = left.name.removeprefix(PREFIX).partition("-")[0]
        if number.isdigit() and _is_gone(int(number), left):
            shutil.rmtree(left, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))


def _is_gone(process: int, left: Path) -> bool:
    try:
        if left.lstat().st_uid != os.geteuid():
            return False
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False
