"""Lists and texts of any length on Textual's line API, which draws only visible rows.

Subclasses define a row (`draw`) or its columns (`TableRows`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import var
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tidepool.engine.reports.blocks import INKS
from tidepool.tui.app.theme import STATES
from tidepool.tui.drawing.text import Piece as Piece
from tidepool.tui.drawing.text import fitted, one_line, plain, shortened, wrapped
from tidepool.tui.drawing.transcript import marked_name as marked_name


def column(text: str, width: int, style: str = "", *, right: bool = False) -> Piece:
    """Returns a text in a column of this width, followed by a space."""
    return fitted(text, width, right=right) + " ", style


@dataclass
class RowsMessage(Message):
    rows: "Rows"


class Rows(ScrollView, can_focus=True):
    BINDINGS = [
        Binding("up,k", "step(-1)", "Up", show=False),
        Binding("down,j", "step(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home,g", "edge(False)", "First", show=False, id="list.first"),
        Binding("end,G", "edge(True)", "Last", show=False, id="list.last"),
        Binding("enter", "open", "Open", show=False),
    ]
    COMPONENT_CLASSES = {
        "rows--cursor",
        "rows--header",
        "rows--dim",
        "rows--strong",
        "rows--accent",
        "rows--mark",
        "rows--hit",
        "rows--reveal",
        *(f"rows--{name}" for name in STATES),
        *(f"rows--who-{place}" for place in range(len(INKS))),
    }

    cursor: var[int] = var(0)
    empty = ""
    """text for an empty list"""
    has_cursor = True
    follows_end = True
    """without a cursor: keeps the end in view if it was in view"""

    class Highlighted(RowsMessage):
        """The cursor moved to another row."""

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, Rows.Highlighted) and message.rows is self.rows

    class Opened(RowsMessage):
        """The row under the cursor was chosen."""

    def __init__(self, *, id: str | None = None, empty: str = "") -> None:
        super().__init__(id=id)
        self.empty = empty or self.empty
        self.count = 0
        self._styles: dict[str, Style] = {}

    def draw(self, index: int, width: int) -> Sequence[Piece]:
        """Returns one row as styled pieces of text."""
        raise NotImplementedError

    def draw_header(self, width: int) -> Sequence[Piece] | None:
        """Returns the header line, if any."""
        return None

    def row_width(self) -> int:
        """Returns the least width of a row. Wider rows scroll sideways."""
        return 0

    def copied(self) -> str:
        """Returns the text to copy: the row under the cursor, else all visible rows."""
        first, last = (self.cursor, self.cursor) if self.has_cursor else self.rows_in_view
        rows = ("".join(text for text, _ in self.draw(index, self.view_width)) for index in range(first, last + 1))
        return "\n".join(row.rstrip() for row in rows).strip() if self.count else ""

    def set_count(self, count: int) -> None:
        if count == self.count:
            return
        at_end = self.is_vertical_scroll_end
        self.count = count
        self._measure()
        if self.cursor >= count:
            self.cursor = max(0, count - 1)
        if at_end and not self.has_cursor and self.follows_end:
            self.scroll_end(animate=False)
        self.refresh()

    @property
    def rows_in_view(self) -> tuple[int, int]:
        """The first and last visible row. Without rows, the last is before the first."""
        first = round(self.scroll_offset.y)
        height = max(0, self.scrollable_content_region.height - self._header_height)
        return first, min(self.count, first + height) - 1

    @property
    def view_width(self) -> int:
        return self.scrollable_content_region.width

    def go_to(self, index: int) -> None:
        self.cursor = index

    @property
    def _header_height(self) -> int:
        return 0 if self.draw_header(0) is None else 1

    def _measure(self) -> None:
        self.virtual_size = Size(max(1, self.row_width()), self.count + self._header_height)

    def style_named(self, name: str) -> Style:
        style = self._styles.get(name)
        if style is None:
            base = self.visual_style.rich_style
            style = base + self.get_component_rich_style(f"rows--{name}", partial=True) if name else base
            self._styles[name] = style
        return style

    def render_line(self, y: int) -> Strip:
        width = self.view_width
        header = self._header_height
        if y < header:
            return _over(self._strip(self.draw_header(width) or (), width), self.style_named("header"))
        left, top = round(self.scroll_offset.x), round(self.scroll_offset.y)
        index = top + y - header
        if index >= self.count:
            if self.count == 0 and y == header and self.empty:
                return self._strip([(f" {self.empty}", "dim")], width)
            return Strip.blank(width, self.style_named(""))
        row_width = max(width, self.row_width())
        strip = self._strip(self.draw(index, row_width), row_width)
        if self.has_cursor and index == self.cursor:
            strip = _over(strip, self._cursor_style())
        return strip.crop(left, left + width)

    def _strip(self, pieces: Iterable[Piece], width: int) -> Strip:
        segments = [Segment(plain(text), self.style_named(name)) for text, name in pieces]
        return Strip(segments).adjust_cell_length(width, self.style_named(""))

    def _cursor_style(self) -> Style:
        cursor = self.style_named("cursor")
        if self.app.no_color:
            plain = self.style_named("")
            return Style(color=plain.color, bgcolor=plain.bgcolor, reverse=self.has_focus, bold=True)
        return Style(bgcolor=cursor.bgcolor, bold=True) if self.has_focus else Style(bold=True)

    def watch_has_focus(self, _has_focus: bool) -> None:
        """Redraws the cursor. Frames change by `:focus-within`."""
        self.refresh()

    def notify_style_update(self) -> None:
        self._styles.clear()
        super().notify_style_update()

    def on_resize(self, event: events.Resize) -> None:
        self._measure()

    def validate_cursor(self, cursor: int) -> int:
        return max(0, min(cursor, max(0, self.count - 1)))

    def watch_cursor(self, before: int, cursor: int) -> None:
        if not self.has_cursor:
            return
        self._show(cursor)
        top = self._header_height - round(self.scroll_offset.y)
        for index in (before, cursor):
            self.refresh(Region(0, index + top, self.size.width, 1))
        self.post_message(self.Highlighted(self))

    def _show(self, index: int) -> None:
        first, last = self.rows_in_view
        height = last - first + 1
        if index < first:
            self.scroll_to(y=index, animate=False)
        elif index > last and height > 0:
            self.scroll_to(y=index - height + 1, animate=False)

    def on_click(self, event: events.Click) -> None:
        index = round(self.scroll_offset.y) + event.y - self._header_height
        if event.y < self._header_height:
            self.header_clicked(event.x)
        elif index < self.count and self.has_cursor:
            already = index == self.cursor
            self.cursor = index
            if event.chain == 2 and already:
                self.post_message(self.Opened(self))

    def header_clicked(self, x: int) -> None:
        """Handles a click on the header, for example to sort."""

    def action_step(self, by: int) -> None:
        if self.has_cursor:
            self.go_to(self.cursor + by)
        else:
            self.scroll_relative(y=by, animate=False)

    def action_page(self, by: int) -> None:
        first, last = self.rows_in_view
        self.action_step(by * max(1, last - first))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disables keys that have no effect here, so that they can have another meaning, which the footer shows."""
        if action in ("scroll_left", "scroll_right"):
            return self.allow_horizontal_scroll
        return self.count > 0 if action == "edge" else super().check_action(action, parameters)

    def action_edge(self, last: bool) -> None:
        if self.has_cursor:
            self.go_to(self.count - 1 if last else 0)
        elif last:
            self.scroll_end(animate=False)
        else:
            self.scroll_home(animate=False)

    def action_open(self) -> None:
        if self.count and self.has_cursor:
            self.post_message(self.Opened(self))


