"""One way of typing for each form of value. All have the same two verbs: show a value, and say the one they hold."""

from typing import Any

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.suggester import SuggestFromList
from textual.widgets import Checkbox, Input, Select, TextArea

from tidepool.tui.app.compose_model.fields import UNSET, Field, Form, read, shown
from tidepool.tui.app.compose_model.model_names import offered_names
from tidepool.tui.app.compose_model.outline import words_of_choice
from tidepool.tui.app.compose_model.visible import restored, visible
from tidepool.tui.drawing.plain import one_line

SEVERAL_LINES = (Form.LONG, Form.LINES, Form.MODELS, Form.TABLE, Form.RECORDS)


HINTS = {
    Form.LINES: "one a line",
    Form.MODELS: "one a line",
    Form.TABLE: "key = value, one a line",
    Form.RECORDS: "{ key = value, … }, one a line",
}


class LineEditor(Input):
    def __init__(self, field: Field) -> None:
        suggester = SuggestFromList(offered_names(), case_sensitive=False) if field.form is Form.MODEL else None
        super().__init__(
            placeholder=one_line(shown(field.form, field.default)),
            suggester=suggester,
            compact=True,
            select_on_focus=False,
        )
        self.form = field.form

    def show(self, value: Any) -> None:
        with self.prevent(Input.Changed):
            self.value = visible(shown(self.form, value))

    @property
    def said(self) -> Any:
        return read(self.form, restored(self.value))


class TextEditor(TextArea):
    """Several lines; it grows with its text."""

    def __init__(self, field: Field) -> None:
        super().__init__(
            compact=True,
            soft_wrap=True,
            tab_behavior="focus",
            highlight_cursor_line=False,
            placeholder=Content(shown(field.form, field.default) or HINTS.get(field.form, "")),
        )
        self.form = field.form

    def show(self, value: Any) -> None:
        text = visible(shown(self.form, value))
        if text != self.text:
            with self.prevent(TextArea.Changed):
                self.load_text(text)

    @property
    def said(self) -> Any:
        return read(self.form, restored(self.text))


class ChoiceEditor(Select[str]):
    """The default is what is chosen where nothing is; a value that is none of the options is shown all the same."""

    def __init__(self, field: Field) -> None:
        self._field = field
        prompt = f"{shown(field.form, field.default)}" or "choose"
        super().__init__(self._entries(()), prompt=prompt, compact=True, allow_blank=True)

    def _entries(self, more: tuple[str, ...]) -> list[tuple[Content, str]]:
        return [(self._label(option), option) for option in (*self._field.options, *more)]

    def _label(self, option: str) -> Content:
        words = words_of_choice(self._field, option)
        return Content.assemble(one_line(option), (f"  {words}", "$quiet") if words else "")

    def show(self, value: Any) -> None:
        wanted = shown(self._field.form, value)
        with self.prevent(Select.Changed):
            if wanted and wanted not in self._field.options:
                self.set_options(self._entries((wanted,)))
            self.value = wanted or Select.NULL

    @property
    def said(self) -> Any:
        return UNSET if self.value is Select.NULL else self.value


class Tick(Checkbox):
    """A box that is empty when it is off: with no colours the two must differ too."""

    @property
    def BUTTON_INNER(self) -> str:  # type: ignore[override]
        return "x" if self.value else " "

    BUTTON_LEFT, BUTTON_RIGHT = "[", "]"


class FlagEditor(Tick):
    def __init__(self, field: Field) -> None:
        super().__init__("", compact=True)
        self._default = bool(field.default) if field.default is not UNSET else False

    def show(self, value: Any) -> None:
        with self.prevent(Checkbox.Changed):
            self.value = value if isinstance(value, bool) else self._default

    @property
    def said(self) -> Any:
        return self.value


class ChoicesEditor(Horizontal):
    """Any of a few, in the order of the options."""

    def __init__(self, field: Field) -> None:
        super().__init__()
        self._field = field
        self._strange: list[Any] = []

    def compose(self) -> ComposeResult:
        for option in self._field.options:
            yield Tick(Content(option), compact=True, name=option)

    def show(self, value: Any) -> None:
        given = value if isinstance(value, list) else [] if self._field.default is UNSET else self._field.default
        self._strange = [one for one in given if one not in self._field.options]
        for box in self.query(Checkbox):
            with box.prevent(Checkbox.Changed):
                box.value = box.name in given

    @property
    def said(self) -> Any:
        chosen = [box.name for box in self.query(Checkbox) if box.value]
        return [*chosen, *self._strange] or UNSET


AnyEditor = LineEditor | TextEditor | ChoiceEditor | FlagEditor | ChoicesEditor


def editor_for(field: Field, value: Any) -> AnyEditor:
    """A single line that holds a line break gets room for it."""
    if field.form is Form.CHOICE:
        return ChoiceEditor(field)
    if field.form is Form.FLAG:
        return FlagEditor(field)
    if field.form is Form.CHOICES:
        return ChoicesEditor(field)
    if field.form in SEVERAL_LINES or (isinstance(value, str) and "\n" in value):
        return TextEditor(field)
    return LineEditor(field)
