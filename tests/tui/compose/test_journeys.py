"""Composing a study of each kind by one hand alone: the keys of a small terminal, or the mouse on a large one."""

from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from tests.tui.persons import opened, press, screen_text, until, until_on, until_seen
from tests.tui.test_compose import composing, row_of
from tidepool.engine.kinds import KINDS
from tidepool.tui.app.app import TidepoolApp
from tidepool.tui.app.compose.edits import value_at
from tidepool.tui.app.compose.fields import KeyPath
from tidepool.tui.app.dialogs.form import FormDialog
from tidepool.tui.app.dialogs.models import ModelDialog, OfferList
from tidepool.tui.app.screens.compose import ComposeScreen
from tidepool.tui.app.widgets.form_fields import OfferMark
from tidepool.tui.app.widgets.form_pages import GroupHead, PeopleList
from tidepool.tui.app.widgets.frame import Name, NameStrip

pytestmark = pytest.mark.slow

MODELS: dict[str, KeyPath] = {
    "secret_game": ("agents", 0, "model"),
    "simulation": ("simulation", "model"),
    "evolution": ("evolution", "model"),
    "mutation": ("mutation", "target"),
}
"""the first model that each kind asks for"""


async def chosen(app: TidepoolApp, pilot: Pilot[None], screen: ComposeScreen, kind: str) -> None:
    """The model under the cursor is in the draft, and the plan is made with it."""
    await until(pilot, lambda: app.screen is screen, "the form")
    written = "simulated:solver-large"
    await until(pilot, lambda: value_at(screen.history.values, MODELS[kind]) == written, f"{written} in {MODELS[kind]}")
    await until(pilot, lambda: written in screen._examined.models and screen._examined.ready, "the plan")


async def models_listed(app: TidepoolApp, pilot: Pilot[None]) -> OfferList:
    await until_on(pilot, ModelDialog, lambda screen: screen.roll.count > 9)
    return app.screen.query_one(OfferList)


async def test_every_kind_is_composed_by_keys_alone_in_a_small_terminal(tmp_path: Path) -> None:
    async with opened(tmp_path / "study.db", size=(80, 24)) as (app, pilot):
        screen = await composing(app, pilot)
        await pilot.press("f5", "M")
        await until(pilot, lambda: "M" in value_at(screen.history.values, ("batch", "name")), "the name")
        assert "▌ Study name             ▏M " in screen_text(app)  # cursor and edges, without any colour
        for kind in KINDS:
            if kind != screen.history.kind:
                await pilot.press("escape", "shift+tab", "right")
                await until(pilot, lambda kind=kind: screen._kind_shown == kind, "the kind")
            await pilot.press("f6")
            if kind == "secret_game":
                await press(pilot, "enter", until=FormDialog)
                await pilot.press("tab")
            await pilot.press("f4")
            await models_listed(app, pilot)
            await pilot.press(*"r-la", "enter")
            if kind == "secret_game":
                await until_on(pilot, FormDialog, lambda dialog: "simulated:solver-large" in screen_text(app))
                await pilot.press("ctrl+s")
            await chosen(app, pilot, screen, kind)
        await press(pilot, "f7", "f3", until="▾ Limits and waiting")
        await until_seen(pilot, "Reuse answers          [x]")
        assert "f5 Question ✓  f6 Models ✓  f7 Running ✓  f9 Plan  f2 TOML" in screen_text(app)
        await press(pilot, "f9", until="■ Ready to run")


async def test_every_kind_is_composed_by_the_mouse_alone_on_a_large_terminal(tmp_path: Path) -> None:
    async with opened(tmp_path / "study.db", size=(160, 48)) as (app, pilot):
        screen = await composing(app, pilot)

        async def choose(strip: str, name: str) -> None:
            await pilot.click(next(one for one in screen.query_one(strip, NameStrip).query(Name) if one.name == name))

        await pilot.click(row_of(screen, ("batch", "name")).query_one(Input))
        await until(pilot, lambda: row_of(screen, ("batch", "name")).has_focus_within, "the cursor in the name")
        head = next(head for head in screen.query(GroupHead) if head.region)
        await pilot.click(head)
        await until(pilot, lambda: str(head.render()).startswith("▾"), "the group to open")
        for kind in KINDS:
            await choose("#kinds", kind)
            await until(pilot, lambda kind=kind: screen._kind_shown == kind, "the kind")
            await choose("#pages", "who")
            await until_seen(pilot, "Participants: " if kind in ("secret_game", "simulation") else "f6 Models")
            if kind == "secret_game":
                await pilot.click(PeopleList, offset=(4, 0), times=2)
                await until_on(pilot, FormDialog)
                await pilot.click(OfferMark)
            else:
                await pilot.click(row_of(screen, MODELS[kind]).query_one(OfferMark))
            roll = await models_listed(app, pilot)
            place = next(n for n, offer in enumerate(roll.items) if offer.name == "simulated:solver-large")
            roll.scroll_to(y=place, animate=False)
            await pilot.pause()
            line = place - round(roll.scroll_offset.y) + 1
            await pilot.click(roll, offset=(4, line))
            await until(pilot, lambda roll=roll, place=place: roll.cursor == place, "the cursor on the model")
            await pilot.click("#take")
            if kind == "secret_game":
                await until_on(pilot, FormDialog, lambda dialog: "simulated:solver-large" in screen_text(app))
                await pilot.click("#keep")
            await chosen(app, pilot, screen, kind)


async def test_keys_that_come_faster_than_the_form_is_built_choose_the_kind_they_count_to(tmp_path: Path) -> None:
    async with opened(tmp_path / "study.db", size=(80, 24)) as (app, pilot):
        screen = await composing(app, pilot)
        screen.query_one("#kinds").focus()
        await pilot.pause()
        strip = screen.query_one("#kinds", NameStrip)
        for _ in list(KINDS)[1:]:
            strip.action_step(1)
        await until(pilot, lambda: screen._kind_shown == list(KINDS)[-1], "the last kind")


async def test_two_clicks_into_a_field_take_hold_of_what_it_holds(tmp_path: Path) -> None:
    async with opened(tmp_path / "study.db", size=(160, 48)) as (app, pilot):
        screen = await composing(app, pilot)
        field = ("secret_game", "num_interactions")
        await pilot.click(row_of(screen, field).query_one(Input), times=2)
        await pilot.press(*"12")
        await until(pilot, lambda: value_at(screen.history.values, field) == 12, "12 in place of 100")
