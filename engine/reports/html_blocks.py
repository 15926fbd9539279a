"""The blocks of a report as HTML, for pages and for notebooks."""

from collections.abc import Iterable, Iterator

from tidepool.engine.reports.blocks import (
    Block,
    Figure,
    Folded,
    Headline,
    Heat,
    Named,
    Table,
    Words,
    glyph_of,
    sentence,
    text_of,
)
from tidepool.engine.reports.html import Html, element, folded, joined, page, section, table
from tidepool.engine.reports.svg import drawing, mark_ink

CLASSES = {"quiet": "soft", "simulated": "simulated", "warning": "simulated", "strong": "strong", "finding": "strong"}


def render_blocks(blocks: Iterable[Block]) -> Iterator[Html]:
    for block in blocks:
        match block:
            case Words(_, "section"):
                pass
            case Words():
                yield _words(block)
            case Headline():
                yield element("p", sentence(block.text), class_="strong")
            case Table():
                rows = [
                    [named(cell) if isinstance(cell, Named) else text_of(cell) for cell in row] for row in block.rows
                ]
                yield _titled(block.title, table(block.columns, rows, left=block.left))
            case Heat():
                yield _titled(block.title, joined((drawing(block),)))
            case Figure():
                note = element("p", block.note, class_="soft") if block.note else None
                empty_note = element("p", "Nothing to show yet.", class_="soft")
                yield _titled(block.title, joined((drawing(block) or empty_note, note)))
            case Folded():
                yield folded(sentence(block.title), element("div", block.text, class_="said"))


def named(cell: Named) -> Html:
    """A participant, with its mark."""
    mark = element("span", glyph_of(cell.place), style=f"color: {mark_ink(cell.place)}")
    return joined((mark, "\N{NO-BREAK SPACE}", cell.name))


def _words(block: Words) -> Html:
    if block.level in ("quoted", "tree"):
        return element("div", block.text, class_="said")
    return element("p", sentence(block.text), class_=CLASSES.get(block.level))


def _titled(title: str, content: Html) -> Html:
    return section(sentence(title), content) if title else content


def in_frame(title: str, blocks: Iterable[Block]) -> str:
    """A page for the output of a notebook's cell. In a frame of its own, it runs no script and changes no style outside."""
    return element(
        "iframe",
        srcdoc=str(page(title, *render_blocks(blocks))),
        sandbox="",
        width="100%",
        height=560,
        style="border: 0",
    )
