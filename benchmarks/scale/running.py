"""A million conversations of two messages in one batch, live and by batch API: python -m benchmarks.scale.running

Whole processes, from the command to the report. TIDEPOOL_PROOF_TALKS sets how many, for trying.
"""

import signal
import sqlite3
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from benchmarks.scale.cost import COMMAND, MOST_MEMORY, Cost, cost_of, cost_of_started, started
from benchmarks.scale.files import MANY, config_of, place_of_files
from tidepool.engine.bench import Measurement, at_most

KIND = "secret_game"
FEW, HUNDRED_THOUSAND = min(10_000, MANY), min(100_000, MANY)
MESSAGES = 2
LONG, LONG_TALKS = 40, 2_000
"""messages of a long talk, and how many of those are told with stories kept and let go"""
SMALL_ROOM = """
import sys
import tidepool.engine.runtime.tasks
tidepool.engine.runtime.tasks.KEPT = 200
from tidepool.tui.command.main import main
sys.exit(main(sys.argv[1:]))
"""
"""the command, with room for few stories"""


def prove() -> Iterator[Measurement]:
    with place_of_files() as folder:
        for service in ("live", "auto"):
            few, many = (whole_run(folder, service, talks) for talks in (FEW, MANY))
            way = {"live": "live", "auto": "by batch API"}[service]
            note = f"{many.cpu:,.0f} s of CPU, {many.cpu / MANY / MESSAGES * 1e6:.0f} µs a call"
            yield at_most(f"{MANY:,} conversations {way}: memory", many.memory, "MB", MOST_MEMORY, note)
            growth = many.cpu / MANY / (few.cpu / FEW)
            yield at_most(f"CPU per call {way}, {MANY:,} ÷ {FEW:,} conversations", growth, "×", 1.15)
            killed = killed_and_resumed(folder, service)
            yield at_most(f"killed -9 in the middle {way}: memory of the resume", killed.memory, "MB", MOST_MEMORY)
        hundred = whole_run(folder, "live", HUNDRED_THOUSAND)
        yield at_most(f"{HUNDRED_THOUSAND:,} conversations live: memory", hundred.memory, "MB", 250)
        yield let_go(folder)


def whole_run(folder: Path, service: str, talks: int) -> Cost:
    return cost_of(run_of(COMMAND, folder, f"run-{service}-{talks}", service, talks))


def run_of(command: Sequence[str], folder: Path, name: str, service: str, talks: int, *more: str) -> Sequence[str]:
    database = folder / f"{name}.db"
    for left in folder.glob(f"{name}.db*"):
        left.unlink()
    config = config_of(folder, KIND, talks, service)
    return (*command, "--db", str(database), "--run", str(config), "--json", *more)


def killed_and_resumed(folder: Path, service: str) -> Cost:
    """Killed when half of its calls are answered; the resume goes to the end."""
    database = folder / f"killed-{service}.db"
    process = started(run_of(COMMAND, folder, database.stem, service, MANY))
    while _answered(database) < MANY * MESSAGES // 2 and process.poll() is None:
        time.sleep(0.2)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = _answered(database)
    found = cost_of_started(started((*COMMAND, "--db", str(database), "--resume", "last", "--json")))
    if not before < _answered(database) == MANY * MESSAGES:
        raise RuntimeError(f"{before:,} calls were answered before the kill, and {_answered(database):,} in the end")
    return found


def _answered(database: Path) -> int:
    if not database.exists():
        return 0
    try:
        with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True, timeout=30)) as connection:
            row = connection.execute("SELECT coalesce(sum(calls), 0) FROM progress").fetchone()
    except sqlite3.OperationalError:
        return 0
    return int(row[0])


def let_go(folder: Path) -> Measurement:
    """Long talks by batch API: every message of most of them is a story told again."""
    long = ("--set", f"secret_game.messages_per_interaction={LONG}", "--set", "service.batch_size=100")
    kept, gone = (
        cost_of(run_of(command, folder, name, "auto", LONG_TALKS, *long))
        for command, name in ((COMMAND, "kept"), ((sys.executable, "-c", SMALL_ROOM), "let-go"))
    )
    note = f"{gone.cpu:.1f} and {kept.cpu:.1f} s of CPU, {LONG_TALKS:,} talks"
    return at_most(f"CPU per call at {LONG} messages, stories let go ÷ kept", gone.cpu / kept.cpu, "×", 1.5, note)


if __name__ == "__main__":
    for figure in prove():
        print(figure, flush=True)
