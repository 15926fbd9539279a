"""The pages of the form: groups of fields, which unfold on request or on an error, and the list of participants."""

from collections.abc import Mapping, Sequence
from typing import Any

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Button, Static

from tidepool.tui.app.compose.edits import value_at
from tidepool.tui.app.compose.fields import UNSET, KeyPath, shown
from tidepool.tui.app.compose.outline import (
    PARTICIPANT_KINDS,
    FieldGroup,
    OutlinePage,
    ParticipantKind,
    Person,
    Stored,
    people_in,
    record_of,
)
from tidepool.tui.app.widgets.form_fields import FieldRow
from tidepool.tui.app.widgets.rows import Column, Piece, TableRows
from tidepool.tui.drawing.text import one_line, shortened


class GroupHead(Static, can_focus=True):
    """The title of a foldable group."""

    BINDINGS = [Binding("enter,space", "fold", "Open/close", show=False)]

    async def on_click(self, event: events.Click) -> None:
        event.stop()
        await self.action_fold()

    async def action_fold(self) -> None:
        if isinstance(self.parent, GroupBox):
            await self.parent.fold(not self.parent.folded)


class GroupBox(Vertical):
    def __init__(self, group: FieldGroup, values: Mapping[str, Any]) -> None:
        super().__init__(classes="" if group.folded else "-common")
        self.group = group
        self.folded = group.folded
        self.rows: list[FieldRow] = []
        self._values = values
        self._head = Content("")
        self._sentences: Mapping[KeyPath, str] = {}
        self._wrong: set[KeyPath] = set()

    def compose(self) -> ComposeResult:
        if self.group.title:
            yield GroupHead(classes="group-head") if self.group.folded else Static(classes="group-head")
        if self.group.note:
            yield Static(Content(self.group.note), classes="group-note")
        if not self.folded:
            yield from self._new_rows()

    def on_mount(self) -> None:
        self._show_head()

    def _new_rows(self) -> list[FieldRow]:
        self.rows = [FieldRow(field, value_at(self._values, field.path)) for field in self.group.fields]
        return self.rows

    async def fold(self, folded: bool) -> None:
        if folded == self.folded:
            return
        self.folded = folded
        if folded:
            self.rows = []
            await self.query(FieldRow).remove()
        else:
            await self.mount_all(self._new_rows())
            self.complain(self._sentences)
        self._show_head()

    def complain(self, sentences: Mapping[KeyPath, str]) -> None:
        """Shows errors. A new error opens the group. If you close the group, it stays closed."""
        wrong = {field.path for field in self.group.fields if field.path in sentences}
        fresh, self._wrong, self._sentences = wrong - self._wrong, wrong, sentences
        for row in self.rows:
            row.complain(sentences.get(row.field.path, ""))
        if self.is_mounted:
            self._show_head()
            if fresh and self.folded:
                self.call_next(self.fold, False)

    def show(self, values: Mapping[str, Any], *, fields: bool = True) -> None:
        """Shows other values. After typing, updates everything except the fields."""
        self._values = values
        for row in self.rows if fields else ():
            row.show(value_at(values, row.field.path))
        if self.is_mounted:
            self._show_head()

    def _show_head(self) -> None:
        """Updates the title only if it changed, because an update lays out the page again. Shows the note while the group is open."""
        if self.group.note:
            self.query_one(".group-note").display = not self.folded
        if not self.group.title:
            return
        mark = "▸ " if self.folded else "▾ " if self.group.folded else ""
        filled = sum(value_at(self._values, field.path) is not UNSET for field in self.group.fields)
        notes = [f"{filled} set"] if self.group.folded and filled else []
        if self.folded:
            names = ", ".join(field.name.lower() for field in self.group.fields)
            notes.append(f"{len(self.group.fields)} more: {names}")
        faults = f"  × {len(self._wrong)} error{'s' if len(self._wrong) > 1 else ''}" if self._wrong else ""
        head = Content.assemble(
            f"{mark}{self.group.title}", (faults, "$state-failed"), ("  " + " · ".join(notes), "$quiet not bold")
        )
        if head != self._head:
            self._head = head
            self.query_one(".group-head", Static).update(head)


class FormPage(VerticalScroll, can_focus=False):
    """A step of the form, with groups of fields."""

    def __init__(self, page: OutlinePage, values: Mapping[str, Any], *, id: str) -> None:
        super().__init__(id=id)
        self.page = page
        self._values = values
        self.boxes: list[GroupBox] = []

    async def fill(self, sentences: Mapping[KeyPath, str]) -> None:
        """Creates the fields when the page is first shown, because a hundred fields take a second."""
        if not self.boxes and self.is_attached:
            self.boxes = [GroupBox(group, self._values) for group in self.page.groups]
            await self.mount_all([Static(Content(self.page.question), classes="question"), *self.boxes])
            self.complain(sentences)

    def show(self, values: Mapping[str, Any], *, fields: bool = True) -> None:
        """Shows other values. After typing, updates everything except the fields."""
        self._values = values
        for box in self.boxes:
            box.show(values, fields=fields)

    def complain(self, sentences: Mapping[KeyPath, str]) -> None:
        for box in self.boxes:
            box.complain(sentences)

    def paths(self) -> list[KeyPath]:
        """Returns the paths of all fields, visible or folded."""
        return [field.path for group in self.page.groups for field in group.fields]

    async def go_to(self, path: KeyPath) -> bool:
        """Moves the cursor to a field and unfolds its group if necessary."""
        for box in self.boxes:
            if any(field.path == path for field in box.group.fields):
                await box.fold(False)
                next(row for row in box.rows if row.field.path == path).take_focus()
                return True
        return False

    async def open_all(self) -> None:
        """Opens every group, or closes all if they are open."""
        folding = [box for box in self.boxes if box.group.folded]
        closed = any(box.folded for box in folding)
        for box in folding:
            await box.fold(not closed)


