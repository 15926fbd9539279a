"""A record as a form in a dialog. It closes when what it holds was kept, or thrown away on purpose; never by a mistake."""

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
"""what is wrong with a record, by field; under () what is wrong with the whole"""
Keep = Callable[[Record], Awaitable[str]]
"""writes it, and answers its id; raises a TidepoolError"""


class SavingDialog(Dialog[str]):
    """Answers the id of what was kept."""

    BINDINGS = [Binding("ctrl+s", "keep", "Save", priority=True)]
    CSS_PATH = ["../screens/compose.tcss", "../screens/library.tcss"]

    _busy = False

    def changed(self) -> bool:
        """Whether leaving would lose anything."""
        return False

    async def save(self) -> str | None:
        """Writes what is there and answers its id; None where it cannot be written yet, which was told."""
        raise NotImplementedError

    def action_keep(self) -> None:
        """A second press while the first is under way would write, or buy, twice."""
        if not self._busy:
            self._busy = True
            self._save_now()

    @work(group="keep")
    async def _save_now(self) -> None:
        """The file may be busy for a while: it says so, and waits."""
        box = self.query_one(".dialog")
        box.border_subtitle = "at work …"
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
            question = "What you typed here is not saved yet. Throw it away?"
            if not await self.app.push_screen_wait(Confirm(question, "Throw away", no="Keep typing")):
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
        """What is typed counts at once: the news of it may still be on its way when a key is pressed."""
        for row in self.query(FieldRow):
            row.read_input()
            if row.value is not UNSET or self.record.get(row.field.key) is not None:
                self._put(row.field.key, row.value)

    def on_descendant_focus(self) -> None:
        """What the field one is in is for."""
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
        """Shows what is wrong; answers whether anything is."""
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
