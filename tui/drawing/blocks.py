"""Blocks on a terminal, in a file or in a pipe: they read well without colours and in 60 columns."""

from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from tidepool.engine.results.blocks import (
    Block,
    Cell,
    Figure,
    Folded,
    Headline,
    Heat,
    Named,
    Table,
    Words,
    more,
    text_of,
)
from tidepool.tui.drawing.figures import draw, heat_map, mark_ink, preferred_height
from tidepool.tui.drawing.text import one_line, shortened

STYLES = {"strong": "bold", "quiet": "dim", "simulated": "yellow", "warning": "yellow"}
WIDEST_FIGURE = 100
COLOURS = {
    "primary": (47, 143, 207),
    "accent": (201, 145, 47),
    "done": (63, 163, 77),
    "failed": (208, 80, 63),
    "cached": (138, 111, 200),
    "retried": (176, 160, 48),
    "quiet": (128, 128, 128),
}
"""middling: they read on a dark ground and on a light one"""


def print_blocks(out: Console, blocks: Iterable[Block]) -> None:
    """Tables, figures and strong words stand apart from what comes before them, and words from a figure above them."""
    before: Block | None = None
    for block in blocks:
        strong = isinstance(block, Words) and block.level == "strong"
        if (strong and before) or (isinstance(block, Words | Headline) and isinstance(before, Figure | Heat)):
            out.print()
        match block:
            case Words():
                out.print(Text(shortened(block.text, 40_000), style=STYLES.get(block.level, "")))
            case Headline():
                out.print(Text(one_line(block.text), style="bold"))
            case Table():
                _print_table(out, block)
            case Figure():
                _print_figure(out, block)
            case Heat():
                _print_heat(out, block)
            case Folded():
                out.print(Text(folded_text(block), style="dim"))
        before = block


def folded_text(block: Folded) -> str:
    """On a screen: that it is there, and where to read it."""
    return f"{one_line(block.title)} ({len(block.text):,} characters, in full in an export as html or markdown)"


def _print_table(out: Console, block: Table) -> None:
    if block.title:
        out.print()
        out.print(Text(one_line(block.title), style="bold"))
    if not any(block.columns):
        _print_facts(out, block)
        return
    out.print(_table(block, out.width))
    if (left_out := len(block.rows) - block.first) > 0:
        out.print(Text(more(left_out)))


def _print_facts(out: Console, block: Table) -> None:
    """Each on a line, what does not fit below it."""
    rows = [[one_line(text_of(cell)) for cell in row] for row in block.rows]
    name = 2 + max((cell_len(row[0]) for row in rows), default=0)
    for row in rows:
        first: str = row[0]
        for part in Text(" ".join(row[1:])).wrap(out, max(20, out.width - name)):
            out.print(Text(f"{first:<{name}}") + part)
            first = ""


def _texts(block: Table, *, brief: bool) -> list[list[str]]:
    rows = [[text_of(cell, brief=brief) for cell in row] for row in block.rows[: block.first]]
    return [[one_line(text) for text in row] for row in (block.columns, *rows)]


def _table(block: Table, width: int) -> RichTable:
    """What does not fit is told in brief and goes on below; nothing is cut."""
    texts, gap = _texts(block, brief=False), 2
    widths = [max(map(cell_len, column)) for column in zip(*texts, strict=True)]
    if sum(widths) + gap * (len(widths) - 1) > width:
        texts = _texts(block, brief=True)
        widths, gap = column_widths(texts, block.left, width)
    table = RichTable(box=None, pad_edge=False, padding=(0, gap, 0, 0))
    for place, (name, wide) in enumerate(zip(texts[0], widths, strict=True)):
        table.add_column(Text(name), justify="left" if place < block.left else "right", overflow="fold", width=wide)
    for row, cells in zip(texts[1:], block.rows, strict=False):
        table.add_row(*(Text(text, style=_style(cell)) for text, cell in zip(row, cells, strict=True)))
    return table


def _style(cell: Cell) -> str:
    return mark_ink(cell.place, COLOURS) if isinstance(cell, Named) else ""


def column_widths(texts: Sequence[Sequence[str]], left: int, width: int) -> tuple[list[int], int]:
    """The widths that fit, and the gap between them. The widest gives way first; a number is torn apart last of all."""
    columns = list(zip(*texts, strict=True))
    widths = [max(map(cell_len, column)) for column in columns]
    longest = [max((cell_len(word) for text in column for word in text.split()), default=1) for column in columns]
    minimums = [min(8, wide) if place < left else wide for place, wide in enumerate(longest)]
    gap = 2 if sum(minimums) + 2 * (len(widths) - 1) <= width else 1
    space = width - gap * (len(widths) - 1)
    for least in (longest, minimums, [1] * len(widths)):
        while sum(widths) > space and (wide := [place for place, one in enumerate(widths) if one > least[place]]):
            widths[max(wide, key=widths.__getitem__)] -= 1
    return widths, gap


def _print_figure(out: Console, block: Figure) -> None:
    width = min(out.width, WIDEST_FIGURE)
    lines = []
    for row in draw(block, width, preferred_height(block, width), COLOURS, plain=not out.is_terminal or out.no_color):
        line = Text()
        for run, colour in row:
            line.append(run, style=colour)
        line.rstrip()
        lines.append(line)
    out.print()
    out.print(Text("\n", no_wrap=True).join(lines))


def _print_heat(out: Console, block: Heat) -> None:
    out.print()
    out.print(Text(one_line(block.title), style="bold"))
    for line in heat_map(block, min(out.width, WIDEST_FIGURE)):
        out.print(line)
