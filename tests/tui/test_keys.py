"""Copying, themes of one's own, and colours that can be read."""

import os
import tempfile
from pathlib import Path

import pytest
from textual.color import Color
from textual.theme import BUILTIN_THEMES, Theme

from tests.tui.persons import opened, until, until_seen
from tests.tui.studies import game, played
from tidepool.engine.reports.blocks import CONTRAST, contrast_of
from tidepool.tui.app import launching
from tidepool.tui.app.screens.batches import BatchesScreen
from tidepool.tui.app.theme import COLOUR_BLIND, DARK, STATES, keep_theme, read_theme, theme_colours


@pytest.mark.parametrize("theme", [DARK, COLOUR_BLIND, *BUILTIN_THEMES.values()], ids=lambda theme: theme.name)
def test_every_ink_is_readable_on_every_ground(theme: Theme) -> None:
    """Also what only a glyph says; and plain words on the grounds that mark them."""
    if "ansi" in theme.name:
        return
    colours = theme.to_color_system().generate() | theme_colours(theme)
    inks = ["foreground", "primary", "accent", "error", "quiet", *(f"state-{name}" for name in STATES)]
    pairs = [(ink, ground) for ink in inks for ground in ("background", "surface", "panel", "cursor")]
    faint = {pair: contrast_of(*(Color.parse(colours[name]).rgb for name in pair)) for pair in pairs}
    assert min(faint.values()) >= CONTRAST, faint
    marked = [
        contrast_of(*(Color.parse(colours[name]).rgb for name in ("foreground", one))) for one in ("reveal", "hit")
    ]
    assert min(marked) >= CONTRAST - 1


async def test_a_person_copies_and_finds(tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("One", "Two"):
        await played(path, game(name=name, talks=9))
    config = tmp_path / "config"
    config.mkdir()
    monkeypatch.setenv("TIDEPOOL_CONFIG", str(config))
    keep_theme(config / "app.toml", "nord")
    async with opened(path) as (app, pilot):
        assert app.theme == "nord"
        await until_seen(pilot, "Two")
        assert isinstance(app.screen, BatchesScreen)
        table = app.screen.table
        await pilot.press("G")
        assert table.cursor == 1
        await pilot.press("y")
        assert table.current is not None and app.clipboard == table.current.id
        await pilot.press("g")
        assert table.cursor == 0
        app.theme = "tidepool-colour-blind"
        await until(pilot, lambda: read_theme(config / "app.toml") == "tidepool-colour-blind", "the theme in its file")
        (config / "app.toml").write_text("theme = neon")
        assert read_theme(config / "app.toml") == read_theme(tmp_path / "none.toml") == ""


@pytest.mark.parametrize(("state", "place"), [("state", "state/log"), (os.devnull, "tmp")])
def test_a_log_is_private_and_lies_in_the_state_folder_if_there_can_be_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str, place: str
) -> None:
    (tmp_path / "tmp").mkdir(mode=0o700)
    monkeypatch.setenv("TIDEPOOL_STATE", str(tmp_path / state))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.setattr(launching, "command", lambda *_: ["echo", "running abcdef"])
    launched = launching.resume(tmp_path / "study.db", "abcdef")
    launched.process.wait()
    assert launched.batch_id() == "abcdef" and launched.log.parent == tmp_path / place
    assert [path.stat().st_mode & 0o777 for path in (launched.log, launched.log.parent)] == [0o600, 0o700]
