"""Figures as SVG in a page: the same axes, marks, intervals and bands as on a terminal, in the page's colors."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from tidepool.engine.reports.blocks import INKS, Figure, Heat, Series, glyph_of
from tidepool.engine.reports.figures import Axis, along, known_points, of_means, stretches, thin_out, upright, value_of
from tidepool.engine.reports.html import Content, Html, element, joined, text

# -- inks, lines, marks, axes ------------------------------------------------------------------------------------------


Place = Callable[[float], float]

WIDTH = 720
LEFT, RIGHT, TOP, BOTTOM = 64, 20, 14, 46
LETTER = 6.6
"""approximate width of a character"""
BEFORE_NUMBERS = WIDTH - 70.0
"""the right end of drawings that have a number behind each line"""


INK, SOFT, LINE = "var(--ink)", "var(--soft)", "var(--line)"
ROLES = {"primary": "var(--first)", "accent": "var(--second)"} | {
    role: f"var(--mark-{place})" for role, place in (("done", 2), ("failed", 4), ("cached", 3), ("retried", 6))
}


def mark_ink(place: int) -> str:
    return f"var(--mark-{place % len(INKS)})"


def series_ink(figure: Figure, series: Series, place: int) -> str:
    """The color of its role, or the next one."""
    if len(figure.series) > 1 and not series.colour:
        return mark_ink(place)
    return ROLES.get(series.colour or "primary", SOFT)


def svg(height: float, shapes: Sequence[Html], title: str, description: str = "") -> Html:
    """An SVG with its title and a description for screen readers."""
    labels = element("title", title), element("desc", description) if description else None
    size: dict[str, Content] = {"viewBox": f"0 0 {WIDTH} {n(height)}", "width": WIDTH, "height": n(height)}
    return element("svg", joined((*labels, *shapes)), role="img", **size)


def line(x1: float, y1: float, x2: float, y2: float, ink: str, wide: float = 1.5, **more: Content) -> Html:
    return element("line", x1=n(x1), y1=n(y1), x2=n(x2), y2=n(y2), stroke=ink, stroke_width=wide, **more)


def words(content: str, x: float, y: float, anchor: str = "start", ink: str | None = None, **more: Content) -> Html:
    return element("text", content, x=n(x), y=n(y), text_anchor=anchor, fill=ink, **more)


def shape(x: float, y: float, place: int, ink: str, size: float = 14.0) -> Html:
    """The mark of a place, the same as on a terminal."""
    return words(glyph_of(place), x, y + size / 3, "middle", style=f"fill: {ink}; font-size: {size:g}px")


def pairs(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{n(x)},{n(y)}" for x, y in points)


def scale(axis: Axis, start: float, end: float) -> Place:
    """The position of a value, if the axis goes from `start` to `end` of the drawing."""
    return lambda value: start + (end - start) * axis.share(value)


def grid(axis: Axis, y: Place) -> Iterator[Html]:
    """A horizontal line for each number of the vertical axis."""
    for tick, label in zip(axis.ticks, axis.labels, strict=True):
        yield line(LEFT, y(tick), WIDTH - RIGHT, y(tick), LINE, 1)
        yield words(label, LEFT - 8, y(tick) + 4, "end")


def x_ticks(axis: Axis, x: Place, floor: float, top: float | None = None) -> Iterator[Html]:
    """The numbers of the horizontal axis, each with a short line, or with one up to `top`."""
    if top is not None:
        yield from (line(x(tick), top, x(tick), floor, LINE, 1) for tick in axis.ticks)
    for tick, label in zip(axis.ticks, axis.labels, strict=True):
        yield line(x(tick), floor, x(tick), floor + 4, SOFT, 1)
        yield words(label, x(tick), floor + 18, "middle")


def names_of_axes(figure: Figure, height: float, top: float, floor: float) -> Iterator[Html]:
    """The axis names; the vertical one is rotated."""
    if figure.xlabel:
        yield words(figure.xlabel, (LEFT + WIDTH - RIGHT) / 2, height - 8, "middle")
    if figure.ylabel:
        y = (top + floor) / 2
        yield words(figure.ylabel, 14, y, "middle", transform=f"rotate(-90 14 {n(y)})")


def legend(entries: Sequence[tuple[str, Callable[[float, float], Html]]]) -> tuple[list[Html], float]:
    """Names behind their marks, in as many rows as needed, and their total height."""
    shapes: list[Html] = []
    x, y = float(LEFT), 10.0
    for name, mark in entries:
        label = short(name, 60)
        wide = 34 + LETTER * len(label)
        if x > LEFT and x + wide > WIDTH - RIGHT:
            x, y = float(LEFT), y + 18
        shapes += [mark(x + 6, y), words(label, x + 17, y + 4)]
        x += wide
    return shapes, (y + 12 if entries else 0.0)


def _painted(figure: Figure, mark: Callable[..., Html]) -> tuple[list[str], list[Html], float]:
    """The color of each series, and, if there are several, their legend with its height."""
    paints = [series_ink(figure, series, place) for place, series in enumerate(figure.series)]
    marks = [partial(mark, ink=ink, place=place) for place, ink in enumerate(paints)]
    entries = [(series.name, one) for series, one in zip(figure.series, marks, strict=True)]
    return paints, *legend(entries if len(entries) > 1 else [])


def short(name: str, width: int) -> str:
    return name if len(name) <= width else name[: width - 1] + "…"


def n(value: float) -> Html:
    return text(f"{value:.1f}")


# -- figures -----------------------------------------------------------------------------------------------------------


BETWEEN_MARKS = 70
"""pixels along a curve"""
MOST_POINTS = 1_000


def drawing(block: Figure | Heat) -> Html | None:
    """None: there is nothing to show yet."""
    if isinstance(block, Heat):
        return heat_map(block)
    if not any(y is not None for series in block.series for y in series.ys):
        return None
    return (curves if block.form == "lines" else by_name)(block)


# -- bars and means ------------------------------------------------------------------------------------------


def by_name(figure: Figure) -> Html:
    """A line for each name: bars that start at zero, or a mean as a mark, with intervals, and the value behind them. A
    dashed line shows the reference value of means, if there is one."""
    is_bars = figure.form == "bars"
    several = len(figure.series) > 1
    paints, head, above = _painted(figure, lambda x, y, ink, place: _box(x - 5, y - 5, 10, 10, ink, place))
    thick = 16.0 if several else 24.0
    group = thick * len(paints) + (8 if several else 0)
    labels = [
        item for item in enumerate(figure.labels) if any(series.ys[item[0]] is not None for series in figure.series)
    ]
    top = TOP + above
    floor = top + group * len(labels)
    left, axis = _label_width(figure), upright(figure, 7) if is_bars else of_means(figure, 7)
    x = scale(axis, left, BEFORE_NUMBERS)
    shapes = [*head, *x_ticks(axis, x, floor, top)]
    if figure.reference is not None:
        at = x(figure.reference)
        shapes.append(line(at, top, at, floor, SOFT, 1.5, stroke_dasharray="5 4"))
    for row, (index, name) in enumerate(labels):
        shapes += _name(figure, index, name, left - 10, top + group * row + thick * len(paints) / 2 + 4)
        for place, (series, ink) in enumerate(zip(figure.series, paints, strict=True)):
            value, bounds, y = series.ys[index], series.bounds[index], top + group * row + thick * (place + 0.5)
            if value is None:
                continue
            if is_bars:
                start, end = sorted((x(0.0), x(value)))
                shapes.append(_box(start, y + 1.5 - thick / 2, end - start, thick - 3, ink, place))
            if bounds:
                low, high = map(x, bounds)
                shapes += [line(low, y, high, y, INK), *(line(end, y - 4, end, y + 4, INK) for end in (low, high))]
            if not is_bars:
                who = figure.places[index] if figure.places else None
                shapes.append(shape(x(value), y, who or 0, ink if who is None else mark_ink(who)))
            shapes.append(words(value_of(figure, series, index).value_text, WIDTH - 8, y + 4, "end"))
    if below := figure.xlabel or figure.ylabel:
        shapes.append(words(below, (left + BEFORE_NUMBERS) / 2, floor + 38, "middle"))
    return svg(floor + (46 if below else 30), shapes, figure.title, figure.note)


def _box(x: float, y: float, wide: float, high: float, ink: str, place: int) -> Html:
    """A filled box with a lighter fill inside its edge, so that boxes differ in grey too."""
    opacity = (1.0, 0.45, 0.15)[place % 3]
    edge: dict[str, Content] = {"stroke": ink, "stroke_width": 1} if opacity < 1 else {}
    return element("rect", x=n(x), y=n(y), width=n(wide), height=n(high), fill=ink, fill_opacity=opacity, **edge)


def _label_width(figure: Figure) -> float:
    """The width of the names."""
    longest = max((len(label) for label in figure.labels), default=0)
    return min(300.0, max(90.0, 34 + LETTER * longest))


def _name(figure: Figure | Heat, index: int, name: str, x: float, y: float) -> list[Html]:
    """A name to the left of `x`, with its mark at the edge if it belongs to a participant."""
    marks = [shape(12, y - 4, place, mark_ink(place)) for place in figure.places[index : index + 1]]
    return [words(short(name, 26 if isinstance(figure, Heat) else 40), x, y, "end"), *marks]


# -- curves --------------------------------------------------------------------------------------------------


def curves(figure: Figure) -> Html:
    """One line for each series on the band of its intervals, with its own marks along the way."""
    paints, head, above = _painted(figure, shape)
    height = 270 + above
    top, floor = TOP + above, height - BOTTOM
    up, across = upright(figure, 6), along(figure, 8)
    x, y = scale(across, LEFT, WIDTH - RIGHT), scale(up, floor, top)
    shapes = [*head, *grid(up, y), *x_ticks(across, x, floor), *names_of_axes(figure, height, top, floor)]
    for ink, series in zip(paints, figure.series, strict=True):
        for stretch in stretches(series):
            shapes += _band([(x(at), y(low), y(high)) for at, low, high in stretch], ink)
    for place, (ink, series) in enumerate(zip(paints, figure.series, strict=True)):
        points = [(x(at), y(value)) for at, value in thin_out(known_points(series), MOST_POINTS)]
        shapes.append(element("polyline", points=pairs(points), fill="none", stroke=ink, stroke_width=2))
        if head or len(points) == 1:
            shapes += _along(points, place, len(figure.series), ink)
    return svg(height, shapes, figure.title, figure.note)


def _along(points: Sequence[tuple[float, float]], place: int, curves: int, ink: str) -> list[Html]:
    """Marks at a distance from each other, at other positions for each curve."""
    shapes: list[Html] = []
    next_x = LEFT + BETWEEN_MARKS * place / curves
    for x, y in points:
        if x >= next_x or (x, y) == points[-1]:
            shapes.append(shape(x, y, place, ink, 11))
            next_x = x + BETWEEN_MARKS
    return shapes


def _band(points: Sequence[tuple[float, float, float]], ink: str) -> list[Html]:
    if len(points) == 1:
        x, low, high = points[0]
        return [line(x, low, x, high, INK), *(line(x - 4, end, x + 4, end, INK) for end in (low, high))]
    edge = [(x, low) for x, low, _ in points] + [(x, high) for x, _, high in reversed(points)]
    return [element("polygon", points=pairs(edge), fill=ink, fill_opacity=0.2)]


# -- heat maps -----------------------------------------------------------------------------------------------

PALE, DEEP = (244, 247, 250), (16, 78, 139)


def heat_map(heat: Heat) -> Html:
    """Each share as a number on a background that deepens with it, with the same scale for all maps."""
    left = min(200.0, 34 + LETTER * max((len(name) for name in heat.rows), default=4))
    wide = min(84.0, (WIDTH - left - RIGHT) / max(1, len(heat.columns)))
    high, top = 30.0, 26.0
    shapes: list[Html] = []
    for column, name in enumerate(heat.columns):
        shapes.append(words(short(name, max(3, int(wide / LETTER))), left + wide * (column + 0.5), 16, "middle"))
    for row, (name, values) in enumerate(zip(heat.rows, heat.values, strict=True)):
        y = top + high * row
        shapes += _name(heat, row, name, left - 10, y + 19)
        for column, share in enumerate(values):
            shapes += _cell(left + wide * column, y, wide, high, share)
    foot = top + high * len(heat.rows) + 14
    if any(share is None for values in heat.values for share in values):
        shapes.append(words("– not known", left, foot + 9, ink=SOFT))
    return svg(foot + 18, shapes, heat.title)


def _cell(x: float, y: float, wide: float, high: float, share: float | None) -> list[Html]:
    if share is None:
        return [words("–", x + wide / 2, y + 19, "middle")]
    ink = "#ffffff" if share > 45 else "#1c2530"
    box = element("rect", x=n(x + 1), y=n(y + 1), width=n(wide - 2), height=n(high - 2), fill=_ground(share))
    return [box, words(f"{share:.0f} %", x + wide / 2, y + 19, "middle", style=f"fill: {ink}")]


def _ground(share: float) -> str:
    part = min(100.0, max(0.0, share)) / 100
    return "#" + "".join(f"{round(a + (b - a) * part):02x}" for a, b in zip(PALE, DEEP, strict=True))