class PeopleList(TableRows[Person]):
    BINDINGS = [
        Binding("enter", "screen.edit_person", "Edit", id="compose.edit"),
        Binding("a", "screen.add_person", "Add", id="compose.add"),
        Binding("i", "screen.pick_people", "From library", id="compose.pick", tooltip="choose several"),
        Binding("d", "screen.copy_person", "Duplicate", id="compose.copy", tooltip="copies a library item for editing"),
        Binding("x,delete", "screen.remove_person", "Remove", key_display="x", id="compose.remove"),
    ]

    COLUMNS = (Column("", 1), Column("", share=2), Column("", style="dim", share=3))

    def __init__(self, participants: ParticipantKind, *, id: str) -> None:
        super().__init__(id=id)
        self.empty = f"No {participants.name} yet. Press a to add, i to choose from the library."
        self.wrong: set[int] = set()

    def show_people(self, people: Sequence[Person], wrong: set[int]) -> None:
        if list(people) != self.items or wrong != self.wrong:
            self.wrong = wrong
            self.show(people)

    def id_of(self, item: Person) -> str:
        return f"{item.place} {item.id}"

    def cells(self, item: Person) -> Sequence[str | Piece]:
        wrong = item.place in self.wrong
        mark: Piece = ("×", "failed") if wrong else ("◇", "cached") if item.place is None else ("", "")
        return [mark, item.cells[0] if item.cells else "", "  ".join(filter(None, item.cells[1:]))]


class PeoplePage(FormPage):
    """The participants step with a list of participants. Each is edited in a dialog."""

    def __init__(self, page: OutlinePage, values: Mapping[str, Any], *, id: str) -> None:
        super().__init__(page, values, id=id)
        self.participants = PARTICIPANT_KINDS[page.people]
        self.boxes = [GroupBox(group, values) for group in page.groups]
        self.library: Mapping[str, Stored] = {}
        self._sentences: Mapping[KeyPath, str] = {}

    def compose(self) -> ComposeResult:
        yield Static(Content(self.page.question), classes="question")
        yield from (box for box in self.boxes if not box.group.folded)
        yield PeopleList(self.participants, id=f"list-{self.participants.name}")
        yield Static("", classes="person-note")
        with Horizontal(classes="people-keys"):
            yield Button("Add", action="screen.add_person", compact=True)
            yield Button("Edit", action="screen.edit_person", compact=True)
            yield Button("From library", action="screen.pick_people", compact=True)
            yield Button("Duplicate", action="screen.copy_person", compact=True)
            yield Button("Remove", action="screen.remove_person", compact=True)
        with VerticalScroll(classes="people-more", can_focus=False):
            yield from (box for box in self.boxes if box.group.folded)

    def on_mount(self) -> None:
        self.show(self._values)

    @property
    def roll(self) -> PeopleList:
        return self.query_one(PeopleList)

    def show(self, values: Mapping[str, Any], *, fields: bool = True) -> None:
        super().show(values, fields=fields)
        if self.is_mounted:
            wrong = {path[1] for path in self._sentences if path[0] == self.participants.name and len(path) > 1}
            people = people_in(values, self.participants, self.library)
            self.roll.show_people(people, {place for place in wrong if isinstance(place, int)})
            self._show_person()

    def show_library(self, library: Mapping[str, Stored]) -> None:
        self.library = library
        self.show(self._values, fields=False)

    def complain(self, sentences: Mapping[KeyPath, str]) -> None:
        self._sentences = sentences
        super().complain(sentences)
        self.show(self._values, fields=False)

    def paths(self) -> list[KeyPath]:
        """Returns the paths of all fields and of all participants in the list."""
        records = value_at(self._values, (self.participants.name,))
        places = range(len(records) if isinstance(records, list) else 0)
        everybody = [(self.participants.name, place) for place in places]
        return [*super().paths(), self.participants.ids, *everybody, (self.participants.name,)]

    async def go_to(self, path: KeyPath) -> bool:
        if not await super().go_to(path):
            if len(path) > 1 and isinstance(path[1], int):
                self.roll.go_to(path[1])
            self.roll.focus()
        return True

    @on(PeopleList.Highlighted)
    def _show_person(self) -> None:
        """Shows the errors of the participant under the cursor, or its library item."""
        person = self.roll.current
        place = () if person is None or person.place is None else (self.participants.name, person.place)
        fault = self._sentences.get(place, "") or self._sentences.get((self.participants.name,), "")
        note = Content.styled(shortened(fault), "$state-failed")
        if person is not None and person.place is None:
            note = self._describe_stored(person)
        self.query_one(".person-note", Static).update(note)

    def _describe_stored(self, person: Person) -> Content:
        stored = self.library.get(person.id)
        if stored is None:
            return Content.styled(f"{one_line(person.id)} is not in the library of this file.", "$state-failed")
        lines = [Content.styled(f"◇ from the library: {one_line(person.id)}", "$state-cached")]
        record = record_of(stored)
        for field in self.participants.fields:
            if field.key in record:
                value = shortened(shown(field.form, record[field.key]))
                lines.append(Content.assemble((f"{field.key}  ", "$quiet"), value))
        lines.append(Content.styled("Press d to copy it into this study for editing.", "$quiet"))
        return Content("\n").join(lines)
