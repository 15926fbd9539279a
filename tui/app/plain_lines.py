"""The last look at every line before the terminal gets it.

Widgets make foreign text plain where they measure it; an editor of a stranger's text, or a widget that forgot, cannot.
What would steer the terminal goes here without changing the width of the line, which is laid out by now.
"""

from functools import lru_cache
from unicodedata import category

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from tidepool.storage.text import MARK

JOINERS = "\u200c\u200d"
"""an editor has measured what it joined"""


class PlainLines(LineFilter):
    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        if all(segment.text.isprintable() for segment in segments):
            return segments
        return [
            segment if segment.control else Segment("".join(map(_shown, segment.text)), segment.style)
            for segment in segments
        ]


@lru_cache(4096)
def _shown(character: str) -> str:
    steers = category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") and character not in JOINERS
    return MARK * cell_len(character) if steers else character
