"""The documentation is true: its commands run, its configs are valid, its Python runs, its examples work offline.

A line of a `sh` block is a command. What cannot run in a test says so, for readers too, in a comment in brackets:
`(needs a key)`, `(opens the app)`, `(while it runs)`, `(asks first)`, `(takes minutes)`. In the first line of a block it
holds for the block.
"""

import asyncio
import os
import re
import shlex
import shutil
import sqlite3
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support import warm
from tests.support.command import Tidepool
from tests.support.config_reference import reference
from tests.tui.studies import game, played_now
from tidepool.engine.config.endpoints import KNOWN_ENDPOINTS, PRESET_ENDPOINTS, PRESET_TABLE
from tidepool.engine.config.freezing import freeze
from tidepool.engine.config.loading import config_from, load_config
from tidepool.engine.design.cells import plan_study
from tidepool.engine.results.summary import summarise
from tidepool.engine.run import run_batch
from tidepool.engine.runtime.batch_lifecycle import SEARCHES
from tidepool.engine.runtime.provider_batch import SMALL_REMAINDER, SMALL_SHARE
from tidepool.storage.states import BatchStatus
from tidepool.tui.command.main import COMMANDS, main, whole_parser

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
MARK = re.compile(r"#.*\((?:needs|opens|while|asks|takes)\b[^)]*\)")

COMMENT = re.compile(r"(?:^|\s)# .*$", flags=re.M)
"""as a shell has it: FILE.db#BATCH is none"""


@dataclass(frozen=True, slots=True)
class Command:
    """A line of a block, and what the page prints below it as its output."""

    text: str
    words: tuple[str, ...]
    mark: bool
    """it is not for a test to run, and says why"""
    printed: str = ""


def blocks(text: str, *languages: str) -> Iterator[tuple[str, str]]:
    """language and content of each fenced block."""
    yield from re.findall(rf"^```({'|'.join(languages)})\n(.*?)^```", text, flags=re.S | re.M)


def contents(page: Path, language: str) -> list[str]:
    return [content for _, content in blocks(page.read_text(encoding="utf-8"), language)]


def commands(page: Path) -> list[Command]:
    """Those of a page, in their order."""
    found: list[Command] = []
    for language, content in blocks(page.read_text(encoding="utf-8"), "sh", "text"):
        if language == "sh":
            found += _of_block(content)
        elif found:
            last = found[-1]
            found[-1] = Command(last.text, last.words, last.mark, content)
    return found


def _of_block(content: str) -> Iterator[Command]:
    lines = content.splitlines()
    whole = bool(MARK.search(lines[0]))
    text = ""
    for line in lines:
        text = f"{text}\n{line}" if text else line
        try:
            words = shlex.split(COMMENT.sub("", text))
        except ValueError:
            continue  # a quotation goes on in the next line
        if words:
            yield Command(text, tuple(words), whole or bool(MARK.search(text)))
        text = ""
    assert not text, f"a quotation without an end: {text}"


def saved(page: Path) -> list[tuple[str, str]]:
    """Files that a page has its readers write: name and content."""
    return re.findall(
        r"ave this as `([\w.]+)`:\n\n```toml\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.S | re.M
    )


def told(printed: str, said: str) -> list[str]:
    """Lines that the page shows and the command has not said, in this order; `…` stands for anything."""
    lacking, lines = [], iter(said.splitlines())
    for line in printed.splitlines():
        pattern = re.compile(".*".join(map(re.escape, map(str.strip, line.split("…")))))
        if line.strip("… ") and not any(pattern.search(spoken) for spoken in lines):
            lacking.append(line)
    return lacking


SMALLER = {
    "num_interactions": 8,
    "games": 2,
    "replicates": 1,
    "num_simulations": 6,
    "max_generations": 1,
    "population_size": 4,
    "elite_size": 2,
    "max_problems": 6,
    "validation_problems": 14,
    "max_calls": 200,
    "num_env_steps": 200,
}
"""sizes of the examples that decide how long a command takes"""


def smaller_examples(folder: Path) -> None:
    """The examples, as the commands name them, in sizes for a test."""
    shutil.copytree(ROOT / "examples", folder / "examples")
    for path in (folder / "examples").glob("*.toml"):
        text = path.read_text(encoding="utf-8")
        for key, most in SMALLER.items():
            text = re.sub(rf"^{key} = (\d+)", lambda at, k=key, m=most: f"{k} = {min(int(at[1]), m)}", text, flags=re.M)
        path.write_text(text.replace("[mutation]\n", "[mutation]\nheldout = 0.05\n"), encoding="utf-8")


