"""Where a draft comes from and goes to: a template, a starter, a file, an earlier draft; and a path to save it under."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Button, Input, Label, Static

from tidepool.engine.studies.kinds import KINDS
from tidepool.tui.app.compose_model.draft import Draft, kind_of
from tidepool.tui.app.compose_model.edits import value_at, values_of
from tidepool.tui.app.dialogs.dialog import Dialog
from tidepool.tui.app.kind_screens import STARTERS, installed, template
from tidepool.tui.app.widgets.rows import Piece, Rows
from tidepool.tui.drawing.plain import fitted, one_line, shortened

MOST_FILES = 200


@dataclass(frozen=True, slots=True)
class DraftOrigin:
    """Something to begin from."""

    group: str
    title: str
    detail: str
    text: str | None = None
    path: Path | None = None
    """to be read when chosen"""


def origins(folder: Path, draft: Draft) -> list[DraftOrigin]:
    known = [spec for kind in KINDS if (spec := installed(kind))]
    new = [DraftOrigin("new", spec.title.lower(), spec.summary, template(spec.name)) for spec in known]
    starters = [DraftOrigin("starter", one.title, one.text, path=one.path) for one in STARTERS]
    earlier = [DraftOrigin("earlier", *_told(text), text) for text in draft.earlier]
    files = [DraftOrigin("file", path.name, str(path.parent), path=path) for path in _configs(folder)]
    return [*new, *starters, *earlier, *files]


def _configs(folder: Path) -> list[Path]:
    """TOML files near by that may be studies."""
    try:
        found = [*sorted(folder.glob("*.toml")), *sorted(folder.glob("examples/*.toml"))]
    except OSError:
        return []
    return [path for path in found if path.name != "pyproject.toml"][:MOST_FILES]


def _told(text: str) -> tuple[str, str]:
    try:
        values = values_of(text)
    except ValueError:
        return "an unfinished draft", one_line(text[:80])
    name = value_at(values, ("batch", "name"))
    return one_line(name) if isinstance(name, str) else "without a name", (kind_of(values) or "").replace("_", " ")


class OriginList(Rows):
    def __init__(self, found: Sequence[DraftOrigin], *, id: str) -> None:
        super().__init__(id=id)
        self.origins = list(found)

    def on_mount(self) -> None:
        self.set_count(len(self.origins))

    def draw(self, index: int, width: int) -> Sequence[Piece]:
        origin = self.origins[index]
        share = max(16, (width - 10) * 2 // 5)
        return [
            (fitted(f" {origin.group}", 10), "accent"),
            (fitted(one_line(origin.title), share) + " ", ""),
            (fitted(one_line(origin.detail), width - share - 12), "dim"),
        ]


class OpenDialog(Dialog[DraftOrigin]):
    """Answers what to begin from."""

    BINDINGS = [Binding("down", "into_list", "Into the list", show=False)]
    AUTO_FOCUS = "#origins"

    def __init__(self, draft: Draft) -> None:
        super().__init__()
        self._draft = draft

    def compose(self) -> ComposeResult:
        folder = Path(self._draft.source).parent if self._draft.source else Path.cwd()
        with Vertical(classes="dialog -wide pick") as box:
            box.border_title = Content("Begin from")
            yield OriginList(origins(folder, self._draft), id="origins")
            yield Label("or the path of a config file")
            yield Input(placeholder="study.toml", id="path", compact=True)
            yield Static("", id="fault", classes="fault")
            with Horizontal(classes="dialog-buttons"):
                yield Button("Open (enter)", id="open", variant="primary")
                yield Button("Cancel", id="cancel")

    def action_into_list(self) -> None:
        self.query_one(OriginList).focus()

    @on(OriginList.Opened)
    def _opened(self, event: OriginList.Opened) -> None:
        self.dismiss(self.query_one(OriginList).origins[event.index])

    @on(Input.Submitted)
    def _typed(self) -> None:
        self._open_path()

    def _open_path(self) -> None:
        words = self.query_one("#path", Input).value.strip()
        path = Path(words).expanduser()
        if not path.is_file():
            self.query_one("#fault", Static).update(Content(f"There is no file {shortened(words)}. Check the path."))
            return
        self.dismiss(DraftOrigin("file", path.name, str(path.parent), path=path))

    def on_button_pressed(self, event: Button.Pressed) -> None:
        if event.button.id == "cancel":
            self.dismiss(None)
        elif self.query_one("#path", Input).value.strip():
            self._open_path()
        else:
            chosen = self.query_one(OriginList)
            self.dismiss(chosen.origins[chosen.cursor])


class SaveDialog(Dialog[str]):
    """Answers the path to write to."""

    AUTO_FOCUS = "#path"

    def __init__(self, suggested: str) -> None:
        super().__init__()
        self._suggested = suggested

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog") as box:
            box.border_title = Content("Save the study")
            yield Label("as")
            yield Input(self._suggested, id="path")
            yield Static("", id="fault", classes="fault")
            with Horizontal(classes="dialog-buttons"):
                yield Button("Save", id="save", variant="primary")
                yield Button("Cancel", id="cancel")

    def on_mount(self) -> None:
        self._look()

    def on_input_changed(self) -> None:
        self._look()

    def _look(self) -> str | None:
        """A word about the path; None where it cannot be."""
        fault = self.query_one("#fault", Static)
        words = self.query_one("#path", Input).value.strip()
        path = Path(words).expanduser()
        if not words:
            fault.update("Where to? Give a path.")
            return None
        if path.is_dir() or not path.parent.is_dir():
            fault.update(Content(f"{shortened(str(path))} is a folder, or lies in none that exists."))
            return None
        fault.update("This file exists and will be replaced." if path.exists() else "")
        return str(path.resolve())

    def _save(self) -> None:
        if (path := self._look()) is not None:
            self.dismiss(path)

    def on_input_submitted(self) -> None:
        self._save()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        if event.button.id == "save":
            self._save()
        else:
            self.dismiss(None)
