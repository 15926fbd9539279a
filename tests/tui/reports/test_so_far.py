"""What the app tells of a batch, or of a study's batches, while they run and right after."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.engine.design.designs import written
from tests.support.state import query
from tests.tui.studies import game, played_now
from tidepool.engine.config.loading import load_config
from tidepool.engine.reports.blocks import Estimate, Figure, Named, Table
from tidepool.engine.results.summary import summarise
from tidepool.engine.run import run_study
from tidepool.tui.app.worker import so_far


def told(path: Path, batch: str) -> tuple[Any, Figure, Table]:
    found = so_far(path, batch)
    figure, table = found.blocks
    assert isinstance(figure, Figure) and isinstance(table, Table)
    return found.headline, figure, table


def test_a_study_is_told_batch_by_batch_as_each_batch_s_own_statistics_tell_it(tmp_path: Path, path: Path) -> None:
    study = asyncio.run(run_study(load_config(written(tmp_path, talks=8)), path))
    headline, figure, table = told(path, study["study_id"])
    assert headline is None, "several batches have no one figure"
    assert len(figure.labels) == len(table.rows) == 8, "two by two, twice"
    assert figure.labels[0] == "simulated:guarded, plain, #1"
    shown = [row[1].value for row in table.rows if isinstance(row[1], Estimate)]
    cells = [summarise(path, batch) for (batch,) in query(path, "SELECT id FROM batches")]
    assert figure.series[0].ys == pytest.approx(shown)
    assert sorted(shown) == pytest.approx(
        sorted(cell["statistics"]["overall"]["secrets_revealed_percentage"] for cell in cells)
    )
    assert all(low <= y <= high for y, (low, high) in zip(shown, figure.series[0].bounds, strict=True))


def test_everybody_has_the_mark_of_their_place(path: Path) -> None:
    headline, _, table = told(path, played_now(path, game(talks=6)))
    assert "so far" not in headline.words, "it has ended"
    assert [row[0] for row in table.rows] == [Named("Ada", 0), Named("Bob", 1)]