TUTORIAL = ROOT / "docs" / "tutorial.md"
GALLERY = ROOT / "docs" / "gallery.md"
RUN = [page for page in PAGES if page not in (TUTORIAL, GALLERY) and any(not one.mark for one in commands(page))]
ENOUGH = {0, 3}
"""completed, or some units failed: of a small example that may be"""


def test_every_tidepool_command_of_the_documentation_parses() -> None:
    parser = whole_parser()
    count = 0
    for page in PAGES:
        for command in commands(page):
            if command.words[0] == "tidepool" and len(command.words) > 1 and not command.words[1].endswith(".db"):
                parser.parse_args(command.words[1:])
                count += 1
    assert count > 80


@pytest.mark.slow
def test_the_tutorial_goes_from_nothing_to_a_published_study_in_ten_commands(tmp_path: Path) -> None:
    tidepool = Tidepool(tmp_path, Path("tidepool.db"))
    steps = commands(TUTORIAL)
    assert len(steps) == 10 and {step.words[0] for step in steps} == {"tidepool"}
    (appended,) = [content for _, content in blocks(TUTORIAL.read_text(encoding="utf-8"), "toml")]
    for step in steps:
        if "study.toml" in step.words:
            written = (tmp_path / "pilot.toml").read_text(encoding="utf-8")
            (tmp_path / "study.toml").write_text(
                f"{written.replace('seed = 42', 'seed = 43')}\n{appended}", encoding="utf-8"
            )
        done = tidepool(*step.words[1:])
        assert done.returncode == 0, (step.text, done.stderr)
        assert told(step.printed, done.stdout) == [], step.text
    assert (tmp_path / "report.html").stat().st_size > 10_000
    assert {"README.md", "study.db", "data"} <= {path.name for path in (tmp_path / "published").iterdir()}


@pytest.mark.slow
@pytest.mark.parametrize("page", RUN, ids=lambda page: page.name)
def test_the_commands_of_a_page_run_as_they_stand(page: Path, tmp_path: Path) -> None:
    tidepool = Tidepool(tmp_path, Path("tidepool.db"))
    smaller_examples(tmp_path)
    for name, content in saved(page):
        (tmp_path / name).write_text(content, encoding="utf-8")
    _before(page, tmp_path)
    for command in commands(page):
        if command.mark:
            continue
        if command.words[0] == "sqlite3":
            with sqlite3.connect(tmp_path / command.words[1]) as connection:
                assert connection.execute(command.words[2]).fetchall(), command.text
            connection.close()
            continue
        assert command.words[0] == "tidepool", f"{page.name} must say why no test can run it: {command.text}"
        done = tidepool(*command.words[1:])
        assert done.returncode in ENOUGH, f"{page.name}: {command.text}\n{done.stderr}"
        assert told(command.printed, done.stdout) == [], command.text


def _before(page: Path, folder: Path) -> None:
    """What a page takes for granted: a small study, and two batches of it in the file where it begins with what is there."""
    study = shutil.copy(folder / "examples" / "secret_game.toml", folder / "study.toml")
    shown = [command.words for command in commands(page) if not command.mark]
    if any("last" in words for words in shown) and not {"run", "--run"} & set(shown[0]):
        for seed in (42, 7):
            asyncio.run(run_batch(load_config(study, [f"batch.seed={seed}"]), folder / "tidepool.db"))


EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))


def studies() -> list[tuple[str, str]]:
    return [(page.name, block) for page in PAGES for block in contents(page, "toml") if "[batch]" in block]


@pytest.mark.parametrize(("page", "text"), studies())
def test_every_study_shown_in_the_documentation_is_a_valid_config(page: str, text: str) -> None:
    config = config_from(tomllib.loads(text), source=page, folder=ROOT)
    (freeze if config.design is None else plan_study)(config, Path("no.db"))


def test_the_python_of_the_readme_runs(tmp_path: Path) -> None:
    (program,) = contents(ROOT / "README.md", "python")
    assert "BatchEnded(status=<BatchStatus.COMPLETED: 'completed'>" in run_from(tmp_path, program)


@pytest.mark.slow
@pytest.mark.parametrize("program", contents(ROOT / "docs" / "python.md", "python"), ids=range(6))
def test_the_programs_of_the_tour_of_python_run_and_print_what_they_say(program: str, tmp_path: Path) -> None:
    printed = run_from(tmp_path, program)
    for promised in re.findall(r"print\(.*\)  # (.*)$", program, flags=re.M):
        assert all(part in printed for part in promised.split(" … ")[-1].split("… ")), printed


