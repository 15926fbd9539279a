"""Dumps what a reshaping must not change: `python -m benchmarks.pins FOLDER`.

Runs the four example studies, a design, a branch and an interrupted run that is resumed, with fixed seeds and the simulated provider.
Writes their views, statistics, exports and plans to FOLDER, without ids, times and durations.
Dump before and after a change, then compare: `diff -r BEFORE AFTER`.
"""

import csv
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
FORMATS = ("json", "csv", "toml")
KINDS = ("secret_game", "simulation", "evolution", "mutation")
VOLATILE = {
    *(
        "at",
        "created_at",
        "finished_at",
        "timestamp",
        "seconds",
        "seconds_per_message",
        "performance",
        "remote_id",
        "version",
    ),
    *(
        "id",
        "batch_id",
        "study_id",
        "conversation_id",
        "host",
        "config",
        "started_at",
        "polled_at",
        "mean_latency",
        "file",
        "log",
    ),
}
"""columns and JSON fields that differ from run to run"""
VIEWS = (
    "cells",
    "waves",
    "conversations",
    "messages",
    "outcomes",
    "verdicts",
    "judgements",
    "genomes",
    "answers",
    "training",
    "records",
)
ID = re.compile(r"\b([0-9a-f]{12}|[0-9a-f]{64})\b")
MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?Z?|\d{4}-\d\d-\d\d")
DURATION = re.compile(r" *\b\d[\d.,]* ?(ms|s|min|h|/s|calls/s|a second|MB|kB)\b")


def tidepool(database: Path, *arguments: str) -> str:
    """Runs the command on `database` and returns its stdout."""
    command = [sys.executable, "-m", "tidepool", "--db", str(database), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=database.parent, env=_environment())
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "120", "NO_COLOR": "1"}


def stable(value: Any) -> Any:
    """`value` without fields that differ from run to run."""
    if isinstance(value, dict):
        return {key: stable(item) for key, item in value.items() if key not in VOLATILE}
    if isinstance(value, list):
        return [stable(item) for item in value]
    return stable_text(value) if isinstance(value, str) else value


def stable_text(text: str) -> str:
    for pattern, name in ((ID, "ID"), (MOMENT, "TIME"), (DURATION, " DURATION")):
        text = pattern.sub(name, text)
    return text


def echo_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(stable(value), indent=1, ensure_ascii=False, sort_keys=True) + "\n")


def dump_views(database: Path, folder: Path) -> None:
    """Every public view, one CSV each, sorted."""
    connection = sqlite3.connect(database)
    folder.mkdir(parents=True, exist_ok=True)
    for view in VIEWS:
        rows = connection.execute(f"SELECT * FROM {view}")
        chosen = [place for place, column in enumerate(rows.description) if column[0] not in VOLATILE]
        lines = sorted([stable_text(str(row[place])) for place in chosen] for row in rows)
        with (folder / f"{view}.csv").open("w", newline="") as target:
            csv.writer(target).writerows([[rows.description[place][0] for place in chosen], *lines])
    connection.close()


def dump_exports(database: Path, folder: Path, formats: tuple[str, ...]) -> None:
    for name in formats:
        with tempfile.TemporaryDirectory() as scratch:
            tidepool(database, "export", "last", "--format", name, "-o", f"{scratch}/out")
            for path in sorted(Path(scratch).rglob("*")):
                if path.is_dir() or path.suffix not in {".json", ".csv", ".toml"}:
                    continue
                target = folder / name / (path.name if path.name != "out" else f"out.{name}")
                if path.suffix == ".json":
                    echo_json(target, json.loads(path.read_text()))
                else:
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_text("\n".join(_without_durations(path)) + "\n")


def _without_durations(path: Path) -> list[str]:
    """The lines of a CSV file without its volatile columns; other files line by line."""
    if path.suffix != ".csv":
        return [stable_text(line) for line in path.read_text().splitlines()]
    with path.open(newline="") as source:
        rows = list(csv.reader(source))
    chosen = [place for place, name in enumerate(rows[0]) if name.lower() not in VOLATILE | {"simulation id"}]
    return [stable_text("\t".join(row[place] for place in chosen if place < len(row))) for row in rows]


def dump_run(database: Path, folder: Path, config: Path, formats: tuple[str, ...] = FORMATS) -> None:
    plan = json.loads(tidepool(database, "plan", str(config), "--json"))
    echo_json(folder / "plan.json", plan)
    tidepool(database, "--run", str(config), "--json")
    dump_results(database, folder, formats)


def dump_results(database: Path, folder: Path, formats: tuple[str, ...]) -> None:
    for command in ("show", "stats"):
        echo_json(folder / f"{command}.json", json.loads(tidepool(database, command, "last", "--json")))
    (folder / "stats.txt").write_text(stable_text(tidepool(database, "stats", "last")))
    dump_views(database, folder / "views")
    dump_exports(database, folder / "exports", formats)


def dump_resume(database: Path, folder: Path) -> None:
    """A live run that is killed in the middle and resumed: its results equal those of an undisturbed run."""
    slow = ("--set", "service.name=live", "--set", "providers.simulated.latency=0.05")
    command = [
        sys.executable,
        "-m",
        "tidepool",
        "--db",
        str(database),
        "--run",
        str(EXAMPLES / "secret_game.toml"),
        *slow,
    ]
    running = subprocess.Popen(
        command, cwd=database.parent, env=_environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while not _stored_calls(database) > 100:
        time.sleep(0.05)
    running.send_signal(signal.SIGKILL)
    running.wait()
    tidepool(database, "--resume", "last", "--json")
    dump_views(database, folder)


def _stored_calls(database: Path) -> int:
    try:
        with sqlite3.connect(database) as connection:
            return int(connection.execute("SELECT count(*) FROM messages").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


def main() -> None:
    folder = Path(sys.argv[1]).absolute()
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        for kind in KINDS:
            dump_run(work / f"{kind}.db", folder / kind, EXAMPLES / f"{kind}.toml")
        dump_run(work / "design.db", folder / "design", EXAMPLES / "design.toml", ("csv", "toml"))
        tidepool(work / "secret_game.db", "branch", "last", "--all", "--at", "t3", "--times", "1")
        dump_results(work / "secret_game.db", folder / "branch", ("json", "csv"))
        dump_resume(work / "resumed.db", folder / "resume")
    print(f"dumped to {folder}")


if __name__ == "__main__":
    main()
