"""The library, used as a person uses it: found, made, changed, brought in, tried and taken away."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from tests.tui.persons import opened, press, screen_text, until, until_on, until_seen
from tidepool.engine.config.entities import Entity
from tidepool.engine.config.library import LibraryAdditions, store_additions, stored_entity
from tidepool.storage import library
from tidepool.storage.file import reading
from tidepool.tui.app.app import TidepoolApp
from tidepool.tui.app.dialogs.basic import Confirm, ErrorDialog
from tidepool.tui.app.dialogs.form import FormDialog
from tidepool.tui.app.dialogs.library import GenerateDialog, ImportDialog
from tidepool.tui.app.screens.library import LibraryScreen, ShelfList
from tidepool.tui.app.widgets.form_fields import FieldRow


def entities(path: Path) -> list[library.StoredEntity]:
    with reading(path) as connection:
        return library.list_entities(connection)


def agents(path: Path) -> list[library.StoredAgent]:
    with reading(path) as connection:
        return library.list_agents(connection)


def roll(app: TidepoolApp) -> ShelfList:
    return app.screen.query_one(ShelfList)


def under_cursor(app: TidepoolApp) -> str | None:
    current = roll(app).current
    return current.name if current else None


async def write(pilot: Pilot[None], text: str, field: str = "Input") -> None:
    """Into the field, in place of what stood there."""
    pilot.app.screen.query_one(field, Input).value = text
    await pilot.pause()


async def test_people_are_generated_found_edited_made_agents_and_deleted(path: Path) -> None:
    async with opened(path, size=(80, 24)) as (app, pilot):
        await press(pilot, "5", until="Press r to generate")
        await press(pilot, "r", until=GenerateDialog)
        await write(pilot, "none", "#count")
        await press(pilot, "ctrl+s", until="must be a whole number")
        await write(pilot, "12", "#count")
        await until_seen(pilot, "years old")
        await pilot.press("ctrl+s")
        await until_on(pilot, LibraryScreen, lambda screen: roll(app).count == 12)
        first = entities(path)[0]
        assert first.type == "human" and first.attributes

        await pilot.press("slash", *first.name.split()[1].lower()[:2])
        await write(pilot, first.name.split()[1].lower(), "#words")
        await until(pilot, lambda: roll(app).count < 12, "fewer rows")
        await press(pilot, "enter", "e", until=FormDialog)
        app.screen.query_one(FieldRow).query_one(Input).value = "Ada  \x07"
        await press(pilot, "ctrl+s", until="line break or")
        await press(pilot, "escape", until=Confirm)
        await press(pilot, "n", until=FormDialog)
        app.screen.query_one(FieldRow).query_one(Input).value = "Ada Marsh"
        await press(pilot, "ctrl+s", until=LibraryScreen)
        await until(pilot, lambda: under_cursor(app) == "Ada Marsh", "Ada under the cursor")
        assert [one.name for one in entities(path)].count("Ada Marsh") == 1 and len(entities(path)) == 12

        await press(pilot, "m", until=FormDialog)
        await until_seen(pilot, "simulated:guarded")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: [one.name for one in agents(path)] == ["Ada Marsh"], "an agent")
        assert "years old" in agents(path)[0].definition["instructions"]
        await until_on(pilot, LibraryScreen, lambda screen: screen.shelf == "agents")
        await until(pilot, lambda: roll(app).count == 1)
        await press(pilot, "x", until=Confirm)
        await press(pilot, "y", until="No agents yet")
        assert agents(path) == []


@pytest.mark.slow
async def test_several_are_marked_files_brought_in_and_mistakes_lose_nothing(tmp_path: Path, path: Path) -> None:
    store_additions(path, LibraryAdditions(tuple(stored_entity(Entity(f"Person {number}")) for number in range(5))))
    async with opened(path) as (app, pilot):
        await pilot.press("5")
        await until_on(pilot, LibraryScreen, lambda screen: roll(app).count == 5)
        await _one_becomes_an_agent(app, pilot, path)
        await _two_of_them_go(app, pilot, path)
        await _a_broken_file_and_a_sound_one(app, pilot, path, tmp_path)
        await _an_agent_is_changed(app, pilot, path)
        await _a_built_in_type_stays(app, pilot)


async def _one_becomes_an_agent(app: TidepoolApp, pilot: Pilot[None], path: Path) -> None:
    await press(pilot, "m", until=FormDialog)
    model = next(row for row in app.screen.query(FieldRow) if row.field.key == "model")
    model.query_one(Input).value = "gpt4o_mnii"
    await pilot.press("ctrl+s")
    await until(pilot, lambda: "did you mean 'gpt4o_mini'?" in model.fault, "advice")
    model.query_one(Input).value = "gpt4o_mini"
    await pilot.press("ctrl+s")
    await until(pilot, lambda: [one.name for one in agents(path)] == ["Person 0"], "an agent")
    await until_on(pilot, LibraryScreen)
    await until(pilot, lambda: roll(app).shelf == "agents" and roll(app).count == 1, "the agents' shelf")


async def _two_of_them_go(app: TidepoolApp, pilot: Pilot[None], path: Path) -> None:
    await press(pilot, "tab", "space", "space", "x", until=Confirm)
    assert "these 2 entities" in screen_text(app)
    await pilot.press("y")
    await until(pilot, lambda: len(entities(path)) == 3, "two fewer")


async def _a_broken_file_and_a_sound_one(app: TidepoolApp, pilot: Pilot[None], path: Path, folder: Path) -> None:
    broken, sound = folder / "broken.csv", folder / "agents.json"
    broken.write_text("name,age\nBob,34\n,12\n")
    sound.write_text(json.dumps([{"name": "Cleo", "model": "simulated:trusting", "temperature": None}]))
    await press(pilot, "i", until=ImportDialog)
    await pilot.press("enter")
    assert "The path is missing" in screen_text(app)
    await write(pilot, str(broken), "#path")
    await press(pilot, "enter", until=ErrorDialog)
    assert "row 3: name" in app.screen.message  # type: ignore[attr-defined]
    await press(pilot, "escape", until=ImportDialog)
    assert app.screen.query_one("#path", Input).value == str(broken)
    assert len(entities(path)) == 3
    app.screen.query_one("#holds").value = "agents"  # type: ignore[attr-defined]
    await write(pilot, str(sound), "#path")
    await pilot.press("enter")
    await until_on(pilot, LibraryScreen, lambda screen: under_cursor(app) == "Cleo")


async def _an_agent_is_changed(app: TidepoolApp, pilot: Pilot[None], path: Path) -> None:
    await press(pilot, "e", until=FormDialog)
    rows = {row.field.key: row for row in app.screen.query(FieldRow)}
    rows["model"].query_one(Input).value = "opnai:gpt"
    await until(pilot, lambda: "has an unknown provider" in rows["model"].fault, "the fault at its field")
    rows["model"].query_one(Input).value = "simulated:guarded"
    with closing(sqlite3.connect(path)) as other, pytest.MonkeyPatch.context() as patch:
        patch.setattr("tidepool.storage.file.BUSY_SECONDS", 0.1)
        other.execute("BEGIN IMMEDIATE")
        await press(pilot, "ctrl+s", until=ErrorDialog)
        assert "locked by another program" in app.screen.message  # type: ignore[attr-defined]
    await pilot.press("escape", "ctrl+s")
    await until(pilot, lambda: agents(path)[-1].definition["model"] == "simulated:guarded", "the new model")
    assert agents(path)[-1].definition["temperature"] is None, "what was not touched stays"
    await until_on(pilot, LibraryScreen)


async def _a_built_in_type_stays(app: TidepoolApp, pilot: Pilot[None]) -> None:
    await pilot.press("shift+tab")
    await until(pilot, lambda: roll(app).shelf == "types" and roll(app).count == 3, "the built-in types")
    await pilot.press("x")
    assert isinstance(app.screen, LibraryScreen), "a built-in type cannot be deleted"


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
