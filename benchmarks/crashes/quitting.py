"""The app killed (-9) at random moments while it quits, with a batch running beside it and a search being prepared.

python -m benchmarks.crashes.quitting [MOMENTS]
"""

import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

from benchmarks.crashes.acts import SMALL, Materials, Size, materials
from benchmarks.crashes.killed import MOMENTS, Verdict, debris
from benchmarks.crashes.scene import Scene, ended
from benchmarks.terminal import Terminal
from tests.support.studies import written
from tidepool.engine.bench import Measurement, at_most

QUIT, RESULTS, SEARCH = "\x11", "4", "/"
CONVERSATIONS, MESSAGES = 40, 4
SECONDS = 60.0


def prove(moments: int = MOMENTS, size: Size = SMALL) -> Iterator[Measurement]:
    with tempfile.TemporaryDirectory() as name:
        made = materials(Path(name), size)
        rng, verdict = Random("quitting"), Verdict()
        verdict.seconds = _quits(made, made.folder / "undisturbed", None, verdict)
        for number in range(moments):
            moment = verdict.seconds * (number + rng.random()) / moments
            _quits(made, made.folder / f"moment-{number}", moment, verdict)
    for fault in verdict.faults:
        print(f"      {fault}", flush=True)
    note = f"{moments} moments over {verdict.seconds:.1f} s"
    yield at_most("app: lost, bought twice, left over or still alive", len(verdict.faults), "", 0, note)


def _quits(made: Materials, folder: Path, moment: float | None, verdict: Verdict) -> float:
    """Opens the app on a file in which a batch runs, searches, quits, and is killed meanwhile; returns how long it took."""
    scene = Scene(folder)
    shutil.copy(made.large, scene.database)
    before = scene.names()
    more = '[service]\nname = "live"\nmax_concurrent = 4\ncache = false\n[providers.simulated]\nlatency = 0.3\njitter = 0.5'
    study = written(folder / "home", CONVERSATIONS, MESSAGES, more=more)
    with scene.start("--run", str(study), "--json") as run:
        with Terminal(scene.command(), scene.environment) as terminal:
            terminal.until("Batches", SECONDS)
            terminal.press(RESULTS)
            terminal.until("Search", SECONDS)
            terminal.press(SEARCH + "lantern\r")
            time.sleep(0.5)
            family = _family(terminal.pid)
            began = time.monotonic()
            terminal.press(QUIT)
            if moment is None:
                terminal.ended(SECONDS)
            else:
                time.sleep(moment)
                os.kill(terminal.pid, signal.SIGKILL)
                terminal.ended(SECONDS)
            took = time.monotonic() - began
        said = ended(run)
    where = took if moment is None else moment
    _judge(scene, said.code, family, before, where, verdict)
    scene.leave()
    return took


def _judge(scene: Scene, code: int, family: list[int], before: frozenset[str], where: float, verdict: Verdict) -> None:
    if code:
        verdict.note(where, f"the batch beside it ended with {code}")
    until = time.monotonic() + 5
    while (alive := [one for one in family if _lives(one)]) and time.monotonic() < until:
        time.sleep(0.1)
    verdict.note(where, f"still alive: {alive}" if alive else "")
    listed = scene.run("list", "--json")
    verdict.note(where, f"list ends with {listed.code}: {listed.err[-200:]}" if listed.code else "", scene.sound())
    batch = scene.query("SELECT id, status FROM batches ORDER BY created_at DESC")[0]
    sold = scene.sold(batch[0])
    right = batch[1] == "completed" and len(sold) == CONVERSATIONS * MESSAGES and set(sold.values()) == {1}
    verdict.note(
        where, "" if right else f"the batch: {batch}, {len(sold)} calls sold, {max(sold.values(), default=0)} times"
    )
    verdict.note(where, *debris(scene, before | {"state/scratch", "state/trust.db"}, "after a look at it"))


def _family(parent: int) -> list[int]:
    """The processes that a process has started, and those that they have."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(words[1]) == parent:
            child = int(path.parent.name)
            found += [child, *_family(child)]
    return found


def _lives(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


if __name__ == "__main__":
    for figure in prove(int(sys.argv[1]) if sys.argv[1:] else MOMENTS):
        print(f"{'ok    ' if figure.met else 'MISSED'} {figure.name}: {figure.value:.0f} ({figure.note})", flush=True)
