"""`tidepool list` on terminals of any width: one line for each batch, nothing but the name is cut."""

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from tidepool.storage.queries.watching import BatchLine
from tidepool.tui.command.commands.list_batches import batch_table


def line(number: int, name: str, *, failed: int = 0, simulated: bool = True) -> BatchLine:
    return BatchLine(
        number, f"{number:012}", "secret_game", name, "", "completed", False, None, 4200 + number, simulated, 1.8e9, None,
        2190, 2190 - failed, failed, 1, 1, 0, 0, 0, 0, 1, 1, 12.5, 12.5, 1.0, 1.0, 1, 1, "[]", "{}",
    )  # fmt: skip


@pytest.mark.parametrize("width", [60, 80, 130])
def test_every_batch_has_one_line_that_fits(width: int) -> None:
    out = Console(width=width, record=True, file=StringIO())
    out.print(
        batch_table([line(1, "A name\nthat is far too long " * 9), line(2, "Short", failed=3, simulated=False)], width)
    )
    head, *rows = out.export_text().splitlines()
    assert len(rows) == 2 and all(len(row) <= width for row in rows)
    assert "simulated" in rows[0] and "simulated" not in rows[1]
    assert "2,190/2,190, 3 failed" in rows[1] and "A n" in rows[0]
    assert ("started" in head) == ("4201" in rows[0]) == (width == 130)


def test_cells_of_a_study_are_told_apart_where_there_is_little_room() -> None:
    study = replace(line(9, "Firm or plain"), cells=2, id="study")
    cells = [
        replace(line(place, f"Firm or plain · simulated:shy, {level} · replicate 3"), study_id="study")
        for place, level in enumerate(("plain", "firm"))
    ]
    told = {}
    for width in (80, 160):
        out = Console(width=width, record=True, file=StringIO())
        out.print(batch_table([study, *cells], width))
        told[width] = out.export_text()
    assert "  shy, plain · 3 " in told[80] and "  shy, firm · 3 " in told[80]
    assert "  simulated:shy, firm · replicate 3 " in told[160]
