"""Every key counts, however fast it comes and whatever else is going on."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from copy import deepcopy
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from textual._xterm_parser import XTermParser
from textual.pilot import Pilot
from textual.widgets import Input, OptionList, Select, TextArea

from tests.tui.persons import ExaminesWithin, opened, press, screen_text, until
from tests.tui.studies import game
from tests.tui.test_compose import composing, go_into, row_of, show_field
from tests.tui.test_every_screen import dialogs_about, file, poisoned  # noqa: F401
from tidepool.tui.app import key_order
from tidepool.tui.app.app import TidepoolApp
from tidepool.tui.app.compose.edits import Put, apply
from tidepool.tui.app.compose.fields import Field, Form, KeyPath, read
from tidepool.tui.app.compose.outline import pages_of
from tidepool.tui.app.dialogs.basic import Help
from tidepool.tui.app.dialogs.models import ModelDialog
from tidepool.tui.app.key_order import messages_handled
from tidepool.tui.app.kind_screens import template
from tidepool.tui.app.screens.compose import ComposeScreen
from tidepool.tui.app.widgets.form_fields import FieldRow, TomlEditor
from tidepool.tui.app.widgets.frame import TextLine
from tidepool.tui.app.worker import Job

pytestmark = pytest.mark.slow

CLEAR = "\x15"
BACKSPACE, TAB, SHIFT_TAB, UP, DOWN, F2, CTRL_S = "\x7f", "\t", "\x1b[Z", "\x1b[A", "\x1b[B", "\x1bOQ", "\x13"
CTRL_Q = "\x11"


class SlowExaminer(ExaminesWithin):
    """Has an answer only when it is let: so one of an older draft arrives among newer keys."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0
        self.may_answer = Event()
        self.may_answer.set()

    def _ask(self, job: Job) -> tuple[str, Any]:
        self.asked += 1
        self.may_answer.wait()
        return super()._ask(job)

    def close(self) -> None:
        self.may_answer.set()
        super().close()


@asynccontextmanager
async def slowly_examined(path: Path) -> AsyncIterator[tuple[TidepoolApp, Pilot[None], ComposeScreen, SlowExaminer]]:
    async with opened(path, size=(80, 24)) as (app, pilot):
        app.examiner = examiner = SlowExaminer()
        yield app, pilot, await composing(app, pilot), examiner


def send(app: TidepoolApp, text: str) -> None:
    """What a terminal sends, all at once: keys, or a paste without brackets."""
    for event in XTermParser().feed(text):
        app.post_message(event)


async def keys_handled(app: TidepoolApp) -> None:
    await messages_handled(app)
    await app._typed.join()
    await messages_handled(app.focused)


async def quiet(pilot: Pilot[None], screen: ComposeScreen, examiner: SlowExaminer) -> None:
    """Until all is obeyed, written and examined."""
    examiner.may_answer.set()
    await keys_handled(screen.tidepool)
    await pilot.pause()
    await screen.settled()
    await until(pilot, lambda: not any(worker.group == "study" for worker in screen.workers), "the examination's end")
    await pilot.pause()


