"""A dialog with a form for one record. It closes only after saving, or after you confirm to discard changes."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from tidepool.storage.errors import TidepoolError
from tidepool.tui.app.compose.fields import UNSET, Field, KeyPath
from tidepool.tui.app.dialogs.basic import Confirm, Dialog, buttons, fault_line, frame, paragraph
from tidepool.tui.app.key_order import messages_handled
from tidepool.tui.app.provider_view import rules_in_draft
from tidepool.tui.app.widgets.form_fields import FieldRow, focused_row
from tidepool.tui.drawing.text import plain

Record = dict[str, Any]
Check = Callable[[Mapping[str, Any]], dict[KeyPath, str]]
"""returns the errors of a record by field, with () for errors of the whole record"""
Keep = Callable[[Record], Awaitable[str]]
"""saves a record and returns its id; raises a TidepoolError"""


class SavingDialog(Dialog[str]):
    """A dialog that saves something and returns its id."""

    BINDINGS = [Binding("ctrl+s", "keep", "Save", priority=True)]
    CSS_PATH = ["../screens/compose.tcss", "../screens/library.tcss"]

    _busy = False

    def changed(self) -> bool:
        """Whether closing would lose changes."""
        return False

    async def save(self) -> str | None:
        """Saves the contents and returns the id. Returns None after showing an error."""
        raise NotImplementedError

    def action_keep(self) -> None:
        """Saves once. Ignores a second press, which would save, or pay, twice."""
        if not self._busy:
            self._busy = True
            self._save_now()

    @work(group="keep")
    async def _save_now(self) -> None:
        """Saves and shows that it is saving, because the file may be busy for a while."""
        box = self.query_one(".dialog")
        box.border_subtitle = "saving…"
        try:
            await messages_handled(self.focused)
            record_id = await self.save()
        except TidepoolError as error:
            self.app.show_error(error)  # type: ignore[attr-defined]
            return
        finally:
            box.border_subtitle, self._busy = "", False
        if record_id is not None:
            self.dismiss(record_id)

    def action_leave(self) -> None:
        self._leave()

    @work(exclusive=True, group="leave")
    async def _leave(self) -> None:
        if self.changed():
            question = "Your changes are not saved. Discard them?"
            if not await self.app.push_screen_wait(Confirm(question, "Discard", no="Keep editing")):
                return
        self.dismiss(None)

    def accept(self) -> None:
        self.action_keep()


class FormDialog(SavingDialog):
    AUTO_FOCUS = "FieldRow Input"

    def __init__(
        self,
        title: str,
        fields: Sequence[Field],
        record: Mapping[str, Any],
        check: Check,
        keep: Keep,
        *,
        note: str = "",
    ) -> None:
        super().__init__()
        self._title, self._note = title, note
        self._fields = list(fields)
        self._before = dict(record)
        self.record: Record = dict(record)
        self._check, self._keep = check, keep

    def compose(self) -> ComposeResult:
        with frame(self._title, "-wide -form", Vertical):
            if self._note:
                yield paragraph(plain(self._note))
            with VerticalScroll(classes="form-fields", can_focus=False):
                for field in self._fields:
                    value = self.record.get(field.key)
                    yield FieldRow(field, UNSET if value is None else value)
            yield fault_line()
            yield Static("", id="help", classes="note")
            yield buttons(keep="Save (ctrl+s)", cancel="Cancel")

    def changed(self) -> bool:
        self._read_inputs()
        return self.record != self._before

    @on(FieldRow.Edited)
    def _edited(self, event: FieldRow.Edited) -> None:
        self._put(event.row.field.key, event.row.value)
        self._look()

    def _put(self, key: str, value: Any) -> None:
        if value is UNSET:
            self.record.pop(key, None)
        else:
            self.record[key] = value

    def _read_inputs(self) -> None:
        """Reads all fields, because messages about typed text may still be in the queue."""
        for row in self.query(FieldRow):
            row.read_input()
            if row.value is not UNSET or self.record.get(row.field.key) is not None:
                self._put(row.field.key, row.value)

    def on_descendant_focus(self) -> None:
        """Shows the help of the current field."""
        if row := focused_row(self):
            self.query_one("#help", Static).update(Content(plain(row.field.help)))

    @on(FieldRow.OfferRequested)
    @work(group="models", exclusive=True)
    async def _offer_models(self, event: FieldRow.OfferRequested) -> None:
        from tidepool.tui.app.dialogs.models import ModelDialog

        row = event.row
        providers = rules_in_draft(self.app.path).providers  # type: ignore[attr-defined]
        name = await self.app.push_screen_wait(ModelDialog(row.field.name, providers, str(row.value)))
        if name is not None:
            row.apply_offer(name)

    def _look(self) -> bool:
        """Shows all errors. Returns whether there are any."""
        sentences = self._check(self.record)
        for row in self.query(FieldRow):
            row.complain(sentences.pop(row.field.path, ""))
        self.fault(" ".join(sentences.values()))
        return bool(sentences) or any(row.fault for row in self.query(FieldRow))

    async def save(self) -> str | None:
        self._read_inputs()
        if self._look():
            for row in self.query(FieldRow):
                if row.fault:
                    row.take_focus()
                    break
            return None
        return await self._keep(dict(self.record))
