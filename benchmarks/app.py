"""The app under load: first screen, key to picture while 100,000 conversations run, cost of watching, search and scrolling."""

import json
import os
import re
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.terminal import Terminal
from tests.support.studies import written
from tidepool.engine.bench import Measurement, at_most
from tidepool.storage.batches import NewBatch, insert_batch
from tidepool.storage.file import connect, prepare, writing
from tidepool.storage.queries import search
from tidepool.storage.queries.search import Filter
from tidepool.storage.states import unit_id
from tidepool.tui.app.launching import environment

EACH = 5
"""messages in a conversation"""
WORDS = (
    "harbour lantern marigold evening river letter window garden market winter copper thread compass orchard signal "
    "kettle meadow bridge candle mirror paper anchor basket silver engine"
).split()
SEARCHES = ("marigold", "marigold lantern", "marig", '"evening river"', "number77777", "nothing of that kind")


def search_seconds(path: Path, messages: int) -> float:
    """The slowest of several searches."""
    number = large_batch(path, messages)
    connection = connect(path)
    try:
        return max(_first_page(connection, number, words) for words in SEARCHES)
    finally:
        connection.close()


def _first_page(connection: sqlite3.Connection, number: int, words: str) -> float:
    """As the app asks."""
    began = time.perf_counter()
    search.find(connection, number, Filter(words), most=100)
    return time.perf_counter() - began


def large_batch(path: Path, messages: int) -> int:
    prepare(path)
    talks = messages // EACH
    with writing(path) as connection:
        _, number = insert_batch(connection, NewBatch("secret_game", "Large", "", 1, "{}", "0"))
        connection.executemany(
            "INSERT INTO unit (id, batch_number, sequence_number, participants, status, sealed) "
            "VALUES (?, ?, ?, '[\"Ada\", \"Bob\"]', 'completed', 0)",
            ((unit_id(number, talk), number, talk) for talk in range(1, talks + 1)),
        )
        connection.executemany(
            "INSERT INTO call (unit_id, step, wave, turn, speaker, model, key, status, text, input_tokens, "
            "output_tokens, seconds, source, attempts, at, reasoning_tokens, usage_missing) "
            "VALUES (?, ?, ?, ?, 'Ada', 'm', ?, 'answered', ?, 0, 0, 0, 'live', 1, 0, 0, 0)",
            _calls(number, talks),
        )
        connection.execute("UPDATE batch SET status = 'completed' WHERE number = ?", (number,))
        connection.execute(
            "UPDATE progress SET units_total = ?, units_completed = ?, calls = ? WHERE batch_number = ?",
            (talks, talks, messages, number),
        )
    return number


def _calls(number: int, talks: int) -> Iterator[tuple[object, ...]]:
    for talk in range(1, talks + 1):
        for turn in range(1, EACH + 1):
            place = talk * EACH + turn
            said = [WORDS[(place * step + step) % len(WORDS)] for step in (1, 3, 7, 11, 13, 17, 19, 23)]
            text = f"{' '.join(said)} and so on, number{place}."
            yield unit_id(number, talk), f"t{turn}", turn, turn, place.to_bytes(8, "big"), text


LIVE = '[service]\nname = "live"\nmax_concurrent = 200\ncache = false'
TALKS, PAIRS, MESSAGES, STARTS = 100_000, 5, 1_000_000, 5


@dataclass(frozen=True, slots=True)
class Cost:
    seconds: float
    cpu: float


def prove() -> Iterator[Measurement]:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        os.environ["TIDEPOOL_SELLER"] = os.environ["TIDEPOOL_STATE"] = str(folder / "seller")
        starts = [first_screen(folder / "start.db") for _ in range(STARTS)]
        yield at_most(
            "first screen", statistics.median(starts), "s", 1.0, "from the start of the process, median of five"
        )
        for place, told in (("watch", "Watch open"), ("results", "Results open and live")):
            yield from _under_watch(folder, place, told)
        yield from _reading(folder / "large.db")


