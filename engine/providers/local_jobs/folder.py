"""The folder of one job: what is asked, who has claimed it, how it ended, what came out. It is all that is known of a job.

Folders lie in the user's state folder, where the next process finds them whatever became of the last. An id is that of the
provider batch with a number: what was taken back is never used again.
"""

import fcntl
import json
import os
import re
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from typing import Any

from tidepool.engine.providers.batch_results import count_of, json_in, mapping_of, row_in, text_of
from tidepool.engine.providers.border import MOST_BYTES
from tidepool.engine.providers.keys import scrubbed
from tidepool.engine.providers.local_jobs import keeper
from tidepool.storage.scratch.state_folder import state_folder

KEPT_SECONDS = 28 * 86_400.0
"""how long jobs that are over are kept: as long as hosted providers keep results"""
LAST_LINES, LAST_BYTES = 5, 2_000
"""of what a command said, those that are told"""
_ID = re.compile(r"[0-9a-f]{8,64}-[0-9]{1,4}", re.ASCII)
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]+")


def jobs_folder() -> Path:
    return state_folder() / "jobs"


def is_job_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class JobFolder:
    id: str

    @property
    def path(self) -> Path:
        return jobs_folder() / self.id

    @property
    def input(self) -> Path:
        return self.path / "input.jsonl"

    @property
    def output(self) -> Path:
        return self.path / "output.jsonl"

    # -- making ------------------------------------------------------------------------------------------

    @classmethod
    def new(cls, order_id: str) -> "JobFolder":
        """One that nobody has claimed: what is in it is only what a process left that died before it was asked for."""
        for number in range(10_000):
            folder = cls(f"{order_id}-{number}")
            folder.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not folder.claimed:
                return folder
        raise FileExistsError(0, "there are too many jobs of this id")

    @classmethod
    def named(cls, job_id: str) -> "JobFolder | None":
        """None where there is none, or where this is no id: it may come from a study file."""
        folder = cls(job_id)
        return folder if is_job_id(job_id) and folder.path.is_dir() else None

    @classmethod
    def all_of(cls, order_id: str) -> "Iterator[JobFolder]":
        if re.fullmatch(r"[0-9a-f]+", order_id) and jobs_folder().is_dir():
            yield from (cls(path.name) for path in sorted(jobs_folder().glob(f"{order_id}-*")))

    def put(self, lines: list[bytes], about: dict[str, Any]) -> None:
        (self.path / "about.json").write_text(json.dumps(about), encoding="utf-8")
        part = self.input.with_suffix(".part")
        with part.open("wb") as file:
            os.fchmod(file.fileno(), 0o600)
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
        part.rename(self.input)

    def take_back(self) -> None:
        """Nobody can start it from now on; one that was started goes on."""
        descriptor = keeper.claim(self.path, {"withdrawn": True})
        if descriptor is not None:
            os.close(descriptor)

    # -- looking -----------------------------------------------------------------------------------------

    @property
    def claimed(self) -> bool:
        return (self.path / keeper.CLAIM).exists()

    @property
    def claim(self) -> dict[str, Any]:
        """What its keeper wrote; empty where it has none."""
        try:
            return dict(mapping_of(json_in((self.path / keeper.CLAIM).read_bytes())))
        except OSError:
            return {}

    @property
    def was_started(self) -> bool:
        return self.claimed and not self.claim.get("withdrawn")

    @property
    def alive(self) -> bool:
        """Whether keeper or command hold the claim."""
        with suppress(OSError):
            descriptor = os.open(self.path / keeper.CLAIM, os.O_RDWR)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
            finally:
                os.close(descriptor)
        return False

    @property
    def runs(self) -> bool:
        return (self.path / keeper.STARTED).exists()

    @property
    def code(self) -> int | None:
        """The command's exit code; None while there is none."""
        try:
            return int((self.path / keeper.RC).read_text())
        except (OSError, ValueError):
            return None

    @property
    def elsewhere(self) -> str:
        """The other machine on which it was started; empty: it was this one."""
        host = text_of(self.claim.get("host"))
        return host if host != os.uname().nodename else ""

    def seconds_since(self, name: str) -> float | None:
        """Since a file of it was written; None: it was not."""
        try:
            return max(0.0, time.time() - (self.path / name).stat().st_mtime)
        except OSError:
            return None

    @property
    def model(self) -> str:
        return text_of(self._about.get("model"))

    @property
    def calls(self) -> int:
        return count_of(self._about.get("calls")) or 0

    @property
    def _about(self) -> Mapping[str, Any]:
        try:
            return mapping_of(json_in((self.path / "about.json").read_bytes()))
        except OSError:
            return {}

    @property
    def lines(self) -> int:
        """Of the output, those that are whole."""
        with self.output.open("rb") as file:
            return sum(part.count(b"\n") for part in iter(lambda: file.read(1 << 20), b""))

    def rows(self) -> Iterator[dict[str, Any] | None]:
        """The lines of the output; None for one that cannot be read."""
        try:
            with self.output.open("rb") as file:
                while line := file.readline(MOST_BYTES):
                    if line.strip():
                        yield row_in(line)
        except OSError:
            return

    @property
    def answered(self) -> bool:
        """Whether anything in the output is about its calls."""
        mine = f"{self.id.rpartition('-')[0]}_"
        return any(row is not None and row["custom_id"].startswith(mine) for row in self.rows())

    def last_words(self) -> str:
        """The end of what the command said, without keys."""
        try:
            with (self.path / keeper.LOG).open("rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - LAST_BYTES))
                said = file.read().decode("utf-8", "replace")
        except OSError:
            return ""
        lines = [" ".join(_CONTROLS.sub(" ", line).split()) for line in said.splitlines()]
        return scrubbed(" | ".join([line for line in lines if line][-LAST_LINES:]))

    # -- ending ------------------------------------------------------------------------------------------

    def cancel(self) -> None:
        """Asked to end, if it has not; `kill` is for one that does not."""
        (self.path / keeper.CANCELLED).touch()
        self._signal(signal.SIGTERM)

    @property
    def cancelled(self) -> bool:
        return (self.path / keeper.CANCELLED).exists()

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        """To all of the job's own session, unless the number of its leader is another process's by now."""
        said, pid = self.claim, self.claim.get("pid")
        if not isinstance(pid, int) or pid < 2 or self.elsewhere or said.get("boot") != keeper.boot() or not self.alive:
            return
        if keeper.began(pid) in ("", said.get("began")):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, number)

    def remove(self) -> None:
        rmtree(self.path, ignore_errors=True)


def sweep() -> None:
    """Jobs that have been over for long, whose results nobody fetches any more."""
    if not jobs_folder().is_dir():
        return
    for path in jobs_folder().iterdir():
        folder = JobFolder(path.name)
        with suppress(OSError):
            if is_job_id(path.name) and time.time() - path.stat().st_mtime > KEPT_SECONDS and not folder.alive:
                folder.remove()
