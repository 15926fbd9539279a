"""A nasty text in every text column of the file: no command, export or screen lets it act. See `tests/support/poison.py`."""

import ast
import csv
import json
import re
import shutil
import sqlite3
import sys
import tomllib
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from markdown_it import MarkdownIt

from tests.storage.test_plain_text import FORMULA, steers
from tests.support.all_kinds import file_of_all_kinds
from tests.support.poison import FIXED, POISON, poisoned_file, text_columns
from tests.support.state import change
from tidepool.engine.exports.export import FORMATS
from tidepool.engine.kinds import KINDS, load_kind
from tidepool.tui.command.main import COMMANDS, main

ROOT = Path(__file__).parents[2]
BATCHES = {
    "secret_game": "0c13f5c60828",
    "simulation": "256332e3cf7a",
    "evolution": "46e253540b40",
    "mutation": "20faf7356319",
}
"""one of each kind in the fixture"""

GAME = str(Path(__file__).parents[2] / "examples" / "secret_game.toml")
OF_A_BATCH: dict[str, list[list[str]]] = {
    "show": [
        ["BATCH"],
        ["BATCH", "--conversation", "1"],
        ["BATCH", "--conversation", "2"],
        ["BATCH", "--genealogy"],
        ["BATCH", "--genome", "champion"],
        ["BATCH", "--genome", POISON],
        ["BATCH", "--problem", "1", "--split", "judge"],
    ],
    "stats": [["BATCH"]],
    "log": [["BATCH"]],
    "code": [
        ["BATCH"],
        ["BATCH", "--status"],
        ["BATCH", "--export", "sample.csv", "--coder", "ann"],
        ["BATCH", "--export", "other.csv", "--coder", POISON],
        ["BATCH", "--import", POISON],
    ],
    "branch": [
        ["BATCH", "--all", "--at", "t2", "--dry-run"],
        ["BATCH", "--conversation", "1", "--at", POISON, "--say", POISON],
    ],
    "orders": [["BATCH", "--all"], ["BATCH", "--give-up", POISON, "--yes"]],
    "compare": [["BATCH", "f639b38a67c8"], ["BATCH", "4be289fedceb"]],
    "stop": [["BATCH"]],
    "pause": [["BATCH"]],
    "continue": [["BATCH"]],
    "limits": [["BATCH", "retries=1"], ["BATCH", f"{POISON}=1"]],
    "export": [["BATCH", "--format", POISON]],
    "publish": [["BATCH", "-o", "published", "--author", POISON], ["BATCH", "-o", POISON, "--license", POISON]],
    "delete": [["BATCH"]],
}
OF_THE_FILE: dict[str, list[list[str]]] = {
    "list": [[]],
    "entities": [
        ["list"],
        ["show", "*"],
        ["types"],
        ["remove", POISON],
        ["generate", "--type", POISON],
        ["add", POISON],
    ],
    "agents": [["list"], ["show", "*"], ["remove", POISON], ["add", "--from-champion", POISON, "--model", POISON]],
    "import": [[POISON]],
    "models": [["simulated"], [POISON], ["--config", POISON]],
    "web": [["--port", "70000"], ["--port", POISON]],
    "api": [["--port", POISON]],
    "trust": [["list"], ["add", POISON], ["add", "BATCH"], ["remove", POISON], ["add", f"http://{POISON}"]],
    "bench": [[POISON]],
    "run": [[POISON], [GAME, "--set", POISON]],
    "resume": [[POISON]],
    "new": [[POISON], ["secret_game", "-o", "-"], ["simulation", "-o", POISON]],
    "examples": [[], [POISON], ["secret_game", "-o", POISON]],
    "completion": [["bash"], [POISON]],
    "plan": [
        [POISON],
        [GAME, "--pilot", "BATCH"],
        [GAME, "--assume", POISON],
        [GAME, "--detect", "0.1", "--outcome", POISON],
    ],
}


def test_every_command_is_tried() -> None:
    assert {*OF_A_BATCH, *OF_THE_FILE} == set(COMMANDS)
    assert set(BATCHES) == set(KINDS)


FAULTS = ("unexpected error", "data that Tidepool cannot read", "Traceback")
"""what is said where the program is at fault, or may be"""


