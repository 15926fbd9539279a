"""One picture of each screen, to see at once what a change does to it.

After a change that is meant: pytest tests/tui/test_snapshots.py --snapshot-update, and look at the difference. The app
is played once, on a file whose times and ids are fixed; pictures carry no fonts, so that they hold the screen alone.
"""

import asyncio
import re
from pathlib import Path

import pytest
from pytest_textual_snapshot import SVGImageExtension
from syrupy.assertion import SnapshotAssertion
from textual.pilot import Pilot
from textual.strip import Strip

from tests.tui.persons import opened, until, until_seen
from tests.tui.test_compose import composing
from tidepool.tui.app.app import TidepoolApp
from tidepool.tui.app.widgets.blocks import Plot
from tidepool.tui.app.widgets.frame import PanelStrip

SIZE = (100, 30)


@pytest.fixture(scope="module")
def pictures(filled_file: Path) -> dict[str, str]:
    return asyncio.run(_played(filled_file))


async def _played(path: Path) -> dict[str, str]:
    taken: dict[str, str] = {}
    async with opened(path, size=SIZE) as (app, pilot):
        await until_seen(pilot, "The first of two")
        await until_seen(pilot, "revealed: ")
        taken["batches"] = await picture(app, pilot)
        await pilot.press("3")
        await until_seen(pilot, "■ ■ ■")
        await until_seen(pilot, "revealed: ")
        taken["watch"] = await picture(app, pilot)
        await pilot.press("4")
        await until(pilot, lambda: len(app.screen.query("#plots .block")) > 1, "the plots")
        for panel, words in (("panel-statistics", "Ada & Bob"), ("panel-plots", "who reveals")):
            app.screen.query_one(PanelStrip).choose(panel)
            await until_seen(pilot, words)
            taken[panel.removeprefix("panel-")] = await picture(app, pilot)
        await pilot.press("5")
        await until_seen(pilot, "Ezra")
        taken["library"] = await picture(app, pilot)
        await pilot.press("6")
        await until_seen(pilot, "does not answer")
        taken["providers"] = await picture(app, pilot)
        await composing(app, pilot)
        await until_seen(pilot, "100 conversations")
        taken["compose"] = await picture(app, pilot)
    return taken


async def at_rest(app: TidepoolApp, pilot: Pilot[None]) -> None:
    """Once the screen has come to rest: three times the same, however slow the machine."""
    await until(pilot, lambda: all(plot.drawn for plot in app.screen.query(Plot) if plot.region.height), "the plots")
    seen: list[list[Strip]] = []
    while len(seen) < 3 or seen[-3] != seen[-1] or seen[-2] != seen[-1]:
        await pilot.pause(0.1)
        await pilot.pause()
        seen.append([strip for screen in app.screen_stack for strip in screen._compositor.render_strips(app.size)])
        assert len(seen) < 100, "the screen never comes to rest"


async def picture(app: TidepoolApp, pilot: Pilot[None]) -> str:
    await at_rest(app, pilot)
    taken = app.export_screenshot(title="Tidepool", simplify=True)
    svg = re.sub(r"@font-face \{.*?\}\s*", "", taken, flags=re.S)
    return re.sub(r"terminal-\d+", "terminal", svg)


def same(taken: str, snapshot: SnapshotAssertion) -> bool:
    return bool(taken == snapshot(extension_class=SVGImageExtension))


def test_batches_lists_name_kind_state_progress_cost_and_age(
    pictures: dict[str, str], snapshot: SnapshotAssertion
) -> None:
    """Newest first, numbers in line, the one under the cursor described below."""
    assert same(pictures["batches"], snapshot)


def test_compose_shows_the_form_of_a_kind_and_what_it_would_take(
    pictures: dict[str, str], snapshot: SnapshotAssertion
) -> None:
    """Written keys are bright, defaults grey; the plan stands in one line below where there is no room beside."""
    assert same(pictures["compose"], snapshot)


def test_watch_shows_every_call_as_a_cell_under_the_progress(
    pictures: dict[str, str], snapshot: SnapshotAssertion
) -> None:
    """The head of the batch, then one panel at a time where there is no room for all."""
    assert same(pictures["watch"], snapshot)


def test_statistics_stand_in_tables_with_their_intervals(pictures: dict[str, str], snapshot: SnapshotAssertion) -> None:
    """A sentence first, then agents, then pairs, and columns that line up."""
    assert same(pictures["statistics"], snapshot)


def test_plots_say_what_they_show_and_name_their_series(pictures: dict[str, str], snapshot: SnapshotAssertion) -> None:
    """Bars in the colours of their meaning, with a legend and axes that start at zero."""
    assert same(pictures["plots"], snapshot)


def test_library_lists_its_people_and_describes_the_one_under_the_cursor(
    pictures: dict[str, str], snapshot: SnapshotAssertion
) -> None:
    """Three shelves with how much lies on each, the list, and all attributes of one."""
    assert same(pictures["library"], snapshot)


def test_providers_tell_keys_servers_and_the_models_of_the_one_under_the_cursor(
    pictures: dict[str, str], snapshot: SnapshotAssertion
) -> None:
    """The simulated one first and ready; a key is told as missing, a silent server as silent. No price of a package."""
    assert same(pictures["providers"], snapshot)
