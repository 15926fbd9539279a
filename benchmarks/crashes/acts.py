"""The commands that write: what each needs, what must be true whenever it is killed, and what goes on afterwards."""

import json
import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from benchmarks.crashes.scene import Scene
from tests.support.studies import written

LARGE, PEOPLE = 8_000, 6_000
"""conversations of the study that is exported, imported and deleted; entities that are added"""
CONVERSATIONS, MESSAGES = 30, 4
"""of a study that is run"""
CELLS = 4
LIVE = """[service]
name = "live"
max_concurrent = 10
cache = false
[providers.simulated]
latency = 0.05
jitter = 0.7
"""
BATCHED = """[service]
name = "openai-conversation"
poll_interval = 0.2
"""
DESIGN = """[design.factors]
"agents.*.temperature" = [0.1, 0.9]
"secret_game.mode" = ["standard", "diversity"]
"""


@dataclass(frozen=True, slots=True)
class Materials:
    """Files that are made once and copied into every scene."""

    folder: Path

    @property
    def large(self) -> Path:
        """one batch of many conversations, finished"""
        return self.folder / "large.db"

    @property
    def small(self) -> Path:
        """one batch of ten conversations"""
        return self.folder / "small.db"

    @property
    def people(self) -> Path:
        return self.folder / "people.json"


def materials(folder: Path) -> Materials:
    made = Materials(folder)
    scene = Scene(folder / "making")
    for path, conversations in ((made.large, LARGE), (made.small, 10)):
        study = written(folder, conversations, 3, more='[service]\nname = "live"\nmax_concurrent = 200', name=path.stem)
        said = scene.run("--run", str(study))
        assert said.code == 0, said
        shutil.move(scene.database, path)
    scene.leave()
    people = [
        {"name": f"Person {number}", "description": "x" * 200, "attributes": {"age": number % 90}}
        for number in range(PEOPLE)
    ]
    made.people.write_text(json.dumps(people))
    return made


Check = Callable[[Scene, Materials], str]
"""empty where all is well, else what is wrong"""
Arguments = Callable[[Scene, Materials], tuple[str, ...]]


def _no_fault(scene: Scene, made: Materials) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Act:
    name: str
    arguments: Arguments
    lay: Callable[[Scene, Materials], object]
    """puts files in place"""
    kept: Check = _no_fault
    """after the kill, and one look at the file: nothing committed is lost, nothing is there by half"""
    again: Arguments | None = None
    """what goes on after the kill; else the same command"""
    done: Check = _no_fault
    """once that has ended"""
    emulated: bool = False
    """calls go to the emulator"""
    runs: bool = False
    """it runs a study"""


def _put_large(scene: Scene, made: Materials) -> None:
    shutil.copy(made.large, scene.database)


def _put_small(scene: Scene, made: Materials) -> None:
    shutil.copy(made.small, scene.database)


def _calls_by_batch(path: Path) -> dict[str, int]:
    with closing(sqlite3.connect(path, timeout=30)) as connection:
        sql = (
            "SELECT b.id, count(c.step) FROM batch b LEFT JOIN unit u ON u.batch_number = b.number "
            "LEFT JOIN call c ON c.unit_id = u.id GROUP BY b.id"
        )
        return dict(connection.execute(sql).fetchall())


# -- import, delete ------------------------------------------------------------------------------------------


def _whole_or_absent(scene: Scene, made: Materials, *, present: bool = False) -> str:
    here, expected = _calls_by_batch(scene.database), _calls_by_batch(made.large)
    wrong = {one: count for one, count in here.items() if one in expected and count != expected[one]}
    if present and not expected.keys() <= here.keys():
        return f"missing: {expected.keys() - here.keys()}"
    unknown = here.keys() - expected.keys() - _calls_by_batch(made.small).keys()
    return f"by half: {wrong} of {expected}; unknown {unknown}" if wrong or unknown else ""


def _imported(scene: Scene, made: Materials) -> str:
    return _whole_or_absent(scene, made, present=True)


def _gone(scene: Scene, made: Materials) -> str:
    left = {table: scene.query(f"SELECT count(*) FROM {table}")[0][0] for table in ("batch", "unit", "call", "line")}
    return f"left: {left}" if any(left.values()) else ""


# -- export --------------------------------------------------------------------------------------------------

EARLIER = b"an earlier export"


def _put_earlier_export(scene: Scene, made: Materials) -> None:
    """The study, and an earlier export of it where the next one goes."""
    _put_large(scene, made)
    batch = next(iter(_calls_by_batch(made.large)))
    for name in (f"{batch}/results.json", f"{batch}/analysis.json", "csv/messages.csv", "csv/outcomes.csv",
                 "parquet/messages.parquet", "parquet/outcomes.parquet", "report.html"):  # fmt: skip
        path = scene.out / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(EARLIER)


