"""The waves: size, time, average per message, transport, and the provider batches under way."""

import time
from collections.abc import Sequence

from tidepool.storage.queries.watching import WaveLine
from tidepool.tui.app.widgets.rows import Piece, Rows
from tidepool.tui.drawing.plain import fitted, one_line
from tidepool.tui.drawing.words import ago, count, span


def order_words(wave: WaveLine, now: float) -> str:
    """What the provider batches of a wave are doing, and for how long."""
    under_way = [order for order in wave.orders if order.open]
    if under_way:
        oldest = min(order.created_at for order in under_way)
        state = one_line(under_way[0].remote_state or under_way[0].state)
        return f"{len(under_way)} × {under_way[0].provider} {state} {ago(oldest, now)}"
    if wave.orders:
        lasted = max((order.finished_at or order.created_at) - order.created_at for order in wave.orders)
        return f"{len(wave.orders)} × {wave.orders[0].provider} {wave.orders[0].state} in {span(lasted)}"
    return ""


class WavesTable(Rows):
    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._waves: dict[int, WaveLine] = {}

    @property
    def wanted(self) -> tuple[int, int]:
        """How many to skip, and how many to read."""
        first, last = self.rows_in_view
        return max(0, first - 5), max(20, last - first + 10)

    def show(self, count: int, skip: int, waves: Sequence[WaveLine]) -> None:
        before, rare = self._waves, self._rare
        self._waves = {skip + position: wave for position, wave in enumerate(waves)}
        self.set_count(count)
        if self._rare != rare:
            self.touch_all()
        self.touch(
            index
            for index, wave in self._waves.items()
            if before.get(index) != wave or any(order.open for order in wave.orders)
        )

    def empty_text(self) -> str:
        return "no wave has been answered yet"

    def draw_header(self, width: int) -> Sequence[Piece]:
        titles: list[str] = [fitted("wave", 7, right=True), fitted("calls", 9, right=True)]
        titles += [fitted(name, 7, right=True) for name in self._rare]
        titles += [fitted("time", 12, right=True), fitted("a message", 10, right=True), " " + fitted("transport", 11)]
        return [(" ".join([*titles, "provider batches"]), "")]

    @property
    def _rare(self) -> list[str]:
        """Columns that are only there when they have something to say."""
        return [name for name in ("failed", "cached") if any(getattr(wave, name) for wave in self._waves.values())]

    def draw(self, index: int, width: int) -> Sequence[Piece]:
        wave = self._waves.get(index)
        if wave is None:
            return [("      …", "dim")]
        each = span(wave.seconds / wave.calls) if wave.calls else "–"
        return [
            (fitted(f"{wave.wave:,}", 7, right=True) + " ", "strong"),
            (fitted(count(wave.calls), 9, right=True) + " ", ""),
            *(self._rare_piece(name, getattr(wave, name)) for name in self._rare),
            (fitted(span(wave.seconds), 12, right=True) + " ", ""),
            (fitted(each, 10, right=True) + " ", ""),
            (" " + fitted(wave.transport.replace("+", " + "), 11) + " ", "dim"),
            (order_words(wave, time.time()), "running" if any(order.open for order in wave.orders) else "dim"),
        ]

    @staticmethod
    def _rare_piece(name: str, value: int) -> Piece:
        return fitted(count(value), 7, right=True) + " ", name if value else "dim"