async def send_among_answers(
    app: TidepoolApp, pilot: Pilot[None], screen: ComposeScreen, examiner: SlowExaminer, text: str
) -> None:
    """Three bursts: an examination of the first is under way during the second, and answers during the third."""
    third = -(-len(text) // 3)
    asked = examiner.asked
    examiner.may_answer.clear()
    send(app, text[:third])
    await until(pilot, lambda: examiner.asked > asked, "an examination")
    older = screen._examined
    for place, character in enumerate(text[third : 2 * third]):
        send(app, character)
        if place % 3 == 0:
            screen.show_examined(older)
        if place % 2 == 0:
            await asyncio.sleep(0)
    examiner.may_answer.set()
    send(app, text[2 * third :])
    await quiet(pilot, screen, examiner)


BURSTS = {
    Form.WORD: "simulated:trusting [b]12 Ångström? 3x",
    Form.LONG: "the quick brown fox 1\rjumps over 2 lazy dogs\rq?",
    Form.MODEL: "simulated:trusting",
    Form.WHOLE: "1234567890",
    Form.NUMBER: "1234.56789",
    Form.NUMBERS: "1, 22, 333, 4444",
    Form.LINES: "one two 3\rfour\rfive 6",
    Form.MODELS: "simulated:trusting\rsimulated:guarded",
    Form.TABLE: 'alpha = 1\rbeta = "two 2"',
    Form.RECORDS: '{ name = "one", n = 1 }\r{ name = "two" }',
}


def fields_by_form() -> dict[Form, tuple[str, Field]]:
    """One field of each form that there is: its kind of study, and itself."""
    found: dict[Form, tuple[str, Field]] = {}
    for kind in ("secret_game", "simulation", "evolution", "mutation"):
        for page in pages_of(kind):
            for group in page.groups:
                for field in group.fields:
                    found.setdefault(field.form, (kind, field))
    return found


FIELDS = fields_by_form()


async def on_field(
    pilot: Pilot[None], screen: ComposeScreen, examiner: SlowExaminer, kind: str, field: Field
) -> FieldRow:
    if screen._kind_shown != kind:
        screen.load(template(kind))
        await until(pilot, lambda: screen._kind_shown == kind, "the kind's form")
    row = await show_field(screen, field.path)
    await until(pilot, lambda: row.has_focus_within, f"the cursor in {field.path}")
    await quiet(pilot, screen, examiner)
    return row


def text_in(row: FieldRow) -> str:
    editor = row.query_one("LineEditor, TextEditor")
    assert isinstance(editor, Input | TextArea)
    return editor.value if isinstance(editor, Input) else editor.text


def put(values: dict[str, Any], path: KeyPath, value: Any) -> dict[str, Any]:
    changed = deepcopy(values)
    apply(changed, Put(path, value))
    return changed


async def test_every_character_of_a_burst_is_in_its_field_and_nowhere_else(tmp_path: Path) -> None:
    """In one app, for opening it takes longer than typing; the draft keeps what was typed before."""
    assert set(FIELDS) - {Form.FLAG, Form.CHOICE, Form.CHOICES} <= set(BURSTS)
    async with slowly_examined(tmp_path / "study.db") as (app, pilot, screen, examiner):
        for form in sorted(BURSTS.keys() & FIELDS.keys(), key=lambda form: FIELDS[form][0]):
            kind, field = FIELDS[form]
            row = await on_field(pilot, screen, examiner, kind, field)
            before, text = deepcopy(screen.history.values), BURSTS[form]
            await send_among_answers(app, pilot, screen, examiner, CLEAR + text)
            assert text_in(row) == text.replace("\r", "\n"), form
            assert row.has_focus_within, form
            assert app.screen is screen, form
            assert screen.history.values == put(before, field.path, read(form, text_in(row))), form


async def test_keys_keep_their_order_in_fields_lists_dialogs_and_the_toml(tmp_path: Path) -> None:
    async with slowly_examined(tmp_path / "study.db") as (app, pilot, screen, examiner):
        row = await go_into(pilot, screen, ("batch", "name"))
        name, talks, messages = "Tidx" + BACKSPACE + "e", "15" + BACKSPACE + "3", "7" + BACKSPACE + "4"
        burst = CLEAR + name + TAB + TAB + CLEAR + talks + TAB + CLEAR + messages
        await send_among_answers(app, pilot, screen, examiner, burst)
        game = screen.history.values["secret_game"]
        assert screen.history.values["batch"]["name"] == "Tide"
        assert (game["num_interactions"], game["messages_per_interaction"]) == (13, 4)

        field: Select[str] = (await go_into(pilot, screen, ("secret_game", "mode"))).query_one(Select)
        before = deepcopy(screen.history.values)
        send(app, "1?")
        await quiet(pilot, screen, examiner)
        assert app.screen is screen and screen.history.values == before
        send(app, "\rdiv\r")
        await until(pilot, lambda: field.value == "diversity" and not field.expanded, "the choice")
        await quiet(pilot, screen, examiner)
        assert "▌ Game" in screen_text(app), "the field is marked after its list has closed"
        assert screen.history.values == put(before, ("secret_game", "mode"), "diversity")

        await go_into(pilot, screen, ("batch", "name"))
        send(app, CLEAR + "Saved with every letter" + CTRL_S)
        await until(pilot, lambda: app.screen is not screen, "the dialog")
        app.screen.query_one("#path", Input).value = str(tmp_path / "mine.toml")
        await pilot.press("enter")
        await until(pilot, (tmp_path / "mine.toml").exists, "the file")
        assert 'name = "Saved with every letter"' in (tmp_path / "mine.toml").read_text()
        await until(pilot, lambda: app.screen is screen, "the form")
        await pilot.press("ctrl+z")
        await until(pilot, lambda: text_in(row) == "Tide", "the name as it was")

        await pilot.press("f2")
        area = screen.query_one(TomlEditor)
        await until(pilot, lambda: area.has_focus, "the cursor in the TOML")
        area.move_cursor(area.document.end)
        text = area.text
        typed = "\r[providers.simulated]\rlatency = 0.x" + BACKSPACE + "25 # 1 to 6?"
        await send_among_answers(app, pilot, screen, examiner, typed)
        assert area.text == text + "\n[providers.simulated]\nlatency = 0.25 # 1 to 6?"
        send(app, "\rjitter = 0.5" + F2)
        await until(pilot, lambda: screen._kind_shown and not area.has_focus, "the form")
        await quiet(pilot, screen, examiner)
        assert screen.history.values["providers"]["simulated"] == {"latency": 0.25, "jitter": 0.5}


async def test_letters_typed_into_the_list_of_models_stay_while_the_lists_arrive(tmp_path: Path) -> None:
    async with slowly_examined(tmp_path / "study.db") as (app, pilot, screen, examiner):
        screen.load(template("mutation"))
        await until(pilot, lambda: screen._kind_shown == "mutation", "the kind's form")
        row = await show_field(screen, ("mutation", "target"))
        for typed, chosen in (("solver-large", "simulated:solver-large"), ("lab:qwen3 32b", "lab:qwen332b")):
            await press(pilot, "f4", until=ModelDialog)
            dialog = app.screen
            assert isinstance(dialog, ModelDialog)
            await until(pilot, lambda dialog=dialog: dialog.roll.count > 10, "the models")
            for place, character in enumerate(typed.replace(" ", BACKSPACE + "3")):
                send(app, character)
                dialog._put(list(dialog._listed.values()))
                if place % 2:
                    await asyncio.sleep(0)
            send(app, "\r")
            await until(pilot, lambda: app.screen is screen, "the form")
            await until(pilot, lambda chosen=chosen: text_in(row) == chosen, chosen)
        await quiet(pilot, screen, examiner)
        assert screen.history.values["mutation"]["target"] == "lab:qwen332b"
        await pilot.press("ctrl+z")
        await until(pilot, lambda: text_in(row) == "simulated:target", "the model as it was")
        await pilot.press("ctrl+y")
        await until(pilot, lambda: text_in(row) == "lab:qwen332b", "the model again")


SEARCHES = {"1": "#filter", "4": "#search", "5": "#words", "6": "#words"}
"""the places with a line to search in, by their keys"""


async def test_letters_right_behind_a_slash_are_searched_for_and_press_no_keys(path: Path) -> None:
    async with opened(path, game(talks=2), size=(80, 24)) as (app, pilot):
        for key, place in SEARCHES.items():
            await pilot.press(key)
            await until(pilot, lambda key=key: app.screen.query(SEARCHES[key]), "the place")
            await pilot.pause()
            screen = app.screen
            assert {f"#{line.id}" for line in screen.query(Input)} == {place}, "a line that no test types into"
            assert isinstance(screen.query_one(place), TextLine)
            send(app, "/deus/xyz" + 2 * BACKSPACE + "\x1b[200~ lan\ntern\x1b[201~ten" + 3 * BACKSPACE)
            await until(
                pilot, lambda place=place: app.screen.query_one(place, Input).value[-1:] == "n", "the last letter"
            )
            await keys_handled(app)
            assert (app.screen, app.screen.query_one(place, Input).value) == (screen, "deus/xlan tern")
            await pilot.press("escape")
            for field in screen.query(Select).results(Select):
                field.focus()
                await pilot.pause()
                await choose_from(app, pilot, field)


async def test_keys_keep_their_order_in_every_field_of_every_dialog(file: Path) -> None:  # noqa: F811
    """Lines and texts take a burst with corrections in it, dropdowns the keys that open, move and choose; or the mouse."""
    async with opened(file, size=(110, 34)) as (app, pilot):
        made = dialogs_about(file, app.screen)
        for dialog in made.values():
            app.push_screen(dialog)
            await until(pilot, lambda shown=dialog: app.screen is shown and shown.is_mounted)
            for field in dialog.query("Input, TextArea, Select"):
                field.focus()
                await pilot.pause()
                assert isinstance(field, TextLine | TextArea | Select), (
                    "a plain line drops all but the first of a paste"
                )
                if isinstance(field, Select):
                    await choose_from(app, pilot, field)
                else:
                    field.action_select_all()
                    send(app, BACKSPACE + "1299" + 2 * BACKSPACE + "34")
                    await keys_handled(app)
                    assert (field.value if isinstance(field, Input) else field.text) == "1234", (dialog, field)
            dialog.dismiss(None)
            await until(pilot, lambda shown=dialog: app.screen is not shown)


async def choose_from(app: TidepoolApp, pilot: Pilot[None], field: Select[Any]) -> None:
    """By the mouse first, while nothing moves: another choice may change the height of the dialog."""
    options = [value for _, value in field._options]
    start = options.index(field.value)
    place = 0 if start else min(1, len(options) - 1)
    menu = field.query_one(OptionList)
    await pilot.click(field)
    await until(pilot, lambda: menu.has_focus and menu.region, "the list of options")
    await pilot.click(menu, offset=(4, menu.gutter.top + place))
    await until(pilot, lambda: (field.value, field.expanded) == (options[place], False), f"a choice of {field}")
    field.value = options[start]
    after = options[(start + 1) % len(options)]
    for keys, value in (("\r" + DOWN + "\r", after), (" " + UP + "\r", options[start])):
        send(app, keys)
        await keys_handled(app)
        assert (field.value, field.expanded, field.has_focus) == (value, False, True), (app.screen, field, keys)


async def test_keys_behind_a_stuck_dialog_wait_for_it_once_and_ctrl_q_ends_the_app(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_order, "PATIENCE_SECONDS", 0.5)
    async with opened(tmp_path / "study.db") as (app, pilot):
        await press(pilot, "question_mark", until=Help)
        released = asyncio.Event()
        (app.focused or app.screen).call_later(released.wait)
        start = time.monotonic()
        send(app, 20 * DOWN + CTRL_Q)
        while not app._exit and time.monotonic() - start < 6.0:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        released.set()
        assert app._exit, "20 keys and ctrl+q wait for one patience, not for 20"


async def test_what_was_typed_right_before_ctrl_q_is_in_the_draft(path: Path) -> None:
    async with opened(path) as (app, pilot):
        await go_into(pilot, await composing(app, pilot), ("batch", "name"))
        send(app, CLEAR + "A name that is long enough to be cut off" + CTRL_Q)
        await until(pilot, lambda: app._exit, "the end")
    async with opened(path) as (app, pilot):
        name = row_of(await composing(app, pilot), ("batch", "name"))
        assert text_in(name) == "A name that is long enough to be cut off"
