"""The acts that write, each with what it needs, what it says and what must be true whenever it is broken off."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.crashes.scene import Scene
from tests.support.studies import written

PEOPLE = 6_000


@dataclass(frozen=True, slots=True)
class Size:
    conversations: int = 8_000
    """of the study that is exported, imported, deleted"""
    people: int = PEOPLE


FULL = Size()
SMALL = Size(conversations=300, people=300)


@dataclass(frozen=True, slots=True)
class Materials:
    """Files that are made once and laid into every scene."""

    folder: Path
    size: Size

    @property
    def large(self) -> Path:
        """one batch of many conversations, finished"""
        return self.folder / "large.db"

    @property
    def small(self) -> Path:
        """one batch of ten conversations"""
        return self.folder / "small.db"

    @property
    def learned(self) -> Path:
        """a mutation study, finished"""
        return self.folder / "learned.db"

    @property
    def people(self) -> Path:
        return self.folder / "people.json"


def materials(folder: Path, size: Size) -> Materials:
    made = Materials(folder, size)
    scene = Scene(folder / "making")
    for path, conversations in ((made.large, size.conversations), (made.small, 10)):
        study = written(folder, conversations, 3, more='[service]\nname = "live"\nmax_concurrent = 200', name=path.stem)
        said = scene.run("--run", str(study))
        assert said.code == 0, said
        shutil.move(scene.database, path)
    mutation = folder / "mutation.toml"
    mutation.write_text(
        '[batch]\nkind = "mutation"\n[mutation]\nnum_processes = 4\nnum_steps = 3\nnum_env_steps = 36\n'
    )
    said = scene.run("--run", str(mutation))
    assert said.code == 0, said
    shutil.move(scene.database, made.learned)
    scene.leave()
    people = [
        {"name": f"Person {number}", "description": "x" * 200, "attributes": {"age": number % 90}}
        for number in range(size.people)
    ]
    made.people.write_text(json.dumps(people))
    return made


Check = Callable[[Scene, Materials], str]
"""empty where all is well, else what is wrong"""


def _well(scene: Scene, made: Materials) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Act:
    name: str
    arguments: Callable[[Scene, Materials], tuple[str, ...]]
    lay: Callable[[Scene, Materials], None]
    kept: Check = _well
    """after the crash, and one look at the file: nothing committed is lost, nothing is there by half"""
    again: Callable[[Scene, Materials], tuple[str, ...]] | None = None
    """what goes on after the crash; else the same command"""
    done: Check = _well
    """once that has come to its end"""
    emulated: bool = False
    """calls go to the emulator"""
    codes: tuple[int, ...] = (0,)
    """exit codes of what goes on that are right"""
    allowed: Callable[[str], bool] = field(default=lambda name: False)
    """names that may be there besides those of an undisturbed act"""


def _put(path: Callable[[Materials], Path]) -> Callable[[Scene, Materials], None]:
    def lay(scene: Scene, made: Materials) -> None:
        shutil.copy(path(made), scene.database)

    return lay


def _counts(scene: Scene) -> dict[str, int]:
    """Calls by batch."""
    rows = scene.query(
        "SELECT b.id, count(c.step) FROM batch b LEFT JOIN unit u ON u.batch_number = b.number "
        "LEFT JOIN call c ON c.unit_id = u.id GROUP BY b.id"
    )
    return dict(rows)


def _units(scene: Scene) -> int:
    return int(scene.query("SELECT count(*) FROM unit")[0][0])


# -- import, delete ------------------------------------------------------------------------------------------


def _counts_of(path: Path) -> dict[str, int]:
    with closing(sqlite3.connect(path)) as connection:
        return dict(
            connection.execute(
                "SELECT b.id, count(c.step) FROM batch b LEFT JOIN unit u ON u.batch_number = b.number "
                "LEFT JOIN call c ON c.unit_id = u.id GROUP BY b.id"
            ).fetchall()
        )


def _whole_or_absent(other: Callable[[Materials], Path], *, present: bool = False) -> Check:
    def check(scene: Scene, made: Materials) -> str:
        here, expected = _counts(scene), _counts_of(other(made))
        wrong = {one: count for one, count in here.items() if one in expected and count != expected[one]}
        if present and not expected.keys() <= here.keys():
            return f"missing: {expected.keys() - here.keys()}"
        strangers = here.keys() - expected.keys() - _counts_of(made.small).keys()
        return f"by half: {wrong} of {expected}; strangers {strangers}" if wrong or strangers else ""

    return check


def _gone(scene: Scene, made: Materials) -> str:
    left = {table: scene.query(f"SELECT count(*) FROM {table}")[0][0] for table in ("batch", "unit", "call", "line")}
    return f"left: {left}" if any(left.values()) else ""


# -- export --------------------------------------------------------------------------------------------------


def _earlier(scene: Scene, made: Materials) -> None:
    """The study, and an earlier export of it where the next one goes."""
    shutil.copy(made.large, scene.database)
    batch = next(iter(_counts_of(made.large)))
    for name in (f"{batch}/results.json", f"{batch}/analysis.json", "csv/messages.csv", "csv/outcomes.csv",
                 "parquet/messages.parquet", "parquet/outcomes.parquet", "report.html"):  # fmt: skip
        path = scene.out / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("an earlier export")


def _all_or_nothing(scene: Scene, made: Materials) -> str:
    """Of the files of one export either all are new or all are as before."""
    old = {"an earlier export"}
    for folder in (path for path in scene.out.iterdir() if path.is_dir() and not path.name.startswith(".")):
        states = {path.read_bytes()[:40].decode("utf-8", "replace") in old for path in folder.iterdir()}
        if len(states) > 1:
            return f"{folder.name} is half new"
    for path in scene.out.rglob("*"):
        if path.is_file() and not path.name.startswith(".") and (wrong := _cut_off(path)):
            return f"{path.name}: {wrong}"
    return ""


def _cut_off(path: Path) -> str:
    content = path.read_bytes()
    if content == b"an earlier export":
        return ""
    if path.suffix == ".json":
        try:
            json.loads(content)
        except ValueError as error:
            return str(error)
    if path.suffix == ".html" and not content.rstrip().endswith(b"</html>"):
        return "no end"
    if path.suffix == ".csv" and not content.endswith(b"\r\n"):
        return "no end"
    if path.suffix == ".parquet" and not content.endswith(b"PAR1"):
        return "no end"
    if path.suffix == ".db":
        with closing(sqlite3.connect(path)) as connection:
            return "" if connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok" else "damaged"
    return "" if content else "empty"


def _export(format_name: str, target: str) -> Act:
    return Act(
        f"export as {format_name}",
        lambda scene, made: ("export", "last", "--format", format_name, "-o", str(scene.out / target)),
        _earlier,
        _all_or_nothing,
        done=_all_or_nothing,
        again=lambda scene, made: (
            ("export", "last", "--format", format_name, "-o", str(scene.out / target))
            if format_name != "sqlite" or not (scene.out / target).exists()
            else ("list",)
        ),
    )


def _policy(scene: Scene, made: Materials) -> None:
    shutil.copy(made.learned, scene.database)


# -- the library ---------------------------------------------------------------------------------------------


def _people(*allowed: int | None) -> Check:
    def check(scene: Scene, made: Materials) -> str:
        found = scene.query("SELECT count(*) FROM library_entity")[0][0] if scene.database.exists() else 0
        right = [made.size.people if one is None else one for one in allowed]
        return "" if found in right else f"{found} entities, not {right}"

    return check


def _peopled(scene: Scene, made: Materials) -> None:
    shutil.copy(made.small, scene.database)
    said = scene.run("entities", "add", str(made.people))
    assert said.code == 0, said


# -- runs ----------------------------------------------------------------------------------------------------

CONVERSATIONS, MESSAGES = 30, 4


def _study(scene: Scene, made: Materials) -> tuple[str, ...]:
    more = '[service]\nname = "live"\nmax_concurrent = 10\ncache = false\n[providers.simulated]\nlatency = 0.05\njitter = 0.7'
    return "--run", str(written(scene.folder / "home", CONVERSATIONS, MESSAGES, more=more))


def _batched(scene: Scene, made: Materials) -> tuple[str, ...]:
    path = scene.folder / "home" / "batched.toml"
    agents = "".join(
        f'[[agents]]\nname = "{name}"\nmodel = "openai:gpt-4o-mini"\nsecret = "{secret}"\n'
        for name, secret in (("Ada", "marigold"), ("Bob", "lantern"))
    )
    path.write_text(
        '[batch]\nkind = "secret_game"\n[service]\nname = "openai-conversation"\npoll_interval = 0.2\n'
        f"[secret_game]\nnum_interactions = {CONVERSATIONS}\nmessages_per_interaction = {MESSAGES}\n"
        f'detection = ["exact"]\n{agents}'
    )
    return "--run", str(path)


def _resumed(scene: Scene, made: Materials) -> tuple[str, ...]:
    """Goes on with the batch, or begins it where it was killed before there was one."""
    state = scene.query("SELECT status FROM batch") if scene.database.exists() else []
    if not state:
        return _batched(scene, made) if scene.more.get("OPENAI_BASE_URL") else _study(scene, made)
    return ("list",) if state[-1][0] == "completed" else ("--resume", "last")


def _complete(scene: Scene, made: Materials) -> str:
    rows = scene.query("SELECT status FROM batches")
    calls = scene.query("SELECT count(*) FROM call")[0][0]
    return "" if rows == [("completed",)] and calls == CONVERSATIONS * MESSAGES else f"{rows}, {calls} calls"


def _nothing(scene: Scene, made: Materials) -> None:
    pass


ACTS = (
    Act("live run", _study, _nothing, again=_resumed, done=_complete),
    Act("provider batch", _batched, _nothing, again=_resumed, done=_complete, emulated=True),
    Act(
        "import",
        lambda scene, made: ("import", str(made.large)),
        _put(lambda made: made.small),
        _whole_or_absent(lambda made: made.large),
        done=_whole_or_absent(lambda made: made.large, present=True),
    ),
    _export("json", ""),
    _export("csv", "csv"),
    _export("sqlite", "one.db"),
    _export("html", "report.html"),
    _export("parquet", "parquet"),
    Act("export as policy", lambda s, m: ("export", "last", "--format", "policy"), _policy, _all_or_nothing),
    Act(
        "delete",
        lambda scene, made: ("delete", "last", "--yes"),
        _put(lambda made: made.large),
        _whole_or_absent(lambda made: made.large),
        again=lambda scene, made: ("delete", "last", "--yes") if _counts(scene) else ("list",),
        done=_gone,
    ),
    Act(
        "library: add",
        lambda scene, made: ("entities", "add", str(made.people)),
        _put(lambda made: made.small),
        _people(0, None),
        done=_people(None),
    ),
    Act(
        "library: generate",
        lambda scene, made: ("entities", "generate", "--type", "human", "-n", str(made.size.people)),
        _put(lambda made: made.small),
        _people(0, None),
        done=_people(None),
    ),
    Act(
        "library: remove",
        lambda scene, made: ("entities", "remove", "*"),
        _peopled,
        _people(0, None),
        again=lambda scene, made: (
            ("entities", "remove", "*") if scene.query("SELECT count(*) FROM library_entity")[0][0] else ("list",)
        ),
        done=_people(0),
    ),
)
