"""Composing a study, as a person does."""

from pathlib import Path

import pytest
from textual.events import Paste
from textual.pilot import Pilot
from textual.widgets import Input, Select, Static, TextArea

from tests.tui.persons import batch_status, opened, press, rows_text, screen_text, until, until_on, until_seen
from tidepool.engine.config.library import stored_agent
from tidepool.engine.config.sections import Agent
from tidepool.storage import library
from tidepool.storage.file import prepare
from tidepool.tui.app.app import TidepoolApp
from tidepool.tui.app.compose.draft import Draft, keep_draft, read_draft
from tidepool.tui.app.compose.edits import value_at, values_of
from tidepool.tui.app.compose.examination import Examined
from tidepool.tui.app.compose.fields import KeyPath
from tidepool.tui.app.dialogs.draft import OpenDialog, PickDialog
from tidepool.tui.app.dialogs.form import FormDialog
from tidepool.tui.app.kind_screens import template
from tidepool.tui.app.screens.compose import ComposeScreen
from tidepool.tui.app.widgets.form_fields import FieldRow
from tidepool.tui.app.widgets.form_pages import PeopleList
from tidepool.tui.app.widgets.frame import NameStrip


async def composing(app: TidepoolApp, pilot: Pilot[None]) -> ComposeScreen:
    """On the Compose screen, once its first plan is there."""
    await pilot.press("2")
    await until_on(pilot, ComposeScreen, lambda screen: screen._examined != Examined())
    assert isinstance(app.screen, ComposeScreen)
    return app.screen


async def until_written(pilot: Pilot[None], screen: ComposeScreen, path: KeyPath, value: object) -> None:
    def is_so() -> bool:
        kept = read_draft(screen.tidepool.path)
        try:
            return kept is not None and value_at(values_of(kept.text), path) == value
        except ValueError:
            return False

    await until(pilot, is_so, f"{path} to be {value!r} in the draft")


TYPED = 2
"""characters of a text that are typed one by one"""


def row_of(screen: ComposeScreen, path: KeyPath) -> FieldRow:
    return next(row for row in screen.query(FieldRow) if row.field.path == path and row.display)


async def go_into(pilot: Pilot[None], screen: ComposeScreen, path: KeyPath) -> FieldRow:
    """Puts the cursor into a field that is in sight."""
    row = row_of(screen, path)
    row.take_focus()
    await until(pilot, lambda: row.has_focus_within, f"the cursor in {path}")
    return row


async def show_field(screen: ComposeScreen, path: KeyPath) -> FieldRow:
    """Turns to the step of a field and opens what it is folded in."""
    page = next(page for page in screen.form_pages if path in page.paths())
    await screen.go_to_page(page.page.name)
    await page.go_to(path)
    return row_of(screen, path)


async def fill(pilot: Pilot[None], screen: ComposeScreen, path: KeyPath, text: str) -> FieldRow:
    """Goes into a field, empties it and types the beginning; the rest is pasted, since a key takes its time."""
    row = await show_field(screen, path)
    await pilot.pause()
    await pilot.press("end", "ctrl+u", *text[:TYPED])
    here, rest = pilot.app.focused, text[TYPED:]
    if isinstance(here, TextArea):
        here.insert(rest)
    elif rest and here is not None:
        here.post_message(Paste(rest))
    await pilot.pause()
    return row


