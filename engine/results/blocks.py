"""What a report is made of: plain data that the terminal, the app, an HTML page and Markdown each draw in their own way.

A kind of study makes one list of blocks from its statistics, so whatever one of the four shows, all show. How a number
is written is said once, in `wording`. Blocks cross to other processes as JSON: a `Report` is made beside the app.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal, Protocol

from tidepool.engine.results.marks import glyph_of
from tidepool.engine.results.wording import interval, number, p_value

Interval = tuple[float, float]
Level = Literal["plain", "strong", "quiet", "simulated", "warning", "quoted", "tree"]
"""quoted: somebody's own words, in their own lines; tree: never wrapped"""

# -- cells ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Number:
    value: float | None
    digits: int = 1
    unit: str = ""
    signed: bool = False


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its interval at 95 %."""

    value: float | None
    interval: Interval | None = None
    digits: int = 1
    unit: str = ""
    signed: bool = False


@dataclass(frozen=True, slots=True)
class PValue:
    value: float | None


@dataclass(frozen=True, slots=True)
class Named:
    """Somebody who takes part, with the colour and the glyph of their place among all (`marks`)."""

    name: str
    place: int


Cell = str | int | Number | Estimate | PValue | Named
"""words, a count, or a number that knows its digits; a number that is None is not known"""


def text_of(cell: Cell, *, brief: bool = False) -> str:
    """Brief: the interval of a share in whole points, for a table that does not fit."""
    match cell:
        case int():
            return f"{cell:,}"
        case Number(value, digits, unit, signed):
            return number(value, digits, unit, signed=signed)
        case Estimate(value, bounds, digits, unit, signed):
            told = number(value, digits, unit, signed=signed)
            if value is None or bounds is None:
                return told
            return f"{told} ({interval(bounds, 0 if brief and digits == 1 else digits, signed=signed)})"
        case PValue(value):
            return p_value(value)
        case Named(name, place):
            return f"{glyph_of(place)} {name}"
    return cell


# -- blocks --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Words:
    text: str
    level: Level = "plain"


@dataclass(frozen=True, slots=True)
class Headline:
    """A figure that stands for much of the study, with a few words on it."""

    name: str
    figure: Cell
    words: str = ""

    @property
    def text(self) -> str:
        return f"{self.name}: {text_of(self.figure)}" + (f", {self.words}" if self.words else "")


@dataclass(frozen=True, slots=True)
class Table:
    title: str
    columns: tuple[str, ...]
    """all empty: rows are facts, each with its name first"""
    rows: tuple[tuple[Cell, ...], ...]
    left: int = 1
    """so many columns are words, the rest numbers"""
    first: int = 40
    """so many rows are enough where there is little room; the others are counted"""


@dataclass(frozen=True, slots=True)
class Heat:
    """Shares in percent, rows against columns; None where nothing is known. The scale is the same for all: 0 to 100."""

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    places: tuple[int, ...] = ()
    """of rows and columns, where both are names of those who take part"""


@dataclass(frozen=True, slots=True)
class Series:
    name: str
    ys: tuple[float | None, ...]
    xs: tuple[float, ...] = ()
    colour: str = ""
    """a role; else the next one"""
    intervals: tuple[Interval | None, ...] = ()
    """of the ys: an error bar on a bar, a mean or a point, a band along a line; None where there is none"""
    across: tuple[Interval | None, ...] = ()
    """of the xs of points"""
    place: int | None = None
    """of whom it tells: their place among all, by which they have a colour and a glyph"""

    @property
    def bounds(self) -> tuple[Interval | None, ...]:
        """One for each y."""
        return self.intervals or (None,) * len(self.ys)


@dataclass(frozen=True, slots=True)
class Figure:
    form: Literal["lines", "bars", "points", "means"]
    """means: one series, each value on a line of its own with its interval"""
    title: str
    series: tuple[Series, ...]
    labels: tuple[str, ...] = ()
    """of the groups of bars, or of the means"""
    xlabel: str = ""
    ylabel: str = ""
    square: Interval | None = None
    """both axes from … to …"""
    caption: str = ""
    """what its intervals are, or why it has none"""
    reference: float | None = None
    """of means: a line to hold them against, such as no difference"""
    places: tuple[int, ...] = ()
    """of the labels, where they are names of those who take part"""

    @property
    def note(self) -> str:
        """The caption; without one, what can be said of the intervals by looking at them."""
        known = [
            bounds for one in self.series for y, bounds in zip(one.ys, one.intervals, strict=False) if y is not None
        ]
        if self.caption or not known:
            return self.caption
        if any(bounds is None for bounds in known):
            return LONELY if any(known) else "No intervals: they need more than one independent observation."
        return "With 95 % intervals."


COUNTS = "Counts of what happened, no estimates: without intervals."
LONELY = "With 95 % intervals, where there is more than one independent observation."
ROLES = ("primary", "accent", "done", "failed", "cached", "retried", "quiet")
"""colours are named by what they mean; whoever draws knows them"""


@dataclass(frozen=True, slots=True)
class Folded:
    """Somebody's own words that are too long to stand in the way: a page has them in full, a screen only their title."""

    title: str
    text: str


