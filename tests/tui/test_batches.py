"""The home screen, used as a person uses it."""

from pathlib import Path

import pytest
from textual import actions
from textual.binding import Binding
from textual.events import AppBlur
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Input
from textual.widgets._footer import FooterKey

from tests.engine.design.designs import written
from tests.tui.persons import opened, press, rows_text, screen_text, until, until_seen
from tests.tui.studies import config_file, game
from tidepool.engine.config.loading import load_config
from tidepool.engine.run import run_study
from tidepool.engine.trust import record
from tidepool.tui.app.app import TidepoolApp
from tidepool.tui.app.compose.examination import examined
from tidepool.tui.app.compose.plan_text import is_free
from tidepool.tui.app.dialogs.basic import Confirm, ErrorDialog, Help
from tidepool.tui.app.kind_screens import STARTERS
from tidepool.tui.app.widgets.batch_list import BatchList
from tidepool.tui.app.widgets.frame import PLACES


def test_fields_may_be_made_before_the_first_screen_is_on_the_stack(tmp_path: Path) -> None:
    """Textual makes them so from Python 3.12 on, where tasks begin at once."""
    app = TidepoolApp(tmp_path / "study.db")
    app.clear_selection()
    assert not app.screen_stack
    app.shut_down()


def test_each_thing_to_try_is_ready_to_run_and_free(path: Path) -> None:
    for starter in STARTERS:
        found = examined(starter.path.read_text(encoding="utf-8"), starter.path.parent, path)
        assert found.ready and is_free(found), starter


async def test_an_empty_file_greets_and_a_key_starts_a_study_and_shows_it_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = config_file(tmp_path, game(name="Quick one"))
    monkeypatch.setattr("tidepool.tui.app.kind_screens.Starter.path", property(lambda self: quick))
    async with opened(tmp_path / "study.db", size=(80, 24)) as (app, pilot):
        await until_seen(pilot, "Nothing here yet")
        assert [starter.title for starter in STARTERS if starter.title not in screen_text(app)] == []
        assert record._report is not record._on_stderr
        app.run_config(config_file(tmp_path, game().replace("marigold", ""), "wrong.toml"), "wrong")
        await until(pilot, lambda: isinstance(app.screen, ErrorDialog), "what is wrong")
        assert "secret" in app.screen.message  # type: ignore[attr-defined]
        await pilot.press("escape", "g")
        await until(pilot, lambda: app.current_mode == "watch", "the Watch screen")
        await until_seen(pilot, "■ completed")
        await until_seen(pilot, "12 of 12 units")
    assert record._report is record._on_stderr, "trouble is told to an app that has ended"


async def test_batches_are_listed_filtered_sorted_found_and_deleted_after_a_question(path: Path) -> None:
    studies = game(name="[red]Zebra[/red]", talks=2), game(name="Apple", talks=4, seed=8)
    async with opened(path, *studies) as (app, pilot):
        table = app.screen.query_one(BatchList)
        await until(pilot, lambda: table.count == 2)
        assert "Apple" in rows_text(table)[0]
        await pilot.press(*(starter.key for starter in STARTERS), "S")
        await pilot.pause(0.3)
        assert app.current_mode == "batches" and table.count == 2, (
            "what starts a study in an empty file starts none here"
        )
        named = {line.title for line in app.get_system_commands(app.screen)}
        assert not {starter.title for starter in STARTERS} & named
        assert table.order == "name"
        assert "Zebra" in rows_text(table)[0]
        await pilot.press("slash", *"zeb")
        await until(pilot, lambda: table.count == 1, "one row")
        assert "Zebra" in rows_text(table)[0]
        await pilot.press("escape")
        await until(pilot, lambda: table.count == 2, "both rows")
        assert app.screen.query_one("#filter", Input).value == ""
        await keys_mouse_help_and_palette_agree(app, pilot)
        await pilot.press("1", "enter")
        await until(pilot, lambda: app.current_mode == "results", "the results")
        await until_seen(pilot, "4 of 4 completed")
        for answer, left in (("n", 2), ("y", 1)):
            await pilot.press("1")
            await press(pilot, "x", until=Confirm)
            await pilot.press(answer)
            await until(pilot, lambda left=left: not app.screen.is_modal and table.count == left, f"{left} batches")  # type: ignore[misc]


async def keys_mouse_help_and_palette_agree(app: TidepoolApp, pilot: Pilot[None]) -> None:
    """What the footer offers is in the help and in the palette, each once; and the mouse goes where the keys go."""
    shown = [key.description for key in app.screen.query(FooterKey)]
    named = [command.title for command in app.get_system_commands(app.screen)]
    helped = [words for _, words, _ in Help(app.screen)._keys]
    assert set(shown) - {"Commands"} <= set(named) and set(shown) <= set(helped)
    assert len(named) == len(set(named)) and len(helped) == len(set(helped))
    assert {title for _, title in PLACES.values()} <= set(named)
    await pilot.click(BatchList, offset=(5, 2))
    assert app.screen.query_one(BatchList).cursor == 1
    await pilot.click(next(place for place in app.screen.query("Navigation > Name") if place.name == "results"))
    await until(pilot, lambda: app.current_mode == "results", "the results, by the mouse")


@pytest.mark.slow
async def test_the_footer_is_complete_before_the_cursor_moves(tmp_path: Path, path: Path) -> None:
    """Also in a terminal that has not got the focus, and where a list has the same key for something that it cannot do, as
    scrolling sideways."""
    await run_study(load_config(written(tmp_path, talks=2)), path)
    async with opened(path, size=(160, 40)) as (app, pilot):
        app.post_message(AppBlur())
        await until_seen(pilot, "Firm or plain")
        await until_seen(pilot, "Export")
        await until_seen(pilot, "Open")
        for mode, (key, _) in PLACES.items():
            await pilot.press(key)
            await until(pilot, lambda mode=mode: app.current_mode == mode, mode)  # type: ignore[misc]

            def missing() -> set[str]:
                shown = {one.description for one in app.screen.query(FooterKey)}
                return {one.description for one in app.screen.BINDINGS if _offered(app.screen, one)} - shown

            await until(pilot, lambda: not missing(), f"all keys in the footer of {mode}")
            assert mode != "batches" or "Show cells" in screen_text(app)


def _offered(screen: Screen[object], binding: object) -> bool:
    if not isinstance(binding, Binding) or not binding.show:
        return False
    _, action, parameters = actions.parse(binding.action)
    return bool(screen.check_action(action, parameters))
