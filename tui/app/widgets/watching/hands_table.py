"""The hands that live calls leave from: node, calls in flight, calls a second, and how many have come back."""

from collections.abc import Sequence

from tidepool.storage.queries.watching import HandLine
from tidepool.tui.app.widgets.rows import Piece, Rows
from tidepool.tui.drawing.plain import fitted, one_line
from tidepool.tui.drawing.words import count, rate


class HandsTable(Rows):
    has_cursor = False

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._hands: Sequence[HandLine] = ()

    def show(self, hands: Sequence[HandLine]) -> None:
        if hands != self._hands:
            self._hands = hands
            self.set_count(len(hands))
            self.touch_all()

    def empty_text(self) -> str:
        return "no hand is left"

    def draw_header(self, width: int) -> Sequence[Piece]:
        titles = [fitted("in flight", 10, right=True), fitted("speed", 10, right=True), fitted("back", 9, right=True)]
        return [(" ".join([*titles, " node"]), "")]

    def draw(self, index: int, width: int) -> Sequence[Piece]:
        hand = self._hands[index]
        return [
            (fitted(count(hand.in_flight), 10, right=True) + " ", "running" if hand.in_flight else "dim"),
            (fitted(rate(hand.per_second), 10, right=True) + " ", "strong"),
            (fitted(count(hand.returned), 9, right=True) + " ", ""),
            (f" {one_line(hand.node, 200)}", ""),
            (f" {hand.process}", "dim"),
        ]
