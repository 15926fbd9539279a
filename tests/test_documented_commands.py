"""Every command of the documentation is one, and runs; those that cannot run in a test say so where they stand."""

import re
import sqlite3
from pathlib import Path

import pytest

from tests.support.command import Tidepool
from tests.support.documented import PAGES, ROOT, Command, blocks, commands, saved, smaller_examples, told
from tidepool.tui.command.main import COMMANDS, whole_parser

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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_named_in_the_text_is_one(page: Path) -> None:
    for word in re.findall(r"`tidepool ([a-z]+)\b(?!\.)", page.read_text(encoding="utf-8")):
        assert word in COMMANDS, f"{page.name}: tidepool {word}"


def test_the_tutorial_goes_from_nothing_to_a_published_study_in_ten_commands(tmp_path: Path) -> None:
    tidepool = Tidepool(tmp_path, Path("tidepool.db"))
    steps = commands(TUTORIAL)
    assert len(steps) == 10 and {step.words[0] for step in steps} == {"tidepool"}
    (appended,) = [content for _, content in blocks(TUTORIAL.read_text(encoding="utf-8"), "toml")]
    for step in steps:
        if "study.toml" in step.words:
            written = (tmp_path / "pilot.toml").read_text(encoding="utf-8")
            (tmp_path / "study.toml").write_text(f"{written}\n{appended}", encoding="utf-8")
        done = tidepool(*step.words[1:])
        assert done.returncode == 0, (step.text, done.stderr)
        assert told(step.printed, done.stdout) == [], step.text
    assert (tmp_path / "report.html").stat().st_size > 10_000
    assert {"README.md", "CITATION.cff", "study.db", "data"} <= {
        path.name for path in (tmp_path / "published").iterdir()
    }


@pytest.mark.parametrize("page", RUN, ids=lambda page: page.name)
def test_the_commands_of_a_page_run_as_they_stand(page: Path, tmp_path: Path) -> None:
    tidepool = Tidepool(tmp_path, Path("tidepool.db"))
    smaller_examples(tmp_path)
    for name, content in saved(page):
        (tmp_path / name).write_text(content, encoding="utf-8")
    for command in [*_before(page, tmp_path), *commands(page)]:
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


def _before(page: Path, folder: Path) -> list[Command]:
    """What a page takes for granted: a small study, and two batches of it in the file where it begins with what is there."""
    small = (folder / "examples" / "secret_game.toml").read_text(encoding="utf-8")
    (folder / "study.toml").write_text(small, encoding="utf-8")
    shown = [command.words for command in commands(page) if not command.mark]
    if not any("last" in words for words in shown) or {"run", "--run"} & set(shown[0]):
        return []
    runs = ("tidepool run study.toml", "tidepool run study.toml --set batch.seed=7")
    return [Command(text, tuple(text.split()), mark=False) for text in runs]
