"""A study file of a stranger is data: nothing in it steers the terminal, leaves the folder or ends in a traceback."""

import asyncio
import shutil
from pathlib import Path

import pytest

from tests.engine.studies.simulation.panels import panel
from tests.support.state import change
from tidepool import run_batch
from tidepool.tui.command.main import main

EVIL = "\x1b[2J\x1b]0;owned\x07[/red][link=x]evil"


@pytest.fixture(scope="module")
def original(module_folder: Path) -> Path:
    study = panel(num_simulations=2, judge={"question": "Does the speaker agree, 1 to 5?"})
    asyncio.run(run_batch(study, module_folder / "s.db"))
    return module_folder / "s.db"


@pytest.fixture
def file(original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The test's own copy, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    return Path(shutil.copy(original, tmp_path / "s.db"))


@pytest.mark.parametrize("batch_id", ["../../outside", "/tmp/outside", "a\nb", EVIL, ""])
@pytest.mark.parametrize(
    "words", [["list"], ["show", "last"], ["export", "last"], ["delete", "last", "--yes"]], ids=" ".join
)
def test_an_id_that_is_no_id_leads_nowhere(
    file: Path, tmp_path: Path, words: list[str], batch_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    change(file, "UPDATE batch SET id = ?", batch_id)
    code = main(["--db", str(file), *words])
    printed = capsys.readouterr()
    assert code == (0 if words == ["list"] else 1)
    assert "\x1b" not in printed.out + printed.err
    assert {path.name for path in tmp_path.iterdir()} <= {"s.db", "seller"}
    assert not (tmp_path.parent.parent / "outside").exists()


@pytest.mark.parametrize("kind", ["os", "../x", "secret_game.detectors", EVIL])
def test_a_kind_there_is_not_is_told(file: Path, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    change(file, "UPDATE batch SET kind = ?", kind)
    assert main(["--db", str(file), "show", "last"]) == 2
    printed = capsys.readouterr()
    assert "is not a known kind of study" in printed.err and "\x1b" not in printed.err
