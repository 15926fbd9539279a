"""Dialogs of the library: import a file, generate entities."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Input, Label, Select, Static

from tidepool.engine.config.entity_types import EntityType, generate, writing_tasks
from tidepool.engine.errors import UsageError
from tidepool.tui.app.dialogs.basic import buttons, fault_line, frame
from tidepool.tui.app.dialogs.form import SavingDialog
from tidepool.tui.app.library_items import examples
from tidepool.tui.app.widgets.frame import TextLine
from tidepool.tui.app.widgets.rows import ReadingPane
from tidepool.tui.drawing.text import one_line

HOLDS = {"entities": "entities or entity types", "agents": "agents"}


class ImportDialog(SavingDialog):
    """Imports a file completely or not at all. After an error, the typed path stays."""

    AUTO_FOCUS = "#path"

    def __init__(self, shelf: str, keep: Callable[[str, Path], Awaitable[str]]) -> None:
        super().__init__()
        self._shelf = "agents" if shelf == "agents" else "entities"
        self._keep = keep

    def compose(self) -> ComposeResult:
        with frame("Import a file", "-import", can_focus=False):
            yield Label("contents")
            choices = [(words, shelf) for shelf, words in HOLDS.items()]
            yield Select(choices, value=self._shelf, allow_blank=False, id="holds", compact=True)
            yield Label("path (.json, .toml or .csv)")
            yield TextLine(placeholder="people.csv", id="path", compact=True)
            yield fault_line()
            yield buttons(keep="Import (enter)", cancel="Cancel")

    @on(Input.Changed)
    def _typed(self) -> None:
        self.fault("")

    async def save(self) -> str | None:
        words = self.query_one("#path", Input).value.strip()
        if not words:
            self.fault("The path is missing. Type the path of a file.")
            return None
        return await self._keep(str(self.query_one("#holds", Select).value), Path(words))


MOST = 100_000
USUAL = "human"


@dataclass(frozen=True, slots=True)
class Wish:
    type: EntityType
    count: int
    seed: int


class GenerateDialog(SavingDialog):
    AUTO_FOCUS = "#count"

    def __init__(self, types: Sequence[EntityType], here: str, keep: Callable[[Wish], Awaitable[str]]) -> None:
        super().__init__()
        self._types = {kind.name: kind for kind in types}
        self._here = next(name for name in (here, USUAL, *self._types) if name in self._types)
        self._keep = keep

    def compose(self) -> ComposeResult:
        with frame("Generate entities", "-wide -generate", can_focus=False):
            with Horizontal(classes="pair"):
                yield Label("type")
                names = [(Content(one_line(name)), name) for name in self._types]
                yield Select(names, value=self._here, allow_blank=False, id="type", compact=True)
            with Horizontal(classes="pair"):
                yield Label("count")
                yield TextLine("10", id="count", compact=True)
                yield Label("seed")
                yield TextLine("42", id="seed", compact=True)
            yield Static("", id="writing", classes="note")
            yield ReadingPane(id="examples")
            yield fault_line()
            yield buttons(keep="Generate (ctrl+s)", cancel="Cancel")

    def on_mount(self) -> None:
        self._look()

    @on(Input.Changed)
    @on(Select.Changed)
    def _look(self) -> Wish | None:
        try:
            wish = self.wish()
        except UsageError as error:
            self.fault(str(error))
            return None
        self.fault("")
        self.query_one(ReadingPane).show(examples(wish.type, wish.seed, min(3, wish.count)))
        left = ", ".join(task.dimension for task in writing_tasks(wish.type, generate(wish.type, 1, 0)[0]))
        note = f"Without {one_line(left)}. To have a model write them: `tidepool entities generate --model MODEL`."
        self.query_one("#writing", Static).update(Content(note if left else ""))
        return wish

    def wish(self) -> Wish:
        """Reads the inputs. Raises UsageError if one is invalid."""
        kind = self._types[str(self.query_one("#type", Select).value)]
        count, seed = (_whole(self.query_one(f"#{name}", Input).value, name) for name in ("count", "seed"))
        if not 1 <= count <= MOST:
            raise UsageError(f"The count must be from 1 to {MOST:,}.")
        return Wish(kind, count, seed)

    async def save(self) -> str | None:
        if (wish := self._look()) is None:
            return None
        return await self._keep(wish)


def _whole(text: str, name: str) -> int:
    try:
        return int(text.strip().replace(",", "").replace("_", ""))
    except ValueError:
        raise UsageError(f"The {name} must be a whole number.") from None
