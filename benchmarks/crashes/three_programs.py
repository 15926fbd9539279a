"""App, headless runs and the HTTP API on one file at once, under random commands: do their states always agree?

python -m benchmarks.crashes.three_programs [SECONDS [SEED]]
"""

import json
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.crashes.scene import ROOT, Said, Scene, ended
from tests.support.studies import written
from tidepool.engine.bench import Measurement, at_least, at_most

SECONDS = 120.0
DELAY = 3.0
"""seconds by which what is shown may be behind the file: a moment's delay, on a machine under load"""
LATENCY = 0.2
ENDS = 2.0
"""seconds in which a process ends after SIGTERM, beside its drain"""
MOST_RUNNING = 5
States = dict[str, str]


@dataclass
class Play:
    """What happened: who did what, what was shown when, and what must not be."""

    scene: Scene
    rng: Random
    over: threading.Event = field(default_factory=threading.Event)
    view: list[tuple[float, States]] = field(default_factory=list)
    """what the view `batches` showed"""
    shown: list[tuple[str, float, float, States]] = field(default_factory=list)
    """by whom, from when to when, and what"""
    wrong: list[str] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)
    made: set[str] = field(default_factory=set)
    deleted: set[str] = field(default_factory=set)
    running: "list[subprocess.Popen[str]]" = field(default_factory=list)
    slowest: float = 0.0
    last: str = ""
    """who took longest to end"""


def prove(seconds: float = SECONDS, seed: str = "three") -> Iterator[Measurement]:
    with tempfile.TemporaryDirectory() as name:
        play = played(Path(name), seconds, seed)
    for fault in play.wrong[:20]:
        print(f"      {fault}", flush=True)
    asked = ", ".join(f"{count} {what}" for what, count in play.done.most_common())
    disagree = _disagreements(play)
    for one in disagree[:10]:
        print(f"      {one}", flush=True)
    yield at_least("commands, keys and requests", sum(play.done.values()), "", seconds / 4, asked)
    looks = f"{len(play.shown)} looks by the app, `list` and the API against {len(play.view)} at the view"
    yield at_most(f"states that did not agree within {DELAY:g} s", len(disagree), "", 0, looks)
    note = f"{len(play.made)} batches"
    yield at_most(
        "tracebacks, lost batches, calls bought twice, odd exit codes, left over", len(play.wrong), "", 0, note
    )
    yield at_most(
        "slowest end after SIGTERM, beside a drain of one call", play.slowest - LATENCY * 2, "s", ENDS, play.last
    )


def played(folder: Path, seconds: float, seed: str) -> Play:
    scene = Scene(folder / "scene")
    play = Play(scene, Random(seed))
    scene.run("entities", "generate", "--type", "human", "-n", "6")
    other = _other(folder)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    api = scene.start("api", "--port", str(port), "--no-token")
    seen = folder / "app.jsonl"
    app = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.crashes.app_at_work", str(scene.database), str(seen), seed],
        cwd=ROOT,
        env=scene.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    threads = [
        threading.Thread(target=work, args=(play, Random(f"{seed}/{work.__name__}"), other, port))
        for work in (_watch, _commands, _requests, _lists)
    ]
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    play.over.set()
    for thread in threads:
        thread.join()
    _end(play, {"api": api, "app": app, **{f"run {number}": one for number, one in enumerate(play.running)}})
    if seen.exists():
        for line in seen.read_text().splitlines():
            at, states = json.loads(line)
            play.shown.append(("app", at - LATENCY, at, states))
        play.done["keys"] += len(seen.read_text().splitlines())
    _judge(play)
    return play


def _other(folder: Path) -> Path:
    other = Scene(folder / "other")
    other.run("--run", str(written(other.folder / "home", 5, 2, more='[service]\nname = "live"', name="other")))
    return other.database


# -- looking -------------------------------------------------------------------------------------------------


def _watch(play: Play, rng: Random, other: Path, port: int) -> None:
    while not play.over.wait(0.15):
        with suppress(Exception):
            play.view.append((time.time(), dict(play.scene.query("SELECT id, status FROM batches"))))


