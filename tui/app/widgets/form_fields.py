"""A field of a form: its name, an editor for its type of value, its key in the TOML, and its error.

All editors share two operations: show a value, and return the entered one.
"""

from dataclasses import dataclass
from typing import Any

from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Checkbox, Input, Select, Static, TextArea

from tidepool.tui.app.compose.fields import UNSET, Field, Form, read, shown
from tidepool.tui.app.compose.outline import words_of_choice
from tidepool.tui.app.widgets.frame import TextLine
from tidepool.tui.drawing.text import one_line, shortened

OFFERED = (Form.MODEL, Form.MODELS)
"""forms that also offer a list to choose from"""
SEVERAL_LINES = (Form.LONG, Form.LINES, Form.MODELS, Form.TABLE, Form.RECORDS)

HINTS = {
    Form.LINES: "one per line",
    Form.MODELS: "one per line",
    Form.TABLE: "one key = value per line",
    Form.RECORDS: "one { key = value, … } per line",
}


class LineEditor(TextLine):
    def __init__(self, field: Field) -> None:
        super().__init__(placeholder=one_line(shown(field.form, field.default)))
        self.form = field.form

    def show(self, value: Any) -> None:
        text = shown(self.form, value)
        if text != self.value:
            with self.prevent(Input.Changed):
                self.value = text

    def apply_offer(self, text: str) -> None:
        self.value = text
        self.cursor_position = len(self.value)

    @property
    def input_value(self) -> Any:
        return read(self.form, self.value)


class TextEditor(TextArea):
    """An editor of several lines that grows with its text."""

    def __init__(self, field: Field) -> None:
        super().__init__(
            soft_wrap=True,
            tab_behavior="focus",
            highlight_cursor_line=False,
            placeholder=Content(shown(field.form, field.default) or HINTS.get(field.form, "")),
        )
        self.form = field.form

    def show(self, value: Any) -> None:
        text = shown(self.form, value)
        if text != self.text:
            with self.prevent(TextArea.Changed):
                self.load_text(text)

    @on(TextArea.SelectionChanged)
    def _caret_moved(self) -> None:
        self.call_after_refresh(self._show_caret)

    def _show_caret(self) -> None:
        """Scrolls the page so that the cursor of a growing text stays visible."""
        page = next((one for one in self.ancestors if isinstance(one, VerticalScroll)), None)
        if page is not None and self.has_focus:
            line, view = self.cursor_screen_offset.y, page.scrollable_content_region
            beyond = max(0, line - view.bottom + 1) + min(0, line - view.y)
            page.scroll_relative(y=beyond, animate=False)

    def apply_offer(self, text: str) -> None:
        """Appends a chosen text on a new line."""
        self.move_cursor(self.document.end)
        self.insert(f"\n{text}" if self.text and not self.text.endswith("\n") else text)

    @property
    def input_value(self) -> Any:
        return read(self.form, self.text)


class TomlEditor(TextArea):
    """The editor of the whole study as TOML."""

    _known = ""
    """the text that was last shown or read"""

    def show(self, text: str) -> None:
        if self.text != text:
            with self.prevent(TextArea.Changed):
                self.load_text(text)
        self._known = self.text

    def read_input(self) -> str | None:
        """Returns the text if it changed since the last call, else None."""
        if self.text == self._known:
            return None
        self._known = self.text
        return self.text


