"""Installed, everything lives under `tidepool`: however the wheel was built, and whatever lies beside the user's program."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest
import yaml

from benchmarks.demo import next_commands

ROOT = Path(__file__).parent.parent
ROOMS = ("engine", "storage", "tui")
NOT_OURS = shutil.ignore_patterns(
    ".git", ".venv", ".*_cache", ".pythons", "__pycache__", "tests", "demo", "dist", "build"
)


def build(checkout: Path, target: str, folder: Path) -> Path:
    """What hatchling makes of a checkout, as pip would have it made."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return next(folder.glob("*.whl" if target == "wheel" else "*.tar.gz"))


def contents(wheel: Path) -> dict[str, int]:
    """name → checksum of everything but the list of checksums itself."""
    with ZipFile(wheel) as packed:
        return {one.filename: one.CRC for one in packed.infolist() if not one.filename.endswith("/RECORD")}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, "wheel", tmp_path_factory.mktemp("wheel"))


def test_the_wheel_holds_tidepool_alone_with_every_file_of_the_rooms_and_the_examples(wheel: Path) -> None:
    names = {name for name in contents(wheel) if ".dist-info/" not in name}
    assert {name.split("/")[0] for name in names} == {"tidepool"}
    files = (
        path
        for room in (*ROOMS, "examples")
        for path in (ROOT / room).rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    )
    assert names == {
        *(f"tidepool/{path.relative_to(ROOT).as_posix()}" for path in files),
        *("tidepool/__init__.py", "tidepool/__main__.py", "tidepool/py.typed"),
    }


def test_a_source_archive_makes_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    with tarfile.open(build(ROOT, "sdist", tmp_path)) as archive:
        archive.extractall(tmp_path, filter="data")
    (unpacked,) = (path for path in tmp_path.iterdir() if path.is_dir())
    assert contents(build(unpacked, "wheel", tmp_path / "again")) == contents(wheel)


def test_a_checkout_without_links_makes_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    """Where a file system has no links, git writes their targets into text files of the same names."""
    checkout = tmp_path / "checkout"
    shutil.copytree(ROOT, checkout, symlinks=True, ignore=NOT_OURS)
    for room in ROOMS:
        (checkout / "tidepool" / room).unlink(missing_ok=True)
        (checkout / "tidepool" / room).write_text(f"../{room}")
    assert contents(build(checkout, "wheel", tmp_path / "wheel")) == contents(wheel)


# -- beside a user's own files -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    with ZipFile(wheel) as packed:
        packed.extractall(folder)
    return folder


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """A user's folder, in which our rooms' names are taken."""
    trap = "raise SystemExit('the user\\'s own file was taken for one of Tidepool\\'s')\n"
    (tmp_path / "engine.py").write_text(trap)
    for name in ("storage", "tui"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(trap)
    return tmp_path


def run(installed: Path, folder: Path, *arguments: str) -> str:
    """Python in the user's folder, which stands first on the path, as for any script there."""
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_program_beside_foreign_engine_storage_and_tui_imports_tidepool(installed: Path, foreign: Path) -> None:
    program = "import tidepool; from tidepool import *; print(tidepool.__file__); print(run_batch.__module__)"
    told = run(installed, foreign, "-c", program).split()
    assert told == [str(installed / "tidepool" / "__init__.py"), "tidepool.engine.run"]


def test_the_command_runs_a_study_beside_foreign_engine_storage_and_tui(installed: Path, foreign: Path) -> None:
    study = ROOT / "examples" / "secret_game.toml"
    shorter = ("--set", "secret_game.num_interactions=2")
    told = run(installed, foreign, "-m", "tidepool", "--db", "study.db", "--run", str(study), "--json", *shorter)
    assert '"status": "completed"' in told
    assert "secret_game" in run(installed, foreign, "-m", "tidepool", "--db", "study.db", "list", "--json")


def test_the_examples_are_installed_with_it(installed: Path, foreign: Path) -> None:
    told = run(installed, foreign, "-m", "tidepool", "examples", "evolution_scorer")
    assert told.split()[:2] == ["evolution_scorer.toml", "scorer.py"] and (foreign / "scorer.py").exists()


# -- what the package says of itself -------------------------------------------------------------------------


def test_the_pythons_that_are_named_are_those_that_are_tested() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = [
        line.rpartition(" ")[2]
        for line in project["classifiers"]
        if line.startswith("Programming Language :: Python :: 3.")
    ]
    assert project["requires-python"] == f">={named[0]}"
    tested = (ROOT / ".github" / "workflows" / "test.yml").read_text() if (ROOT / ".github").exists() else str(named)
    assert all(f'"{version}"' in tested or f"'{version}'" in tested for version in named)


@pytest.mark.parametrize("path", sorted(ROOT.glob(".github/workflows/*.yml")), ids=lambda path: path.name)
def test_a_workflow_pins_its_actions_and_can_only_read_unless_a_job_says_more(path: Path) -> None:
    """A tag can be moved to other code, which would run with the token of the repository."""
    workflow = yaml.safe_load(path.read_text())
    steps = [step for job in workflow["jobs"].values() for step in job["steps"] if "uses" in step]
    assert [step["uses"] for step in steps if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", step["uses"])] == []
    assert workflow.get("permissions") == {"contents": "read"}
    checkouts = [step for step in steps if step["uses"].startswith("actions/checkout@")]
    assert all(step.get("with", {}).get("persist-credentials") is False for step in checkouts)


def test_what_is_installed_says_that_it_is_typed(wheel: Path) -> None:
    assert "tidepool/py.typed" in contents(wheel)
    with ZipFile(wheel) as packed:
        metadata = packed.read(next(name for name in packed.namelist() if name.endswith("METADATA"))).decode()
    assert "Typing :: Typed" in metadata


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
@pytest.mark.parametrize(("target", "installed"), [("site", "zensical"), ("demo", "--editable '.[parquet]'")])
def test_make_installs_only_what_its_target_needs(target: str, installed: str, tmp_path: Path) -> None:
    """No PyTorch for the site; Parquet for the last step of the tutorial."""
    done = subprocess.run(
        ["make", "-n", target, f"VENV={tmp_path / 'venv'}"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    pip = [line.partition("constraints.txt ")[2] for line in done.stdout.splitlines() if "constraints.txt " in line]
    assert pip == [installed]


def test_the_demo_ends_with_commands_that_put_tidepool_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(ROOT / ".venv" / "bin" / "python"))
    assert next_commands() == ["source .venv/bin/activate", "tidepool demo/tidepool.db"]
    monkeypatch.setattr(sys, "executable", "/usr/bin/python3")
    assert next_commands() == ["tidepool demo/tidepool.db"]
    assert "source .venv/bin/activate" in (ROOT / "README.md").read_text(encoding="utf-8")