@pytest.fixture(scope="module")
def poisoned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return poisoned_file(tmp_path_factory.mktemp("poisoned"))


@pytest.fixture
def file(poisoned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("builtins.input", _answers_no)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    return Path(shutil.copy(poisoned, tmp_path / "study.db"))


def _answers_no(question: str = "") -> str:
    print(question)
    return "n"


def test_the_poison_is_in_every_text_column(poisoned: Path) -> None:
    with closing(sqlite3.connect(poisoned)) as connection:
        columns = text_columns(connection)
        clean = {
            (table, column)
            for table, names in columns.items()
            for column in names
            if not connection.execute(f"SELECT 1 FROM {table} WHERE {column} LIKE '%/C calc%'").fetchone()
        }
    fixed = {(table, column) for table, names in FIXED.items() for column in names}
    assert len(columns) > 20 and clean == {*(fixed - {("batch", "config")}), ("progress", "in_flight")}


def told(capsys: pytest.CaptureFixture[str], path: Path, *words: str) -> tuple[int, str]:
    try:
        code = main(["--db", str(path), *words])
    except SystemExit as ended:  # argparse
        code = int(str(ended.code))
    printed = capsys.readouterr()
    return code, printed.out + printed.err


def assert_plain(text: str, what: object) -> None:
    found = {character for character in text if steers(character)}
    assert not found, f"{what}: {found!r} in {text[:2000]!r}"
    assert "\U0001f480" not in text and "\N{SKULL}" not in text, f"{what}: a code became a picture"


@pytest.mark.parametrize("command", [*OF_A_BATCH, *OF_THE_FILE])
def test_no_command_lets_it_act(file: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    kinds = BATCHES.values() if command in OF_A_BATCH else ["last"]
    shown = ""
    for batch in kinds:
        for words in (OF_A_BATCH | OF_THE_FILE)[command]:
            named = [batch if word == "BATCH" else word for word in words]
            for more in ([], ["--json"]):
                code, text = told(capsys, file, command, *named, *more)
                assert_plain(text, named)
                assert not any(words in text for words in FAULTS), (named, text[-2000:])
                assert text.strip(), named
                if more and code == 0 and text.startswith(("{", "[")):
                    json.loads(text)
                shown += text
    if command in ("list", "show", "stats", "log", "compare", "entities", "agents"):
        assert "[@click=app.poisoned]" in shown, "shown to the letter"


def _formats() -> list[tuple[str, str]]:
    return [(kind, name) for kind in BATCHES for name in dict.fromkeys((*FORMATS, *load_kind(kind).results.formats()))]


@pytest.mark.parametrize(("kind", "name"), _formats())
def test_no_export_lets_it_act(file: Path, kind: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    target = file.parent / "out"
    target.mkdir()
    code, text = told(capsys, file, "export", BATCHES[kind], "--format", name, "-o", str(target))
    assert_plain(text, (kind, name))
    assert not any(words in text for words in FAULTS), text
    written = [path for path in target.rglob("*") if path.is_file()]
    assert (code == 0 and written) or "cannot be exported" in text or "policy" in text, text
    for path in written:
        LOOKS.get(path.suffix, lambda path: None)(path)


def _look_at_json(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert_plain(text, path.name)
    assert json.dumps(POISON)[1:-1] in json.dumps(json.loads(text)) or path.name == "analysis.json", "nothing is lost"


def _look_at_table(path: Path) -> None:
    with path.open(encoding="utf-8", newline="") as stream:
        cells = [cell for row in csv.reader(stream) for cell in row]
    for cell in cells:
        assert_plain(cell.replace("\t", ""), path.name)
        if cell.lstrip(' \t\n"')[:1] in tuple(FORMULA):
            float(cell)  # raises unless it is a number


class _Page(HTMLParser):
    """Whatever would load, run or lead elsewhere is wrong."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in ("script", "img", "a", "iframe", "base", "form", "object", "embed", "link"), tag
        for name, value in attrs:
            assert not name.startswith("on") and name not in ("src", "href", "srcdoc", "xlink:href"), (tag, name)
            assert tag != "meta" or "refresh" not in (value or ""), value

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)


def _look_at_page(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert_plain(text.replace("\t", ""), path.name)
    if path.suffix == ".md":
        text = str(MarkdownIt("commonmark", {"html": True}).enable("table").render(text))
    assert "&lt;img src=x onerror=alert(1)&gt;" in text
    page = _Page()
    page.feed(text)
    page.close()


def _look_at_picture(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert_plain(text, path.name)
    drawn = {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(text).iter()}
    assert drawn <= {"svg", "title", "desc", "rect", "line", "text", "circle", "polygon", "polyline"}


def _look_at_config(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert_plain(text.replace("\t", ""), path.name)
    assert tomllib.loads(text)


LOOKS = {
    ".json": _look_at_json,
    ".csv": _look_at_table,
    ".html": _look_at_page,
    ".svg": _look_at_picture,
    ".md": _look_at_page,
    ".toml": _look_at_config,
}

LOOKED_AT = (["list"], ["show", "last"], ["log", "last"], ["entities", "types"], ["--resume", "last", "--dry-run"])


@pytest.mark.parametrize(("table", "column"), sorted((table, name) for table, names in FIXED.items() for name in names))
def test_no_complaint_about_what_the_program_goes_by_lets_it_act(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str, column: str, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    path = file_of_all_kinds(tmp_path / "study.db")
    change(path, f"UPDATE {table} SET {column} = ? || rowid || {column}", POISON)
    for words in LOOKED_AT:
        _, text = told(capsys, path, *words)
        assert_plain(text, (table, column, words))
        assert "Traceback" not in text


HOSTILE_STUDY = """
[batch]
kind = "secret_game"
name = {poison}
[service]
max_concurrent = 2
[providers.simulated]
fatal_rate = 0.3
[[agents]]
name = {poison}
model = "simulated:guarded"
secret = {poison}
[[agents]]
name = "Bob"
model = "simulated:trusting"
secret = "lantern"
[secret_game]
num_interactions = 4
messages_per_interaction = 2
"""


@pytest.mark.parametrize(
    "words", [["--dry-run"], [], ["--json"], ["--set", f"{POISON}=1"], ["--set", f"service.{POISON}"]]
)
def test_no_run_of_a_stranger_s_config_lets_it_act(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    study = tmp_path / "study.toml"
    in_toml = '"' + "".join(f"\\U{ord(character):08x}" for character in POISON) + '"'
    study.write_text(HOSTILE_STUDY.format(poison=in_toml), encoding="utf-8")
    _, text = told(capsys, tmp_path / "new.db", "--run", str(study), *words)
    assert_plain(text, words)
    assert not any(words in text for words in FAULTS) and "/C calc" in text
    study.write_text(f"{POISON} = 1", encoding="utf-8")
    assert_plain(told(capsys, tmp_path / "new.db", "--run", str(study), *words)[1], "no TOML")


_WRITES = re.compile(r"\b(?:print|input|Console)\(|\bstd(?:out|err)\.(?:write|buffer)")


def _prints(path: Path) -> bool:
    """Prints, asks or writes to the terminal on its own; what a text or a comment says does not count."""
    text = path.read_text(encoding="utf-8")
    if not _WRITES.search(text):
        return False
    return any(
        isinstance(node, ast.Call) and _WRITES.match(ast.unparse(node.func).removeprefix("sys.") + "(")
        for node in ast.walk(ast.parse(text))
    )


PRINT_THEMSELVES = {
    "tui/command/output.py": "the way out",
    "engine/bench.py": "a process that answers the bench in a line of JSON",
    "storage/tables.py": "writes the schema, when it is run by itself",
    "engine/trust/record.py": "a warning in words of its own",
    "engine/studies/evolution/problems/parquet_lines.py": "a process that answers in lines of JSON, and says on stderr why not",
}


def test_nothing_prints_but_by_the_way_out() -> None:
    files = [path for room in ("tui", "engine", "storage") for path in (ROOT / room).rglob("*.py")]
    assert {str(path.relative_to(ROOT)) for path in files if _prints(path)} <= set(PRINT_THEMSELVES)
    assert _prints(ROOT / "tui" / "command" / "output.py"), "it would be seen"
