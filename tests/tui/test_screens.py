"""Every screen: its words as stored text at one size; at other sizes, in the light and without colours it keeps the rules.

After a change that is meant: pytest tests/tui/test_screens.py --update-snapshots, and read the difference.
"""

import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from rich.color import Color as RichColor
from textual.pilot import Pilot
from textual.strip import Strip
from textual.widgets._footer import FooterKey

from tests.tui.persons import opened, press, screen_text, until, until_seen
from tests.tui.test_compose import composing
from tidepool.engine.reports.blocks import CONTRAST, contrast_of
from tidepool.tui.app.app import TidepoolApp
from tidepool.tui.app.dialogs.basic import Help
from tidepool.tui.app.theme import DARK, LIGHT_NAME
from tidepool.tui.app.widgets.blocks import Plot
from tidepool.tui.app.widgets.frame import PanelStrip

ALWAYS = ("Help", "Commands", "Quit")
"""in the last line, at any width"""
NEVER_CUT = "Name, FooterKey, Rows, BlockList"
DRAWN = re.compile(r"[\s─-▟⠀-⣿·•▸■□◆×○●▔▁▏▕░▒▓]*")
"""lines, bars and dots, which are no words"""


async def at_rest(app: TidepoolApp, pilot: Pilot[None]) -> None:
    """Once the screen has come to rest: three times the same, however slow the machine."""
    await until(pilot, lambda: all(plot.drawn for plot in app.screen.query(Plot) if plot.region.height), "the plots")
    seen: list[list[Strip]] = []
    while len(seen) < 3 or seen[-3] != seen[-1] or seen[-2] != seen[-1]:
        await pilot.pause(0.1)
        await pilot.pause()
        seen.append([strip for screen in app.screen_stack for strip in screen._compositor.render_strips(app.size)])
        assert len(seen) < 100, "the screen never comes to rest"


async def every_screen(app: TidepoolApp, pilot: Pilot[None]) -> AsyncIterator[str]:
    """One after the other, once it shows what it has to show."""
    await until_seen(pilot, "The first of two")
    await until_seen(pilot, "revealed: ")
    yield "batches"
    await press(pilot, "3", until="■ ■ ■")
    await until_seen(pilot, "revealed: ")
    yield "watch"
    await pilot.press("4")
    await until(pilot, lambda: len(app.screen.query("#plots .block")) > 1, "the plots")
    for panel, words in (
        ("overview", "Secrets revealed"),
        ("statistics", "Agents who spoke first"),
        ("plots", "who reveals"),
        ("talks", "conversations"),
    ):
        app.screen.query_one(PanelStrip).choose(f"panel-{panel}")
        await until_seen(pilot, words)
        yield panel
    await press(pilot, "5", until="Ezra")
    yield "library"
    await press(pilot, "6", until="no response")
    yield "providers"
    await composing(app, pilot)
    await until_seen(pilot, "100 conversations" if app.size.width < 100 else "100 (service auto)")
    yield "compose"
    await press(pilot, "f1", until="─ Help")
    yield "help"


def faint(app: TidepoolApp) -> list[str]:
    """Words on the screen that are hard to read."""
    found = []
    for strip in app.screen._compositor.render_strips(app.size):
        for segment in strip:
            style = segment.style
            if style is None or style.color is None or style.bgcolor is None or DRAWN.fullmatch(segment.text):
                continue
            ink, ground = (_rgb(color) for color in (style.color, style.bgcolor))
            if contrast_of(ink, ground) < CONTRAST - 0.05:
                found.append(f"{segment.text.strip()!r}: {ink} on {ground}")
    return found


def _rgb(color: RichColor) -> tuple[int, int, int]:
    red, green, blue = color.get_truecolor()
    return red, green, blue


def stands_out(app: TidepoolApp) -> bool:
    """Something on the screen is reversed, underlined, or framed by the heavy frame of what has the focus."""
    return any(
        (segment.style and segment.text.strip() and (segment.style.reverse or segment.style.underline))
        or any(mark in segment.text for mark in "▌┃━▐")
        for strip in app.screen._compositor.render_strips(app.size)
        for segment in strip
    )


async def test_every_screen_says_the_same_words(filled_file: Path, same_text: Callable[[str, str], None]) -> None:
    async with opened(filled_file, size=(120, 40)) as (app, pilot):
        async for name in every_screen(app, pilot):
            await at_rest(app, pilot)
            same_text(name, screen_text(app))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "theme"), [((80, 24), DARK.name), ((80, 24), "no colour"), ((160, 48), LIGHT_NAME)], ids=str
)
async def test_at_any_size_nothing_is_cut_off_and_all_can_be_read(
    filled_file: Path, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int], theme: str
) -> None:
    """Without colours, where the focus and the cursor are is told by more than a shade."""
    if theme == "no colour":
        monkeypatch.setenv("NO_COLOR", "1")
    async with opened(filled_file, size=size) as (app, pilot):
        if theme != "no colour":
            app.theme = theme
        async for name in every_screen(app, pilot):
            if name == "help":  # what lies behind it is dimmed on purpose
                assert app.screen.region.contains_region(app.screen.query_one(".dialog").region)
                continue
            await at_rest(app, pilot)
            assert all(word in screen_text(app).splitlines()[-1] for word in ALWAYS), name
            shown = [one for one in app.screen.query(NEVER_CUT) if one.display and one.region]
            assert not [one for one in shown if not app.screen.region.contains_region(one.region)], name
            if theme != "no colour":
                assert not faint(app), name
            elif name not in ("plots", "overview", "statistics"):
                assert stands_out(app), f"{name}: nothing shows where one is"


async def test_a_click_on_help_opens_it_in_a_field_too(database: Path) -> None:
    """Where "?" is a letter, though the line of keys says the same as elsewhere."""
    async with opened(database) as (app, pilot):
        screen = await composing(app, pilot)
        for key in ("escape", "f5"):
            await pilot.press(key)
            told = screen.history.values
            (place,) = [one for one in screen.query(FooterKey) if one.action == "help"]
            assert await pilot.click(place)
            await pilot.pause()
            assert isinstance(app.screen, Help) and screen.history.values == told
            await pilot.press("escape")
