"""A branch from a transcript, as a person makes one."""

from pathlib import Path

import pytest
from textual.widgets import Input, Select

from tests.support.state import query
from tests.tui.persons import opened, press, screen_text, until, until_seen
from tests.tui.studies import game, played
from tidepool.tui.app import launching
from tidepool.tui.app.dialogs.basic import Confirm
from tidepool.tui.app.dialogs.branch import BranchDialog
from tidepool.tui.app.screens.results import ResultsScreen
from tidepool.tui.app.widgets.transcript import TranscriptPane


async def test_b_on_a_transcript_plans_a_branch_and_starts_it(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await played(path, game(talks=4))
    started: list[str] = []
    monkeypatch.setattr(launching, "resume", lambda path, batch: started.append(batch))
    async with opened(path, size=(120, 40)) as (app, pilot):
        monkeypatch.setattr(app, "follow", lambda launched: None)
        await until_seen(pilot, "A small game")
        await press(pilot, "enter", until=ResultsScreen)
        await until(pilot, lambda: app.screen.query_one("#talk-text", TranscriptPane).talk is not None, "a transcript")
        await press(pilot, "b", until=BranchDialog)
        app.screen.query_one("#at", Select).value = "t2"
        await pilot.press(*"No")
        app.screen.query_one("#times", Input).value = "3"
        await press(pilot, "enter", until=Confirm)
        assert "6 redraws" in screen_text(app)
        await pilot.press("y")
        await until(pilot, lambda: bool(started), "the branch")
    ((batch, origin),) = query(path, "SELECT id, origin FROM batches WHERE origin IS NOT NULL")
    assert started == [batch] and '"at": "t2", "say": "No", "times": 3' in origin
