"""Every command on an untrusted file, as a user types them, one after another in a process of its own.

The process reports what it begins and what came of it. The driver sends SIGINT when a command takes too long, and continues with the next
command in another process, so a hang is seen, and whether Ctrl+C ends it. Then it checks what must not happen, whatever the command.
"""

import hashlib
import json
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

from tests.support import warm
from tests.support.command import ROOT
from tests.untrusted_files.forging import GAME, Case, honest_files
from tidepool.engine.api.server import DRAIN_SECONDS

HARD_SECONDS = 6.0
"""of work, after which a command counts as one that hangs"""
SCREENS = 4
"""that a walk through the app opens: each may take as long as a command"""
PATIENCE = 20.0
"""times as long it may wait: for a lock, or for others on a busy machine"""
INTERRUPT_SECONDS = 1.0
"""of work, within which Ctrl+C must be heard; the API may let what is under way come to its end first"""
CANARY = "canary-5f1d"
KEYS = {name: f"sk-{CANARY}-{name}" for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OLLAMA_API_KEY", "LAB_KEY")}
SMALL = "small.toml"
"""a study of the user's own, run into the file"""

READING: tuple[tuple[str, ...], ...] = (
    ("list",),
    ("list", "--json"),
    ("show", "last"),
    ("show", "last", "--json"),
    ("show", "last", "--conversation", "1"),
    ("show", "last", "--genealogy"),
    ("stats", "last"),
    ("log", "last"),
    ("orders", "last"),
    ("compare", "last", "last"),
    *(("export", "last", "--format", name, "-o", f"OUT/{name}") for name in ("json", "csv", "sqlite", "html", "parquet", "toml", "policy")),
    ("entities", "list"),
    ("agents", "list"),
    ("trust", "list"),
    ("--resume", "last", "--dry-run"),
    ("publish", "last", "-o", "OUT/published"),
    ("--dry-run", "--run", "FILE#last"),
    ("import", "FILE"),
)  # fmt: skip
"""commands that leave the file as it is; `import` is into a fresh file"""
AGAIN = ("--run", "FILE#last")
"""into a fresh file too"""
WRITING: tuple[tuple[str, ...], ...] = (
    ("--resume", "last"),
    ("--resume", "last"),
    ("--run", SMALL),
    ("delete", "last", "--yes"),
)


@dataclass(slots=True)
class Ended:
    """What came of one command."""

    words: tuple[str, ...]
    code: int | None
    """None: it had to be killed"""
    cpu: float = 0.0
    out: str = ""
    err: str = ""
    interrupted: float | None = None
    """seconds that it still worked after Ctrl+C, which is sent at the hard limit"""
    left: list[str] = field(default_factory=list)
    """what is not as it was in the folder of the file"""

    @property
    def name(self) -> str:
        words = [word for word in self.words if word != "-o" and not word.startswith("OUT/")]
        return " ".join(Path(word).name if word.startswith("/") else word for word in words)


Step = tuple[str, ...]
API, APP = ("the API",), ("the app",)
"""what is no command of the command line"""


def drive(
    path: Path, steps: Sequence[Step], environment: Mapping[str, str], seconds: float = HARD_SECONDS
) -> list[Ended]:
    """Each step in its turn; a step that hangs is ended, and the next begins in a new process."""
    done: list[Ended] = []
    while len(done) < len(steps):
        done += _some(path, steps[len(done) :], environment, seconds)
    return done


def _some(path: Path, steps: Sequence[Step], environment: Mapping[str, str], seconds: float) -> list[Ended]:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        [*warm.LOADED, *(["tests.untrusted_files.visiting", "tests.tui.persons"] if APP in steps else [])]
    )
    ours, theirs = context.Pipe()
    process = context.Process(target=_play, args=(path, list(steps), dict(environment), theirs))
    process.start()
    theirs.close()
    done: list[Ended] = []
    try:
        while len(done) < len(steps):
            words = steps[len(done)]
            if _comes(process.pid, ours, SCREENS * seconds if words == APP else seconds):
                done.append(_received(process, ours, words))
                if process.exitcode is not None:
                    break
                continue
            done.append(_interrupted(process, ours, words))
            break
    finally:
        process.kill()
        process.join()
        ours.close()
    return done


def _comes(pid: int | None, ours: Connection, seconds: float) -> bool:
    """Waits until a step has ended, or has worked for so many seconds: on a busy machine others work meanwhile."""
    began, until = _worked(pid), time.monotonic() + PATIENCE * seconds
    while not ours.poll(0.25):
        if _worked(pid) - began > seconds or time.monotonic() > until:
            return False
    return True


