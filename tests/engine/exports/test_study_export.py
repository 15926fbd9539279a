"""A study of several batches is exported as one."""

import asyncio
import csv
import json
from pathlib import Path

import pytest

from tests.engine.design.designs import written
from tests.support.state import query
from tidepool.engine.config.loading import load_config
from tidepool.engine.errors import UsageError
from tidepool.engine.exports.export import export_batch
from tidepool.engine.run import run_study
from tidepool.storage.batches import all_batches
from tidepool.storage.file import reading
from tidepool.storage.transfer.study_files import foreign_file, merge


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("study")
    summary = asyncio.run(run_study(load_config(written(folder, talks=2, messages=2)), folder / "study.db"))
    return folder / "study.db", summary["study_id"]


def test_tables_hold_all_cells_with_their_factors(study: tuple[Path, str], tmp_path: Path) -> None:
    database, study_id = study
    export_batch(database, study_id, "csv", tmp_path / "out")
    with (tmp_path / "out" / "outcomes.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 8 * 2 * 2
    assert {(row["agents.Ada.model"], row["firmness"]) for row in rows} == {
        (model, level) for model in ("simulated:guarded", "simulated:naive") for level in ("plain", "firm")
    }


def test_json_has_the_study_and_each_batch(study: tuple[Path, str], tmp_path: Path) -> None:
    database, study_id = study
    files = export_batch(database, study_id, "json", tmp_path)
    told = json.loads((tmp_path / study_id / "study.json").read_text())
    assert told["study_id"] == study_id and len(files) == 1 + 2 * len(told["cells"])
    assert "revealed" in told["statistics"]["outcomes"]


def test_a_file_of_its_own_holds_the_whole_study_and_is_imported_as_one(
    study: tuple[Path, str], tmp_path: Path
) -> None:
    database, study_id = study
    export_batch(database, study_id, "sqlite", tmp_path / "alone.db")
    with foreign_file(tmp_path / "alone.db") as other:
        with reading(other) as connection:
            configs = {batch["id"]: batch["config"] for batch in all_batches(connection)}
        merge(tmp_path / "new.db", other, configs)
    cells = "SELECT count(DISTINCT batch_id) FROM cells WHERE study_id = ?"
    assert query(tmp_path / "new.db", cells, study_id) == [(8,)]
    assert query(tmp_path / "new.db", "SELECT id FROM studies") == [(study_id,)]


def test_a_format_that_a_study_has_not_is_told(study: tuple[Path, str], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be exported as 'policy'"):
        export_batch(*study, "policy", tmp_path / "x")
    with reading(study[0]) as connection:
        assert connection.execute("SELECT count(*) FROM batch").fetchone()[0] == 8
