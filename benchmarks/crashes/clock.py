"""The clock set back by three hours and forward by a year, while a study runs and between two runs of it.

python -m benchmarks.crashes.clock
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.crashes.scene import ROOT, Scene, bought, emulator, ended
from benchmarks.crashes.stopped import CALLS, written
from tests.engine.providers.kills import POINTS, killed_and_resumed
from tidepool.engine.bench import Measurement, at_most

HOUR, YEAR = 3600.0, 365 * 86_400.0
TURNS = {"back by three hours": 3 * HOUR, "forward by a year": -YEAR}
"""by how much the clock is wrong before it is set right"""
SERVICES = {
    "live run": 'name = "live"\nmax_concurrent = 10\ncache = false\ntimeout = 20\nrequests_per_minute = 1200',
    "provider batch": 'name = "openai-conversation"\npoll_interval = 0.2\nrescue_after = 600',
}
CREATED = next(point for point in POINTS if point.at == "create:after")
LATENCY, BATCH_SECONDS = 1.5, 4.0
"""so that a study lasts longer than a look at it"""
AGREES = 2.0
"""seconds in which what is shown may still be of the other clock"""
LONGEST = 60.0


def prove() -> Iterator[Measurement]:
    for turn, seconds in TURNS.items():
        for kind, service in SERVICES.items():
            for when in ("while it runs", "between two runs"):
                with tempfile.TemporaryDirectory() as name:
                    wrong = turned(Path(name), service, seconds, running=when == "while it runs")
                for fault in wrong:
                    print(f"      {kind}, {turn}, {when}: {fault}", flush=True)
                yield at_most(f"{kind}, clock set {turn} {when}: faults", len(wrong), "", 0)
        for provider in ("openai", "anthropic"):
            with tempfile.TemporaryDirectory() as name:
                clock = Path(name, "clock")
                clock.write_text(str(seconds))
                verdict = asyncio.run(killed_and_resumed(provider, CREATED, before=at_clock(clock)))
            words = f"{provider}: killed after a creation whose answer was on the way, clock then set {turn}"
            yield at_most(words, verdict.ratio, "bought ÷ needed", 1)


def turned(folder: Path, service: str, seconds: float, *, running: bool) -> list[str]:
    with emulator(folder / "books", latency=LATENCY, jitter=0.5, batch_seconds=BATCH_SECONDS) as (more, books):
        scene = Scene(folder / "scene", more)
        clock = folder / "clock"
        clock.write_text(str(seconds))
        scene.more |= at_clock(clock)
        study = written(scene, service)
        with scene.start("--run", str(study), "--json") as process:
            while not books.exists() or len(books.read_text().splitlines()) < CALLS // 4:
                time.sleep(0.02)
            wrong = _looked_at(scene, "in_progress", "before")
            if not running:
                process.send_signal(signal.SIGKILL)
                ended(process)
            clock.write_text("0")
            time.sleep(AGREES)
            if running and process.poll() is None:
                wrong += _looked_at(scene, "in_progress", "after")
            wrong += _end(process, scene) if running else _looked_at(scene, "interrupted", "after")
        if not running:
            with scene.start("--resume", "last", "--json") as resumed:
                wrong += _end(resumed, scene)
        again = len(bought(books)) - CALLS
        allowed = 10 if "live" in service and not running else 0  # what was under way at a kill may be asked again
        if not 0 <= again <= allowed:
            wrong.append(f"{again} of {CALLS} calls were bought again")
        return wrong


def at_clock(clock: Path) -> dict[str, str]:
    """The environment of a program whose clock is wrong by what that file says."""
    return {"CLOCK_TURNED": str(clock), "PYTHONPATH": f"{Path(__file__).parent / 'turned'}{os.pathsep}{ROOT}"}


def _end(process: "subprocess.Popen[str]", scene: Scene) -> list[str]:
    said = ended(process, LONGEST)
    if said.code or said.traceback:
        return [f"it ended with {said.code}: {said.err[-400:]}"]
    negative = _below_zero(json.loads(said.out))
    return [f"below zero: {negative}"] if negative else _looked_at(scene, "completed", "at the end")


def _looked_at(scene: Scene, status: str, when: str) -> list[str]:
    """What the command, the views and the ages say."""
    listed = scene.json("list")
    wrong = []
    if [one["status"] for one in listed] != [status]:
        wrong.append(f"{when}: list shows {[one['status'] for one in listed]}, not {status}")
    view = scene.query("SELECT status FROM batches")
    if view != [(status,)] and when != "before":  # SQLite's own clock is not turned
        wrong.append(f"{when}: the view shows {view}, not {status}")
    orders = scene.json("orders", "last")
    for words, found in (("list", listed), ("orders", orders), ("show", scene.json("show", "last"))):
        if negative := _below_zero(found):
            wrong.append(f"{when}: {words} below zero: {negative}")
    return wrong


def _below_zero(found: Any, name: str = "") -> list[str]:
    """Ages, spans and counts; a difference in the statistics may well be."""
    if isinstance(found, dict):
        told = {key: value for key, value in found.items() if key != "statistics"}
        return [one for key, value in told.items() for one in _below_zero(value, f"{name}.{key}")]
    if isinstance(found, list):
        return [one for value in found for one in _below_zero(value, name)]
    return [f"{name} = {found}"] if isinstance(found, int | float) and found < 0 else []


if __name__ == "__main__":
    for figure in prove():
        print(f"{'ok    ' if figure.met else 'MISSED'} {figure.name}: {figure.value:.0f}", flush=True)
    sys.exit(0)