def _lists(play: Play, rng: Random, other: Path, port: int) -> None:
    while not play.over.is_set():
        began = time.time()
        said = _said(play, "list", "--json")
        if said.code == 0:
            states = {one["id"]: one["status"] for one in json.loads(said.out)}
            play.shown.append(("list", began, time.time(), states))
        began = time.time()
        code, answer = _http(play, port, "GET", "?include_simulations=false&limit=200")
        if code == 200:
            play.shown.append(("API", began, time.time(), {one["id"]: one["status"] for one in _data(answer)}))
        play.over.wait(0.5)


def _data(answer: Any) -> list[dict[str, Any]]:
    return list(answer["data"]) if isinstance(answer, dict) and isinstance(answer.get("data"), list) else []


def _disagreements(play: Play) -> list[str]:
    """What was shown must have been so in the file at some moment of the look, or just before or after it."""
    found = []
    last = play.view[-1][0] if play.view else 0.0
    for who, since, until, states in play.shown:
        if until + DELAY > last:
            continue  # nobody looked at the view any more
        near = [view for at, view in play.view if since - DELAY <= at <= until + DELAY]
        for batch, status in states.items():
            if near and not any(view.get(batch) in (status, None) for view in near):
                truth = sorted({str(view.get(batch)) for view in near})
                found.append(f"{who} showed {batch} as {status}, the view {truth}")
    return found


# -- doing ---------------------------------------------------------------------------------------------------


def _said(play: Play, *arguments: str, codes: tuple[int, ...] = (0,)) -> Said:
    said = play.scene.run(*arguments)
    play.done[arguments[0].lstrip("-")] += 1
    if said.traceback or said.code not in (*codes, 0):
        play.wrong.append(f"{' '.join(arguments)} ended with {said.code}: {said.err.strip()[-300:]}")
    return said


def _commands(play: Play, rng: Random, other: Path, port: int) -> None:
    more = (
        '[service]\nname = "live"\nmax_concurrent = 4\ncache = false\n'
        f"[providers.simulated]\nlatency = {LATENCY}\njitter = 0.5"
    )
    study = written(play.scene.folder / "home", 40, 4, more=more)
    while not play.over.is_set():
        batch = _some(play, rng)
        what = rng.choice(
            ("run", "run", "resume", "stop", "pause", "continue", "limits", "delete", "export", "import", "show")
        )
        if what in ("run", "resume"):
            _start(play, ("--run", str(study)) if what == "run" or not batch else ("--resume", batch))
        elif what == "import":
            _said(play, "import", str(other))
        elif not batch:
            continue
        elif what == "delete":
            said = _said(play, "delete", batch, "--yes", codes=(1, 2))
            play.deleted |= {batch} if said.code == 0 else set()
        elif what == "export":
            _said(play, "export", batch, "--format", rng.choice(("json", "csv", "html")), "-o", "x", codes=(1, 2))
        else:
            arguments = ("max_concurrent=2",) if what == "limits" else ()
            _said(play, what, batch, *arguments, codes=(1, 2))


def _start(play: Play, arguments: tuple[str, ...]) -> None:
    """Leaves it running; what it says is read at its end."""
    if sum(one.poll() is None for one in play.running) < MOST_RUNNING:
        play.done[arguments[0].lstrip("-")] += 1
        play.running.append(play.scene.start(*arguments, "--json"))


def _some(play: Play, rng: Random) -> str:
    known = sorted(play.view[-1][1]) if play.view else []
    return rng.choice(known) if known else ""


def _http(play: Play, port: int, method: str, path: str, body: object = None) -> tuple[int, Any]:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/api/batch-simulations{path}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            content = response.read()
            play.done[f"HTTP {method}"] += 1
            return response.status, json.loads(content) if "json" in response.headers["Content-Type"] else content
    except urllib.error.HTTPError as error:
        play.done[f"HTTP {method}"] += 1
        words = error.read().decode("utf-8", "replace")
        if error.code >= 500:
            play.wrong.append(f"HTTP {method} {path}: {error.code} {words[:200]}")
        return error.code, None
    except OSError:
        time.sleep(0.2)
        return 0, None  # it does not serve yet


