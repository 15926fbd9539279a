"""A field of cells, each a character in one colour, and the axes on it. Curves are laid into it in braille, eight dots a cell.

Characters are ours and not a plotting library's: bars end at an eighth of a cell, bands lie behind their curves, and no legend
covers what it tells of.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from tidepool.engine.results.axes import Axis
from tidepool.tui.drawing.plain import fitted, one_line

Run = tuple[str, str | None]
"""text and its colour as #rrggbb"""

_DOTS = ((0x40, 0x80), (0x04, 0x20), (0x02, 0x10), (0x01, 0x08))
"""of a braille cell, the lowest row first"""
ACROSS, UP = 2, 4
"""dots of a cell"""


class Canvas:
    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self._cells = [[" "] * width for _ in range(height)]
        self._inks: list[list[str | None]] = [[None] * width for _ in range(height)]
        self._dots = [[0] * width for _ in range(height)]

    def put(self, x: int, y: int, text: str, ink: str | None = None) -> None:
        """What lies beyond the edges is left out; a wide character takes two cells."""
        for char in text:
            wide = 1 if char.isascii() else cell_len(char)
            if 0 <= y < self.height and x >= 0 and x + wide <= self.width:
                if wide == 0:
                    continue
                self._cells[y][x], self._inks[y][x] = char, ink
                if wide == 2:
                    self._cells[y][x + 1], self._inks[y][x + 1] = "", ink
            x += wide

    def free(self, x: int, y: int) -> bool:
        return self._cells[y][x] == " "

    def dot(self, x: int, y: int, ink: str | None) -> None:
        """Of a curve: x from the left, y from the bottom, in dots."""
        column, row = x // ACROSS, self.height - 1 - y // UP
        self._dots[row][column] |= _DOTS[y % UP][x % ACROSS]
        self._inks[row][column] = ink

    def rows(self) -> list[list[Run]]:
        return [list(self._runs(y)) for y in range(self.height)]

    def _runs(self, y: int) -> Iterator[Run]:
        text, ink = "", None
        for char, dots, colour in zip(self._cells[y], self._dots[y], self._inks[y], strict=True):
            shown = chr(0x2800 + dots) if dots and char == " " else char
            paint = ink if shown == " " else colour  # a blank has no colour of its own
            if paint != ink and text:
                yield text, ink
                text = ""
            text, ink = text + shown, paint
        if text:
            yield text, ink


@dataclass(frozen=True, slots=True)
class Shape:
    """What a figure's field is drawn with, and how large it may be, axes included."""

    width: int
    height: int
    quiet: str
    plain: bool


def even_rows(axis: Axis, rows: int) -> int:
    """A few rows less, where every number of the axis then names the edge of a row."""
    spaces = max(1, len(axis.ticks) - 1)
    return rows - rows % spaces if rows % spaces <= rows // 5 else rows


def axis_column(axis: Axis, rows: int, ink: str) -> list[list[Run]]:
    """The upright axis beside a field of so many rows: a number names the upper edge of its row."""
    told = {rows - round(axis.share(tick) * rows): label for tick, label in zip(axis.ticks, axis.labels, strict=True)}
    wide = max(map(len, axis.labels))
    return [[(f"{told[row]:>{wide}}┤" if row in told else " " * wide + "│", ink)] for row in range(rows)]


def base_line(axis: Axis, low: str, columns: int, ticks: Sequence[int], ink: str) -> list[Run]:
    """Below the field; the lowest number of the upright axis stands at its corner."""
    line = ["─"] * columns
    for column in ticks:
        line[column] = "┬"
    wide = max(map(len, axis.labels))
    return [(f"{low:>{wide}}" + ("┼" if low else "└") + "".join(line), ink)]


def axis_name(name: str, left: int, shape: Shape) -> list[list[Run]]:
    """Below the numbers, in the middle of the axis; no line where there is no name."""
    told = fitted(one_line(name), min(shape.width - left, cell_len(one_line(name)))) if name else ""
    room = max(0, shape.width - left - cell_len(told)) // 2
    return [[(" " * (left + room) + told, shape.quiet)]] if told else []


def tick_columns(axis: Axis, columns: int) -> list[int]:
    return [round(axis.share(tick) * (columns - 1)) for tick in axis.ticks]


def tick_labels(places: Sequence[int], labels: Sequence[str], left: int, width: int, ink: str) -> list[Run]:
    """Each under its tick; one that would run into the one before is left out."""
    line = Canvas(width, 1)
    taken = -1
    for place, label in zip(places, labels, strict=True):
        start = min(width - cell_len(label), max(0, left + place - cell_len(label) // 2))
        if start > taken:
            line.put(start, 0, label, ink)
            taken = start + cell_len(label)
    return line.rows()[0]


def legend(
    entries: Sequence[tuple[str, str, str | None]], width: int, most: int, first: str, ink: str
) -> list[list[Run]]:
    """(glyph, name, colour) of each, behind the name of the upright axis; in as many rows as it takes, and `most` at most."""
    first = fitted(first, min(width, cell_len(first)))
    rows: list[list[Run]] = [[(first, ink)]] if first else []
    used = cell_len(first)
    for glyph, name, colour in entries:
        told = f"{glyph} {one_line(name)}"
        told = told if cell_len(told) <= width else fitted(told, width)
        if not rows or used + 3 + cell_len(told) > width:
            rows.append([])
            used = 0
        rows[-1].append(("   " * bool(used) + told, colour))
        used += 3 * bool(used) + cell_len(told)
    return rows[:most]
