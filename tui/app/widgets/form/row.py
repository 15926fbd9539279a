"""One field of a form: its name, the place to type, the key it is in the TOML, and the engine's sentence where it is wrong."""

from dataclasses import dataclass, replace
from typing import Any

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Checkbox, Input, Select, Static, TextArea

from tidepool.tui.app.compose_model.fields import UNSET, Field, Form, Path
from tidepool.tui.app.widgets.form.editors import OFFERED, ChoicesEditor, LineEditor, TextEditor, editor_for
from tidepool.tui.drawing.text import one_line, shortened


class OfferMark(Static):
    """Opens the list of what can be chosen for a field, by a click."""

    def on_click(self, event: events.Click) -> None:
        event.stop()
        if isinstance(row := self.query_ancestor(FieldRow), FieldRow):
            row.ask_for_offer()


class FieldRow(Vertical):
    @dataclass
    class Edited(Message):
        """Something was typed or chosen. It may be an old story when it is read: the row has what holds now."""

        row: "FieldRow"

    @dataclass
    class Entered(Message):
        """The cursor came into this field."""

        row: "FieldRow"

    @dataclass
    class OfferWanted(Message):
        """Somebody wants to choose from a list instead of typing."""

        row: "FieldRow"

    def __init__(self, field: Field, value: Any = UNSET, *, key: str | None = None) -> None:
        super().__init__(classes=f"-{field.form.name.lower()}" + ("" if value is UNSET else " -written"))
        self.field = field
        self._key = key or field.key
        self._value = value
        self._editor = editor_for(field, value)
        self._heard: Any = None
        """what the editor said when it was last shown a value, or listened to"""
        self._shown = False
        self._typed: dict[Path, Any] = {}
        """what nobody has taken over yet"""
        self._beneath = ""
        """the key, where it stands under the name"""
        self.fault = ""
        self._sentence: Static | None = None

    def compose(self) -> ComposeResult:
        with Horizontal(classes="field-line"):
            tall = isinstance(self._editor, TextEditor)
            key = "" if self._key == self.field.name.casefold() else one_line(self._key)
            self._beneath = f"\n  {key}" if tall and key else ""
            yield Static(self._label(here=False), classes="field-label")
            yield self._editor
            if self.field.form in OFFERED:
                yield OfferMark("▾", classes="field-offer")
            if not tall:
                yield Static(Content(key), classes="field-key")

    def _label(self, *, here: bool) -> Content:
        name = one_line(self.field.name) + (" *" if self.field.required else "")
        return Content.assemble(f"{'▌' if here else ' '} {name}", (self._beneath, "$quiet not bold"))

    def on_mount(self) -> None:
        self.call_after_refresh(self._show_now) if isinstance(self._editor, ChoicesEditor) else self._show_now()
        if self.fault:
            self._complain_now()

    # -- for the form ------------------------------------------------------------------------------------

    def show(self, value: Any) -> None:
        """Another value in place of what was typed: only where somebody asked for it, or the draft could be older than
        the keys. Take over what was typed first."""
        if self._shown and not (_same(value, self._value) and _same(value, self._editor.said)):
            self._value = value
            self._show_now()
        self._value = value

    def bind_to(self, path: Path, value: Any) -> None:
        """The same field of another record; what was typed so far belongs to the one before."""
        if self.take_in():
            self.post_message(self.Edited(self))
        self.field = replace(self.field, path=path)
        self.show(self._typed.get(path, value))

    def hand_over(self) -> dict[Path, Any]:
        """What was typed since the last time, by the key it belongs to. UNSET: the key is no longer written."""
        self.take_in()
        typed, self._typed = self._typed, {}
        return typed

    def complain(self, sentence: str) -> None:
        if sentence != self.fault:
            self.fault = sentence
            if self.is_mounted:
                self._complain_now()

    def _complain_now(self) -> None:
        self.set_class(bool(self.fault), "-wrong")
        if self.fault and self._sentence is None:  # most rows never need one
            self._sentence = Static("", classes="field-fault")
            self.mount(self._sentence)
        if self._sentence is not None:
            self._sentence.update(Content(shortened(self.fault, 600)))

    def take_focus(self) -> None:
        target = self._editor.query(Checkbox).first() if isinstance(self._editor, ChoicesEditor) else self._editor
        target.focus()

    def ask_for_offer(self) -> None:
        self.take_focus()
        self.post_message(self.OfferWanted(self))

    def take_offer(self, text: str) -> None:
        """One of the list was chosen: typed, as it were."""
        if isinstance(self._editor, TextEditor | LineEditor):
            self._editor.take_offer(text)
        if self.take_in():
            self.post_message(self.Edited(self))

    def _show_now(self) -> None:
        self.set_class(self._value is not UNSET, "-written")
        self._editor.show(self._value)
        self._heard, self._shown = self._editor.said, True

    # -- the person --------------------------------------------------------------------------------------

    def on_descendant_focus(self) -> None:
        self._mark(here=True)
        self.post_message(self.Entered(self))

    def on_descendant_blur(self) -> None:
        """A list that closes loses the focus to the field that it belongs to."""
        self._mark(here=self.has_focus_within)

    def _mark(self, *, here: bool) -> None:
        """By a class of the name alone: `:focus-within` would have the whole row styled anew."""
        for label in self.query(".field-label").results(Static):
            label.set_class(here, "-here")
            label.update(self._label(here=here), layout=False)

    @on(Input.Changed)
    @on(TextArea.Changed)
    @on(Select.Changed)
    @on(Checkbox.Changed)
    def _changed(self, event: Message) -> None:
        event.stop()
        if self.take_in():
            self.post_message(self.Edited(self))

    def take_in(self) -> bool:
        """Takes what is typed; answers whether it is anything new."""
        said = self._editor.said
        if not self._shown or _same(said, self._heard):
            return False
        self._heard = said
        if _same(said, self._value) or (self._value is UNSET and self._is_default(said)):
            return False
        self._value = self._typed[self.field.path] = said
        self.set_class(said is not UNSET, "-written")
        return True

    @property
    def value(self) -> Any:
        return self._value

    def _is_default(self, said: Any) -> bool:
        """A box that stands where it stood by itself says nothing new."""
        return self.field.form in (Form.FLAG, Form.CHOICES) and _same(said, self.field.default)


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)