class PagedRows(Rows):
    """Rows that are read from the file when they become visible."""

    class Scrolled(Message):
        """Other rows became visible."""

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, PagedRows.Scrolled)

    def watch_scroll_y(self, before: float, after: float) -> None:
        super().watch_scroll_y(before, after)
        if round(before) != round(after):
            self.post_message(self.Scrolled())


T = TypeVar("T")


class ItemRows(Rows, Generic[T]):
    """A list with a row for each item. The cursor stays on its item when the list changes. Several items can be marked."""

    ID_FIELD = "id"
    """the attribute that identifies an item, even if the item changes"""

    def __init__(self, items: Iterable[T] = (), *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.items = list(items)
        self.marks: dict[str, None] = {}
        """ids of the marked items, in the order in which they were marked"""

    def id_of(self, item: T) -> str:
        return str(getattr(item, self.ID_FIELD, item))

    def on_mount(self) -> None:
        self.set_count(len(self.items))

    @property
    def current(self) -> T | None:
        """The item under the cursor."""
        return self.items[self.cursor] if 0 <= self.cursor < len(self.items) else None

    @property
    def marked(self) -> list[T]:
        return [item for item in self.items if self.id_of(item) in self.marks]

    def show(self, items: Iterable[T]) -> None:
        """Replaces the list."""
        here, self.items = self.current, list(items)
        self.set_count(len(self.items))
        if here is not None:
            self.go_to_item(self.id_of(here))
        self.refresh()

    def go_to_item(self, item_id: str) -> None:
        for place, item in enumerate(self.items):
            if self.id_of(item) == item_id:
                self.go_to(place)
                return

    def toggle_mark(self, place: int) -> None:
        if place < len(self.items):
            item_id = self.id_of(self.items[place])
            if item_id in self.marks:
                del self.marks[item_id]
            else:
                self.marks[item_id] = None
            self.refresh()

    def mark_and_step(self) -> None:
        """Marks the item under the cursor and moves to the next one."""
        self.toggle_mark(self.cursor)
        self.go_to(self.cursor + 1)

    def toggle_all(self) -> None:
        """Marks all shown items, or unmarks them if all are marked."""
        shown_ids = dict.fromkeys(map(self.id_of, self.items))
        if shown_ids.keys() <= self.marks.keys():
            self.marks = {one: None for one in self.marks if one not in shown_ids}
        else:
            self.marks |= shown_ids
        self.refresh()


@dataclass(frozen=True, slots=True)
class Column:
    title: str
    width: int = 0
    """cells; 0: a share of the remaining width"""
    style: str = ""
    right: bool = False
    share: int = 1


def row_of(columns: Sequence[Column], cells: Sequence[str | Piece], width: int) -> list[Piece]:
    """Returns texts in columns. A text with its own style keeps it."""
    shares = sum(one.share for one in columns if not one.width) or 1
    left = max(0, width - sum(one.width for one in columns) - len(columns))
    pieces: list[Piece] = []
    for one, cell in zip(columns, cells, strict=True):
        text, style = (cell, one.style) if isinstance(cell, str) else cell
        pieces.append(column(one_line(text), one.width or left * one.share // shares, style, right=one.right))
    return pieces


class TableRows(ItemRows[T]):
    """Items in columns, with a header if the columns have titles."""

    COLUMNS: Sequence[Column] = ()
    mark = ""
    """text before a marked item"""

    def cells(self, item: T) -> Sequence[str | Piece]:
        """Returns the text of each column."""
        raise NotImplementedError

    def draw_header(self, width: int) -> Sequence[Piece] | None:
        if not any(one.title for one in self.COLUMNS):
            return None
        margin = " " * len(self.mark)
        return [(margin, ""), *row_of(self.COLUMNS, [(one.title, "") for one in self.COLUMNS], width - len(margin))]

    def draw(self, index: int, width: int) -> Sequence[Piece]:
        item = self.items[index]
        mark = self.mark if self.id_of(item) in self.marks else " " * len(self.mark)
        return [(mark, "accent"), *row_of(self.COLUMNS, self.cells(item), width - len(self.mark))]


def _over(strip: Strip, style: Style) -> Strip:
    """Applies a style over the styles of the segments."""
    return Strip(Segment.apply_style(strip, post_style=style), strip.cell_length)


MOST_SHOWN = 20_000
"""characters of one passage at most"""
WIDEST_LABEL = 22


@dataclass(frozen=True, slots=True)
class Passage:
    text: str
    style: str = ""
    """the name of a style of Rows"""
    label: str | None = None
    """text to the left"""


class TextRows(Rows):
    """Text without a cursor, laid out for the available width."""

    has_cursor = False
    lines: Sequence[Sequence[Piece]] = ()

    def laid_out(self, width: int) -> list[Sequence[Piece]]:
        """Returns the lines to show."""
        raise NotImplementedError

    def lay_out(self) -> None:
        self.lines = self.laid_out(self.view_width)
        self.set_count(len(self.lines))
        self.refresh()

    def on_resize(self, event: events.Resize) -> None:
        super().on_resize(event)
        self.lay_out()

    def draw(self, index: int, width: int) -> Sequence[Piece]:
        return self.lines[index]


class ReadingPane(TextRows):
    """A pane with passages of text."""

    follows_end = False
    passages: Sequence[Passage] = ()

    def show(self, passages: Sequence[Passage]) -> None:
        if passages != self.passages:
            self.passages = passages
            self.lay_out()
            self.scroll_home(animate=False)

    def laid_out(self, width: int) -> list[Sequence[Piece]]:
        return laid_out(self.passages, width)


def laid_out(passages: Sequence[Passage], width: int) -> list[Sequence[Piece]]:
    lines: list[Sequence[Piece]] = []
    labels = [one_line(passage.label) for passage in passages if passage.label is not None]
    label_width = min(WIDEST_LABEL, max(map(len, labels), default=0)) + 2
    for passage in passages:
        label = None if passage.label is None else fitted(one_line(passage.label), label_width - 2) + "  "
        text = shortened(passage.text, MOST_SHOWN)
        for start, end in wrapped(text, max(10, width - 2 - (label_width if label is not None else 0))):
            margin: Piece = (" " if label is None else f" {label}", "dim")
            lines.append((margin, (text[start:end].rstrip(), passage.style)))
            label = None if label is None else " " * label_width
    return lines


ARROW = " → "


def marked_names(names: Sequence[str], places: Mapping[str, int], width: int) -> list[Piece]:
    """Returns the names of the speakers in exactly `width` cells."""
    pieces = [marked_name(name, places, "") for name in names]
    text = fitted(ARROW.join(name for name, _ in pieces), width)
    cut: list[Piece] = []
    at = 0
    for name, style in pieces:
        cut += [(text[at : at + len(name)], style), (text[at + len(name) : at + len(name) + len(ARROW)], "")]
        at += len(name) + len(ARROW)
    return [*cut, (text[at:], "")]
