"""Dialogs for a draft: start from another text, save it, choose participants from the library."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Label, Static

from tidepool.engine.config.loading import classes_in
from tidepool.engine.errors import TidepoolError
from tidepool.engine.kinds import KINDS, load_kind
from tidepool.storage.queries.watching import BatchLine
from tidepool.tui.app.compose.draft import Draft, kind_of
from tidepool.tui.app.compose.edits import value_at, values_of
from tidepool.tui.app.dialogs.basic import Choice, Dialog, SearchDialog, buttons, fault_line, frame
from tidepool.tui.app.kind_screens import STARTERS, installed, template
from tidepool.tui.app.widgets.frame import TextLine
from tidepool.tui.app.widgets.rows import Column, TableRows
from tidepool.tui.drawing.configs import about, examples
from tidepool.tui.drawing.text import has_words, one_line, shortened


@dataclass(frozen=True, slots=True)
class DraftOrigin:
    """A text to start from."""

    group: str
    title: str
    detail: str
    text: str | None = None
    path: Path | None = None
    """file to read when chosen"""
    batch: BatchLine | None = None
    """batch whose config to use"""
    kind: str = ""
    """of a class in a Python file, which must be loaded"""


MOST_FILES = 100


def origins(draft: Draft, batches: Sequence[BatchLine]) -> list[DraftOrigin]:
    known = [spec for kind in KINDS if (spec := installed(kind))]
    new = [DraftOrigin("new", spec.title.lower(), spec.summary, template(spec.name)) for spec in known]
    starters = [DraftOrigin("starter", one.title, one.text, path=one.path) for one in STARTERS]
    earlier = [DraftOrigin("earlier", *_title_and_detail(text), text) for text in draft.earlier]
    ran = [
        DraftOrigin("batch", one.name or one.id, f"{one.kind.replace('_', ' ')}, {one.status}", batch=one)
        for one in batches
    ]
    return [*_own_classes(Path.cwd()), *new, *starters, *earlier, *ran, *_examples()]


def _own_classes(folder: Path) -> list[DraftOrigin]:
    """Returns the classes in the Python files of the folder. Choosing one runs its file."""
    found = []
    for path in sorted(folder.glob("*.py"))[:MOST_FILES]:
        with suppress(TidepoolError, OSError):
            kinds = [f"{path.name}:{name}" for name in classes_in(path)]
            found += [
                DraftOrigin("class", load_kind(kind).title, path.name, template(kind), kind=kind) for kind in kinds
            ]
    return found


def _examples() -> list[DraftOrigin]:
    """Returns the examples that come with Tidepool. They are opened in place, because they refer to files next to them."""
    try:
        return [DraftOrigin("example", path.stem, about(path), path=path) for path in examples().values()]
    except (TidepoolError, OSError, UnicodeDecodeError):
        return []


def _title_and_detail(text: str) -> tuple[str, str]:
    try:
        values = values_of(text)
    except ValueError:
        return "unfinished draft", one_line(text[:80])
    name = value_at(values, ("batch", "name"))
    return one_line(name) if isinstance(name, str) else "unnamed", (kind_of(values) or "").replace("_", " ")


class OriginList(TableRows[DraftOrigin]):
    COLUMNS = (Column("", 9, "accent"), Column("", share=2), Column("", style="dim", share=3))
    empty = "no matches"

    def cells(self, item: DraftOrigin) -> Sequence[str]:
        return f" {item.group}", item.title, item.detail


class OpenDialog(SearchDialog[DraftOrigin, DraftOrigin]):
    """Returns the text to start from."""

    def __init__(self, draft: Draft, batches: Sequence[BatchLine]) -> None:
        super().__init__()
        self._origins = origins(draft, batches)

    def compose(self) -> ComposeResult:
        with frame("Start from", "-wide pick", Vertical):
            yield TextLine(placeholder="search, for example: evolution, example, judge", id="words", compact=True)
            yield OriginList(self._origins, id="origins")
            yield Label("or path of a config file")
            yield TextLine(placeholder="study.toml", id="path", compact=True)
            yield fault_line()
            yield buttons(open="Open (enter)", cancel="Cancel")

    def matching(self, typed: str) -> list[DraftOrigin]:
        return [one for one in self._origins if has_words(f"{one.group} {one.title} {one.detail}", typed)]

    @on(OriginList.Opened)
    def _opened(self) -> None:
        if origin := self.chosen:
            self.dismiss(origin)

    def submitted(self, line: str) -> None:
        if line != "path":
            self._opened()
            return
        words = self.query_one("#path", Input).value.strip()
        path = Path(words).expanduser()
        if not path.is_file():
            self.fault(f"The file {shortened(words)} does not exist. Check the path.")
            return
        self.dismiss(DraftOrigin("file", path.name, str(path.parent), path=path))

    def accept(self) -> None:
        self.submitted("path" if self.query_one("#path", Input).value.strip() else "words")


class SaveDialog(Dialog[str]):
    """Returns the path to write to."""

    AUTO_FOCUS = "#path"

    def __init__(self, suggested: str) -> None:
        super().__init__()
        self._suggested = suggested

    def compose(self) -> ComposeResult:
        with frame("Save the study"):
            yield Label("path")
            yield TextLine(self._suggested, id="path")
            yield fault_line()
            yield buttons(save="Save", cancel="Cancel")

    def on_mount(self) -> None:
        self._look()

    @on(Input.Changed)
    def _look(self) -> str | None:
        """Shows a note about the path. Returns None if the path is invalid."""
        typed = self.query_one("#path", Input).value.strip()
        path = Path(typed).expanduser()
        if not typed:
            self.fault("The path is missing. Type a path.")
            return None
        if path.is_dir() or not path.parent.is_dir():
            self.fault(f"{shortened(str(path))} is a folder, or its folder does not exist. Type another path.")
            return None
        self.fault("This file exists and will be replaced." if path.exists() else "")
        return str(path.resolve())

    def accept(self) -> None:
        if (path := self._look()) is not None:
            self.dismiss(path)


class PickList(TableRows[Choice]):
    BINDINGS = [
        Binding("space", "screen.mark", "Mark"),
        Binding("a,ctrl+a", "screen.mark_all", "Mark all"),
        Binding("slash", "screen.to_words", "Search", show=False),
    ]
    COLUMNS = (Column("", share=2), Column("", style="dim", share=3))
    mark = "✓ "
    empty = "no matches"

    def cells(self, item: Choice) -> Sequence[str]:
        return item.title, item.detail

    def on_click(self, event: events.Click) -> None:
        if event.chain == 1:
            self.toggle_mark(round(self.scroll_offset.y) + event.y)


class PickDialog(SearchDialog[list[str], Choice]):
    """Returns the marked ids, in the order in which they were marked."""

    BINDINGS = [Binding("ctrl+a", "mark_all", "Mark all", priority=True)]

    def __init__(self, title: str, choices: Sequence[Choice], marked: Iterable[str]) -> None:
        super().__init__()
        self._title, self._choices = title, list(choices)
        self._marked = list(marked)

    def compose(self) -> ComposeResult:
        with frame(self._title, "-wide pick", Vertical):
            yield TextLine(placeholder="search: name, kind or id", id="words", compact=True)
            yield PickList(self._choices, id="choices")
            yield Static("", id="tally", classes="note")
            yield buttons(take="Add (enter)", cancel="Cancel")

    def on_mount(self) -> None:
        self.roll.marks = dict.fromkeys(self._marked)
        self._count()

    def matching(self, typed: str) -> list[Choice]:
        return [one for one in self._choices if has_words(f"{one.title} {one.detail} {one.id}", typed)]

    def action_in_list(self, move: str, by: int) -> None:
        """Moves the focus to the list, where the space bar marks items."""
        self.roll.focus()

    def action_mark_all(self) -> None:
        self.roll.toggle_all()
        self._count()

    def action_mark(self) -> None:
        self.roll.mark_and_step()
        self._count()

    def action_to_words(self) -> None:
        self.query_one("#words").focus()

    @on(PickList.Opened)
    def accept(self) -> None:
        self.dismiss(list(self.roll.marks))

    def on_click(self) -> None:
        self._count()

    def _count(self) -> None:
        self.query_one("#tally", Static).update(Content(f"{len(self.roll.marks):,} marked"))