def run_from(folder: Path, program: str) -> str:
    """What it prints, run in the repository with its study file elsewhere."""
    program = re.sub(r'"(study\.db|report\.html|published)"', lambda name: repr(str(folder / name[1])), program)
    done = warm.run_program(program, ROOT, os.environ, seconds=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_every_example_plans_without_a_key_or_a_network(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    for name in [name for name in os.environ if name.endswith(("_API_KEY", "_AUTH_TOKEN", "_PROFILE"))]:
        monkeypatch.delenv(name)
    assert main(["--db", str(tmp_path / "x.db"), "--run", str(path), "--dry-run"]) == 0
    assert "plan only" in capsys.readouterr().out
    assert not (tmp_path / "x.db").exists()


PROGRAM = [path for folder in ("engine", "storage", "tui") for path in (ROOT / folder).rglob("*.py")]
CONTRACT = (ROOT / "docs" / "contract.md").read_text(encoding="utf-8")


def test_how_to_cite_it_names_the_version_that_it_is() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"{{{version}}}" in (ROOT / "docs" / "cite.md").read_text(encoding="utf-8")


def test_every_sentence_that_troubleshooting_quotes_is_one_of_the_code() -> None:
    program = "\n".join(path.read_text(encoding="utf-8") for path in PROGRAM)
    said = re.sub(r"\"\s*\n\s*f?\"", "", program).replace('\\"', '"')
    quoted = re.findall(r"^> (.*)$", (ROOT / "docs" / "troubleshooting.md").read_text("utf-8"), flags=re.M)
    pieces = {(line, piece.strip(" .:")) for line in quoted for piece in line.split("…") if len(piece.strip(" .:")) > 3}
    assert len(quoted) > 15 and [line for line, piece in pieces if piece not in said] == []


def test_the_contract_names_every_command_and_no_other() -> None:
    named = set(re.findall(r"`(?:tidepool )?([a-z]+)[^`]*`", CONTRACT.split("## The command")[1].split("BATCH is")[0]))
    assert set(COMMANDS) <= named


def test_the_contract_names_every_state_and_every_key_of_the_summary(tmp_path: Path) -> None:
    assert [state for state in BatchStatus if f"`{state}`" not in CONTRACT] == []
    path = tmp_path / "study.db"
    played_now(path, game(talks=2))
    summary = summarise(path, "last")
    keys = {*summary, *summary["units"], *summary["calls"], *summary["waves"][0], *summary["performance"]}
    assert [key for key in sorted(keys - {"paused"}) if f"`{key}`" not in CONTRACT] == []


# -- references ---------------------------------------------------------------------------------------


def test_the_reference_of_config_keys_is_that_of_the_code_and_explains_each() -> None:
    page = (ROOT / "docs" / "config.md").read_text(encoding="utf-8")
    assert page == reference(), "make it anew: python -m tests.support.config_reference > docs/config.md"
    assert [line for line in page.splitlines() if line.startswith("| `") and line.endswith("|  |")] == []


# -- docs/providers.md --------------------------------------------------------------------------------


PROVIDERS = (ROOT / "docs" / "providers.md").read_text(encoding="utf-8")


def test_the_table_of_presets_is_that_of_the_code() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `(\w+:[\w.-]+)` \| (.*?) ?\|$", PROVIDERS, flags=re.M)
    assert rows == [(name, preset.model, preset.note) for name, preset in PRESET_TABLE.items()]


def test_every_variable_that_holds_a_key_is_named() -> None:
    assert all(variable in PROVIDERS for known in KNOWN_ENDPOINTS.values() for variable in known.keys)


def test_the_table_of_known_endpoints_is_that_of_the_code() -> None:
    rows = re.findall(
        r"^\| `(\w+)` \| (openai|anthropic|ollama) \| (\S+) \| (\S+) \| ?(.*?) ?\|$", PROVIDERS, flags=re.M
    )
    assert rows == [
        (name, known.like, known.address or "yours", "".join(f"`{key}`" for key in known.keys) or "none", known.note)
        for name, known in PRESET_ENDPOINTS.items()
    ]


def test_the_figures_are_those_of_the_code() -> None:
    words = " ".join(PROVIDERS.split())
    assert SEARCHES == 4 and "searches four times" in words
    assert (SMALL_REMAINDER, SMALL_SHARE) == (10, 0.02) and "ten such requests (or 2 %" in words
