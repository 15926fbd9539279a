"""Plays strangers' files: a folder for each, a server that must never be called, and what came of every command."""

import os
import shutil
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.strangers.case import Case
from tests.strangers.drive import HARD_SECONDS, KEYS, READING, SMALL, WRITING, Ended, Step, drive, write_small
from tests.strangers.honest import honest_files
from tests.strangers.judge import leaks, wrongs_of
from tests.support.command import ROOT


@dataclass(slots=True)
class Seen:
    """What a stranger's file came to."""

    case: Case
    ended: list[Ended] = field(default_factory=list)
    wrongs: list[str] = field(default_factory=list)
    calls: int = 0
    """requests that reached the server of its choice"""

    @property
    def told(self) -> str:
        """The first thing that is said of it."""
        return next((one.err.strip() for one in self.ended if one.code and one.err.strip()), "")


class Recorder(ThreadingHTTPServer):
    """Counts who calls."""

    daemon_threads = True

    def __init__(self) -> None:
        self.calls = 0
        super().__init__(("127.0.0.1", 0), _Answer)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Answer(BaseHTTPRequestHandler):
    server: Recorder

    def _count(self) -> None:
        self.server.calls += 1
        self.send_error(503)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _count

    def log_message(self, format: str, *args: object) -> None:
        pass


class Stage:
    def __init__(self, folder: Path, recorder: Recorder, names: Iterable[str]) -> None:
        self.folder = folder
        self.recorder = recorder
        self.honest = honest_files(folder / "honest", names)
        self.usual: dict[str, dict[str, float]] = {}
        """seconds of CPU by honest file and command"""

    def measure(self, steps: Sequence[Step]) -> None:
        """What every command takes on the honest files."""
        for name in self.honest:
            seen = self.play(Case("honest", name, name, lambda forgery: None), steps, judged=False)
            self.usual[name] = {one.name: one.cpu for one in seen.ended}

    def play(
        self,
        case: Case,
        steps: Sequence[Step] = (*READING, *WRITING),
        seconds: float = HARD_SECONDS,
        *,
        judged: bool = True,
    ) -> Seen:
        place = self.folder / "made" / case.title.replace("/", "-").replace(" ", "-")
        seen = Seen(case)
        before = self.recorder.calls
        try:
            path = case.made_in(place / "file", self.honest, self.recorder.address)
            write_small(place)
            steps = [tuple(str(place / SMALL) if word == SMALL else word for word in step) for step in steps]
            seen.ended = drive(path, steps, self._environment(place), seconds)
            seen.calls = self.recorder.calls - before
            if judged:
                seen.wrongs = self._wrongs(seen, place)
        finally:
            shutil.rmtree(place, ignore_errors=True)
        return seen

    def _wrongs(self, seen: Seen, place: Path) -> list[str]:
        usual = self.usual.get(seen.case.base, {})
        wrongs = [f"{one.name}: {wrong}" for one in seen.ended for wrong in wrongs_of(seen.case, one, usual)]
        if seen.calls:
            wrongs.append(f"its server was called {seen.calls} times")
        return wrongs + leaks(place)

    def _environment(self, place: Path) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
        own = {name: str(place / name.lower()) for name in ("TIDEPOOL_STATE", "TIDEPOOL_SELLER", "TIDEPOOL_CONFIG")}
        nowhere = {"OLLAMA_HOST": "http://127.0.0.1:9", "NO_COLOR": "1", "COLUMNS": "100"}
        return {**kept, "PYTHONPATH": str(ROOT), **KEYS, **own, **nowhere}


@contextmanager
def staged(folder: Path, names: Iterable[str] = ()) -> Iterator[Stage]:
    """With all honest files, or those of these names."""
    recorder = Recorder()
    thread = threading.Thread(target=recorder.serve_forever, daemon=True)
    thread.start()
    try:
        yield Stage(folder, recorder, names)
    finally:
        recorder.shutdown()
        recorder.server_close()
        thread.join()
