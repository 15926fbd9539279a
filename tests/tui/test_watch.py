"""Watching a batch, as a person does."""

import os
import signal
import subprocess
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from tests.support.state import query
from tests.tui.persons import batch_status, opened, press, rows_text, screen_text, text_of, until, until_seen
from tests.tui.studies import config_file, game, played
from tidepool.tui.app import launching
from tidepool.tui.app.app import TidepoolApp
from tidepool.tui.app.dialogs.batch import LimitsDialog, StopDialog
from tidepool.tui.app.screens.watch import WatchScreen
from tidepool.tui.app.widgets.gauges import Gauges
from tidepool.tui.app.widgets.transcript import TranscriptPane
from tidepool.tui.app.widgets.watch_panels import LogLines, Wavefront

KILLED = game(name="Killed one", talks=80, latency=0.2, seed=11)
LONG = game(name="Long one", talks=4000, latency=0.2)


def started(path: Path, config: Path) -> "subprocess.Popen[bytes]":
    """A batch started by the command, outside the app."""
    return subprocess.Popen(
        launching.command(path, "--run", str(config)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=launching.environment(),
    )


async def until_running(app: TidepoolApp, pilot: Pilot[None]) -> None:
    """Until the Watch screen shows a batch that runs."""
    await until(
        pilot,
        lambda: (
            isinstance(app.screen, WatchScreen)
            and app.screen.shown_batch is not None
            and app.screen.shown_batch.running
        ),
        "a running batch",
    )


@pytest.mark.slow
async def test_a_batch_started_by_the_command_appears_and_moves(tmp_path: Path, path: Path) -> None:
    async with opened(path) as (app, pilot):
        await until_seen(pilot, "Nothing here yet")
        process = started(path, config_file(tmp_path, LONG))
        try:
            await until_seen(pilot, "Long one")
            await until_seen(pilot, "running")
            await pilot.press("3")
            await until(pilot, lambda: "■" in "".join(rows_text(app.screen.query_one(Wavefront))), "an answered cell")
            await until(pilot, lambda: "▸" in "".join(rows_text(app.screen.query_one(Wavefront))), "a cell in flight")
            await until(pilot, lambda: "so far, " in text_of(app.screen.query_one(Gauges)), "a finding")
            await press(pilot, "4", until="so far, ")
            assert "p-value" not in screen_text(app) and "Press r for full statistics" in screen_text(app)
            seen = screen_text(app)
            await until(pilot, lambda: found_in(screen_text(app)) > found_in(seen), "more, by itself")
            await pilot.press("r")
            await until(pilot, lambda: "so far, " not in screen_text(app), "the statistics in full")
            await pilot.press("r", "3")
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=30)
        await until_seen(pilot, "interrupted")


def found_in(screen: str) -> int:
    """Conversations that the finding rests on."""
    return int(screen.partition("so far, ")[2].split()[0].replace(",", "") or 0)


@pytest.mark.slow
async def test_a_batch_is_steered_stopped_after_a_question_and_another_killed_and_resumed(
    tmp_path: Path, path: Path
) -> None:
    async with opened(path) as (app, pilot):
        app.run_config(config_file(tmp_path, LONG), "long")
        await until_running(app, pilot)
        await until_seen(pilot, "of 12,000 requests")
        await press(pilot, "p", until="paused")
        await press(pilot, "p", until="running")
        await press(pilot, "l", until=LimitsDialog)
        app.screen.query_one("#max_concurrent", Input).value = "lots"
        await until_seen(pilot, "valid integer")
        await pilot.press("enter")
        assert isinstance(app.screen, LimitsDialog), "a wrong limit is not sent"
        app.screen.query_one("#max_concurrent", Input).value = "3"
        await pilot.press("enter")
        await until(
            pilot, lambda: "max_concurrent = 3" in " ".join(rows_text(app.screen.query_one(LogLines))), "the log"
        )
        await press(pilot, "s", until=StopDialog)
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, StopDialog))
        await press(pilot, "s", until=StopDialog)
        await press(pilot, "s", until="interrupted: stopped")
        assert batch_status(path) == "interrupted"
        assert "of 12,000 requests" in screen_text(app), "progress is counted in calls, as before the stop"
        await until(pilot, lambda: not app._launched, "the end of its process")
        app.run_config(config_file(tmp_path, KILLED, "killed.toml"), "killed")
        await until_running(app, pilot)
        os.kill(app._launched[0].process.pid, signal.SIGKILL)
        await until_seen(pilot, "interrupted")
        while app.screen.is_modal:
            await pilot.press("escape")
        await pilot.press("u")
        await until(pilot, lambda: batch_status(path) == "completed", "its end")
        await until_seen(pilot, "■ completed")


async def test_the_conversation_under_the_cursor_is_shown_as_it_was_said(path: Path) -> None:
    await played(path, game(latency=0.1))
    words = query(path, "SELECT text FROM call WHERE turn = 1 ORDER BY unit_id LIMIT 3")
    async with opened(path, size=(160, 48)) as (app, pilot):
        await until_seen(pilot, "A small game")
        await pilot.press("3")
        await until(pilot, lambda: app.screen.query(Wavefront) and app.screen.query_one(Wavefront).count == 12)
        await pilot.press("down", "down")
        talk = app.screen.query_one(TranscriptPane)
        await until(pilot, lambda: talk.talk is not None and talk.talk.sequence_number == 3, "the third talk")
        assert words[2][0][:20] in screen_text(app)
        assert f" {talk.talk.sequence_number}, game 1" in screen_text(app), "it is read from its beginning"
