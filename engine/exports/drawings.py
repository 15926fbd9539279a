"""Figures as SVG: the same axes, marks, intervals and bands as on a terminal."""

from collections.abc import Sequence
from functools import partial

from tidepool.engine.exports.html import Content, Html, element
from tidepool.engine.exports.pen import (
    BOTTOM,
    LEFT,
    LETTER,
    PAGE,
    RIGHT,
    TOP,
    WIDTH,
    Inks,
    Place,
    feet,
    grid,
    legend,
    line,
    n,
    names_of_axes,
    shape,
    short,
    svg,
    upright_bar,
    words,
)
from tidepool.engine.results.axes import (
    Axis,
    along,
    digits_for,
    known_points,
    of_means,
    plane,
    stretches,
    thinned,
    upright,
)
from tidepool.engine.results.blocks import Figure, Heat, Series
from tidepool.engine.results.wording import number

BETWEEN_MARKS = 70
"""pixels along a curve"""
MOST_POINTS = 1_000


def drawing(block: Figure | Heat, inks: Inks = PAGE) -> Html | None:
    """None: there is nothing to show yet."""
    if isinstance(block, Heat):
        return heat_map(block, inks)
    if not any(y is not None for series in block.series for y in series.ys):
        return None
    return {"lines": curves, "points": named_points, "means": means, "bars": bars}[block.form](block, inks)


# -- bars ----------------------------------------------------------------------------------------------------


def bars(figure: Figure, inks: Inks) -> Html:
    """Upright where the labels have room below them, else each on a line of its own."""
    room = (WIDTH - LEFT - RIGHT) / max(1, len(figure.labels)) / LETTER
    if any(len(label) + 2 * bool(figure.places) >= room for label in figure.labels):
        return _lying(figure, inks)
    head, above = _fills(figure, inks)
    height = 250 + above
    top, floor = TOP + above, height - BOTTOM + (0 if figure.xlabel else 16)
    axis = upright(figure, 6)
    step = (WIDTH - LEFT - RIGHT) / max(1, len(figure.labels))
    wide = min(90.0, step * 0.7 / len(figure.series))

    def y(value: float) -> float:
        return floor - (floor - top) * axis.share(value)

    drawn = [*head, *grid(axis, y, inks), *names_of_axes(figure, height, top, floor)]
    for index, name in enumerate(figure.labels):
        middle = LEFT + step * (index + 0.5)
        drawn += _label(figure, index, name, middle, floor + 18, inks)
        for place, one in enumerate(figure.series):
            value, bounds = one.ys[index], one.bounds[index]
            if value is None:
                continue
            x = middle + (place - len(figure.series) / 2) * wide + wide * 0.05
            ends = sorted((y(0.0), y(value)))
            drawn.append(_box(x, ends[0], wide * 0.9, ends[1] - ends[0], inks.of(figure, one, place), place))
            if bounds:
                drawn += upright_bar(x + wide * 0.45, y(bounds[0]), y(bounds[1]), min(5.0, wide / 4), inks.ink)
            elif len(figure.series) == 1 and not any(one.intervals):
                drawn.append(words(number(value, digits_for(figure)), x + wide * 0.45, ends[0] - 4, "middle"))
    return svg(height, drawn, figure.title, figure.note)


def _lying(figure: Figure, inks: Inks) -> Html:
    head, above = _fills(figure, inks)
    each = 16.0 if len(figure.series) > 1 else 22.0
    group = each * len(figure.series) + (8 if len(figure.series) > 1 else 0)
    floor = TOP + above + group * len(figure.labels)
    left, right, axis = _beside(figure), WIDTH - 70.0, upright(figure, 7)

    def x(value: float) -> float:
        return left + (right - left) * axis.share(value)

    drawn = [*head, *_upright_lines(axis, TOP + above, floor, x, inks), *feet(axis, x, floor, inks)]
    for index, name in enumerate(figure.labels):
        top = TOP + above + group * index
        drawn += _name(figure, index, name, left - 10, top + each * len(figure.series) / 2 + 4, inks)
        for place, one in enumerate(figure.series):
            value, bounds, y = one.ys[index], one.bounds[index], top + each * place
            if value is None:
                continue
            ends = sorted((x(0.0), x(value)))
            drawn.append(_box(ends[0], y + 1, ends[1] - ends[0], each - 3, inks.of(figure, one, place), place))
            middle = y + each / 2 - 0.5
            if bounds:
                drawn.append(line(x(bounds[0]), middle, x(bounds[1]), middle, inks.ink))
                drawn += [line(x(end), middle - 4, x(end), middle + 4, inks.ink) for end in bounds]
            drawn.append(words(number(value, digits_for(figure)), WIDTH - 8, middle + 4, "end"))
    return svg(floor + 30, drawn, figure.title, figure.note)


