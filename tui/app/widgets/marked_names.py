"""Those who take part, each behind the glyph of their place and in its colour."""

from collections.abc import Mapping, Sequence

from tidepool.engine.results.blocks import INKS, glyph_of
from tidepool.tui.app.widgets.rows import Piece
from tidepool.tui.drawing.text import fitted, one_line

ARROW = " → "


def marked_name(name: str, places: Mapping[str, int], unknown: str = "accent") -> Piece:
    if (place := places.get(name)) is None:
        return one_line(name), unknown
    return f"{glyph_of(place)} {one_line(name)}", f"who-{place % len(INKS)}"


def marked_names(names: Sequence[str], places: Mapping[str, int], width: int) -> list[Piece]:
    """Who speaks to whom, in exactly so many cells."""
    pieces = [marked_name(name, places, "") for name in names]
    text = fitted(ARROW.join(name for name, _ in pieces), width)
    cut: list[Piece] = []
    at = 0
    for name, style in pieces:
        cut += [(text[at : at + len(name)], style), (text[at + len(name) : at + len(name) + len(ARROW)], "")]
        at += len(name) + len(ARROW)
    return [*cut, (text[at:], "")]
