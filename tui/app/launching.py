"""Starts batches in separate processes that outlive the app, with a new session, a log file and no pipes."""

import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import tidepool
from tidepool.storage.file import state_folder

_BATCH_STARTED = re.compile(r"^(?:running|resuming) ([0-9a-f]{6,})", re.MULTILINE | re.IGNORECASE)
_COMPLAINT = re.compile(r"^tidepool: (.+)\Z", re.MULTILINE | re.DOTALL)


@dataclass(slots=True)
class Launched:
    """A batch process that this app started."""

    process: "subprocess.Popen[bytes]"
    log: Path
    title: str

    @property
    def ended(self) -> bool:
        return self.process.poll() is not None

    def batch_id(self) -> str | None:
        """Returns the id of the batch, once the process has printed it."""
        started = _BATCH_STARTED.search(self._read_log())
        return started.group(1) if started else None

    def complaint(self) -> str | None:
        """Returns the error of a process that failed."""
        if not self.ended or self.process.returncode in (0, 3, 4, 130, 143):
            return None
        log_text = self._read_log()
        complaint_match = _COMPLAINT.search(log_text)
        if complaint_match:
            return complaint_match.group(1).strip()
        return f"{log_text.strip()[-800:] or 'The process ended without a message.'}\n\nThe log is {self.log}."

    def _read_log(self) -> str:
        try:
            return self.log.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""


def run_config(database: Path, config: Path, title: str) -> Launched:
    return _launch(database, ["--run", str(config)], title)


def resume(database: Path, batch_id: str) -> Launched:
    return _launch(database, ["--resume", batch_id], batch_id)


def log_folder() -> Path:
    """Returns a private folder in the user's state folder, or the system's temporary folder if that is not writable."""
    folder = state_folder() / "log"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return Path(tempfile.gettempdir())
    return folder


def _launch(database: Path, arguments: list[str], title: str) -> Launched:
    # Private and new, because in a temporary folder other users could create a link with a name that they guess.
    descriptor, log = tempfile.mkstemp(".log", time.strftime("%Y%m%d-%H%M%S-"), log_folder())
    with os.fdopen(descriptor, "wb") as sink:
        process = subprocess.Popen(
            command(database, *arguments),
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**environment(), "NO_COLOR": "1"},
        )
    return Launched(process, Path(log), title)


def command(database: Path, *arguments: str) -> list[str]:
    """Returns a command line that runs this program from any folder."""
    return [sys.executable, "-P", "-m", "tidepool", "--db", str(database.resolve()), *arguments]


def environment() -> dict[str, str]:
    """Returns the environment of this process, with the folder of the package on Python's path."""
    package_folder = str(Path(tidepool.__file__).resolve().parent.parent)
    path = os.pathsep.join(filter(None, (package_folder, os.environ.get("PYTHONPATH"))))
    return {**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONPATH": path}
