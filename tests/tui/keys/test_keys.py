"""Keys that are found: copying, jumping, the palette, keys and themes of one's own; and colours that can be read."""

import os
import tempfile
from pathlib import Path

import pytest
from textual.color import Color
from textual.theme import Theme
from textual.widgets import Input

from tests.tui.persons import opened, screen_text, until, until_seen
from tests.tui.studies import game, played
from tidepool.tui.app import launching
from tidepool.tui.app.finders import PersonFinder, SettingFinder, TalkFinder
from tidepool.tui.app.jump import JumpOverlay
from tidepool.tui.app.screens.batches import BatchesScreen
from tidepool.tui.app.screens.results import ResultsScreen
from tidepool.tui.app.theme import STATES, THEMES
from tidepool.tui.app.user_settings import keep_theme, read_settings, settings_file
from tidepool.tui.app.widgets.conversations import ConversationList

READABLE = 4.5


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_every_ink_is_readable_on_every_ground(theme: Theme) -> None:
    """Also what only a glyph says; and plain words on the grounds that mark them."""
    colours = {
        **theme.variables,
        **{name: str(getattr(theme, name)) for name in ("foreground", "primary", "accent", "error", "success")},
    }
    inks = ["foreground", "primary", "accent", "error", "success", "quiet", *(f"state-{name}" for name in STATES)]
    grounds = [str(ground) for ground in (theme.background, theme.surface, theme.panel, colours["cursor"])]
    faint = {
        (ink, ground): round(contrast(colours[ink], ground), 2)
        for ink in inks
        for ground in grounds
        if contrast(colours[ink], ground) < READABLE
    }
    marked = {name: contrast(colours["foreground"], colours[name]) for name in ("reveal", "hit")}
    assert not faint and all(value >= READABLE for value in marked.values()), (faint, marked)


def contrast(ink: str, ground: str) -> float:
    light, dark = sorted((_luminance(ink), _luminance(ground)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(text: str) -> float:
    shares = [value / 255 for value in Color.parse(text).rgb]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


async def test_a_person_copies_jumps_and_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "study.db"
    for name in ("One", "Two"):
        await played(path, game(name=name, talks=9))
    config = tmp_path / "config"
    config.mkdir()
    monkeypatch.setenv("TIDEPOOL_CONFIG", str(config))
    (config / "app.toml").write_text(
        'theme = "tidepool-sand"  # warm\n[keys]\n"batches.sort" = "z"\n"batches.sotr" = "q"\n', encoding="utf-8"
    )
    async with opened(path) as (app, pilot):
        assert app.theme == "tidepool-sand"
        assert any("Did you mean 'batches.sort'" in told.message for told in app._notifications)
        await until_seen(pilot, "Two")
        assert isinstance(app.screen, BatchesScreen)
        table = app.screen.table
        await pilot.press("G")
        assert table.cursor == 1
        await pilot.press("y")
        assert table.current is not None and app.clipboard == table.current.id
        await pilot.press("g")
        assert table.cursor == 0
        await pilot.press("z")
        assert table.order == "name"
        app.choose_theme("tidepool-colour-blind")
        kept = (config / "app.toml").read_text(encoding="utf-8")
        assert 'theme = "tidepool-colour-blind"' in kept and "# warm" in kept and '"batches.sort" = "z"' in kept

        batch = table.current
        assert batch is not None
        app.read_talk(batch, 7)
        await until(pilot, lambda: isinstance(app.screen, ResultsScreen), "the results")
        await until(pilot, lambda: app.screen.query_one(ConversationList).selected == 7, "the talk")
        await pilot.press("ctrl+g")
        await until(pilot, lambda: isinstance(app.screen, JumpOverlay), "letters")
        overlay = app.screen
        assert isinstance(overlay, JumpOverlay)
        letter = next(letter for letter, place in overlay._places.items() if isinstance(place, Input))
        await pilot.press(letter)
        await until(pilot, lambda: app.focused is not None and app.focused.id == "search", "the search line")
        for finder, words, wanted in (
            (TalkFinder, "3", "3: "),
            (SettingFinder, "sand", "Theme tidepool-sand"),
            (PersonFinder, "nobody of this name", None),
        ):
            provider = finder(app.screen)
            await provider.startup()
            hits = [str(hit.text) async for hit in provider.search(words)]
            assert [hit for hit in hits if wanted and hit.startswith(wanted)] or (wanted is None and not hits)
        assert "Traceback" not in screen_text(app)


def test_settings_of_one_s_own_are_read_as_far_as_they_make_sense(tmp_path: Path) -> None:
    path = tmp_path / "app.toml"
    themes = ["tidepool-dark"]

    def actions() -> list[str]:
        return ["copy", "batches.open"]

    assert read_settings(path, themes, actions).faults == ()
    for text, fault in (
        ("theme = tidepool", "line 1"),
        ('theme = "neon"', "'neon' is none of"),
        ('colour = "red"', "'colour' is no setting"),
        ("[keys]\ncopy = 3", 'write "copy" = "KEY"'),
        ('[keys]\ncoppy = "y"', "Did you mean 'copy'?"),
        ("keys = 3", ""),
    ):
        path.write_text(text, encoding="utf-8")
        found = read_settings(path, themes, actions)
        assert fault in " ".join(found.faults) and found.theme is None and not found.keys, text
    path.write_text('theme = "tidepool-dark"', encoding="utf-8")
    path.chmod(0o666)
    found = read_settings(path, themes, actions)
    assert "other users can write to" in found.faults[0] and found.theme is None
    keep_theme(tmp_path / "new" / "app.toml", "tidepool-dark")
    assert read_settings(tmp_path / "new" / "app.toml", themes, actions).theme == "tidepool-dark"
    assert settings_file().name == "app.toml"


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


def test_an_export_is_opened_only_where_there_is_a_desktop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = tmp_path / "seen"
    opener = tmp_path / ("open" if os.uname().sysname == "Darwin" else "xdg-open")
    opener.write_text(f'#!/bin/sh\nprintf %s "$1" > {seen}\n', encoding="utf-8")
    opener.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("DISPLAY", ":0")
    assert launching.open_outside(Path("report.html")) and seen.read_text() == "report.html"
    if os.uname().sysname != "Darwin":
        monkeypatch.delenv("DISPLAY")
        monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
        assert not launching.open_outside(Path("report.html"))