async def test_plan_and_toml_follow_the_typing_and_changes_are_taken_back(tmp_path: Path) -> None:
    async with opened(tmp_path / "study.db", size=(110, 32)) as (app, pilot):
        screen = await composing(app, pilot)
        await until_seen(pilot, "100 (service auto)")
        await fill(pilot, screen, ("secret_game", "num_interactions"), "250")
        await until_seen(pilot, "250 (service auto)")
        await pilot.press("f2")
        area = screen.query_one("#page-toml", TextArea)
        await until(pilot, lambda: "num_interactions = 250" in area.text, "the number in the TOML")
        area.text = area.text.replace("num_interactions = 250", "num_interactions = 40 # few")
        await until_seen(pilot, "40 (service auto)")
        await pilot.press("f2")
        await until(pilot, lambda: screen.query_one("#pages", NameStrip).here == "what")
        await fill(pilot, screen, ("secret_game", "num_interactions"), "30")
        await until_seen(pilot, "30 (service auto)")
        assert "num_interactions = 30 # few" in screen.history.draft.text
        screen.load(template("evolution"))
        await until_seen(pilot, "Population")
        screen.load(template("secret_game"))
        await until_seen(pilot, "100 (service auto)")
        await fill(pilot, screen, ("batch", "seed"), "77")
        await screen.settled()
        await fill(pilot, screen, ("batch", "description"), "abc")

        def written() -> tuple[object, object]:
            return screen.history.values["batch"]["seed"], screen.history.values["batch"].get("description")

        steps = [("ctrl+z", (77, None)), ("ctrl+y", (77, "abc")), ("escape", (77, "abc"))]
        steps += [("ctrl+z", (77, None)), ("ctrl+z", (42, None)), ("ctrl+y", (77, None)), ("ctrl+y", (77, "abc"))]
        await until(pilot, lambda: written() == (77, "abc"), "both in the draft")
        for key, values in steps:
            await pilot.press(key)
            await until(pilot, lambda values=values: written() == values, f"{values} after {key}")


async def test_a_choice_that_is_none_is_told_and_real_models_are_asked_only_after_a_yes(tmp_path: Path) -> None:
    async with opened(tmp_path / "study.db") as (app, pilot):
        screen = await composing(app, pilot)
        screen.load(
            template("secret_game").replace('"standard"', '"standrd"').replace("[batch]", "[batch]\nmetadata = 3")
        )
        await until(pilot, lambda: row_of(screen, ("secret_game", "mode")).fault != "", "the fault")
        assert row_of(screen, ("secret_game", "mode")).query_one(Select).value == "standrd"
        await pilot.press("ctrl+r")
        await until(
            pilot, lambda: row_of(screen, ("secret_game", "mode")).has_focus_within, "the cursor in the wrong field"
        )
        assert "expected a table" in row_of(screen, ("batch", "metadata")).fault  # out of its fold by itself
        assert "f5 Question × 2 errors  f6 Participants ✓" in screen_text(app)
        assert batch_status(app.path) is None
        screen.load(template("secret_game").replace("simulated:guarded", "openai:gpt-4o-mini"))
        await until(pilot, lambda: "openai:gpt-4o-mini" in screen._examined.models, "the plan")
        await press(pilot, "ctrl+r", until="Real models")
        await pilot.press("n")
        await until(pilot, lambda: app.screen is screen)
        assert not app._launched


@pytest.mark.slow
async def test_a_draft_survives_leaving_and_broken_toml_is_told_by_line(path: Path) -> None:
    async with opened(path) as (app, pilot):
        screen = await composing(app, pilot)
        await fill(pilot, screen, ("batch", "name"), "Half a na")
        await pilot.press("escape", "1")
        await until(pilot, lambda: app.current_mode == "batches")
        await pilot.press("2")
        assert row_of(screen, ("batch", "name")).query_one("Input").value == "Half a na"  # type: ignore[attr-defined]
        await fill(pilot, screen, ("batch", "seed"), "7x")
    async with opened(path) as (app, pilot):
        screen = await composing(app, pilot)
        assert (await show_field(screen, ("batch", "seed"))).query_one(Input).value == "7x"
        assert row_of(screen, ("batch", "name")).query_one("Input").value == "Half a na"  # type: ignore[attr-defined]
    keep_draft(path, Draft(template("secret_game") + "\nthis is no toml"))
    async with opened(path) as (app, pilot):
        screen = await composing(app, pilot)
        assert screen.query_one("#pages", NameStrip).here == "toml"
        await until_seen(pilot, "Error in line 29")
        await pilot.press("f8")
        area = screen.query_one("#page-toml", TextArea)
        await until(pilot, lambda: area.has_focus and area.cursor_location[0] == 28, "the cursor on the line")
        await press(pilot, "ctrl+shift+k", until="100 (service auto)")
        await pilot.press("f2")
        await until(pilot, lambda: screen.query_one("#pages", NameStrip).here == "what")


