"""One shelf of the library, a line for each thing on it."""

from collections.abc import Sequence

from rich.cells import cell_len
from textual.binding import Binding

from tidepool.tui.app.library_view.items import Item
from tidepool.tui.app.widgets.rows import Piece, Rows
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
