"""Blocks as HTML: a section for whatever has a title, figures as inline SVG."""

from collections.abc import Iterable, Iterator

from tidepool.engine.exports.drawings import drawing
from tidepool.engine.exports.html import Content, Html, element, folded, joined, section, table
from tidepool.engine.exports.pen import PAGE
from tidepool.engine.results.blocks import Block, Cell, Figure, Folded, Headline, Heat, Named, Table, Words, text_of
from tidepool.engine.results.marks import glyph_of

CLASSES = {"quiet": "soft", "simulated": "simulated", "warning": "simulated", "strong": "strong"}


def drawn(blocks: Iterable[Block]) -> Iterator[Html]:
    for block in blocks:
        match block:
            case Words():
                yield _words(block)
            case Headline():
                yield element("p", _sentence(block.text), class_="strong")
            case Table():
                rows = [[_cell(cell) for cell in row] for row in block.rows]
                yield _titled(block.title, table(block.columns, rows, left=block.left))
            case Heat():
                yield _titled(block.title, joined((drawing(block),)))
            case Figure():
                note = element("p", block.note, class_="soft") if block.note else None
                nothing = element("p", "Nothing to show yet.", class_="soft")
                yield _titled(block.title, joined((drawing(block) or nothing, note)))
            case Folded():
                yield folded(_sentence(block.title), element("div", block.text, class_="said"))


def _cell(cell: Cell) -> Content:
    return named(cell) if isinstance(cell, Named) else text_of(cell)


def named(cell: Named) -> Html:
    """One who takes part, behind their mark."""
    mark = element("span", glyph_of(cell.place), style=f"color: {PAGE.mark(cell.place)}")
    return joined((mark, "\N{NO-BREAK SPACE}", cell.name))


def _words(block: Words) -> Html:
    if block.level in ("quoted", "tree"):
        return element("div", block.text, class_="said")
    return element("p", _sentence(block.text), class_=CLASSES.get(block.level))


def _titled(title: str, content: Html) -> Html:
    return section(_sentence(title), content) if title else content


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