async def test_agents_are_taken_from_the_library_added_edited_removed_and_brought_back(path: Path) -> None:
    prepare(path)
    agents = [Agent(name=f"Agent {n}", model="simulated:guarded", secret=f"word{n}") for n in range(300)]
    library.add(path, [stored_agent(agent) for agent in agents])
    async with opened(path) as (app, pilot):
        screen = await composing(app, pilot)
        await screen.go_to_page("who")
        roll = screen.query_one(PeopleList)
        roll.focus()
        await press(pilot, "i", until=PickDialog)
        await pilot.press(*"word29")
        await until(pilot, lambda: app.screen.query_one("#choices").count == 11, "eleven that fit")  # type: ignore[attr-defined]
        await pilot.press("down", "space", "space", "enter")
        await until(pilot, lambda: roll.count == 5, "two more agents")
        await until(pilot, lambda: screen._examined.ready and "C(5,2)" in screen._examined.shape[0], "a plan of five")
        assert len(values_of(screen.history.draft.text)["agent_ids"]) == 2
        roll.go_to(3)
        await pilot.press("d")
        await until(pilot, lambda: len(screen.history.values["agents"]) == 4, "a copy to edit")
        await until(
            pilot, lambda: len(values_of(screen.history.draft.text)["agent_ids"]) == 1, "one left in the library"
        )
        screen.load(template("secret_game"))
        await until(pilot, lambda: screen.query_one(PeopleList).count == 3, "the three of the template")
        await screen.go_to_page("who")
        roll = screen.query_one(PeopleList)
        roll.focus()
        await press(pilot, "a", until=FormDialog)
        await pilot.press("end", "ctrl+u", *"Dion", "ctrl+s")
        await until(pilot, lambda: roll.count == 4 and "Dion" in rows_text(roll)[3], "a fourth agent")
        await press(pilot, "enter", until="Edit Dion")
        await pilot.press("end", "e", "ctrl+s")
        await until_written(pilot, screen, ("agents", 3, "name"), "Dione")
        await press(pilot, "home", "enter", until="Edit Ada")
        await pilot.press("tab", "ctrl+u", *"opnai:x", "ctrl+s")
        await until_seen(pilot, "did you mean openai:x?")
        await pilot.press("home", "x")
        await until(pilot, lambda: roll.count == 3 and "Bob" in rows_text(roll)[0], "Ada to be gone")
        await until_written(pilot, screen, ("agents", 0, "name"), "Bob")
        await pilot.press("ctrl+z")
        await until(pilot, lambda: roll.count == 4 and "Ada" in rows_text(roll)[0], "Ada to be back")


async def test_a_study_is_saved_changed_and_loaded_again(tmp_path: Path) -> None:
    async with opened(tmp_path / "study.db") as (app, pilot):
        screen = await composing(app, pilot)
        target = tmp_path / "mine.toml"
        await press(pilot, "ctrl+s", until="Save the study")
        app.screen.query_one("#path", Input).value = str(tmp_path / "nowhere" / "mine.toml")
        await pilot.press("enter")
        fault = app.screen.query_one("#fault", Static)
        await until(pilot, lambda: "its folder does not exist" in str(fault.content), "a word on the path")
        app.screen.query_one("#path", Input).value = str(target)
        await pilot.press("enter")
        await until(pilot, target.exists, "the file")
        assert target.read_text() == template("secret_game")
        await until(pilot, lambda: app.screen is screen)
        await fill(pilot, screen, ("batch", "seed"), "99")
        await until_written(pilot, screen, ("batch", "seed"), 99)
        await press(pilot, "ctrl+o", until=OpenDialog)
        await pilot.press(*"example judged", "down", "enter")
        await until(pilot, lambda: app.screen is screen and screen.history.kind == "simulation", "the second example")
        await until(pilot, lambda: screen._examined.ready, "its plan, with the files beside it")
        await pilot.press("ctrl+z")
        await until_written(pilot, screen, ("batch", "seed"), 99)
        await press(pilot, "ctrl+o", until=OpenDialog)
        app.screen.query_one("#path", Input).value = "nowhere.toml"
        app.screen.query_one("#path").focus()
        await press(pilot, "enter", until="The file nowhere.toml does not exist")
        app.screen.query_one("#path", Input).value = str(target)
        app.screen.query_one("#path").focus()
        await pilot.press("enter")
        await until_written(pilot, screen, ("batch", "seed"), 42)
        assert values_of(screen.history.draft.earlier[0])["batch"]["seed"] == 99