def _all_or_nothing(scene: Scene, made: Materials) -> str:
    """Of the files of one export either all are new or all are as before."""
    for folder in (path for path in scene.out.iterdir() if path.is_dir() and not path.name.startswith(".")):
        if len({path.read_bytes() == EARLIER for path in folder.iterdir()}) > 1:
            return f"{folder.name} is half new"
    for path in scene.out.rglob("*"):
        if path.is_file() and not path.name.startswith(".") and not _is_whole(path):
            return f"{path.name} is cut off"
    return ""


def _is_whole(path: Path) -> bool:
    content = path.read_bytes()
    if content == EARLIER:
        return True
    if path.suffix == ".json":
        try:
            json.loads(content)
        except ValueError:
            return False
    if path.suffix == ".db":
        with closing(sqlite3.connect(path)) as connection:
            return bool(connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok")
    ends = {".html": b"</html>", ".csv": b"\r\n", ".parquet": b"PAR1"}
    return bool(content) and content.rstrip(b"\n" if path.suffix == ".html" else b"").endswith(
        ends.get(path.suffix, b"")
    )


def _export(format_name: str, target: str) -> Act:
    def arguments(scene: Scene, made: Materials) -> tuple[str, ...]:
        return ("export", "last", "--format", format_name, "-o", str(scene.out / target))

    def again(scene: Scene, made: Materials) -> tuple[str, ...]:
        """A file of its own is never overwritten."""
        return ("list",) if format_name == "sqlite" and (scene.out / target).exists() else arguments(scene, made)

    return Act(f"export as {format_name}", arguments, _put_earlier_export, _all_or_nothing, again, _all_or_nothing)


# -- the library ---------------------------------------------------------------------------------------------


def _people(*allowed: int) -> Check:
    def check(scene: Scene, made: Materials) -> str:
        found = scene.query("SELECT count(*) FROM library_entity")[0][0] if scene.database.exists() else 0
        return "" if found in allowed else f"{found} entities, not {allowed}"

    return check


def _add(scene: Scene, made: Materials) -> tuple[str, ...]:
    return ("entities", "add", str(made.people))


def _put_people(scene: Scene, made: Materials) -> None:
    _put_small(scene, made)
    said = scene.run(*_add(scene, made))
    assert said.code == 0, said


# -- runs ----------------------------------------------------------------------------------------------------


def _run(service: str, model: str = "", cells: int = 1) -> Act:
    calls = CONVERSATIONS * MESSAGES * cells

    def run(scene: Scene, made: Materials) -> tuple[str, ...]:
        more = service + (DESIGN if cells > 1 else "")
        path = written(scene.folder / "home", CONVERSATIONS, MESSAGES, more=more)
        if model:
            path.write_text(re.sub(r"simulated:\w+", model, path.read_text()))
        return "--run", str(path)

    def resume(scene: Scene, made: Materials) -> tuple[str, ...]:
        """Goes on with the batch, or begins it where it was killed before there was one."""
        states = scene.batches("status")
        if not states:
            return run(scene, made)
        return ("list",) if {state for (state,) in states} == {"completed"} else ("--resume", "last")

    def completed(scene: Scene, made: Materials) -> str:
        rows = scene.query("SELECT status FROM batches")
        found = scene.query("SELECT count(*) FROM call")[0][0]
        return "" if rows == [("completed",)] * cells and found == calls else f"{rows}, {found} calls"

    name = "provider batch" if model else "study of several batches" if cells > 1 else "live run"
    return Act(name, run, lambda s, m: None, again=resume, done=completed, emulated=bool(model), runs=True)


ACTS = (
    _run(LIVE),
    _run(LIVE, cells=CELLS),
    _run(BATCHED, model="openai:gpt-4o-mini"),
    Act("import", lambda scene, made: ("import", str(made.large)), _put_small, _whole_or_absent, done=_imported),
    _export("json", ""),
    _export("csv", "csv"),
    _export("sqlite", "one.db"),
    _export("html", "report.html"),
    _export("parquet", "parquet"),
    Act(
        "delete",
        lambda scene, made: ("delete", "last", "--yes"),
        _put_large,
        _whole_or_absent,
        again=lambda scene, made: ("delete", "last", "--yes") if _calls_by_batch(scene.database) else ("list",),
        done=_gone,
    ),
    Act("library: add", _add, _put_small, _people(0, PEOPLE), done=_people(PEOPLE)),
    Act(
        "library: generate",
        lambda scene, made: ("entities", "generate", "--type", "human", "-n", str(PEOPLE)),
        _put_small,
        _people(0, PEOPLE),
        done=_people(PEOPLE),
    ),
    Act(
        "library: remove",
        lambda scene, made: ("entities", "remove", "*"),
        _put_people,
        _people(0, PEOPLE),
        again=lambda scene, made: ("list",) if not _people(0)(scene, made) else ("entities", "remove", "*"),
        done=_people(0),
    ),
)
