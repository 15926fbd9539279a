"""The README is true: its configs are valid, its commands exist, its Python runs, its examples work offline."""

import os
import re
import tomllib
from pathlib import Path

import pytest

from tests.support import warm
from tidepool.engine.config.freezing import freeze
from tidepool.engine.config.loading import config_from
from tidepool.engine.design.cells import plan_study
from tidepool.tui.command.main import main

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), flags=re.S)


def studies() -> list[tuple[str, str]]:
    return [(page.name, block) for page in PAGES for block in blocks(page, "toml") if "[batch]" in block]


@pytest.mark.parametrize(("page", "text"), studies())
def test_every_study_shown_in_the_documentation_is_a_valid_config(page: str, text: str) -> None:
    config = config_from(tomllib.loads(text), source=page, folder=ROOT)
    (freeze if config.design is None else plan_study)(config, Path("no.db"))


def test_the_python_of_the_readme_runs(tmp_path: Path) -> None:
    (program,) = blocks(ROOT / "README.md", "python")
    assert "BatchEnded(status=<BatchStatus.COMPLETED: 'completed'>" in run_from(tmp_path, program)


@pytest.mark.parametrize("program", blocks(ROOT / "docs" / "python.md", "python"), ids=range(5))
def test_the_programs_of_the_tour_of_python_run_and_print_what_they_say(program: str, tmp_path: Path) -> None:
    printed = run_from(tmp_path, program)
    for promised in re.findall(r"print\(.*\)  # (.*)$", program, flags=re.M):
        assert all(part in printed for part in promised.split(" … ")[-1].split("… ")), printed


def run_from(folder: Path, program: str) -> str:
    """What it prints, run in the repository with its study file elsewhere."""
    program = program.replace('"study.db"', repr(str(folder / "study.db")))
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


def test_every_picture_shown_is_there_and_loads_nothing_from_elsewhere() -> None:
    shown = {
        (page.parent / name).resolve()
        for page in PAGES
        for name in re.findall(r"[\"(]([\w/.-]+\.svg)[\")]", page.read_text(encoding="utf-8"))
    }
    assert shown == set((ROOT / "docs" / "pictures").rglob("*.svg"))
    for picture in shown:
        assert not re.search(r"url\(.?http|/home/|/tmp/|/root/", picture.read_text(encoding="utf-8")), picture.name
