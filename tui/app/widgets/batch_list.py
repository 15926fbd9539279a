"""The list of all batches of the file, one line each. Running batches update live."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

from textual.binding import Binding
from textual.message import Message

from tidepool.engine.reports.blocks import Headline, read_headline
from tidepool.storage.queries.lists import cell_name
from tidepool.storage.queries.watching import BatchLine
from tidepool.tui.app.theme import BATCH_STATES
from tidepool.tui.app.widgets.rows import ItemRows, Piece, column
from tidepool.tui.drawing.text import ago, count, dollars, fitted, has_words, one_line, percent

ORDERS: dict[str, tuple[Callable[[BatchLine], Any], bool]] = {
    "age": (lambda batch: abs(batch.number), True),
    "name": (lambda batch: one_line(batch.name).casefold(), False),
    "state": (lambda batch: (batch.status, -abs(batch.number)), False),
    "cost": (lambda batch: batch.cost_usd or 0.0, True),
    "size": (lambda batch: batch.units_total, True),
}
"""sort keys, and whether the largest comes first"""

BAR = 10


def status_of(batch: BatchLine) -> str:
    return "paused" if batch.paused and batch.running else batch.status


def finding_of(batch: BatchLine) -> Headline | None:
    """Returns the main result of an ended batch."""
    return None if batch.running or batch.cells else read_headline(batch.headline)


def arrange(batches: Sequence[BatchLine], words: str, order: str, unfolded: Collection[str] = ()) -> list[BatchLine]:
    """Returns the batches with all the words in name, kind, state or id, sorted. Cells follow an unfolded study."""
    cells = [batch for batch in batches if batch.study_id]
    matching = [
        batch
        for batch in batches
        if not batch.study_id and has_words(f"{one_line(batch.name)} {batch.kind} {status_of(batch)} {batch.id}", words)
    ]
    key, reverse = ORDERS[order]
    return [
        line
        for batch in sorted(matching, key=key, reverse=reverse)
        for line in (batch, *(cell for cell in cells if batch.id in unfolded and cell.study_id == batch.id))
    ]


def bar(done: int, failed: int, total: int, width: int = BAR) -> list[Piece]:
    """Returns a progress bar with a marked part for failures. It is full only at the end."""
    if not total:
        return [("─" * width, "waiting")]
    bad = min(width, -(-failed * width // total)) if failed else 0
    good = min(width - bad, done * width // total)
    pieces: list[Piece] = [("━" * good, "done"), ("╍" * bad, "failed"), ("─" * (width - good - bad), "waiting")]
    return [piece for piece in pieces if piece[0]]


class BatchList(ItemRows[BatchLine]):
    BINDINGS = [Binding("enter", "open", "Open", id="batches.open")]
    empty = "no batch matches the filter"
    order = "age"
    unfolded: frozenset[str] = frozenset()
    """studies whose cells are shown"""

    class SortRequested(Message):
        """The header was clicked."""

    def unfold(self, study_id: str, unfolded: bool) -> None:
        self.unfolded = self.unfolded | {study_id} if unfolded else self.unfolded - {study_id}
        if not unfolded and (here := self.current) is not None and here.study_id == study_id:
            self.go_to_item(study_id)

    def copied(self) -> str:
        """Returns the id of the batch, for use in commands."""
        return self.current.id if self.current else ""

    def draw_header(self, width: int) -> Sequence[Piece]:
        name, kind, bar_width, brief = _widths(width)
        titles = [
            " " * 4 + self._title("name", name),
            fitted("kind", kind),
            fitted("finding", brief),
            self._title("state", 12),
            fitted("progress" if bar_width else "done", bar_width + 6, right=not bar_width),
            self._title("size", 13, right=True),
            self._title("cost", 10, right=True),
            self._title("age", 7, right=True),
        ]
        return [(" ".join(title for title in titles if title), "")]

    def _title(self, order: str, width: int, *, right: bool = False) -> str:
        words = {"size": "units"}.get(order, order)
        if order == self.order:
            words = f"{words} {'↓' if ORDERS[order][1] else '↑'}"
        return fitted(words, width, right=right)

    def draw(self, index: int, width: int) -> Sequence[Piece]:
        batch = self.items[index]
        status = status_of(batch)
        glyph, colour = BATCH_STATES.get(status, (" ", ""))
        name, kind, bar_width, brief = _widths(width)
        mark: Piece = ("✓ ", "accent") if batch.id in self.marks else ("  ", "")
        pieces: list[Piece] = [mark, (f"{glyph} ", colour), column(self._name_text(batch, name), name)]
        if kind:
            pieces.append(column(batch.kind.replace("_", " "), kind, "dim"))
        if brief:
            finding = finding_of(batch)
            pieces.append(column(finding.brief if finding else "", brief, "strong"))
        pieces.append(column(status.replace("in_progress", "running"), 12, colour))
        if bar_width:
            pieces += bar(batch.units_done, batch.units_failed, batch.units_total, bar_width)
        units = f"{count(batch.units_done)}/{count(batch.units_total)}"
        pieces += [
            column(percent(batch.units_done, batch.units_total), 6, "dim", right=True),
            column(units, 13, right=True),
            (fitted("free" if batch.free else dollars(batch.cost_usd), 10, right=True), ""),
            (" " + fitted(ago(batch.created_at), 7, right=True), "dim"),
        ]
        return pieces

    def _name_text(self, batch: BatchLine, width: int) -> str:
        """Returns the name: a study with its number of cells, and cells indented."""
        if batch.cells:
            return f"{'▾' if batch.id in self.unfolded else '▸'} {one_line(batch.name)} ({batch.cells:,} cells)"
        if not batch.study_id:
            return one_line(batch.name)
        study = next((one.name for one in self.items if one.id == batch.study_id), "")
        return f"  {one_line(cell_name(batch.name, study, width - 2))}"

    def header_clicked(self, x: int) -> None:
        self.post_message(self.SortRequested())


FINDING = 22


def _widths(width: int) -> tuple[int, int, int, int]:
    """Returns the widths of the name, the kind, the bar and the finding. The last three are 0 if they do not fit."""
    bar_width = BAR if width >= 96 else 0
    found = FINDING if width >= 116 else 0
    fixed = 4 + 1 + 13 + bar_width + 6 + 1 + 14 + 10 + 8 + 1 + (found + 1 if found else 0)
    kind = 12 if width - fixed >= 24 + 13 else 0
    return max(8, width - fixed - (kind + 1 if kind else 0)), kind, bar_width, found