def _under_watch(folder: Path, place: str, told: str) -> Iterator[Measurement]:
    alone, watched, noted = paired_runs(folder, place)
    lags, keys, followed = noted["lags"], noted["keys"], noted["followed"]
    note = f"{TALKS:,} conversations, in a terminal, most {max(lags) * 1000:.0f} ms"
    name = f"loop lag of the app while a batch runs at full speed, {told}, p99"
    yield at_most(name, percentile(lags, 0.99) * 1000, "ms", 50, note)
    note = f"{len(keys):,} keys, median {statistics.median(keys) * 1000:.0f} ms; the next key may take effect after "
    note += f"{percentile(followed, 0.95) * 1000:.0f} ms, median {statistics.median(followed) * 1000:.0f} ms"
    yield at_most(f"key to picture meanwhile, {told}, p95", percentile(keys, 0.95) * 1000, "ms", 50, note)
    pairs = list(zip(alone, watched, strict=True))
    slower = statistics.median(b.seconds / a.seconds for a, b in pairs)
    costlier = statistics.median(b.cpu / a.cpu for a, b in pairs)
    note = f"{PAIRS} paired runs, median, order alternating; {alone[0].seconds:.1f} s alone; CPU of the batch × {costlier:.3f}"
    yield at_most(f"a batch with a watcher ÷ without, {told}", slower, "", 1.03, note)


def _reading(path: Path) -> Iterator[Measurement]:
    slowest = search_seconds(path, MESSAGES)
    yield at_most(f"search in {MESSAGES:,} messages, to the first page", slowest, "s", 5, "slowest of several searches")


def first_screen(path: Path) -> float:
    """From the start of the process to the first picture in a terminal."""
    with Terminal(
        [sys.executable, "-P", "-m", "tidepool.tui.command.main", "--db", str(path)], environment()
    ) as terminal:
        return terminal.until("Nothing here yet", 60)


# -- a batch, with and without a watcher ---------------------------------------------------------------------


def paired_runs(folder: Path, place: str) -> tuple[list[Cost], list[Cost], dict[str, list[float]]]:
    study = written(folder, TALKS, 2, more=LIVE, name="Under watch")
    study.write_text(re.sub(r"simulated:\w+", "simulated:filler", study.read_text()))
    alone: list[Cost] = []
    watched: list[Cost] = []
    noted: dict[str, list[float]] = {"lags": [], "keys": [], "followed": []}
    for pair in range(PAIRS):
        for with_watcher in (pair % 2 == 0, pair % 2 == 1):
            path = folder / f"run-{pair}-{with_watcher}.db"
            if with_watcher:
                watched.append(run_watched(path, study, folder / "times.json", place))
                for name, times in json.loads((folder / "times.json").read_text()).items():
                    noted[name] += times
            else:
                alone.append(run_alone(path, study))
            for left in folder.glob(f"{path.name}*"):
                left.unlink()
    return alone, watched, noted


def run_alone(path: Path, study: Path) -> Cost:
    return _ended(_started(path, study))


def run_watched(path: Path, study: Path, times: Path, place: str) -> Cost:
    """The watcher is there first, so that its own start is nobody's burden."""
    command = [sys.executable, "-P", "-m", "benchmarks.app_watcher", str(path), str(times), place]
    with Terminal(command, environment()) as terminal:
        terminal.until("Nothing here yet", 60)
        seconds = _ended(_started(path, study))
        terminal.ended(60)
        if not times.exists():
            raise RuntimeError(f"the watcher noted nothing, but drew:\n{terminal.shown()[-3_000:]}")
    return seconds


def _started(path: Path, study: Path) -> "subprocess.Popen[str]":
    words = [sys.executable, "-P", "-m", "tidepool.tui.command.main", "--db", str(path), "--run", str(study), "--json"]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment())


def _ended(process: "subprocess.Popen[str]") -> Cost:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    said, _ = process.communicate(timeout=400)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    summary = json.loads(said)
    if summary["status"] != "completed":
        raise RuntimeError(f"the batch ended {summary['status']}: {summary['reason']}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(float(summary["seconds"]), cpu)


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]