def _requests(play: Play, rng: Random, other: Path, port: int) -> None:
    body = {
        "name": "over HTTP",
        "context": "The council talks about a new mill.",
        "entity_ids": ["*"],
        "interaction_size": 2,
        "num_simulations": 10,
        "n_turns": 3,
        "service": {"name": "live", "max_concurrent": 2, "cache": False},
    }
    choices: tuple[Callable[[str], tuple[int, Any]], ...] = (
        lambda batch: _http(play, port, "POST", "", body),
        lambda batch: _http(play, port, "GET", f"/{batch}"),
        lambda batch: _http(play, port, "POST", f"/{batch}/stop"),
        lambda batch: _http(play, port, "POST", f"/{batch}/resume"),
        lambda batch: _http(play, port, "GET", f"/{batch}/export?format=csv"),
        lambda batch: _http(play, port, "DELETE", f"/{batch}"),
    )
    while not play.over.is_set():
        batch = _some(play, rng)
        number = rng.randrange(len(choices)) if batch else 0
        code, answer = choices[number](batch)
        if number == 0 and code == 201:
            play.made.add(answer["data"]["id"])
        if number == 5 and code == 200:
            play.deleted.add(batch)
        play.over.wait(0.4)


# -- the end -------------------------------------------------------------------------------------------------


def _end(play: Play, processes: "dict[str, subprocess.Popen[str]]") -> None:
    """All are told to end; each must, within its time."""
    alive = [name for name, process in processes.items() if process.poll() is None]
    if not {"api", "app"} <= set(alive):
        play.wrong.append(f"only {alive} were alive at the end")
    for name, process in processes.items():
        began = time.monotonic()
        if name in alive:
            process.send_signal(signal.SIGTERM)
        said = ended(process, 20)
        if name in alive and name != "app":  # the app stands in a harness here; crashes.quitting ends the real one
            play.slowest, play.last = max((play.slowest, play.last), (time.monotonic() - began, name))
        play.made |= set(re.findall(r"^running ([0-9a-f]{6,})", said.err, re.MULTILINE))
        if said.traceback or (name.startswith("run") and said.code not in (0, 1, 2, 3, 130, 143)):
            play.wrong.append(f"{name} ended with {said.code}: {(said.out + said.err)[-500:]}")


def _judge(play: Play) -> None:
    scene = play.scene
    _end_launched(play)
    listed = {one["id"]: one["status"] for one in scene.json("list")}
    by_the_app = {batch for _, states in play.view for batch in states}
    lost = {batch for batch in play.made - play.deleted if batch not in listed}
    # What the app deleted is not told to us: such a batch was ended when it was last seen.
    lost = {batch for batch in lost if _last_seen(play, batch) in (None, "in_progress", "pending")}
    play.wrong += [f"lost: {batch}, last seen as {_last_seen(play, batch)}" for batch in lost]
    play.wrong += [f"still {status}: {batch}" for batch, status in listed.items() if status == "in_progress"]
    for batch in play.made | by_the_app:
        again = sum(times > 1 for times in scene.sold(batch).values())
        play.wrong += [f"{batch}: {again} calls were bought twice"] if again else []
    play.wrong += [one for one in (scene.sound(),) if one]
    left = [name for name in scene.names() if re.search(r"lock|-wal|-shm|journal|\.part|\.whole|^tmp/", name)]
    play.wrong += [f"left over: {left}"] if left else []
    for log in scene.folder.joinpath("state", "log").rglob("*.log"):
        if "Traceback" in (words := log.read_text(errors="replace")):
            play.wrong.append(f"a log of the app: {words[-400:]}")


def _last_seen(play: Play, batch: str) -> str | None:
    return next((view[batch] for _, view in reversed(play.view) if batch in view), None)


def _end_launched(play: Play) -> None:
    """Batches that the app or the API started go on without them: they are stopped by a word, and waited for."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        running = [one["id"] for one in play.scene.json("list") if one["status"] == "in_progress"]
        if not running:
            return
        for batch in running:
            play.scene.run("stop", batch)
        time.sleep(0.5)


if __name__ == "__main__":
    chosen = float(sys.argv[1]) if sys.argv[1:] else SECONDS
    for figure in prove(chosen, sys.argv[2] if sys.argv[2:] else "three"):
        print(f"{'ok    ' if figure.met else 'MISSED'} {figure.name}: {figure.value:.2f} ({figure.note})", flush=True)
