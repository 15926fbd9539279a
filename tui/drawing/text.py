"""Text for the terminal: formats numbers and times, fits text to a width, wraps it, prints it.

All text is cleaned before it is printed or fitted into a cell, whatever its source."""

import itertools
import re
import shutil
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TextIO

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from tidepool.engine.reports.blocks import requests as requests
from tidepool.engine.reports.blocks import span as span
from tidepool.storage.text import Plain
from tidepool.storage.text import one_line as one_line
from tidepool.storage.text import plain as plain
from tidepool.storage.text import shortened as shortened

Piece = tuple[str, str]
"""text and the name of its style; '' for none"""


def fitted(text: str, width: int, *, right: bool = False) -> Plain:
    """Returns text of exactly `width` cells, cut with an ellipsis or padded."""
    if width <= 0:
        return Plain()
    text = plain(text[: 8 * width + 64])
    length = len(text) if text.isascii() else cell_len(text)
    if length > width:
        return Plain(set_cell_size(text, width - 1) + "…")
    padding = " " * (width - length)
    return Plain(padding + text if right else text + padding)


def has_words(text: str, words: str) -> bool:
    """Whether the text contains all the words, ignoring case."""
    folded = text.casefold()
    return all(word in folded for word in words.casefold().split())


def count(value: float) -> str:
    """Formats a count: 1,234 up to a hundred thousand, then 123k, 1.2M."""
    if value < 100_000:
        return f"{value:,.0f}"
    if value < 10_000_000:
        return f"{value / 1000:,.0f}k"
    return f"{value / 1_000_000:,.1f}M"


def rate(per_second: float) -> str:
    """Formats a rate: 41/s, 0.2/s, 1.5/min. A small rate is never shown as zero."""
    if 0 < per_second < 0.095:
        return f"{60 * per_second:.1f}/min"
    return f"{per_second:,.0f}/s" if per_second >= 10 else f"{per_second:.1f}/s"


def utc(moment: float) -> str:
    """Formats a time in UTC, so that it sorts and is the same for every reader."""
    return time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(moment))


def ago(moment: float, now: float | None = None) -> str:
    """Formats an age: 5 s, 12 min, 3 h, 2 d."""
    seconds = max(0.0, (time.time() if now is None else now) - moment)
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return f"{int(seconds)} s"


def resting(provider: str, since: float, until: float, why: str, down: bool) -> str:
    """Describes why calls to a provider wait, and for how long."""
    now = time.time()
    left = max(0.0, until - now)
    if down:
        return f"{provider} is down: waited {ago(since, now)}, giving up in {countdown(left)}"
    return f"{provider} pauses for {countdown(left)} ({why})"


def countdown(seconds: float) -> str:
    """Formats whole seconds: 42 s, 8:40."""
    whole = round(seconds)
    return f"{whole} s" if whole < 100 else f"{whole // 60}:{whole % 60:02}"


def dollars(amount: float | None) -> str:
    """Formats an amount in dollars. An unknown amount is a dash."""
    if amount is None:
        return "–"
    return f"${amount:,.2f}" if amount >= 10 or amount == 0 else f"${amount:,.4f}"


def at_most(amount: float | None) -> str:
    """Describes a maximum cost. A small amount is never shown as zero."""
    if amount is None:
        return "at an unknown price"
    return "for less than $0.0001" if 0 < amount < 0.0001 else f"for up to {dollars(amount)}"


def percent(part: float, whole: float) -> str:
    """Formats a share. Shows 100 % only at the end."""
    if not whole:
        return "–"
    return f"{min(100 if part >= whole else 99, int(100 * part / whole))} %"


_WORD = re.compile(r"\S+")
MARKS_IN_A_CELL = 8
"""combining marks per cell at most; a line with more of them is cut"""


def wrapped(text: str, width: int) -> list[tuple[int, int]]:
    """Returns (start, end) of each line. Lines break at spaces, and a word longer than a line is cut."""
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
    for match in _WORD.finditer(text):
        word = text[end : match.end()]
        length = measure(word)
        if used and (used + length > width or match.end() - start > MARKS_IN_A_CELL * width):
            yield start, end
            start = match.start()
            word = match.group()
            length, used = measure(word), 0
        if length > width or len(word) > MARKS_IN_A_CELL * width:
            *whole, remainder = _chopped(word, width)
            for piece in whole:
                yield start, start + len(piece)
                start += len(piece)
            length = measure(remainder)
        used += length
        end = match.end()
    yield start, max(start, end)


def _chopped(word: str, width: int) -> list[str]:
    most = MARKS_IN_A_CELL * width
    return [part[i : i + most] for part in chop_cells(word, width) for i in range(0, len(part), most)] or [""]


def marked(line: tuple[int, int], spans: Sequence[tuple[int, int, str]]) -> Iterator[tuple[int, int, str]]:
    """Splits a line where marks begin and end into (start, end, style). The style is empty between marks. Later marks win."""
    start, end = line
    cuts = {start, end}
    for first, last, _ in spans:
        cuts |= {min(max(first, start), end), min(max(last, start), end)}
    edges = sorted(cuts)
    for left, right in itertools.pairwise(edges):
        styles = [style for first, last, style in spans if first <= left and right <= last]
        yield left, right, styles[-1] if styles else ""


def plain_table(
    columns: Iterable[str],
    rows: Iterable[Sequence[str | Text]],
    *,
    right: Collection[str] = (),
    no_wrap: Collection[str] = (),
) -> Table:
    """Builds a table with column names and without borders."""
    table = Table(box=None, pad_edge=False)
    for name in columns:
        table.add_column(name, justify="right" if name in right else "left", no_wrap=name in no_wrap)
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(one_line(cell)) for cell in row))
    return table


class Terminal(Console):
    """A console that removes escape sequences from text, which Rich does not. Raises BrokenPipeError if a reader stops reading
    (`| head`), where Rich would end the program with code 1."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(plain(segment.text), segment.style)

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def console(file: TextIO | None = None) -> Console:
    """Returns a console for stdout or `file`."""
    width = min(110, shutil.get_terminal_size((80, 24)).columns) if file is None else None
    return Terminal(file=file, markup=False, highlight=False, emoji=False, width=width)
