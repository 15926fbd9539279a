"""What a loss of power costs: answers that the disk did not hold yet, and the time that holding them takes.

The command runs under `strace`, which tells every write and every sync of the study file. A disk that has just lost its
power holds for certain what was written before the last sync of each file, and that is put together for some moments of
the run and opened with SQLite. What the sync costs is measured in pairs of runs, with and without, in turns.
"""

import asyncio
import random
import re
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.studies import written
from tidepool.engine.bench import Measurement, at_least, at_most, study
from tidepool.engine.run import run_batch
from tidepool.storage.writer import Row, Statement, Writer

CUTS = 20
PAIRS = 21
CALLS = 30_000

SLOWLY = """[service]
name = "live"
max_concurrent = 20
[providers.simulated]
latency = 0.08
jitter = 0.5"""
TRACED = "trace=pwrite64,fdatasync,fsync,ftruncate,unlink,unlinkat"
_HEX = r"((?:\\x[0-9a-f]{2})*)"
_WRITE = re.compile(rf'pwrite64\(\d+<{_HEX}>, "{_HEX}", \d+, (\d+)')
_SYNC = re.compile(rf"f(?:data)?sync\(\d+<{_HEX}>")
_SHORTER = re.compile(rf"ftruncate\(\d+<{_HEX}>, (\d+)")
_GONE = re.compile(rf'unlink(?:at)?\((?:[^,"]*, )?"{_HEX}"')
_LINE = re.compile(r"(\d+) +(\d+\.\d+) (.*)")
UNFINISHED, RESUMED = "<unfinished", "sync resumed>"
"""a call to the system during which another thread was at work is told in two lines"""


def _bytes(hexadecimal: str) -> bytes:
    return bytes.fromhex(hexadecimal.replace("\\x", ""))


@dataclass
class Disk:
    """The files as programs see them, and as the disk holds them for certain."""

    seen: dict[str, bytearray] = field(default_factory=dict)
    held: dict[str, bytes] = field(default_factory=dict)
    _syncing: dict[str, str] = field(default_factory=dict)

    def apply(self, thread: str, act: str) -> None:
        if RESUMED in act and thread in self._syncing:
            self._sync(self._syncing.pop(thread))
        elif found := _WRITE.match(act):
            name, data, offset = _bytes(found[1]).decode(), _bytes(found[2]), int(found[3])
            file = self.seen.setdefault(name, bytearray())
            file.extend(bytes(max(0, offset + len(data) - len(file))))
            file[offset : offset + len(data)] = data
        elif found := _SYNC.match(act):
            name = _bytes(found[1]).decode()
            if UNFINISHED in act:
                self._syncing[thread] = name
            else:
                self._sync(name)
        elif found := _SHORTER.match(act):
            del self.seen.setdefault(_bytes(found[1]).decode(), bytearray())[int(found[2]) :]
        elif found := _GONE.match(act):
            self.seen.pop(_bytes(found[1]).decode(), None)
            self.held.pop(_bytes(found[1]).decode(), None)

    def _sync(self, name: str) -> None:
        self.held[name] = bytes(self.seen.get(name, b""))

    def calls(self, files: dict[str, Any], folder: Path) -> dict[int, float]:
        """The answers that can be read from these files, by their ids, with the moments at which they came."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for suffix in ("", "-wal"):
            (folder / f"study.db{suffix}").write_bytes(
                next((content for name, content in files.items() if name.endswith(f"/study.db{suffix}")), b"")
            )
        with closing(sqlite3.connect(folder / "study.db")) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
            return dict(connection.execute("SELECT id, at FROM call"))


def cut_moments(folder: Path, cuts: int) -> Iterator[tuple[int, int, float]]:
    """For each cut: answers that were committed, those lost, and the age of the oldest of the lost in seconds."""
    written(folder, 240, 5, more=SLOWLY)
    log = folder / "strace.log"
    words = ["strace", "-f", "-ttt", "-y", "-xx", "-s", "70000", "-e", TRACED, "-o", str(log)]
    subprocess.run(
        [*words, sys.executable, "-m", "tidepool", "--db", "study.db", "--run", "study.toml"],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    found = [line for line in map(_LINE.match, log.read_text().splitlines()) if line]
    acts = [(float(line[2]), line[1], line[3]) for line in found]
    wal = b"-wal".hex(" ").replace(" ", r"\x")
    of_wal = [at for at, _, act in acts if wal in act]
    first, last = min(of_wal), max(of_wal)
    lot = random.Random(7)
    moments = sorted(lot.uniform(first + 1.0, last - 0.2) for _ in range(cuts))
    disk, done = Disk(), 0
    for moment in moments:
        while done < len(acts) and acts[done][0] <= moment:
            disk.apply(*acts[done][1:])
            done += 1
        seen = disk.calls(disk.seen, folder / "seen")
        held = disk.calls(disk.held, folder / "held")
        lost = seen.keys() - held.keys()
        yield len(seen), len(lost), max((moment - seen[one] for one in lost), default=0.0)


def _plain_beat(writer: Writer, statement: Statement, row: Row) -> None:
    writer.put(statement, row)


def cost() -> tuple[list[float], float]:
    """Seconds with synced beats ÷ without: the quartiles of the pairs; and how long one such commit takes, in milliseconds."""
    ratios, commits = [], []
    synced, transact = Writer.beat, Writer._transact

    def timed(writer: Writer, connection: sqlite3.Connection, group: Any) -> None:
        began = time.perf_counter()
        transact(writer, connection, group)
        if group.durable:
            commits.append(time.perf_counter() - began)

    def seconds(beat: Any) -> float:
        Writer.beat, Writer._transact = beat, timed  # type: ignore[method-assign, assignment]
        try:
            with tempfile.TemporaryDirectory() as folder:
                return float(asyncio.run(run_batch(study(CALLS // 5), Path(folder) / "study.db"))["seconds"])
        finally:
            Writer.beat, Writer._transact = synced, transact  # type: ignore[method-assign]

    seconds(synced)
    commits.clear()
    for number in range(PAIRS):
        order = (synced, _plain_beat) if number % 2 else (_plain_beat, synced)
        took = {beat: seconds(beat) for beat in order}
        ratios.append(took[synced] / took[_plain_beat])
    return statistics.quantiles(ratios, n=4), statistics.median(commits) * 1000


def prove() -> Iterator[Measurement]:
    if shutil.which("strace"):
        with tempfile.TemporaryDirectory() as folder:
            cuts = list(cut_moments(Path(folder), CUTS))
        yield at_least("moments at which the power was cut, and the file whole afterwards", len(cuts), "", CUTS)
        worst = max(cuts, key=lambda cut: cut[2])
        yield at_most(
            "the oldest answer that a cut lost",
            worst[2],
            "s",
            1.5,
            f"{worst[1]:,} of {worst[0]:,} answers; under strace, which slows every call to the system",
        )
    (low, ratio, high), commit = cost()
    noise = f"half of them from {low:.3f} to {high:.3f}"
    name = f"a run with synced heartbeats ÷ without, median of {PAIRS} pairs in turns, {CALLS:,} calls each"
    yield at_most(name, ratio, "×", 1.03, noise)
    yield at_most("one synced commit with all that waited for it, median", commit, "ms", 1000)


if __name__ == "__main__":
    for figure in prove():
        print(figure)
