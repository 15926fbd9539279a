"""A process that stands still for a minute (SIGSTOP, SIGCONT), in a live run with deadlines and in a provider batch.

python -m benchmarks.crashes.stopped [SECONDS]

Meanwhile another process looks, tries to resume and tries to delete: the lock is held, so it is refused. A laptop's lid does
the same to a study.
"""

import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.crashes.acts import CONVERSATIONS, MESSAGES
from benchmarks.crashes.scene import Scene, bought, emulator, ended
from tidepool.engine.bench import Measurement, at_most

STANDS = 60.0
CALLS = CONVERSATIONS * MESSAGES
TIMEOUT = 5

LIVE = f'name = "live"\nmax_concurrent = 10\ncache = false\ntimeout = {TIMEOUT}\nretries = 3'
BATCH = 'name = "openai-conversation"\npoll_interval = 0.2\nrescue_after = 20'


def prove(seconds: float = STANDS) -> Iterator[Measurement]:
    for words, service, faults in (
        ("live run", LIVE, {"latency": 0.3, "jitter": 0.5}),
        ("provider batch", BATCH, {}),
    ):
        with tempfile.TemporaryDirectory() as name:
            wrong, again = stood_still(Path(name), service, faults, seconds)
        for fault in wrong:
            print(f"      {words}: {fault}", flush=True)
        note = f"{seconds:.0f} s; list, --resume and delete meanwhile"
        yield at_most(f"{words}: not refused, lost, told wrong or left over", len(wrong), "", 0, note)
        yield at_most(f"{words}: calls bought again after it went on", again, f"of {CALLS}", 0)


def stood_still(folder: Path, service: str, faults: dict[str, float], seconds: float) -> tuple[list[str], int]:
    with emulator(folder / "books", **faults) as (more, books):
        scene = Scene(folder / "scene", more)
        study = written(scene, service)
        with scene.start("--run", str(study), "--json") as process:
            _until_bought(books, CALLS // 3)
            process.send_signal(signal.SIGSTOP)
            wrong = _meanwhile(scene, seconds)
            process.send_signal(signal.SIGCONT)
            said = ended(process)
        if said.code or said.traceback:
            wrong.append(f"it ended with {said.code}: {said.err[-400:]}")
        looked = scene.run("list", "--json")
        if '"completed"' not in looked.out:
            wrong.append(f"it ended as {looked.out}")
        left = scene.names() - {"study/study.db", "state/scratch", "state/trust.db"}
        wrong += [f"left over: {sorted(left)}"] if left else []
        return [one for one in (*wrong, scene.sound()) if one], len(bought(books)) - CALLS


def _meanwhile(scene: Scene, seconds: float) -> list[str]:
    wrong, until = [], time.monotonic() + seconds
    while time.monotonic() < until:
        listed = scene.json("list")
        states = [one["status"] for one in listed]
        if states != ["in_progress"]:
            wrong.append(f"list shows {states} while the lock is held")
        for refused in (("--resume", "last"), ("delete", "last", "--yes")):
            said = scene.run(*refused)
            if said.code == 0 or said.traceback or "run" not in said.err:
                wrong.append(f"{' '.join(refused)} ends with {said.code}: {said.err[-200:]}")
        time.sleep(min(5.0, max(0.0, until - time.monotonic())))
    return wrong


def _until_bought(books: Path, count: int) -> None:
    while not books.exists() or len(books.read_text().splitlines()) < count:
        time.sleep(0.02)


def written(scene: Scene, service: str) -> Path:
    """A study that is asked of the emulator's OpenAI."""
    path = scene.folder / "home" / "study.toml"
    agents = "".join(
        f'[[agents]]\nname = "{name}"\nmodel = "openai:gpt-4o-mini"\nsecret = "{secret}"\n'
        for name, secret in (("Ada", "marigold"), ("Bob", "lantern"))
    )
    path.write_text(
        f'[batch]\nkind = "secret_game"\n[service]\n{service}\n'
        f"[secret_game]\nnum_interactions = {CONVERSATIONS}\nmessages_per_interaction = {MESSAGES}\n"
        f'detection = ["exact"]\n{agents}'
    )
    return path


if __name__ == "__main__":
    for figure in prove(float(sys.argv[1]) if sys.argv[1:] else STANDS):
        print(f"{'ok    ' if figure.met else 'MISSED'} {figure.name}: {figure.value:.0f} {figure.note}", flush=True)
