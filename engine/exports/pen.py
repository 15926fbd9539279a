"""What pictures of a report are drawn with: inks, lines, marks, axes. On a page inks are its own, which change with light and
dark; a picture that stands alone has fixed ones on white, since programs that take it into a paper know no others."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from tidepool.engine.exports.html import Content, Html, element, joined, text
from tidepool.engine.results.axes import Axis
from tidepool.engine.results.blocks import Figure, Series
from tidepool.engine.results.marks import INKS, ink_of, written

Place = Callable[[float], float]

WIDTH = 720
LEFT, RIGHT, TOP, BOTTOM = 64, 20, 14, 46
LETTER = 6.6
"""how wide one is, nearly"""
FONT = "Helvetica, Arial, 'DejaVu Sans', sans-serif"


@dataclass(frozen=True, slots=True)
class Inks:
    ink: str
    soft: str
    line: str
    roles: dict[str, str] = field(default_factory=dict)
    marks: tuple[str, ...] = ()

    def of(self, figure: Figure, series: Series, place: int) -> str:
        """That of whom it tells, of its role, or the next one."""
        if series.place is not None or (len(figure.series) > 1 and not series.colour):
            return self.mark(place if series.place is None else series.place)
        return self.roles.get(series.colour or "primary", self.soft)

    def mark(self, place: int) -> str:
        return self.marks[place % len(self.marks)]


PAGE = Inks(
    "var(--ink)",
    "var(--soft)",
    "var(--line)",
    {
        "primary": "var(--first)",
        "accent": "var(--second)",
        "done": "var(--mark-2)",
        "failed": "var(--mark-4)",
        "cached": "var(--mark-3)",
        "retried": "var(--mark-6)",
        "quiet": "var(--soft)",
    },
    tuple(f"var(--mark-{place})" for place in range(len(INKS))),
)
_WHITE = tuple(written(ink_of(place, (255, 255, 255))) for place in range(len(INKS)))
ALONE = Inks(
    "#1c2530",
    "#5b6570",
    "#d5d8dc",
    {
        "primary": "#2f6f9f",
        "accent": "#d08c2f",
        "done": _WHITE[2],
        "failed": _WHITE[4],
        "cached": _WHITE[3],
        "retried": _WHITE[6],
        "quiet": "#5b6570",
    },
    _WHITE,
)


def svg(height: float, drawn: Sequence[Html], title: str, told: str = "") -> Html:
    """With its title and what it shows in words, for those who hear it."""
    named = element("title", title), element("desc", told) if told else None
    size: dict[str, Content] = {"viewBox": f"0 0 {WIDTH} {n(height)}", "width": WIDTH, "height": n(height)}
    return element("svg", joined((*named, *drawn)), role="img", **size)


def line(x1: float, y1: float, x2: float, y2: float, ink: str, wide: float = 1.5, **more: Content) -> Html:
    return element("line", x1=n(x1), y1=n(y1), x2=n(x2), y2=n(y2), stroke=ink, stroke_width=wide, **more)


def words(said: str, x: float, y: float, anchor: str = "start", ink: str | None = None, **more: Content) -> Html:
    return element("text", said, x=n(x), y=n(y), text_anchor=anchor, fill=ink, **more)


def shape(place: int, x: float, y: float, ink: str, size: float = 5.0) -> Html:
    """The mark of a place, as its glyph has it: five forms full, then the same hollow."""
    paint: dict[str, Content] = {"fill": ink, "stroke": ink, "stroke_width": 1.4}
    if place % 10 >= 5:
        paint["fill"] = "none"
    match place % 5:
        case 0:
            return element("circle", cx=n(x), cy=n(y), r=n(size), **paint)
        case 1:
            side = size * 0.88
            return element("rect", x=n(x - side), y=n(y - side), width=n(2 * side), height=n(2 * side), **paint)
        case 2:
            corners = [(x, y - size), (x + size, y + 0.8 * size), (x - size, y + 0.8 * size)]
        case 3:
            corners = [(x, y - 1.2 * size), (x + size, y), (x, y + 1.2 * size), (x - size, y)]
        case _:
            corners = [(x, y + size), (x + size, y - 0.8 * size), (x - size, y - 0.8 * size)]
    return element("polygon", points=" ".join(f"{n(a)},{n(b)}" for a, b in corners), **paint)


def upright_bar(x: float, low: float, high: float, wide: float, ink: str) -> list[Html]:
    """An error bar with its ends."""
    return [line(x, low, x, high, ink), *(line(x - wide, end, x + wide, end, ink) for end in (low, high))]


def grid(axis: Axis, y: Place, inks: Inks, left: float = LEFT, right: float = WIDTH - RIGHT) -> Iterator[Html]:
    """A line across for each number of the upright axis."""
    for tick, label in zip(axis.ticks, axis.labels, strict=True):
        yield line(left, y(tick), right, y(tick), inks.line, 1)
        yield words(label, left - 8, y(tick) + 4, "end")


def feet(axis: Axis, x: Place, floor: float, inks: Inks) -> Iterator[Html]:
    """The numbers of the level axis, each with a short line."""
    for tick, label in zip(axis.ticks, axis.labels, strict=True):
        yield line(x(tick), floor, x(tick), floor + 4, inks.soft, 1)
        yield words(label, x(tick), floor + 18, "middle")


def names_of_axes(figure: Figure, height: float, top: float, floor: float) -> Iterator[Html]:
    """Each at its own axis: the upright one turned."""
    if figure.xlabel:
        yield words(figure.xlabel, (LEFT + WIDTH - RIGHT) / 2, height - 8, "middle")
    if figure.ylabel:
        y = (top + floor) / 2
        yield words(figure.ylabel, 14, y, "middle", transform=f"rotate(-90 14 {n(y)})")


def legend(entries: Sequence[tuple[str, Callable[[float, float], Html]]]) -> tuple[list[Html], float]:
    """Names behind their marks, in as many rows as it takes; and how high they are together."""
    drawn: list[Html] = []
    x, y = float(LEFT), 10.0
    for name, mark in entries:
        told = short(name, 60)
        wide = 34 + LETTER * len(told)
        if x > LEFT and x + wide > WIDTH - RIGHT:
            x, y = float(LEFT), y + 18
        drawn += [mark(x + 6, y), words(told, x + 17, y + 4)]
        x += wide
    return drawn, (y + 12 if entries else 0.0)


def short(name: str, width: int) -> str:
    return name if len(name) <= width else name[: width - 1] + "…"


def n(value: float) -> Html:
    return text(f"{value:.1f}")
