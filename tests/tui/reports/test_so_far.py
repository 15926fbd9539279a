"""What the app tells of a batch, or of a study's batches, while they run and right after."""

from pathlib import Path
from typing import Any

from tests.tui.studies import game, played_now
from tidepool.engine.reports.blocks import Figure, Named, Table
from tidepool.tui.app.worker import so_far


def told(path: Path, batch: str) -> tuple[Any, Figure, Table]:
    found = so_far(path, batch)
    figure, table = found.blocks
    assert isinstance(figure, Figure) and isinstance(table, Table)
    return found.headline, figure, table


def test_everybody_has_the_mark_of_their_place(path: Path) -> None:
    headline, _, table = told(path, played_now(path, game(talks=6)))
    assert "so far" not in headline.words, "it has ended"
    assert [row[0] for row in table.rows] == [Named("Ada", 0), Named("Bob", 1)]
