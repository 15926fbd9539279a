"""Renders blocks as lines of text for the terminal, files, pipes and the app. The lines are readable without colours and in
60 columns. Each back end has its own colours for the roles used here."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from tidepool.engine.reports.blocks import (
    INKS,
    Block,
    Cell,
    Figure,
    Folded,
    Headline,
    Heat,
    Named,
    Table,
    Words,
    is_section,
    more,
    sentence,
    text_of,
)
from tidepool.tui.drawing.figures import draw, label_texts, mark_ink, preferred_height
from tidepool.tui.drawing.text import fitted, one_line, shortened, wrapped

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
"""colours that are readable on dark and light backgrounds"""
SHADES = " ░▒▓█"
SHADE_COLOURS = ("grey50", "light_sky_blue3", "steel_blue1", "dodger_blue2", "dodger_blue3")
STYLES = {
    "title": "bold",
    "heading": "bold",
    "strong": "bold",
    "finding": "bold",
    "quiet": "dim",
    "simulated": "yellow",
    "warning": "yellow",
    **{f"heat-{level}": colour for level, colour in enumerate(SHADE_COLOURS)},
    **{f"mark-{place}": mark_ink(place, COLOURS) for place in range(len(INKS))},
}
"""by role: the style on a terminal"""
Line = Sequence[tuple[str, str]]
"""texts, each with its role; an empty role is plain text"""
NARROWEST_SHARE, WIDEST_SHARE = 6, 9
"""widths of a share in a heat map, without and with a shade"""


def print_blocks(out: Console, blocks: Iterable[Block], rows: int = 0) -> None:
    """Prints blocks, with empty lines before tables, figures and headings, and after figures. `rows` are those of a table; 0: its own number."""
    before: Block | None = None
    for block in blocks:
        strong = isinstance(block, Words) and block.level == "strong"
        titled = isinstance(block, Figure | Heat) or (isinstance(block, Table) and block.title)
        if titled or (strong and before) or (isinstance(block, Words | Headline) and isinstance(before, Figure | Heat)):
            out.print()
        for text in printed_lines(out, block, rows if isinstance(block, Table) else 0):
            out.print(text, crop=False)
        before = before if is_section(block) else block


def printed_lines(out: Console, block: Block, most: int = 0) -> list[Text]:
    """Returns a block as styled lines for a console. `most` limits the rows of a table and the height of a figure."""
    if isinstance(block, Figure):
        width, plain = min(out.width, WIDEST_FIGURE), not out.is_terminal or out.no_color
        rows = draw(block, width, most or preferred_height(block, width), COLOURS, plain, notes=not most)
        pieces: list[list[tuple[str, str]]] = [[(run, colour or "") for run, colour in row] for row in rows]
    else:
        pieces = [[(text, STYLES.get(role, "")) for text, role in line] for line in block_lines(block, out.width, most)]
    lines = [Text.assemble(*line, no_wrap=True) for line in pieces]
    for line in lines:
        line.rstrip()
    return lines


def block_lines(block: Words | Headline | Table | Heat | Folded, width: int, most: int = 0) -> list[Line]:
    """Returns lines of at most `width` cells, except for trees. `most` limits the rows of a table."""
    match block:
        case Words(_, "section"):
            return []
        case Words(text, "tree"):
            return [[(line, "")] for line in shortened(text, 40_000).splitlines()]
        case Words(text, level):
            return _wrapped(shortened(text, 40_000), width, level)
        case Headline():
            return _wrapped(sentence(one_line(block.text)), width, "strong")
        case Folded():
            note = f"({len(block.text):,} characters; an html or markdown export has the full text)"
            return _wrapped(f"{one_line(block.title)} {note}", width, "quiet")
        case Heat():
            return list(_heat(block, width))
    title: list[Line] = _wrapped(one_line(block.title), width, "title") if block.title else []
    return [*title, *(_table(block, width, most or block.first) if any(block.columns) else _facts(block, width))]


def _wrapped(text: str, width: int, role: str) -> list[Line]:
    return [[(text[start:end], role)] for start, end in wrapped(text, width)]


def _facts(block: Table, width: int) -> Iterator[Line]:
    """Yields the lines of a table of facts. Long facts are wrapped."""
    rows = [[one_line(text_of(cell)) for cell in row] for row in block.rows]
    name = 2 + max((cell_len(row[0]) for row in rows), default=0)
    for row in rows:
        first: str = row[0]
        for line in _wrapped(" ".join(row[1:]), max(20, width - name), ""):
            yield [(fitted(first, name), "quiet"), *line]
            first = ""


def _table(block: Table, width: int, most: int) -> Iterator[Line]:
    """Yields the lines of a table. Long cells are wrapped, not cut."""
    rows = (block.columns, *([text_of(cell) for cell in row] for row in block.rows[:most]))
    texts = [[one_line(text) for text in row] for row in rows]
    widths, gap = column_widths(texts, block.left, width)
    heads: Sequence[Cell] = block.columns
    for row, cells in zip(texts, (heads, *block.rows), strict=False):
        roles = [f"mark-{cell.place % len(INKS)}" if isinstance(cell, Named) else "" for cell in cells]
        roles = ["heading"] * len(heads) if cells is heads else roles
        for parts in zip_longest(*map(_folded, row, widths), fillvalue=""):
            yield [
                (" " * gap * (place > 0) + fitted(part, wide, right=place >= block.left), role)
                for place, (part, wide, role) in enumerate(zip(parts, widths, roles, strict=True))
            ]
    if (left_out := len(block.rows) - most) > 0:
        yield [(more(left_out), "quiet")]


def _folded(text: str, width: int) -> list[str]:
    return [text] if cell_len(text) <= width else [text[start:end] for start, end in wrapped(text, width)]


def column_widths(texts: Sequence[Sequence[str]], left: int, width: int) -> tuple[list[int], int]:
    """Returns column widths that fit, and the gap between columns. Shrinks the widest columns first, numbers last."""
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


def _heat(heat: Heat, width: int) -> Iterator[Line]:
    """Yields the lines of a heat map with as many columns as fit. Each share has a number, a shade and a colour."""
    rows, columns = (label_texts(names, heat.places) for names in (heat.rows, heat.columns))
    label = min(14, max(map(cell_len, rows), default=0))
    each = max(NARROWEST_SHARE, min(WIDEST_SHARE, (width - label - 1) // max(1, len(columns))))
    shown = max(1, (width - label - 1) // each)
    yield [(fitted(one_line(heat.title), min(width, cell_len(one_line(heat.title)))), "title")]
    heads = "".join(" " + fitted(name, each - 1, right=True) for name in columns[:shown])
    yield [(" " * (label + 1) + heads, "heading")]
    for name, values in zip(rows, heat.values, strict=True):
        yield [(fitted(name, label) + " ", ""), *(_share(value, each) for value in values[:shown])]
    if shown < len(columns):
        yield [(more(len(columns) - shown), "quiet")]
    yield [
        ("0 % ", "quiet"),
        *((shade * 2, f"heat-{level}") for level, shade in enumerate(SHADES)),
        (" 100 %", "quiet"),
    ]


def _share(share: float | None, width: int) -> tuple[str, str]:
    if share is None:
        return fitted("–", width, right=True), "quiet"
    level = min(4, int(share / 20))
    shade = SHADES[level] * 2 if width >= WIDEST_SHARE else ""
    return fitted(f"{shade}{share:4.0f} %", width, right=True), f"heat-{level}"
