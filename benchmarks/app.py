"""The app under load: how soon it is there, whether it answers while 100,000 conversations run, what it costs them.

python -m benchmarks.app [--small]
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.app_search import scroll_growth, search_seconds
from benchmarks.terminal import Terminal
from tidepool.engine.bench import Measurement, at_most
from tidepool.tui.app.launching import environment

STUDY = """
[batch]
kind = "secret_game"
name = "Under watch"
[service]
name = "live"
max_concurrent = 200
cache = false
[secret_game]
num_interactions = {talks}
messages_per_interaction = 2
detection = ["exact"]
[[agents]]
name = "Ada"
model = "simulated:filler"
secret = "marigold"
[[agents]]
name = "Bob"
model = "simulated:filler"
secret = "lantern"
"""


@dataclass(frozen=True, slots=True)
class Size:
    talks: int = 100_000
    pairs: int = 5
    messages: int = 1_000_000
    rows: int = 100_000
    starts: int = 5


@dataclass(frozen=True, slots=True)
class Cost:
    seconds: float
    cpu: float


FULL = Size()
SMALL = Size(talks=20_000, pairs=1, messages=20_000, rows=3_000, starts=2)


def prove(size: Size = FULL) -> Iterator[Measurement]:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        os.environ["TIDEPOOL_SELLER"] = os.environ["TIDEPOOL_STATE"] = str(folder / "seller")
        starts = [first_screen(folder / "start.db") for _ in range(size.starts)]
        yield at_most(
            "first screen", statistics.median(starts), "s", 1.0, "from the start of the process, median of five"
        )
        for place, told in (("watch", "Watch open"), ("results", "Results open and live")):
            yield from _under_watch(folder, size, place, told)
        yield from _reading(folder / "large.db", size)


def _under_watch(folder: Path, size: Size, place: str, told: str) -> Iterator[Measurement]:
    alone, watched, noted = paired_runs(folder, size, place)
    lags, keys = noted["lags"], noted["keys"]
    yield at_most(
        f"loop lag of the app while a batch runs at full speed, {told}, p99",
        percentile(lags, 0.99) * 1000,
        "ms",
        50,
        f"{size.talks:,} conversations, in a terminal, most {max(lags) * 1000:.0f} ms",
    )
    yield at_most(
        f"key to picture meanwhile, {told}, p95",
        percentile(keys, 0.95) * 1000,
        "ms",
        50,
        f"{len(keys):,} keys, median {statistics.median(keys) * 1000:.0f} ms",
    )
    pairs = list(zip(alone, watched, strict=True))
    slower = statistics.median(b.seconds / a.seconds for a, b in pairs)
    costlier = statistics.median(b.cpu / a.cpu for a, b in pairs)
    yield at_most(
        f"a batch with a watcher ÷ without, {told}",
        slower,
        "",
        1.03,
        f"{size.pairs} paired runs, median, order alternating; {alone[0].seconds:.1f} s alone; CPU of the batch × {costlier:.3f}",
    )


def _reading(path: Path, size: Size) -> Iterator[Measurement]:
    slowest, filling = search_seconds(path, size.messages)
    yield at_most(
        f"search in {size.messages:,} messages, to the first page",
        slowest,
        "s",
        0.2,
        f"slowest of several searches; read once for the index in {filling:.0f} s",
    )
    yield at_most(
        f"memory after scrolling {size.rows:,} rows ÷ after the first tenth", scroll_growth(path, size.rows), "", 1.05
    )


def first_screen(path: Path) -> float:
    """From the start of the process to the first picture in a terminal."""
    with Terminal(
        [sys.executable, "-P", "-m", "tidepool.tui.command.main", "--db", str(path)], environment()
    ) as terminal:
        return terminal.until("Nothing here yet", 60)


# -- a batch, with and without a watcher ---------------------------------------------------------------------


def paired_runs(folder: Path, size: Size, place: str) -> tuple[list[Cost], list[Cost], dict[str, list[float]]]:
    study = folder / "study.toml"
    study.write_text(STUDY.format(talks=size.talks), encoding="utf-8")
    alone: list[Cost] = []
    watched: list[Cost] = []
    noted: dict[str, list[float]] = {"lags": [], "keys": []}
    for pair in range(size.pairs):
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


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        for figure in prove(SMALL if "--small" in sys.argv else FULL):
            verdict = "ok    " if figure.met else "MISSED"
            print(f"{verdict} {figure.value:.3f} {figure.unit} {figure.name} ({figure.note})", flush=True)
