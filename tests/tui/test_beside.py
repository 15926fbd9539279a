"""The processes beside the app: what they are asked, and how they end."""

import asyncio
import time
from pathlib import Path

import pytest

from tidepool.engine.config import ceilings
from tidepool.engine.reports.blocks import Figure, line
from tidepool.tui.app.background import WorkerFailed, WorkerProcess
from tidepool.tui.app.compose.edits import Put, edited
from tidepool.tui.app.compose.examination import Examiner
from tidepool.tui.app.kind_screens import template
from tidepool.tui.drawing.figures import draw

CURVE = Figure("lines", "a curve", (line("", [0.0, 1.0, 2.0], [1.0, 3.0, 2.0]),))


async def test_plots_are_drawn_and_a_process_that_died_is_started_again() -> None:
    beside = WorkerProcess()
    try:
        first = await beside.ask(draw, CURVE, 40, 8, {})
        assert "a curve" in first[0][0][0] and len(first) == 8
        beside.kill()
        while beside.running:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        assert await beside.ask(draw, CURVE, 40, 8, {}) == first
        with pytest.raises(WorkerFailed, match="ZeroDivisionError"):
            await beside.ask(divmod, 1, 0)
    finally:
        beside.close()


async def test_leaving_does_not_wait_for_what_is_under_way() -> None:
    beside = WorkerProcess()
    beside.start()
    asked = asyncio.ensure_future(beside.ask(time.sleep, 60))
    await asyncio.sleep(0)
    began = time.monotonic()
    await asyncio.to_thread(beside.close)
    with pytest.raises(WorkerFailed):
        await asked
    assert not beside.running and time.monotonic() - began < 5


async def test_a_plan_that_takes_long_does_not_hold_up_a_newer_one(tmp_path: Path) -> None:
    endless = edited(template("evolution"), [Put(("evolution", "max_generations"), ceilings.GENERATIONS)])
    examiner, path = Examiner(), tmp_path / "study.db"
    try:
        older = asyncio.ensure_future(examiner.examine(endless, tmp_path, path))
        await asyncio.sleep(0)
        newer = await examiner.examine(template("secret_game"), tmp_path, path)
        assert newer.ready and newer.plan is not None and newer.plan["units"] == 100
        assert "background process of the app ended" in (await older).complaints[0].sentence
    finally:
        examiner.close()
