"""Library: the entities, entity types and agents of the file, to find, make, change, import and try."""

from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from textual import on
from textual.binding import Binding
from textual.containers import Horizontal
from textual.widget import Widget
from textual.widgets import Input

from tidepool.storage.library import Stamp, StoredAgent, StoredEntity, stamp
from tidepool.storage.queries.watching import changes
from tidepool.tui.app import library_items as shelves
from tidepool.tui.app.library_items import SHELVES, Item, KnownType, details, found
from tidepool.tui.app.screens.library_actions import LibraryActions
from tidepool.tui.app.widgets.frame import ActionCard, Cards, NameStrip, TextLine
from tidepool.tui.app.widgets.rows import Piece, ReadingPane, Rows
from tidepool.tui.drawing.text import fitted

COLUMNS = {
    "entities": ("name", "type", "who it is"),
    "types": ("type", "origin", "what it is"),
    "agents": ("name", "model", "secret and instructions"),
}


class ShelfList(Rows):
    BINDINGS = [
        Binding("enter", "open", "Read", id="library.read", tooltip="all of it; escape comes back", show=False),
        Binding(
            "space",
            "screen.mark",
            "Mark",
            id="library.mark",
            tooltip="several, to delete or to make agents of",
            show=False,
        ),
        Binding("right,l", "screen.shelf(1)", "Next shelf", show=False),
        Binding("left,h", "screen.shelf(-1)", "Previous shelf", show=False),
        Binding("ctrl+a", "screen.mark_all", "Mark all shown", id="library.mark_all", show=False),
    ]

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.shelf = "entities"
        self.items: list[Item] = []
        self._marked: dict[str, None] = {}
        self.reading = True
        """until the library was read for the first time"""
        self._longest = [0, 0]
        """cells of the first two columns"""

    @property
    def current(self) -> Item | None:
        return self.items[self.cursor] if 0 <= self.cursor < len(self.items) else None

    @property
    def marked(self) -> list[Item]:
        return [item for item in self.items if item.id in self._marked]

    def show(self, shelf: str, items: Sequence[Item]) -> None:
        """Takes the list anew; the cursor stays on its item."""
        here = self.current.id if self.current and shelf == self.shelf else None
        if shelf != self.shelf:
            self._marked.clear()
        self.shelf, self.items = shelf, list(items)
        self._longest = [max((cell_len(item.cells[place]) for item in self.items), default=0) for place in (0, 1)]
        self.set_count(len(self.items))
        self.touch_all()
        place = next((place for place, item in enumerate(self.items) if item.id == here), None)
        self.go_to(self.cursor if place is None and here else place or 0)

    def go_to_item(self, one: str) -> None:
        if (place := next((place for place, item in enumerate(self.items) if item.id == one), None)) is not None:
            self.go_to(place)

    def toggle_mark(self) -> None:
        if (item := self.current) is not None:
            if self._marked.pop(item.id, 0) == 0:
                self._marked[item.id] = None
            self.touch([self.cursor])
            self.go_to(self.cursor + 1)

    def toggle_all(self) -> None:
        if len(self.marked) == len(self.items):
            self._marked.clear()
        else:
            self._marked.update(dict.fromkeys(item.id for item in self.items))
        self.touch_all()

    def forget_marks(self) -> None:
        self._marked.clear()
        self.touch_all()

    def empty_text(self) -> str:
        return "reading the library …" if self.reading else "nothing fits these words"

    def draw_header(self, width: int) -> Sequence[Piece]:
        first, second, third = self._widths(width)
        name, kind, about = COLUMNS[self.shelf]
        return [(f"  {fitted(name, first)} {fitted(kind, second)} {fitted(about, third)}", "")]

    def draw(self, index: int, width: int) -> Sequence[Piece]:
        item = self.items[index]
        first, second, third = self._widths(width)
        mark: Piece = ("✓ ", "accent") if item.id in self._marked else ("  ", "")
        return [
            mark,
            (fitted(item.cells[0], first) + " ", "strong"),
            (fitted(item.cells[1], second) + " ", "dim"),
            (fitted(item.cells[2], third), "dim"),
        ]

    def _widths(self, width: int) -> tuple[int, int, int]:
        room = max(20, width - 5)
        first = max(8, min(self._longest[0], room * 3 // 10))
        second = max(8, min(self._longest[1], room // 4))
        return first, second, max(0, room - first - second)


FIRST_STEPS = {
    "entities": (
        "No entities yet. They are who takes part in simulations, and agents can be made of them.",
        ActionCard("r", "Generate some", "people, fantasy characters, organisations: from a seed", "screen.generate"),
        ActionCard("a", "Write one", "a name, a description, attributes of your own", "screen.new"),
        ActionCard("i", "Import a file", "JSON, TOML or CSV", "screen.bring_in"),
    ),
    "agents": (
        "No agents yet. They play the secret game: a name, a model, a secret, instructions.",
        ActionCard("a", "Write one", "choose its model and what it is told", "screen.new"),
        ActionCard("i", "Import a file", "JSON, TOML or CSV, as [[agents]] of a config", "screen.bring_in"),
        ActionCard("c", "Take a champion", "the prompt that won an evolution becomes an agent", "screen.champion"),
    ),
}
"""what to do with an empty shelf"""

SOMETIMES = ("edit", "delete", "make_agents", "try", "champion", "generate")
"""actions that depend on the shelf and what is under the cursor; the footer is made anew only where they change"""


class LibraryScreen(LibraryActions):
    MODE = "library"
    PERIOD = 1.0
    CSS_PATH = ["compose.tcss", "library.tcss"]
    HELP = """The library of this file: entities (who takes part in simulations), entity types (which generate any number of
    them from a seed) and agents (who play the secret game). Tab goes from shelf to shelf, slash searches as you type, enter
    reads on in the text beside, escape comes back. Space marks several, to delete them or to make agents of them. What a
    batch uses is frozen into it: changing the library changes no batch. An edited entity or agent gets a new id, since ids
    are made of the content."""
    BINDINGS = [
        Binding("tab", "shelf(1)", "Shelf", id="library.shelf", tooltip="entities, types, agents", show=False),
        Binding("shift+tab", "shelf(-1)", "Previous shelf", show=False),
        Binding(
            "slash",
            "search",
            "Search",
            key_display="/",
            id="library.search",
            tooltip="as you type",
            show=False,
            priority=True,
        ),
        Binding("r", "generate", "Generate", id="library.generate", tooltip="entities of a type, from a seed"),
        Binding("a,n", "new", "New", key_display="a", id="library.new"),
        Binding("e", "edit", "Edit", id="library.edit"),
        Binding("x,delete", "delete", "Delete", key_display="x", id="library.delete", tooltip="asks first"),
        Binding("i", "bring_in", "Import", id="library.import", tooltip="JSON, TOML or CSV, by path"),
        Binding(
            "m", "make_agents", "Agent", id="library.agent", tooltip="make one of the entity, or of each one marked"
        ),
        Binding("t", "try", "Try", id="library.try", tooltip="one message to the agent, and its answer"),
        Binding(
            "c", "champion", "Champion", id="library.champion", tooltip="an agent of a prompt that won an evolution"
        ),
        Binding("escape", "back", "Back to the list", show=False),
    ]
    AUTO_FOCUS = "ShelfList"

    def __init__(self) -> None:
        super().__init__()
        self.library = shelves.LibraryItems()
        self.shelf = "entities"
        self._seen = -1
        self._stamp: Stamp | None = None
        self._wanted: str | None = None
        """what was just made, until it is in sight"""
        self._offered: tuple[bool | None, ...] = ()

    def compose_body(self) -> Iterable[Widget]:
        with Horizontal(id="library-head"):
            yield NameStrip(SHELVES, self.shelf, title="tab", id="shelves")
            yield TextLine(placeholder="/ search: words of anything", id="words", compact=True)
        with Horizontal(id="library-main"):
            yield ShelfList(id="shelf")
            yield ReadingPane(id="details")
        yield Cards(id="first-steps")

    @property
    def roll(self) -> ShelfList:
        return self.query_one(ShelfList)

    @property
    def item(self) -> Item | None:
        return self.roll.current if self.is_mounted else None

    @property
    def chosen(self) -> list[Item]:
        return self.roll.marked or ([self.item] if self.item else [])

    # -- the file ----------------------------------------------------------------------------------------

    async def look(self) -> None:
        """A batch that runs writes all the time; the library is read again only where it has changed itself."""
        seen = await self.tidepool.file.look(changes)
        if seen == self._seen:
            return
        self._seen = seen
        now = await self.tidepool.file.look(stamp)
        if now == self._stamp:
            return
        self._stamp = now
        self.library = await self.tidepool.file.dig(shelves.read_library)
        counts = {name: f"{title} {len(self.library.shelf(name)):,}" for name, title in SHELVES.items()}
        await self.query_one(NameStrip).set_names(counts, self.shelf)
        self._show()

    def _show(self) -> None:
        everything = self.library.shelf(self.shelf)
        words = self.query_one("#words", Input).value
        roll = self.roll
        if self._wanted is not None and words and not any(one.id == self._wanted for one in found(everything, words)):
            self.query_one("#words", Input).value = words = ""
        roll.reading = self._stamp is None
        roll.show(self.shelf, found(everything, words))
        if self._wanted is not None:
            roll.go_to_item(self._wanted)
            if any(item.id == self._wanted for item in everything):
                self._wanted = None
        self._show_empty(not everything and self._stamp is not None)
        self._tell()

    def _show_empty(self, empty: bool) -> None:
        steps = FIRST_STEPS.get(self.shelf)
        cards = self.query_one(Cards)
        cards.display = empty and steps is not None
        self.query_one("#library-main").display = not cards.display
        if cards.display and steps is not None:
            cards.show(steps[0], steps[1:])

    def _tell(self) -> None:
        item = self.item
        self.query_one("#details", ReadingPane).show(details(item) if item else [])
        offered = tuple(self.check_action(action, ()) for action in SOMETIMES)
        if offered != self._offered:
            self._offered = offered
            self.refresh_bindings()

    # -- the person --------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        stored = self.item.stored if self.item else None
        match action:
            case "edit":
                return stored is not None and not getattr(stored, "damaged", False)
            case "delete":
                return stored is not None and not (isinstance(stored, KnownType) and not stored.own)
            case "make_agents":
                return isinstance(stored, StoredEntity)
            case "try":
                return isinstance(stored, StoredAgent) and not stored.damaged
            case "champion":
                return self.shelf == "agents"
            case "generate":
                return self.shelf != "agents"
        return super().check_action(action, parameters)

    def point_to(self, shelf: str, one: str) -> None:
        self._wanted = one
        self._turn_to(shelf)
        self.nudge()

    def _turn_to(self, shelf: str) -> None:
        if shelf != self.shelf:
            self.shelf = shelf
            self.query_one("#words", Input).value = ""
        self.query_one(NameStrip).show(shelf)
        self._show()
        self.roll.focus()

    @on(NameStrip.Chosen)
    def _strip_chosen(self, event: NameStrip.Chosen) -> None:
        self._turn_to(event.name)

    def action_shelf(self, by: int) -> None:
        names = list(SHELVES)
        self._turn_to(names[(names.index(self.shelf) + by) % len(names)])

    @on(ShelfList.Highlighted)
    def _moved(self) -> None:
        self._tell()

    @on(ShelfList.Opened)
    def _opened(self) -> None:
        self.query_one("#details", ReadingPane).focus()

    def action_search(self) -> None:
        self.set_focus(self.query_one("#words", Input))

    @on(Input.Changed, "#words")
    def _narrowed(self) -> None:
        self._show()

    @on(Input.Submitted, "#words")
    def _search_done(self) -> None:
        self.roll.focus()

    def action_back(self) -> None:
        """Out of the text, out of the search, and at last out of the marks."""
        field = self.query_one("#words", Input)
        if self.roll.has_focus and self.roll.marked and not field.value:
            self.roll.forget_marks()
        elif not self.query_one("#details", ReadingPane).has_focus:
            field.value = ""
        self.roll.focus()

    def action_mark(self) -> None:
        self.roll.toggle_mark()

    def action_mark_all(self) -> None:
        self.roll.toggle_all()
        self.notify(f"{len(self.roll.marked):,} marked.", markup=False, timeout=2)
