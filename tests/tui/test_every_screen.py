"""A nasty text in every text column of the file: no screen and no dialog of the app lets it act, or takes it for markup."""

import json
import pkgutil
import shutil
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.screen import Screen

from tests.storage.test_plain_text import steers
from tests.support.poison import POISON, poisoned_file
from tests.tui.persons import opened, press, until, until_on
from tidepool.engine.config.entity_types import known_types
from tidepool.engine.config.sections import Agent, Providers
from tidepool.engine.gate import Admission, NamedServer, TrustQuestion
from tidepool.storage.file import reading
from tidepool.storage.queries.watching import read_batches
from tidepool.tui.app import dialogs
from tidepool.tui.app.app import TidepoolApp
from tidepool.tui.app.compose.draft import fresh
from tidepool.tui.app.compose.outline import AGENT_FIELDS
from tidepool.tui.app.dialogs.basic import Choice, Confirm, Dialog, ErrorDialog, Help, SearchDialog
from tidepool.tui.app.dialogs.batch import ExportDialog, LimitsDialog, StopDialog, TrustDialog
from tidepool.tui.app.dialogs.draft import OpenDialog, PickDialog, SaveDialog
from tidepool.tui.app.dialogs.form import FormDialog, SavingDialog
from tidepool.tui.app.dialogs.library import GenerateDialog, ImportDialog
from tidepool.tui.app.dialogs.models import ModelDialog
from tidepool.tui.app.library_items import agent_faults
from tidepool.tui.app.screens.batches import BatchesScreen
from tidepool.tui.app.screens.compose import ComposeScreen
from tidepool.tui.app.screens.library import LibraryScreen, ShelfList
from tidepool.tui.app.screens.results import ResultsScreen
from tidepool.tui.app.screens.watch import WatchScreen
from tidepool.tui.app.widgets.frame import NameStrip, PanelStrip
from tidepool.tui.app.widgets.transcript import TranscriptPane

ROOT = Path(__file__).parents[2]
KINDS = {"secret_game": 1, "simulation": 2, "evolution": 3, "mutation": 4}
"""the number of a batch of each kind in the fixture"""


@pytest.fixture(scope="module")
def poisoned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return poisoned_file(tmp_path_factory.mktemp("poisoned"))


@pytest.fixture
def file(poisoned: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(poisoned, tmp_path / "study.db"))


def look(app: TidepoolApp, what: object) -> str:
    """All that is on the screen, once it is seen to be harmless."""
    lines = []
    for strip in app.screen._compositor.render_strips(app.size):
        for segment in strip:
            assert not any(map(steers, segment.text)), f"{what}: {segment.text!r}"
            style = segment.style
            assert style is None or style.link is None, f"{what}: a link"
            assert style is None or "poisoned" not in str(style.meta), f"{what}: {style.meta if style else None}"
        lines.append("".join(segment.text for segment in strip))
    text = "\n".join(lines)
    assert "\N{SKULL}" not in text and "\U0001f480" not in text
    return text


async def panels(app: TidepoolApp, pilot: Pilot[None]) -> str:
    """Every panel of the screen, one after the other."""
    seen = ""
    for _ in app.screen.query_one(PanelStrip).offered:
        await pilot.press("tab")
        await pilot.pause()
        seen += look(app, (app.current_mode, app.focused))
    return seen


@pytest.mark.slow
async def test_the_screens_of_batches_of_all_kinds_show_it_to_the_letter(file: Path) -> None:
    async with opened(file, size=(130, 50)) as (app, pilot):
        await until_on(pilot, BatchesScreen, lambda screen: screen.shown_batch)
        look(app, "batches")
        for number in KINDS.values():
            app.current = number
            await app.switch_mode("watch")
            await until(pilot, lambda wanted=number: _watched(app, wanted), "the watched batch")
            look(app, "watch, all panels side by side")
            await app.switch_mode("results")
            await until(pilot, lambda wanted=number: _counted(app, wanted), "the results")
            seen = look(app, "results")
            if number == KINDS["evolution"]:  # it has all panels
                seen += await panels(app, pilot)
            assert "calc" in seen
        assert app.is_running


async def test_a_stranger_s_config_is_harmless_in_every_page_of_compose(file: Path) -> None:
    async with opened(file, size=(110, 34)) as (app, pilot):
        await until_on(pilot, BatchesScreen, lambda screen: screen.shown_batch)
        await press(pilot, "c", until=ComposeScreen)
        assert isinstance(app.screen, ComposeScreen) and "calc" in app.screen.history.written()
        strip = app.screen.query_one("#pages", NameStrip)
        for page in list(strip._names):
            strip.choose(page)
            await pilot.pause()
            look(app, page)


