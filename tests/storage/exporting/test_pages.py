"""A page of an export costs what its units cost, however many units the batch has."""

import shutil
from pathlib import Path

import pytest

from tidepool.storage.exporting.rows import PAGED_BY, RowPage, page_of
from tidepool.storage.file import prepare, reading

FIXTURES = Path(__file__).parents[2] / "fixtures" / "v1"


@pytest.mark.parametrize("view", PAGED_BY)
def test_a_page_begins_with_its_units_and_walks_no_others(view: str, tmp_path: Path) -> None:
    path = tmp_path / "all_kinds.db"
    shutil.copy(FIXTURES / path.name, path)
    prepare(path)
    with reading(path) as connection:
        batch = connection.execute("SELECT * FROM batch LIMIT 1").fetchone()
        asked: list[str] = []
        connection.set_trace_callback(asked.append)
        page_of(connection, view, batch, RowPage(batch["number"] << 32, batch["number"] << 32 | 10))
        connection.set_trace_callback(None)
        plan = [row["detail"] for row in connection.execute(f"EXPLAIN QUERY PLAN {asked[0]}")]
    assert plan[0].startswith("SEARCH") and ">?" in plan[0], plan
