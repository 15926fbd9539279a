"""The log of a batch, newest at the end; it follows the end unless one scrolls away."""

import time
from collections.abc import Sequence

from tidepool.storage.reading.watching import LogLine
from tidepool.tui.app.widgets.rows import Piece, Rows
from tidepool.tui.drawing.plain import fitted, one_line

COLOURS = {"error": "failed", "warning": "running"}
MOST = 10_000


class LogLines(Rows):
    has_cursor = False

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._lines: list[LogLine] = []

    @property
    def last_id(self) -> int:
        return self._lines[-1].id if self._lines else 0

    def add(self, lines: Sequence[LogLine]) -> None:
        if not lines:
            return
        self._lines += lines
        if len(self._lines) > MOST:
            self._lines = self._lines[-MOST:]
            self.touch_all()
        self.set_count(len(self._lines))

    def clear(self) -> None:
        self._lines = []
        self.set_count(0)
        self.touch_all()

    def row_width(self) -> int:
        return max((min(len(line.message), 2_000) for line in self._lines[-200:]), default=0) + 20

    def empty_text(self) -> str:
        return "nothing has been logged"

    def draw(self, index: int, width: int) -> Sequence[Piece]:
        line = self._lines[index]
        colour = COLOURS.get(line.level, "")
        moment = time.strftime("%H:%M:%S", time.localtime(line.at))
        return [
            (f" {moment} ", "dim"),
            (fitted(line.level, 8) + " ", colour or "dim"),
            (one_line(line.message, 2_000), colour),
        ]
