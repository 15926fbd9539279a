"""The blocks of a page of results: plain data, so that pages are pure functions of a summary."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol, cast

from tidepool.tui.app.worker_process.figure import Figure
from tidepool.tui.drawing.plain import one_line

MOST_ROWS = 200


@dataclass(frozen=True, slots=True)
class Words:
    text: str
    style: str = ""
    """'', strong, quiet, tree (never wrapped) or a state"""


@dataclass(frozen=True, slots=True)
class Table:
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: int = 1
    """so many columns are words, the rest numbers"""
    left_out: int = 0
    """rows that are not shown"""


@dataclass(frozen=True, slots=True)
class Heat:
    """Shares in percent, rows against columns; None where nothing is known."""

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]


Block = Words | Table | Figure | Heat


class Pages(Protocol):
    """What a module tui/app/results/KIND.py gives."""

    def tables(self, statistics: Mapping[str, Any]) -> list[Block]: ...

    def plots(self, statistics: Mapping[str, Any]) -> list[Block]: ...

    def headline(self, statistics: Mapping[str, Any]) -> dict[str, str]:
        """The few figures by which batches are compared."""
        ...


def pages_of(kind: str) -> Pages:
    return cast(Pages, import_module(f"tidepool.tui.app.results.{kind}"))


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> Table:
    """Foreign words are made plain here, and a very long table is cut."""
    shown = tuple(tuple(one_line(cell) for cell in row) for row in rows[:MOST_ROWS])
    return Table(title, tuple(columns), shown, left, len(rows) - len(shown))


def number(value: float | None, digits: int = 1, unit: str = "") -> str:
    return "–" if value is None else f"{value:,.{digits}f}{unit}"


def interval(bounds: Sequence[float] | None, digits: int = 1, scale: float = 1.0) -> str:
    if not bounds:
        return "–"
    low, high = (scale * bound for bound in bounds)
    return f"{low:,.{digits}f}{' to ' if low < 0 else '–'}{high:,.{digits}f}"


def share(value: float | None) -> str:
    """A share of one, in percent."""
    return number(None if value is None else 100 * value, 1, " %")


def p_value(value: float | None) -> str:
    return "–" if value is None else "< 0.001" if value < 0.001 else f"{value:.3f}"


def guarded(page: Callable[[Mapping[str, Any]], list[Block]], statistics: Mapping[str, Any]) -> list[Block]:
    """A page of a batch that has barely begun may lack what it needs."""
    try:
        return page(statistics)
    except (KeyError, TypeError, IndexError):
        return [Words("not enough has been answered yet", "quiet")]
