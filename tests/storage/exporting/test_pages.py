"""A page of an export costs what its units cost, however many units the batch has."""

from pathlib import Path

import pytest

from tests.support.all_kinds import file_of_all_kinds
from tidepool.storage.file import reading
from tidepool.storage.transfer.tables import PAGED_BY, RowPage, page_of

FREE = ("SCAN CONSTANT ROW", "SCAN m", "SCAN measures")
"""steps over rows that the query itself holds or has found"""


@pytest.mark.parametrize("view", PAGED_BY)
def test_a_page_begins_with_its_units_and_walks_no_others(view: str, tmp_path: Path) -> None:
    with reading(file_of_all_kinds(tmp_path / "all_kinds.db")) as connection:
        batch = connection.execute("SELECT * FROM batch LIMIT 1").fetchone()
        asked: list[str] = []
        connection.set_trace_callback(asked.append)
        page_of(connection, view, batch, RowPage(batch["number"] << 32, batch["number"] << 32 | 10))
        connection.set_trace_callback(None)
        plan = [row["detail"] for row in connection.execute(f"EXPLAIN QUERY PLAN {asked[0]}")]
    searches = [step for step in plan if step.startswith(("SEARCH", "SCAN")) and not step.startswith(FREE)]
    assert all(step.startswith("SEARCH") for step in searches) and ">?" in searches[0], plan
