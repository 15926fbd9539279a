"""The log of a batch, newest at the end; it follows the end unless one scrolls away. What is long goes on below."""

import time
from collections.abc import Sequence

from textual.events import Resize

from tidepool.storage.queries.watching import LogLine
from tidepool.tui.app.widgets.rows import Piece, Rows
from tidepool.tui.drawing.plain import one_line
from tidepool.tui.drawing.wrapping import wrapped

COLOURS = {"error": "failed", "warning": "running"}
MOST = 10_000
LONGEST = 2_000
MOMENT = len(" 12:34:56 ")


class LogLines(Rows):
    has_cursor = False

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._lines: list[LogLine] = []
        self._rows: list[tuple[str, str, str]] = []
        """of the lines as wide as they are shown: the moment, the words, their colour"""

    @property
    def last_id(self) -> int:
        return self._lines[-1].id if self._lines else 0

    def add(self, lines: Sequence[LogLine]) -> None:
        if not lines:
            return
        self._lines += lines
        self._rows += [row for line in lines for row in self._broken(line)]
        if len(self._lines) > MOST:
            self._lines = self._lines[-MOST:]
            self._lay_out()
        self.set_count(len(self._rows))

    def clear(self) -> None:
        self._lines, self._rows = [], []
        self.set_count(0)
        self.touch_all()

    def on_resize(self, event: Resize) -> None:
        super().on_resize(event)
        self._lay_out()

    def _lay_out(self) -> None:
        self._rows = [row for line in self._lines for row in self._broken(line)]
        self.set_count(len(self._rows))
        self.touch_all()

    def _broken(self, line: LogLine) -> list[tuple[str, str, str]]:
        colour = COLOURS.get(line.level, "")
        words: str = one_line(line.message, LONGEST)
        if line.level != "info":
            words = f"{one_line(line.level, 20)}: {words}"
        moment = time.strftime(" %H:%M:%S ", time.localtime(line.at))
        places = wrapped(words, (self.view_width or 80) - MOMENT - 1)
        return [
            (" " * MOMENT if place else moment, words[start:end], colour) for place, (start, end) in enumerate(places)
        ]

    def empty_text(self) -> str:
        return "nothing has been logged"

    def draw(self, index: int, width: int) -> Sequence[Piece]:
        moment, words, colour = self._rows[index]
        return [(moment, "dim"), (words, colour)]