Block = Words | Headline | Table | Heat | Figure | Folded


@dataclass(frozen=True, slots=True)
class Report:
    title: str
    overview: tuple[Block, ...]
    """what the batch was, what it took, what it cost"""
    waves: tuple[Block, ...]
    findings: tuple[Block, ...]
    """what the study found"""
    methods: tuple[Block, ...] = ()
    """how it was done, in paragraphs for a paper"""

    @property
    def methods_on_screen(self) -> tuple[Block, ...]:
        """Without the appendix, which only a page has."""
        whole = Words("With all prompts in full: export as markdown or html.", "quiet")
        return (Words("methods", "strong"), *self.methods, whole)


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]], left: int = 1, first: int = 40) -> Table:
    return Table(title, tuple(columns), tuple(tuple(row) for row in rows), left, first)


MOST_POINTS = 400


def line(
    name: str,
    xs: Sequence[float],
    ys: Sequence[float | None],
    colour: str = "",
    intervals: Sequence[Interval | None] = (),
) -> Series:
    """A curve with its band, thinned to what a terminal can show; the highest of each stretch stays."""
    step = max(1, len(xs) // MOST_POINTS)
    picked: Sequence[int] = range(len(xs))
    if step > 1:
        picked = [max(range(i, min(i + step, len(xs))), key=lambda j: ys[j] or 0.0) for i in range(0, len(xs), step)]
    band = tuple(intervals[i] for i in picked) if any(intervals) else ()
    return Series(name, tuple(ys[i] for i in picked), tuple(float(xs[i]) for i in picked), colour, band)


# -- JSON ----------------------------------------------------------------------------------------------------

_KINDS: dict[str, Callable[..., Any]] = {
    kind.__name__: kind
    for kind in (Number, Estimate, PValue, Named, Words, Headline, Table, Heat, Series, Figure, Folded, Report)
}


def as_json(value: Any) -> Any:
    """Blocks, cells and tuples of them; each names its class."""
    if is_dataclass(value):
        return {"is": type(value).__name__} | {one.name: as_json(getattr(value, one.name)) for one in fields(value)}
    return [as_json(inner) for inner in value] if isinstance(value, tuple | list) else value


def from_json(data: Any) -> Any:
    if isinstance(data, dict):
        return _KINDS[data["is"]](**{name: from_json(inner) for name, inner in data.items() if name != "is"})
    return tuple(from_json(inner) for inner in data) if isinstance(data, list) else data


class KindReport(Protocol):
    """What a kind's `report.py` gives; statistics are those of the JSON summary.

    It may also give `further(connection, batch)`, blocks beyond the statistics, and `compared(batches, differences)`,
    blocks for several batches in place of their figures side by side.
    """

    def blocks(self, statistics: Mapping[str, Any]) -> list[Block]: ...

    def figures(self, statistics: Mapping[str, Any]) -> dict[str, Cell]:
        """The figures by which batches are compared, by name; those of a part of it are named `part: figure`."""
