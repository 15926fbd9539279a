"""What is wrong in a file is found and named by table, row and column; what is right is not."""

import asyncio
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.engine.studies.simulation.panels import panel
from tests.support.all_kinds import file_of_all_kinds
from tests.support.state import change
from tidepool import run_batch
from tidepool.storage.errors import FileError
from tidepool.storage.queries.damage import blame, damage_in, find_damage
from tidepool.storage.queries.watching import read_batches
from tidepool.tui.app.background import FileReader
from tidepool.tui.app.worker import answer, report
from tidepool.tui.command.main import main

UNIT = (1 << 32) + 1
DAMAGES = {
    "UPDATE progress SET calls = 'many'": "the table progress, row 1, column calls: the value is not of type integer",
    "UPDATE progress SET calls = -1": "the table progress, row 1, column calls: negative count",
    "UPDATE progress SET seconds = 9e999": "the table progress, row 1, column seconds: not a finite number",
    "UPDATE batch SET created_at = 1e18": "the table batch, row 1, column created_at: invalid time",
    "UPDATE batch SET status = 'owned'": "the table batch, row 1, column status: unknown value",
    "UPDATE batch SET config = '{'": "the table batch, row 1, column config: invalid JSON",
    "UPDATE batch SET config = '{}'": "the table batch, row 1, column config: the config has no metadata",
    "UPDATE batch SET id = '../x'": "the table batch, row 1, column id: '../x' is not a valid id of a batch",
    "UPDATE unit SET participants = '{}'": f"the table unit, row {UNIT}, column participants: the JSON is not an array",
    "UPDATE unit SET participants = '[1]'": f"the table unit, row {UNIT}: a participant is not a text",
    "UPDATE unit SET sequence_number = 7": f"the table unit, row {UNIT}: the id of the unit does not match its batch",
    "UPDATE call SET text = x'00'": "the table call, row 1, column text: the value is not of type text",
    "UPDATE judgement SET rating = 9e999": "the table judgement, row 1, column rating: not a finite number",
    "DELETE FROM progress": "the table batch, row 1: the batch has no progress row",
    "DELETE FROM batch": f"the table unit, row {UNIT}: the batch of the unit is missing",
}


@pytest.fixture(scope="module")
def original(module_folder: Path) -> Path:
    study = panel(num_simulations=1, judge={"question": "Does the speaker agree?"})
    asyncio.run(run_batch(study, module_folder / "s.db"))
    return module_folder / "s.db"


@pytest.fixture
def file(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(original, tmp_path / "s.db"))


@pytest.mark.parametrize("statement", DAMAGES)
def test_what_is_wrong_is_named(file: Path, statement: str) -> None:
    assert damage_in(file) is None
    change(file, statement)
    assert DAMAGES[statement] in (damage_in(file) or "")


def test_nothing_is_wrong_in_a_file_of_ours(tmp_path: Path) -> None:
    path = file_of_all_kinds(tmp_path / "s.db")
    assert damage_in(path) is None
    with closing(sqlite3.connect(path)) as connection:
        assert find_damage(connection) is None


def test_every_door_tells_what_is_wrong_in_the_file(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change(file, "UPDATE progress SET heartbeat_at = x'00', limits = '[]'")
    change(file, "UPDATE batch SET status = 'in_progress', host = 'elsewhere'")
    assert main(["--db", str(file), "list"]) == 1
    told = "the table progress, row 1, column heartbeat_at: the value is not of type float"
    assert told in capsys.readouterr().err
    assert told in answer((report, (file, "last"), {"of_study": False}))[0]
    reader = FileReader(file)
    try:
        with pytest.raises(FileError, match=told):
            asyncio.run(reader.look(read_batches, file))
    finally:
        reader.close()


def test_a_fault_of_ours_is_not_put_on_the_file(file: Path, tmp_path: Path) -> None:
    assert blame(file, RuntimeError("a fault")) is None
    assert blame(tmp_path / "none.db", TypeError("a fault")) is None
    assert "please report it" in str(blame(file, TypeError("a fault")))
