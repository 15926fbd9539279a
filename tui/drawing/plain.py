"""Foreign text made fit for a terminal: whatever a model, a file or a stranger wrote is shown, never obeyed.

Control characters (an escape sequence, a bell) become a visible mark, line breaks stay where the caller can use
them, and characters that only steer the layout (direction overrides, joiners) go, since they could reorder what
stands beside them. Markup is the other danger: strings made here are handed on as Content or as Segments, never as
markup.
"""

import re
from functools import lru_cache
from unicodedata import category

from rich.cells import cell_len, set_cell_size

MARK = "\N{REPLACEMENT CHARACTER}"
_SAFE = re.compile(r"[\x20-\x7e]*\Z")


def plain(text: str) -> str:
    """Printable text of one or more lines."""
    if _SAFE.match(text):
        return text
    return "".join(map(_shown, text.replace("\r\n", "\n").replace("\t", "    ")))


def one_line(text: str, most: int = 500) -> str:
    """For a row, a cell, a title: no terminal is wider, and measuring what nobody sees takes seconds."""
    shown = " ".join(plain(text[: 4 * most]).split())
    return shown if len(text) <= 4 * most and len(shown) <= most else shown[:most] + "…"


def shortened(text: str, most: int = 4_000) -> str:
    """For a dialog or a sentence beside a field: the beginning, and how much there is beyond it."""
    return plain(text) if len(text) <= most else f"{plain(text[:most])} … and {len(text) - most:,} characters more"


@lru_cache(4096)
def _shown(character: str) -> str:
    if character == "\n" or character.isprintable():
        return character
    kind = category(character)
    if kind == "Zs":
        return " "
    if kind in ("Zl", "Zp"):
        return "\n"
    return "" if kind == "Cf" else MARK


def fitted(text: str, width: int, *, right: bool = False) -> str:
    """Exactly `width` cells: cut with an ellipsis, or padded."""
    if width <= 0:
        return ""
    text = text[: 8 * width + 64]
    length = len(text) if text.isascii() else cell_len(text)
    if length > width:
        return set_cell_size(text, width - 1) + "…"
    padding = " " * (width - length)
    return padding + text if right else text + padding
