"""Breaking text into lines of so many cells, keeping where each line lies in the text, so that spans can be marked."""

import itertools
import re
from collections.abc import Iterator, Sequence

from rich.cells import cell_len, chop_cells

_WORD = re.compile(r"\S+")
MARKS_IN_A_CELL = 8
"""accents without end pile up in one cell: a line is cut before they cost more than a screen"""


def wrapped(text: str, width: int) -> list[tuple[int, int]]:
    """(start, end) of each line. Lines break at spaces; a word longer than the line is cut."""
    width = max(1, width)
    lines: list[tuple[int, int]] = []
    offset = 0
    for paragraph in text.split("\n"):
        lines += [(offset + start, offset + end) for start, end in _paragraph(paragraph, width)]
        offset += len(paragraph) + 1
    return lines


def _paragraph(text: str, width: int) -> Iterator[tuple[int, int]]:
    measure = len if text.isascii() else cell_len
    start = end = 0
    used = 0
    for found in _WORD.finditer(text):
        word = text[end : found.end()]
        length = measure(word)
        if used and (used + length > width or found.end() - start > MARKS_IN_A_CELL * width):
            yield start, end
            start = found.start()
            word = found.group()
            length, used = measure(word), 0
        if length > width or len(word) > MARKS_IN_A_CELL * width:
            *whole, rest = _chopped(word, width)
            for part in whole:
                yield start, start + len(part)
                start += len(part)
            length = measure(rest)
        used += length
        end = found.end()
    yield start, max(start, end)


def _chopped(word: str, width: int) -> list[str]:
    most = MARKS_IN_A_CELL * width
    return [part[i : i + most] for part in chop_cells(word, width) for i in range(0, len(part), most)] or [""]


def marked(line: tuple[int, int], spans: Sequence[tuple[int, int, str]]) -> Iterator[tuple[int, int, str]]:
    """A line cut where marks begin and end: (start, end, style), the style empty between marks. Later marks win."""
    start, end = line
    cuts = {start, end}
    for first, last, _ in spans:
        cuts |= {min(max(first, start), end), min(max(last, start), end)}
    edges = sorted(cuts)
    for left, right in itertools.pairwise(edges):
        styles = [style for first, last, style in spans if first <= left and right <= last]
        yield left, right, styles[-1] if styles else ""