def _watched(app: TidepoolApp, number: int) -> bool:
    screen = app.screen
    if not isinstance(screen, WatchScreen) or screen.shown_batch is None or screen.shown_batch.number != number:
        return False
    return screen.query_one(TranscriptPane).talk is not None


def _counted(app: TidepoolApp, number: int) -> bool:
    screen = app.screen
    if not isinstance(screen, ResultsScreen) or screen._counted is None or screen._counted[0] != number:
        return False
    return not any(worker.group == "count" and not worker.is_finished for worker in app.workers)


async def test_library_and_providers_show_it_to_the_letter(file: Path) -> None:
    visited = {"batches", "watch", "results", "compose"}
    async with opened(file, size=(110, 34)) as (app, pilot):
        await pilot.press("5")
        visited.add(app.current_mode)
        for _ in range(3):
            await until_on(pilot, LibraryScreen, lambda screen: screen.query_one(ShelfList).count)
            roll = app.screen.query_one(ShelfList)
            for place in range(min(3, roll.count)):
                roll.go_to(place)
                await pilot.pause()
                look(app, ("library", place))
            await pilot.press("tab")
        await pilot.press("6")
        await pilot.pause()
        visited.add(app.current_mode)
        look(app, "providers")
        await pilot.press("ctrl+p")
        await pilot.pause()
        look(app, "palette")
    assert visited == set(TidepoolApp.MODES)


async def _kept(*ignored: object) -> str:
    return POISON


def dialogs_about(path: Path, about: Screen[object]) -> dict[type[Dialog[Any]], Dialog[Any]]:
    with reading(path) as connection:
        batch = read_batches(connection, path)[0]
    choices = [Choice(f"{POISON}{number}", POISON, POISON) for number in range(3)]
    agent = Agent(name=POISON, model="simulated:guarded", secret=POISON, instructions=POISON)
    server = NamedServer(POISON, POISON, (POISON,), (POISON,))
    made: list[Dialog[Any]] = [
        ErrorDialog(POISON),
        Confirm(POISON, POISON, no=POISON, title=POISON),
        PickDialog(POISON, choices, [choices[0].id]),
        SaveDialog(POISON),
        OpenDialog(replace(fresh(), earlier=(POISON, f"[batch]\nname = {json.dumps(POISON[:20])}")), [batch]),
        ModelDialog(POISON, Providers(), POISON),
        FormDialog(POISON, AGENT_FIELDS, agent.model_dump(), agent_faults, _kept, note=POISON),
        ExportDialog(batch),
        LimitsDialog(batch),
        StopDialog(POISON, 3),
        ImportDialog("entities", _kept),
        GenerateDialog(list(known_types(path).values()), POISON, _kept),
        Help(about),
        TrustDialog(
            TrustQuestion(
                "0123456789ab", POISON, [Admission("0123456789ab", "{}", False, (server,), (POISON,))], None, None
            )
        ),
    ]
    return {type(dialog): dialog for dialog in made}


def _dialogs() -> set[type[Dialog[Any]]]:
    """Every dialog there is."""
    modules = [import_module(f"{dialogs.__name__}.{one.name}") for one in pkgutil.iter_modules(dialogs.__path__)]
    found = {one for module in modules for one in vars(module).values() if isinstance(one, type)}
    return {one for one in found if issubclass(one, Dialog)} - {Dialog, SavingDialog, SearchDialog}


async def test_every_dialog_shows_it_to_the_letter(file: Path) -> None:
    async with opened(file, size=(110, 34)) as (app, pilot):
        made = dialogs_about(file, app.screen)
        assert set(made) == _dialogs()
        for dialog in made.values():
            app.push_screen(dialog)
            await until(pilot, lambda shown=dialog: app.screen is shown and shown.is_mounted)
            await pilot.pause()
            seen = look(app, dialog)
            assert "calc" in seen or isinstance(
                dialog, Help | ExportDialog | LimitsDialog | ImportDialog | GenerateDialog
            )
            dialog.dismiss(None)
            await until(pilot, lambda shown=dialog: app.screen is not shown)
        app.notify(POISON, title=POISON, markup=False)
        await pilot.pause()
        look(app, "a notification")


async def test_what_is_copied_is_what_was_asked_for_and_plain(file: Path) -> None:
    async with opened(file) as (app, _):
        app.copy_to_clipboard(f"one\ttwo {POISON}")
        assert app.clipboard.startswith("one\ttwo =cmd") and not any(map(steers, app.clipboard.replace("\t", "")))
