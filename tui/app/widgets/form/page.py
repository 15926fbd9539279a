"""A step of the form: groups of fields, all but the first folded until they are wanted, or one of them is wrong."""

from collections.abc import Mapping
from typing import Any

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from tidepool.tui.app.compose_model.edits import value_at
from tidepool.tui.app.compose_model.explained import scoring_in_words
from tidepool.tui.app.compose_model.fields import UNSET, Field, Path
from tidepool.tui.app.compose_model.outline import WHAT, FieldGroup, OutlinePage
from tidepool.tui.app.widgets.form.row import FieldRow
from tidepool.tui.drawing.text import shortened


def key_of(field: Field) -> str:
    """As it stands in its section."""
    start = 2 if field.path[0] == "providers" else 1
    return ".".join(str(part) for part in field.path[start:])


class GroupHead(Static, can_focus=True):
    """The title of a group that can be folded."""

    BINDINGS = [Binding("enter,space", "fold", "Open or close", show=False)]

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
        self._told: dict[str, Content] = {}
        self._sentences: Mapping[Path, str] = {}
        self._wrong: set[Path] = set()

    def compose(self) -> ComposeResult:
        if self.group.title:
            yield GroupHead(classes="group-head") if self.group.folded else Static(classes="group-head")
        if self.group.note:
            yield Static("", classes="group-note")
        if not self.folded:
            yield from self._new_rows()

    def on_mount(self) -> None:
        self._title()
        self._note()

    def _new_rows(self) -> list[FieldRow]:
        self.rows = [
            FieldRow(field, value_at(self._values, field.path), key=key_of(field)) for field in self.group.fields
        ]
        return self.rows

    def _tell(self, place: str, words: Content) -> None:
        """Only what is new: each update lays the page out anew."""
        if self._told.get(place) != words:
            self._told[place] = words
            self.query_one(place, Static).update(words)

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
        self._title()
        self._note()

    def complain(self, sentences: Mapping[Path, str]) -> None:
        """A fault that is new opens the group; whoever closes it again is left in peace."""
        wrong = {field.path for field in self.group.fields if field.path in sentences}
        fresh, self._wrong, self._sentences = wrong - self._wrong, wrong, sentences
        for row in self.rows:
            row.complain(sentences.get(row.field.path, ""))
        if self.is_mounted:
            self._title()
            if fresh and self.folded:
                self.call_next(self.fold, False)

    def show(self, values: Mapping[str, Any]) -> None:
        """Other values, into the fields too."""
        for row in self.rows:
            row.show(value_at(values, row.field.path))
        self.follow(values)

    def follow(self, values: Mapping[str, Any]) -> None:
        """What was typed in the fields."""
        self._values = values
        if self.is_mounted:
            self._title()
            self._note()

    def _title(self) -> None:
        if not self.group.title:
            return
        mark = "▸ " if self.folded else "▾ " if self.group.folded else ""
        written = sum(value_at(self._values, field.path) is not UNSET for field in self.group.fields)
        said = [f"{written} written"] if self.group.folded and written else []
        if self.folded:
            names = ", ".join(field.name.lower() for field in self.group.fields)
            said.append(f"{len(self.group.fields)} more: {names}")
        told = f"  × {len(self._wrong)} wrong" if self._wrong else ""
        words = Content.assemble(
            f"{mark}{self.group.title}", (told, "$state-failed"), ("  " + " · ".join(said), "$quiet not bold")
        )
        self._tell(".group-head", words)

    def _note(self) -> None:
        if self.group.note == "scoring":
            mode = value_at(self._values, ("secret_game", "mode"))
            target = value_at(self._values, ("secret_game", "targeted_secret"))
            lines = scoring_in_words(
                mode if isinstance(mode, str) else "standard",
                value_at(self._values, ("secret_game", "scoring")),
                target if isinstance(target, str) else "",
            )
            self._tell(".group-note", Content(shortened("\n".join(lines))))
        elif self.group.note:
            self._tell(".group-note", Content(self.group.note))
        if self.group.note:
            self.query_one(".group-note").display = not self.folded


class StartLine(Static, can_focus=True):
    """Leads from the first step to what others have begun with."""

    BINDINGS = [Binding("enter,space", "screen.open", "Start from", show=False)]

    def __init__(self) -> None:
        super().__init__(Content("Start from a template, an example or a batch (ctrl+o)"))

    async def on_click(self) -> None:
        await self.run_action("screen.open")


class GroupBoxes:
    """What pages have in common: groups of fields."""

    page: OutlinePage
    boxes: list[GroupBox]

    async def open_all(self) -> None:
        """Opens every group but those that are seldom wanted, or closes them all where they are open."""
        folding = [box for box in self.boxes if box.group.folded]
        closed = any(box.folded for box in folding if not box.group.seldom)
        for box in folding:
            if not closed or not box.group.seldom:
                await box.fold(not closed)

    def group_paths(self) -> list[Path]:
        """Of all fields, seen or folded."""
        return [field.path for group in self.page.groups for field in group.fields]

    async def go_into(self, path: Path) -> bool:
        """Puts the cursor into a field, out of its fold if need be."""
        for box in self.boxes:
            if any(field.path == path for field in box.group.fields):
                await box.fold(False)
                next(row for row in box.rows if row.field.path == path).take_focus()
                return True
        return False


class FormPage(GroupBoxes, VerticalScroll, can_focus=False):
    def __init__(self, page: OutlinePage, values: Mapping[str, Any], *, id: str) -> None:
        super().__init__(id=id)
        self.page = page
        self._values = values
        self.boxes: list[GroupBox] = []

    async def fill(self, sentences: Mapping[Path, str]) -> None:
        """Its fields are made when it is first turned to: a hundred that nobody looks at cost a second."""
        if not self.boxes and self.is_attached:
            self.boxes = [GroupBox(group, self._values) for group in self.page.groups]
            head: list[Static] = [Static(Content(self.page.question), classes="question")]
            if self.page.name == WHAT:
                head.append(StartLine())
            await self.mount_all([*head, *self.boxes])
            self.complain(sentences)

    def show(self, values: Mapping[str, Any]) -> None:
        """Other values, into the fields too."""
        self._values = values
        for box in self.boxes:
            box.show(values)

    def follow(self, values: Mapping[str, Any]) -> None:
        """What was typed in the fields: everything around them."""
        self._values = values
        for box in self.boxes:
            box.follow(values)

    def paths(self) -> list[Path]:
        return self.group_paths()

    def complain(self, sentences: Mapping[Path, str]) -> None:
        for box in self.boxes:
            box.complain(sentences)

    async def go_to(self, path: Path) -> None:
        await self.go_into(path)
