"""Every screen at three sizes: its words, so that what a change cuts off is seen at once; and in every dress its contrast.

After a change that is meant: pytest tests/tui/screens --snapshot-update, and read the difference.
"""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from rich.color import Color as RichColor
from syrupy.assertion import SnapshotAssertion
from textual.pilot import Pilot

from tests.tui.keys.test_keys import READABLE, contrast
from tests.tui.persons import opened, screen_text, until, until_seen
from tests.tui.test_compose import composing
from tests.tui.test_snapshots import at_rest
from tidepool.tui.app.app import TidepoolApp
from tidepool.tui.app.theme import DARK, LIGHT
from tidepool.tui.app.widgets.frame import PanelStrip

SIZES = [(80, 24), (120, 40), (160, 48)]
ALWAYS = ("Help", "Commands", "Quit")
"""in the last line, at any width"""
DRAWN = re.compile(r"[\s─-▟⠀-⣿·•▸■□◆×○●▔▁▏▕░▒▓]*")
"""lines, bars and dots, which are no words"""


async def looked_over(app: TidepoolApp, pilot: Pilot[None]) -> AsyncIterator[str]:
    """Every screen, one after the other, once it has come to rest."""
    await until_seen(pilot, "The first of two")
    await until_seen(pilot, "revealed: ")
    yield "batches"
    await pilot.press("3")
    await until_seen(pilot, "■ ■ ■")
    await until_seen(pilot, "revealed: ")
    yield "watch"
    await pilot.press("4")
    await until(pilot, lambda: len(app.screen.query("#plots .block")) > 1, "the plots")
    for panel, words in (
        ("overview", "secrets revealed"),
        ("statistics", "Ada & Bob"),
        ("plots", "who reveals"),
        ("talks", "conversations"),
    ):
        app.screen.query_one(PanelStrip).choose(f"panel-{panel}")
        await until_seen(pilot, words)
        yield panel
    await pilot.press("5")
    await until_seen(pilot, "Ezra")
    yield "library"
    await pilot.press("6")
    await until_seen(pilot, "does not answer")
    yield "providers"
    await composing(app, pilot)
    await until_seen(pilot, "100 conversations")
    yield "compose"
    await pilot.press("f1")
    await until_seen(pilot, "─ Help")
    yield "help"


def faint(app: TidepoolApp) -> list[str]:
    """Words on the screen that are hard to read, with their contrast."""
    found = []
    for strip in app.screen._compositor.render_strips(app.size):
        for segment in strip:
            style = segment.style
            if style is None or style.color is None or style.bgcolor is None or DRAWN.fullmatch(segment.text):
                continue
            ink, ground = (_hex(color) for color in (style.color, style.bgcolor))
            if style.reverse:
                ink, ground = ground, ink
            if contrast(ink, ground) < READABLE:
                found.append(f"{segment.text.strip()!r}: {ink} on {ground}, {contrast(ink, ground):.2f}")
    return found


def _hex(color: RichColor) -> str:
    return color.get_truecolor().hex


AT_ALL_SIZES = pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")


@AT_ALL_SIZES
async def test_every_screen_says_the_same_words_and_can_be_read(
    filled_file: Path, snapshot: SnapshotAssertion, size: tuple[int, int]
) -> None:
    """In the dark, and the same in the light."""
    said: dict[str, str] = {}
    hard: dict[str, list[str]] = {}
    for theme in (DARK, LIGHT):
        async with opened(filled_file, size=size) as (app, pilot):
            app.theme = theme.name
            async for name in looked_over(app, pilot):
                await at_rest(app, pilot)
                words = screen_text(app)
                if theme is DARK:
                    assert words == snapshot(name=name)
                assert words == said.setdefault(name, words), f"{name}: {theme.name} says something else"
                if name == "help":  # what lies behind it is dimmed on purpose
                    continue
                assert all(word in words.splitlines()[-1] for word in ALWAYS), name
                if found := faint(app):
                    hard[f"{name}, {theme.name}"] = found
    assert not hard, "\n".join(sorted({one for found in hard.values() for one in found}))


@AT_ALL_SIZES
async def test_without_colour_nothing_is_missing(
    filled_file: Path, snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
) -> None:
    """Where the focus and the cursor are is told by more than a shade."""
    monkeypatch.setenv("NO_COLOR", "1")
    async with opened(filled_file, size=size) as (app, pilot):
        async for name in looked_over(app, pilot):
            await at_rest(app, pilot)
            assert screen_text(app) == snapshot(name=name)
            if name not in ("help", "plots", "overview", "statistics"):
                assert _stands_out(app), f"{name}: nothing shows where one is"


def _stands_out(app: TidepoolApp) -> bool:
    """Something on the screen is reversed, underlined, or framed by the heavy frame of what has the focus."""
    for strip in app.screen._compositor.render_strips(app.size):
        for segment in strip:
            style = segment.style
            if style and segment.text.strip() and (style.reverse or style.underline):
                return True
            if any(mark in segment.text for mark in "▌┃━▐"):
                return True
    return False
