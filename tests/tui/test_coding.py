"""Coding by hand in the app: a batch in hand, one key a code, undo, and the results that follow; at either size."""

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.tui.persons import opened, until
from tests.tui.studies import game, played
from tidepool.engine.results.blocks import Words
from tidepool.tui.app.app import TidepoolApp
from tidepool.tui.app.dialogs.coding import CodingDialog, CodingStart
from tidepool.tui.app.screens.results import ResultsScreen
from tidepool.tui.app.widgets.blocks import BlockList


def coded(path: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT coder, code FROM code ORDER BY at, rowid").fetchall()


def seen(app: TidepoolApp) -> str:
    return "\n".join(
        "".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips(app.size)
    )


async def test_a_batch_is_coded_one_key_a_code_and_its_results_tell(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    await played(path, game(talks=12))
    async with opened(path, size=(80, 24)) as (app, pilot):
        await pilot.press("4")
        await until(pilot, lambda: isinstance(app.screen, ResultsScreen) and app.screen.shown_batch, "the results")
        await pilot.press("h")
        await until(pilot, lambda: isinstance(app.screen, CodingStart), "what is to be coded")
        app.screen.query_one("#coder").value = "ann"
        app.screen.query_one("#size").value = "4"
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, CodingDialog) and "0 of 4" in seen(app), "the first side")
        shown = seen(app)
        assert "secret: " in shown and "this side" in shown and "q Stop" in shown and "simulated" not in shown
        for key, words in (
            ("y", "1 of 4"),
            ("n", "2 of 4"),
            ("u", "1 of 4"),
            ("s", "1 of 4"),
            ("question_mark", "2 of 4"),
        ):
            await pilot.press("7", key)
            await until(pilot, lambda wanted=words: wanted in seen(app) and not app.screen._busy, words)
        assert coded(path) == [("ann", "yes"), ("ann", "unclear")]
        await pilot.resize_terminal(160, 48)
        for words in ("3 of 4", "4 of 4"):
            await pilot.press("n")
            await until(pilot, lambda wanted=words: wanted in seen(app) and not app.screen._busy, words)
        assert "All is coded" in seen(app)
        await pilot.press("y", "q")
        assert [code for _, code in coded(path)] == ["yes", "unclear", "no", "no"]
        await until(pilot, lambda: isinstance(app.screen, ResultsScreen), "the results again")
        await until(pilot, lambda: "coded by hand: 4 of a sample of 4 sides" in _told(app), "what follows")


def _told(app: TidepoolApp) -> list[str]:
    blocks = app.screen.query_one("#statistics", BlockList)._blocks
    return [block.text for block in blocks if isinstance(block, Words)]