class ChoiceEditor(Select[str]):
    """A choice. Without a choice, the default applies. A value outside the options is also shown."""

    def __init__(self, field: Field) -> None:
        self._field = field
        prompt = f"{shown(field.form, field.default)}" or "choose"
        super().__init__(self._entries(()), prompt=prompt, allow_blank=True)

    def _entries(self, more: tuple[str, ...]) -> list[tuple[Text, str]]:
        return [(self._label(option), option) for option in (*self._field.options, *more)]

    def _label(self, option: str) -> Text:
        """Returns a label as Rich text, because Textual's type-to-search does not work with its own content."""
        words = words_of_choice(self._field, option)
        return Text.assemble(one_line(option), (f"  {words}", "dim") if words else "")

    def show(self, value: Any) -> None:
        option = shown(self._field.form, value)
        if (option or Select.NULL) == self.value:
            return
        with self.prevent(Select.Changed):
            if option and option not in self._field.options:
                self.set_options(self._entries((option,)))
            self.value = option or Select.NULL

    def on_key(self, event: events.Key) -> None:
        """Stops printable keys, because digits would change the screen. Space opens the list."""
        if event.is_printable and event.key != "space":
            event.stop()

    @property
    def input_value(self) -> Any:
        return UNSET if self.value is Select.NULL else self.value


class Tick(Checkbox):
    """A checkbox that is empty when off, so that its state is visible without colours."""

    @property
    def _button(self) -> Content:
        """Draws brackets, because Textual draws the sides in the background colour, where they are invisible."""
        return Content.styled("[x]" if self.value else "[ ]", self.get_visual_style("toggle--button"))


class FlagEditor(Tick):
    def __init__(self, field: Field) -> None:
        super().__init__("", compact=True)
        self._default = field.default is UNSET or bool(field.default)  # flags without a default are on

    def show(self, value: Any) -> None:
        with self.prevent(Checkbox.Changed):
            self.value = value if isinstance(value, bool) else self._default

    @property
    def input_value(self) -> Any:
        return self.value


class ChoicesEditor(Horizontal):
    """Any number of choices, in the order of the options."""

    def __init__(self, field: Field) -> None:
        super().__init__()
        self._field = field
        self._unknown_choices: list[Any] = []

    def compose(self) -> ComposeResult:
        for option in self._field.options:
            yield Tick(Content(option), compact=True, name=option)

    def show(self, value: Any) -> None:
        choices = value if isinstance(value, list) else [] if self._field.default is UNSET else self._field.default
        self._unknown_choices = [one for one in choices if one not in self._field.options]
        for box in self.query(Checkbox):
            if box.value != (box.name in choices):
                with box.prevent(Checkbox.Changed):
                    box.value = box.name in choices

    @property
    def input_value(self) -> Any:
        chosen = [box.name for box in self.query(Checkbox) if box.value]
        return [*chosen, *self._unknown_choices] or UNSET


AnyEditor = LineEditor | TextEditor | ChoiceEditor | FlagEditor | ChoicesEditor


def editor_for(field: Field, value: Any) -> AnyEditor:
    """Returns an editor for the field. A one-line value with a line break gets several lines."""
    if field.form is Form.CHOICE:
        return ChoiceEditor(field)
    if field.form is Form.FLAG:
        return FlagEditor(field)
    if field.form is Form.CHOICES:
        return ChoicesEditor(field)
    if field.form in SEVERAL_LINES or (isinstance(value, str) and "\n" in value):
        return TextEditor(field)
    return LineEditor(field)


class OfferMark(Static):
    """A mark that opens the list of a field on a click."""

    def on_click(self, event: events.Click) -> None:
        event.stop()
        self.query_ancestor(FieldRow).action_offer()