def _box(x: float, y: float, wide: float, high: float, ink: str, place: int) -> Html:
    """Full, then lighter within its edge: they differ in grey too."""
    opacity = (1.0, 0.45, 0.15)[place % 3]
    edge: dict[str, Content] = {"stroke": ink, "stroke_width": 1} if opacity < 1 else {}
    return element("rect", x=n(x), y=n(y), width=n(wide), height=n(high), fill=ink, fill_opacity=opacity, **edge)


def _fills(figure: Figure, inks: Inks) -> tuple[list[Html], float]:
    if len(figure.series) < 2:
        return [], 0.0
    return legend(
        [
            (one.name, partial(_swatch, ink=inks.of(figure, one, place), place=place))
            for place, one in enumerate(figure.series)
        ]
    )


def _swatch(x: float, y: float, ink: str, place: int) -> Html:
    return _box(x - 5, y - 5, 10, 10, ink, place)


# -- means ---------------------------------------------------------------------------------------------------


def means(figure: Figure, inks: Inks) -> Html:
    """One line for each name: its mean as a mark on its interval; with a line to hold them against, where there is one."""
    (series,) = figure.series
    rows = [
        (index, name, mean, bounds)
        for index, (name, mean, bounds) in enumerate(zip(figure.labels, series.ys, series.bounds, strict=True))
        if mean is not None
    ]
    floor = 26.0 * len(rows) + 8
    left, right, axis = _beside(figure), WIDTH - 70.0, of_means(figure, 7)

    def x(value: float) -> float:
        return left + (right - left) * axis.share(value)

    drawn = [*_upright_lines(axis, 4, floor, x, inks), *feet(axis, x, floor, inks)]
    if figure.reference is not None:
        at = x(figure.reference)
        drawn.append(line(at, 4, at, floor, inks.soft, 1.5, stroke_dasharray="5 4"))
    signed, digits = figure.reference is not None, max(1, digits_for(figure))
    for row, (index, name, mean, bounds) in enumerate(rows):
        y = 18.0 + 26 * row
        ink = inks.mark(figure.places[index]) if figure.places else inks.of(figure, series, 0)
        drawn += _name(figure, index, name, left - 10, y + 4, inks)
        if bounds:
            drawn.append(line(x(bounds[0]), y, x(bounds[1]), y, inks.ink))
            drawn += [line(x(end), y - 4, x(end), y + 4, inks.ink) for end in bounds]
        drawn.append(shape(figure.places[index] if figure.places else 0, x(mean), y, ink))
        drawn.append(words(number(mean, digits, signed=signed), WIDTH - 8, y + 4, "end"))
    if figure.xlabel:
        drawn.append(words(figure.xlabel, (left + right) / 2, floor + 38, "middle"))
    return svg(floor + (46 if figure.xlabel else 30), drawn, figure.title, figure.note)


def _beside(figure: Figure) -> float:
    """Room for the names."""
    longest = max((len(label) for label in figure.labels), default=0)
    return min(300.0, max(90.0, 34 + LETTER * longest))


def _name(figure: Figure, index: int, name: str, x: float, y: float, inks: Inks) -> list[Html]:
    told = words(short(name, 40), x, y, "end")
    if not figure.places:
        return [told]
    place = figure.places[index]
    return [told, shape(place, 12, y - 4, inks.mark(place), 4.5)]


def _label(figure: Figure, index: int, name: str, x: float, y: float, inks: Inks) -> list[Html]:
    if not figure.places:
        return [words(name, x, y, "middle")]
    place = figure.places[index]
    return [words(name, x + 7, y, "middle"), shape(place, x - 5 - LETTER * len(name) / 2, y - 4, inks.mark(place), 4.5)]


