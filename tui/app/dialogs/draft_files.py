"""Where a draft comes from and goes to: a template, an example, a batch, a file, an earlier draft; and a path to save it under."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Button, Input, Label, Static

from tidepool.engine.errors import TidepoolError
from tidepool.engine.studies.kinds import KINDS
from tidepool.storage.queries.watching import Watched
from tidepool.tui.app.compose_model.draft import Draft, kind_of
from tidepool.tui.app.compose_model.edits import value_at, values_of
from tidepool.tui.app.dialogs.dialog import Dialog
from tidepool.tui.app.kind_screens import STARTERS, installed, template
from tidepool.tui.app.widgets.rows import Piece, Rows
from tidepool.tui.app.widgets.text_line import TextLine
from tidepool.tui.drawing.example_files import about, examples
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
    batch: Watched | None = None
    """whose config is taken"""

    def fits(self, words: Sequence[str]) -> bool:
        text = f"{self.group} {self.title} {self.detail}".casefold()
        return all(word in text for word in words)


def origins(folder: Path, draft: Draft, batches: Sequence[Watched] = ()) -> list[DraftOrigin]:
    known = [spec for kind in KINDS if (spec := installed(kind))]
    new = [DraftOrigin("new", spec.title.lower(), spec.summary, template(spec.name)) for spec in known]
    starters = [DraftOrigin("starter", one.title, one.text, path=one.path) for one in STARTERS]
    earlier = [DraftOrigin("earlier", *_told(text), text) for text in draft.earlier]
    shipped = _examples()
    known_paths = {origin.path for origin in shipped}
    files = [
        DraftOrigin("file", path.name, str(path.parent), path=path)
        for path in _configs(folder)
        if path.resolve() not in known_paths
    ]
    return [*new, *starters, *earlier, *map(_of_batch, batches), *shipped, *files]


def _of_batch(batch: Watched) -> DraftOrigin:
    return DraftOrigin("batch", batch.name or batch.id, f"{batch.kind.replace('_', ' ')}, {batch.status}", batch=batch)


def _examples() -> list[DraftOrigin]:
    """Those that come with Tidepool. They name files that lie beside them, so they are opened where they are."""
    try:
        found = [DraftOrigin("example", path.stem, about(path), path=path) for path in examples().values()]
    except (TidepoolError, OSError, UnicodeDecodeError):
        return []
    return found


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

    @property
    def current(self) -> DraftOrigin | None:
        return self.origins[self.cursor] if self.cursor < len(self.origins) else None

    def show(self, found: Sequence[DraftOrigin]) -> None:
        self.origins = list(found)
        self.set_count(len(self.origins))
        self.touch_all()
        self.go_to(0)

    def empty_text(self) -> str:
        return "nothing fits these words"

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

    BINDINGS = [
        Binding("down", "step(1)", "Next", show=False),
        Binding("up", "step(-1)", "Previous", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
    ]
    AUTO_FOCUS = "#words"

    def __init__(self, draft: Draft, batches: Sequence[Watched] = ()) -> None:
        super().__init__()
        folder = Path(draft.source).parent if draft.source else Path.cwd()
        self._origins = origins(folder, draft, batches)

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog -wide pick") as box:
            box.border_title = Content("Start from")
            yield TextLine(placeholder="search: evolution, example, judge; or a name", id="words", compact=True)
            yield OriginList(self._origins, id="origins")
            yield Label("or the path of a config file")
            yield TextLine(placeholder="study.toml", id="path", compact=True)
            yield Static("", id="fault", classes="fault")
            with Horizontal(classes="dialog-buttons"):
                yield Button("Open (enter)", id="open", variant="primary")
                yield Button("Cancel", id="cancel")

    def action_step(self, by: int) -> None:
        self.query_one(OriginList).action_step(by)

    def action_page(self, by: int) -> None:
        self.query_one(OriginList).action_page(by)

    def _found(self) -> list[DraftOrigin]:
        words = self.query_one("#words", Input).value.casefold().split()
        return [origin for origin in self._origins if origin.fits(words)]

    @on(Input.Changed, "#words")
    def _narrow(self) -> None:
        self.query_one(OriginList).show(self._found())

    @on(OriginList.Opened)
    @on(Input.Submitted, "#words")
    def _opened(self) -> None:
        """The letters right before the enter may not have narrowed the list yet."""
        found, here = self._found(), self.query_one(OriginList).current
        if found:
            self.dismiss(here if here in found else found[0])

    @on(Input.Submitted, "#path")
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
            self._opened()


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
            yield TextLine(self._suggested, id="path")
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
