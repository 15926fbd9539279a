"""Keys that are found: copying, the palette, keys and themes of one's own; and colours that can be read."""

import os
import tempfile
from pathlib import Path

import pytest
from textual.color import Color
from textual.theme import BUILTIN_THEMES, Theme

from tests.tui.persons import opened, screen_text, until_seen
from tests.tui.studies import game, played
from tidepool.engine.results.blocks import CONTRAST, contrast_of
from tidepool.tui.app import launching
from tidepool.tui.app.finders import PersonFinder, SettingFinder
from tidepool.tui.app.screens.batches import BatchesScreen
from tidepool.tui.app.theme import COLOUR_BLIND, DARK, STATES, theme_colours
from tidepool.tui.app.user_settings import keep_theme, read_settings, settings_file


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


async def test_a_person_copies_and_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "study.db"
    for name in ("One", "Two"):
        await played(path, game(name=name, talks=9))
    config = tmp_path / "config"
    config.mkdir()
    monkeypatch.setenv("TIDEPOOL_CONFIG", str(config))
    (config / "app.toml").write_text(
        'theme = "nord"  # cold\n[keys]\n"batches.sort" = "z"\n"batches.sotr" = "q"\n', encoding="utf-8"
    )
    async with opened(path) as (app, pilot):
        assert app.theme == "nord"
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
        assert 'theme = "tidepool-colour-blind"' in kept and "# cold" in kept and '"batches.sort" = "z"' in kept

        for finder, words, wanted in (
            (SettingFinder, "nord", "Theme nord"),
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
