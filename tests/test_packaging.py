"""Installed, everything lives under `tidepool`: however the wheel was built, and whatever lies beside the user's program."""

import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from zipfile import ZipFile

import pytest
import yaml

ROOT = Path(__file__).parent.parent
ROOMS = ("engine", "storage", "tui")


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


@pytest.mark.parametrize("path", sorted(ROOT.glob(".github/workflows/*.yml")), ids=lambda path: path.name)
def test_a_workflow_pins_its_actions_and_can_only_read_unless_a_job_says_more(path: Path) -> None:
    """A tag can be moved to other code, which would run with the token of the repository."""
    workflow = yaml.safe_load(path.read_text())
    steps = [step for job in workflow["jobs"].values() for step in job["steps"] if "uses" in step]
    assert [step["uses"] for step in steps if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", step["uses"])] == []
    assert workflow.get("permissions") == {"contents": "read"}
    checkouts = [step for step in steps if step["uses"].startswith("actions/checkout@")]
    assert all(step.get("with", {}).get("persist-credentials") is False for step in checkouts)
