"""Pages of results as the screen lays them out."""

from tidepool.engine.results.blocks import table
from tidepool.tui.app.widgets.block_list import content_of


def test_a_long_table_is_cut_and_says_so_without_widening_its_columns() -> None:
    lines = content_of(
        table("waves", ("wave", "calls"), [(str(n), "5") for n in range(324)], left=0)
    ).plain.splitlines()
    assert lines[:3] == ["waves", "wave  calls", "   0      5"]
    assert lines[-1] == "… and 124 more in the export" and len(lines) == 203