def _worked(pid: int | None) -> float:
    """Seconds of CPU of a process; where nobody tells them, those of the wall."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return time.monotonic()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _received(process: BaseProcess, ours: Connection, words: Step) -> Ended:
    try:
        ended: Ended = ours.recv()
    except EOFError:  # a run that is told to stop leaves its process at once
        process.join()
        code = process.exitcode
        return Ended(words, code if code is not None and code >= 0 else None, err=f"its process died ({code})")
    return ended


def _interrupted(process: BaseProcess, ours: Connection, words: Step) -> Ended:
    assert process.pid is not None
    os.kill(process.pid, signal.SIGINT)
    before = _worked(process.pid)
    if not _comes(process.pid, ours, 4 * INTERRUPT_SECONDS):
        return Ended(words, None, err="deaf to Ctrl+C")
    worked = _worked(process.pid) - before
    ended = _received(process, ours, words)
    ended.interrupted = worked
    return ended


# -- within the process --------------------------------------------------------------------------------------


def _play(path: Path, steps: list[Step], environment: dict[str, str], told: Connection) -> None:
    os.chdir(path.parent)
    os.environ.clear()
    os.environ.update(environment)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    before = snapshot(path.parent)
    with tempfile.TemporaryDirectory(dir=path.parent.parent) as folder:  # goes with the case, also where this is killed
        for words in steps:
            ended = _ended(path, words, Path(folder))
            after = snapshot(path.parent)
            ended.left = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
            before = after
            told.send(ended)


def _ended(path: Path, words: Step, folder: Path) -> Ended:
    out, err = folder / "stdout", folder / "stderr"
    for place, said in ((1, out), (2, err)):
        os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), place)
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False, buffering=1)  # noqa: SIM115
    signal.signal(signal.SIGINT, signal.default_int_handler)
    started = time.process_time()
    try:
        code = _code(path, words, folder)
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else 1
    except KeyboardInterrupt:
        code = 130
    except BaseException:
        traceback.print_exc()
        code = -1
    cpu = time.process_time() - started
    for stream in (sys.stdout, sys.stderr):
        with suppress(ValueError, OSError):
            stream.flush()
    return Ended(words, code, cpu, *(_text(said) for said in (out, err)))


MOST_READ = 2_000_000


def _text(said: Path) -> str:
    with said.open("rb") as file:
        return file.read(MOST_READ).decode("utf-8", "replace")


def _code(path: Path, words: Step, folder: Path) -> int:
    from tidepool.tui.command.main import main

    if words in (API, APP):
        from tests.untrusted_files import visiting

        return visiting.api(path) if words == API else visiting.app(path)
    if words[0] == "import":
        return main(["--db", str(folder / "fresh.db"), "import", str(path)])
    if words[-1] == AGAIN[-1]:
        return main(["--db", str(folder / "again.db"), *words[:-1], f"{path}#last"])
    return main(["--db", str(path), *(word.replace("OUT", str(folder / "out")) for word in words)])


def snapshot(folder: Path) -> dict[str, str]:
    """Every file of the folder with a hash of what it holds; of what is no file, that it is there."""
    return {str(found.relative_to(folder)): _state(found) for found in sorted(folder.rglob("*"))}


def _state(found: Path) -> str:
    if found.is_symlink():
        return f"link to {found.readlink()}"
    if not found.is_file():
        return "no file"
    size = found.stat().st_size
    if size > 10**9:
        return f"{size} bytes"
    with found.open("rb") as file:
        return hashlib.file_digest(file, "md5").hexdigest()


def write_small(folder: Path) -> None:
    agents = "".join(f"[[agents]]\n{_lines(agent)}" for agent in GAME["agents"])
    sections = {**{name: GAME[name] for name in ("batch", "service", "secret_game")}}
    (folder / SMALL).write_text("".join(f"[{name}]\n{_lines(keys)}" for name, keys in sections.items()) + agents)


def _lines(keys: Mapping[str, object]) -> str:
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items())


CODES = {0, 1, 2, 3, 4, 130, 143}
MORE_CPU = 2.0
"""seconds that a command may take beyond what it takes on the honest file"""
WORDS = ("Traceback (most recent call last)", "omething unexpected", "started without being asked")


def wrongs_of(case: Case, ended: Ended, honest: Mapping[str, float]) -> list[str]:
    """Everything about one command that must not be; empty where all is well."""
    said = ended.out + ended.err
    wrongs = [f"says {words!r}" for words in WORDS if words in said]
    if ended.code is None:
        return [*wrongs, ended.err]
    if ended.code not in CODES:
        wrongs.append(f"exit code {ended.code}")
    if "\x1b" in said or "\x07" in said or "\x9b" in said:
        wrongs.append("an escape reaches the terminal")
    if CANARY in said:
        wrongs.append("a key is shown")
    # A million rows take their time, as an honest million do: then Ctrl+C must be heard.
    if ended.interrupted is not None and not case.large:
        wrongs.append(f"hangs; Ctrl+C ends it in {ended.interrupted:.1f} s")
    if ended.interrupted is not None and ended.interrupted > INTERRUPT_SECONDS + DRAIN_SECONDS * (ended.words == API):
        wrongs.append("Ctrl+C takes more than a second")
    if not case.large and ended.cpu > honest.get(ended.name, 0.0) + MORE_CPU:
        wrongs.append(f"{ended.cpu:.1f} s of CPU")
    reads_tables_alone = ended.words[0] in ("import", "trust") or ended.words[-1] == AGAIN[-1]
    if case.refused and not reads_tables_alone and ended.code == 0:
        wrongs.append("is not refused")
    return wrongs + _changes(case, ended)


def _changes(case: Case, ended: Ended) -> list[str]:
    reads = ended.words in (*READING, AGAIN, APP) or case.refused
    if not reads or case.settles or not ended.left:
        return []
    return [f"changes {', '.join(ended.left[:3])}"]


def leaks(folder: Path, more: Iterable[Path] = ()) -> list[str]:
    """Files that hold a key."""
    mark = CANARY.encode()
    found = (one for place in (folder, *more) for one in place.rglob("*"))
    small = (one for one in found if one.is_file() and not one.is_symlink() and one.stat().st_size < 10**9)
    return [f"{one.name} holds a key" for one in small if _readable(one) and mark in one.read_bytes()]


def _readable(path: Path) -> bool:
    try:
        with path.open("rb"):
            return True
    except OSError:
        return False


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