class FieldRow(Vertical):
    BINDINGS = [
        Binding("f4", "offer", "Choose a model", id="compose.offer", tooltip="from a list with prices", show=False)
    ]

    @dataclass
    class Edited(Message):
        """Something was typed or chosen. The message may be outdated when it is handled, so read the row's value."""

        row: "FieldRow"

    @dataclass
    class OfferRequested(Message):
        """The user wants to choose from a list."""

        row: "FieldRow"

    def __init__(self, field: Field, value: Any) -> None:
        super().__init__(classes=f"-{field.form.name.lower()}" + ("" if value is UNSET else " -written"))
        self.field = field
        self.value = value
        self._editor = editor_for(field, value)
        self._last_input: Any = None
        """the editor's value when it was last set or read"""
        self._shown = False
        self._typed = False
        """whether there is typed input that `take_typed` has not returned yet"""
        self.fault = ""
        self._sentence: Static | None = None

    def compose(self) -> ComposeResult:
        with Horizontal(classes="field-line"):
            yield Static(self._label(here=False), classes="field-label")
            yield self._editor
            if self.field.form in OFFERED:
                yield OfferMark("▾", classes="field-offer")

    def _label(self, *, here: bool) -> Content:
        return Content(f"{'▌' if here else ' '} {one_line(self.field.name)}{' *' if self.field.required else ''}")

    def on_mount(self) -> None:
        self.call_after_refresh(self._show_now) if isinstance(self._editor, ChoicesEditor) else self._show_now()
        if self.fault:
            self._complain_now()

    def show(self, value: Any) -> None:
        """Replaces the typed value. Call it only if the user asked for it, because the draft may be older than the last keys. Read
        the typed value first."""
        if self._shown and not (_same(value, self.value) and _same(value, self._editor.input_value)):
            self.value = value
            self._show_now()
        self.value = value

    def take_typed(self) -> bool:
        """Returns whether something was typed since the last call. `value` holds it; UNSET removes the key."""
        self.read_input()
        typed, self._typed = self._typed, False
        return typed

    def complain(self, sentence: str) -> None:
        if sentence != self.fault:
            self.fault = sentence
            if self.is_mounted:
                self._complain_now()

    def _complain_now(self) -> None:
        self.set_class(bool(self.fault), "-wrong")
        if self.fault and self._sentence is None:  # created late, because most rows never need it
            self._sentence = Static("", classes="field-fault")
            self.mount(self._sentence)
        if self._sentence is not None:
            self._sentence.update(Content(shortened(self.fault, 600)))

    def take_focus(self) -> None:
        target = self._editor.query(Checkbox).first() if isinstance(self._editor, ChoicesEditor) else self._editor
        target.focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "offer" or self.field.form in OFFERED

    def action_offer(self) -> None:
        self.take_focus()
        self.post_message(self.OfferRequested(self))

    def apply_offer(self, text: str) -> None:
        """Enters a choice from the list as if it was typed."""
        if isinstance(self._editor, TextEditor | LineEditor):
            self._editor.apply_offer(text)
        if self.read_input():
            self.post_message(self.Edited(self))

    def _show_now(self) -> None:
        self.set_class(self.value is not UNSET, "-written")
        self._editor.show(self.value)
        self._last_input, self._shown = self._editor.input_value, True

    def on_descendant_focus(self) -> None:
        self._mark(here=True)

    def on_descendant_blur(self) -> None:
        """Keeps the mark if the focus moves within the field, as when a list closes."""
        self._mark(here=self.has_focus_within)

    def _mark(self, *, here: bool) -> None:
        """Marks the name by a class of its own, because `:focus-within` would restyle the whole row."""
        for label in self.query(".field-label").results(Static):
            label.set_class(here, "-here")
            label.update(self._label(here=here), layout=False)

    @on(Input.Changed)
    @on(TextArea.Changed)
    @on(Select.Changed)
    @on(Checkbox.Changed)
    def _changed(self, event: Message) -> None:
        event.stop()
        if self.read_input():
            self.post_message(self.Edited(self))

    def read_input(self) -> bool:
        """Reads the editor. Returns whether its value is new."""
        entered = self._editor.input_value
        if not self._shown or _same(entered, self._last_input):
            return False
        self._last_input = entered
        if _same(entered, self.value) or (self.value is UNSET and self._is_default(entered)):
            return False
        self.value, self._typed = entered, True
        self.set_class(entered is not UNSET, "-written")
        return True

    def _is_default(self, entered: Any) -> bool:
        """Whether a checkbox has its default value, which is no change."""
        return self.field.form in (Form.FLAG, Form.CHOICES) and _same(entered, self.field.default)


def focused_row(screen: "Screen[Any]") -> FieldRow | None:
    """Returns the field with the focus."""
    return next(
        (one for one in (screen.focused.ancestors if screen.focused else ()) if isinstance(one, FieldRow)), None
    )


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)