def _upright_lines(axis: Axis, top: float, floor: float, x: Place, inks: Inks) -> list[Html]:
    return [line(x(tick), top, x(tick), floor, inks.line, 1) for tick in axis.ticks]


# -- curves --------------------------------------------------------------------------------------------------


def curves(figure: Figure, inks: Inks) -> Html:
    """One line for each series on the band of its intervals, with a mark of its own along its way."""
    several = len(figure.series) > 1
    paints = [inks.of(figure, one, place) for place, one in enumerate(figure.series)]
    entries = [(one.name, partial(_marked, place, paints[place])) for place, one in enumerate(figure.series)]
    head, above = legend(entries) if several else ([], 0.0)
    height = 270 + above
    top, floor = TOP + above, height - BOTTOM
    up, across = upright(figure, 6), along(figure, 8)

    def x(value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * across.share(value)

    def y(value: float) -> float:
        return floor - (floor - top) * up.share(value)

    drawn = [*head, *grid(up, y, inks), *feet(across, x, floor, inks), *names_of_axes(figure, height, top, floor)]
    for ink, series in zip(paints, figure.series, strict=True):
        for stretch in stretches(series):
            drawn += _band([(x(at), y(low), y(high)) for at, low, high in stretch], ink, inks)
    for place, (ink, series) in enumerate(zip(paints, figure.series, strict=True)):
        points = [(x(at), y(value)) for at, value in thinned(known_points(series), MOST_POINTS)]
        told = " ".join(f"{n(a)},{n(b)}" for a, b in points)
        drawn.append(element("polyline", points=told, fill="none", stroke=ink, stroke_width=2))
        if several or len(points) == 1:
            drawn += _along(points, place, len(figure.series), ink)
    return svg(height, drawn, figure.title, figure.note)


def _marked(place: int, ink: str, x: float, y: float) -> Html:
    return shape(place, x, y, ink)


def _along(points: Sequence[tuple[float, float]], place: int, curves: int, ink: str) -> list[Html]:
    """Some way apart, and elsewhere for each curve."""
    drawn: list[Html] = []
    wanted = LEFT + BETWEEN_MARKS * place / curves
    for x, y in points:
        if x >= wanted or (x, y) == points[-1]:
            drawn.append(shape(place, x, y, ink, 4))
            wanted = x + BETWEEN_MARKS
    return drawn


def _band(points: Sequence[tuple[float, float, float]], ink: str, inks: Inks) -> list[Html]:
    if len(points) == 1:
        return upright_bar(*points[0], 4.0, inks.ink)
    edge = [(x, low) for x, low, _ in points] + [(x, high) for x, _, high in reversed(points)]
    corners = " ".join(f"{n(x)},{n(y)}" for x, y in edge)
    return [element("polygon", points=corners, fill=ink, fill_opacity=0.2)]


# -- points --------------------------------------------------------------------------------------------------


def named_points(figure: Figure, inks: Inks) -> Html:
    """Each on the cross of its intervals and with its name, which stands in a legend where one would cover another; where both
    axes are one scale, with the line on which both are equal."""
    across, up = plane(figure, 7, 7)
    points = [(place, one, at) for place, one in enumerate(figure.series) for at in known_points(one)[:1]]

    def x(value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * across.share(value)

    def places(floor: float, top: float) -> list[tuple[float, float]]:
        return [(x(a), floor - (floor - top) * up.share(b)) for _, _, (a, b) in points]

    crowded = _crowded(places(420.0 - BOTTOM, TOP), [one.name for _, one, _ in points])
    entries = [
        (one.name, partial(_marked, _place(one, place), inks.of(figure, one, place))) for place, one, _ in points
    ]
    head, above = legend(entries) if crowded else ([], 0.0)
    size, top = 420 + above, TOP + above
    floor = size - BOTTOM

    def y(value: float) -> float:
        return floor - (floor - top) * up.share(value)

    drawn = [*head, *grid(up, y, inks), *feet(across, x, floor, inks), *names_of_axes(figure, size, top, floor)]
    if figure.square:
        low, high = figure.square
        drawn.append(line(x(low), y(low), x(high), y(high), inks.soft, 1.5, stroke_dasharray="6 5"))
    for place, one, (a, b) in points:
        ink = inks.of(figure, one, place)
        drawn += [line(x(ends[0]), y(b), x(ends[1]), y(b), ink) for ends in filter(None, one.across[:1])]
        drawn += [line(x(a), y(ends[0]), x(a), y(ends[1]), ink) for ends in filter(None, one.intervals[:1])]
    for (place, one, _), (a, b) in zip(points, places(floor, top), strict=True):
        drawn.append(shape(_place(one, place), a, b, inks.of(figure, one, place)))
        if not crowded:
            drawn.append(words(short(one.name, 40), a + 9 * _side(a), b - 7, "start" if _side(a) > 0 else "end"))
    return svg(size, drawn, figure.title, figure.note)


def _side(x: float) -> int:
    """Of a point, where its name goes: 1 to the right."""
    return -1 if x > 0.85 * WIDTH else 1


def _crowded(places: Sequence[tuple[float, float]], names: Sequence[str]) -> bool:
    """Whether a name would cover another, or a point."""
    boxes = []
    for (x, y), name in zip(places, names, strict=True):
        start, end = sorted((x + 9 * _side(x), x + _side(x) * (9 + LETTER * min(40, len(name)))))
        boxes.append((start, end, y - 12))
    others = [*boxes, *((x - 5, x + 5, y) for x, y in places)]
    return any(
        one != other and one[0] < other[1] and other[0] < one[1] and abs(one[2] - other[2]) < 11
        for one in boxes
        for other in others
    )


def _place(series: Series, place: int) -> int:
    return place if series.place is None else series.place


# -- heat maps -----------------------------------------------------------------------------------------------

PALE, DEEP = (244, 247, 250), (16, 78, 139)


def heat_map(heat: Heat, inks: Inks) -> Html:
    """Each share as a number on a ground that deepens with it; below it the scale, which is the same for all maps."""
    left = min(200.0, 34 + LETTER * max((len(name) for name in heat.rows), default=4))
    wide = min(84.0, (WIDTH - left - RIGHT) / max(1, len(heat.columns)))
    high, top = 30.0, 26.0
    drawn: list[Html] = []
    for column, name in enumerate(heat.columns):
        drawn.append(words(short(name, max(3, int(wide / LETTER))), left + wide * (column + 0.5), 16, "middle"))
    for row, (name, values) in enumerate(zip(heat.rows, heat.values, strict=True)):
        y = top + high * row
        drawn.append(words(short(name, 26), left - 10, y + 19, "end"))
        if heat.places:
            drawn.append(shape(heat.places[row], 12, y + 15, inks.mark(heat.places[row]), 4.5))
        for column, share in enumerate(values):
            drawn += _cell(left + wide * column, y, wide, high, share)
    foot = top + high * len(heat.rows) + 14
    for part in range(21):
        drawn.append(element("rect", x=n(left + 6 * part), y=n(foot), width=6.5, height=10, fill=_ground(5.0 * part)))
    drawn += [words("0 %", left - 10, foot + 9, "end"), words("100 %", left + 134, foot + 9)]
    if any(share is None for values in heat.values for share in values):
        drawn.append(words("– not known", left + 190, foot + 9, ink=inks.soft))
    return svg(foot + 18, drawn, heat.title)


def _cell(x: float, y: float, wide: float, high: float, share: float | None) -> list[Html]:
    if share is None:
        return [words("–", x + wide / 2, y + 19, "middle")]
    ink = "#ffffff" if share > 45 else "#1c2530"
    box = element("rect", x=n(x + 1), y=n(y + 1), width=n(wide - 2), height=n(high - 2), fill=_ground(share))
    return [box, words(f"{share:.0f} %", x + wide / 2, y + 19, "middle", style=f"fill: {ink}")]


def _ground(share: float) -> str:
    part = min(100.0, max(0.0, share)) / 100
    return "#" + "".join(f"{round(a + (b - a) * part):02x}" for a, b in zip(PALE, DEEP, strict=True))
