"""Plots as inline SVG: bars with intervals, named points, means with intervals, and a heat map as a table."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle

from tidepool.engine.exports.html import Content, Html, element, joined, table, text
from tidepool.engine.results.blocks import Figure, Heat, Series
from tidepool.engine.results.wording import round_top

Interval = Sequence[float] | None
Y = Callable[[float], float]

WIDTH = 720
LEFT, RIGHT, TOP, BOTTOM = 50, 20, 14, 46
_TICKS = (0, 25, 50, 75, 100)
INKS = ("var(--first)", "var(--second)", "#7a9e5a", "#a06aa8", "#b05a4a", "#5aa0a0")


@dataclass(frozen=True, slots=True)
class Bar:
    value: float
    interval: Interval = None


def grouped_bars(groups: Sequence[str], series: Mapping[str, Sequence[Bar | None]]) -> Html:
    """One group of bars for each name, from 0 to the highest bar or interval, each with its interval."""
    height = 260
    most = round_top([max((bar.value, *(bar.interval or ()))) for bars in series.values() for bar in bars if bar])
    step = (WIDTH - LEFT - RIGHT) / max(1, len(groups))
    wide = step * 0.7 / max(1, len(series))

    def y(value: float) -> float:
        return TOP + (height - TOP - BOTTOM) * (1 - min(value, most) / most)

    drawn: list[Html] = [*_grid(most, y), *_legend(list(series))]
    for index, name in enumerate(groups):
        start = LEFT + step * (index + 0.15)
        drawn.append(_label(name, LEFT + step * (index + 0.5), height - BOTTOM + 18, len(groups)))
        for place, (ink, values) in enumerate(zip(cycle(INKS), series.values(), strict=False)):
            if (bar := values[index]) is not None:
                drawn += _bar(bar, start + place * wide, wide * 0.9, y, height - BOTTOM, ink)
    return _svg(height, drawn)


def _bar(bar: Bar, x: float, wide: float, y: Y, floor: float, ink: str) -> list[Html]:
    top = y(bar.value)
    drawn = [element("rect", x=_n(x), y=_n(top), width=_n(wide), height=_n(floor - top), fill=ink)]
    if bar.interval is not None:
        drawn += _upright(x + wide / 2, y(bar.interval[0]), y(bar.interval[1]), min(5.0, wide / 3))
    return drawn


def _upright(x: float, low: float, high: float, wide: float) -> list[Html]:
    """An error bar with its ends."""
    ends = [_line(_n(x - wide), _n(end), _n(x + wide), _n(end)) for end in (low, high)]
    return [_line(_n(x), _n(low), _n(x), _n(high)), *ends]


def named_points(figure: Figure) -> Html:
    """Points from 0 on, each on the cross of its intervals and with its name; where both axes are one scale, with the line on
    which both are equal."""
    size, series = 420, figure.series
    wide = (
        figure.square[1] if figure.square else round_top([end for one in series for end in _ends(one.xs, one.across)])
    )
    high = (
        figure.square[1]
        if figure.square
        else round_top([end for one in series for end in _ends(one.ys, one.intervals)])
    )

    def x(value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * value / wide

    def y(value: float) -> float:
        return TOP + (size - TOP - BOTTOM) * (1 - value / high)

    equal: dict[str, Content] = {"stroke": "var(--line)", "stroke_width": 1.5, "stroke_dasharray": "6 5"}
    drawn: list[Html] = list(_grid(high, y))
    if figure.square:
        drawn.append(element("line", x1=_n(x(0)), y1=_n(y(0)), x2=_n(x(wide)), y2=_n(y(high)), **equal))
    for tick in _TICKS:
        at = wide * tick / 100
        drawn.append(element("text", f"{at:g}", x=_n(x(at)), y=size - BOTTOM + 16, text_anchor="middle"))
    drawn.append(element("text", figure.xlabel, x=WIDTH / 2, y=size - 8, text_anchor="middle"))
    drawn.append(element("text", figure.ylabel, x=LEFT + 6, y=TOP + 10))
    points = [(one, one.xs[0], one.ys[0]) for one in series if one.ys[0] is not None]
    for one, across, up in points:
        for bounds in filter(None, one.across):
            drawn.append(_line(_n(x(bounds[0])), _n(y(up)), _n(x(bounds[1])), _n(y(up)), "var(--soft)"))
        for bounds in filter(None, one.intervals):
            drawn.append(_line(_n(x(across)), _n(y(bounds[0])), _n(x(across)), _n(y(bounds[1])), "var(--soft)"))
    for one, across, up in points:
        right = across > 0.8 * wide
        drawn.append(element("circle", cx=_n(x(across)), cy=_n(y(up)), r=5, fill=INKS[0]))
        drawn.append(
            element(
                "text",
                one.name,
                x=_n(x(across) + (-9 if right else 9)),
                y=_n(y(up) - 6),
                text_anchor="end" if right else "start",
            )
        )
    return _svg(size, drawn)


def _ends(values: Sequence[float | None], bounds: Sequence[Interval | None]) -> list[float]:
    return [value for value in values if value is not None] + [end for pair in bounds if pair for end in pair]


def curves(figure: Figure) -> Html:
    """One line for each series on the band of its intervals, from 0 or the lowest value to the highest."""
    height = 260
    ys = [y for series in figure.series for y in series.ys if y is not None]
    ys += [bound for series in figure.series for bounds in filter(None, series.intervals) for bound in bounds]
    xs = [x for series in figure.series for x in series.xs] or [0.0]
    floor, most = min((0.0, *ys)), round_top(ys)
    first, last = min(xs), max(xs)

    def x(value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (value - first) / ((last - first) or 1.0)

    def y(value: float) -> float:
        return TOP + (height - TOP - BOTTOM) * (1 - (value - floor) / (most - floor))

    drawn: list[Html] = [*_grid(most, y), *_legend([series.name for series in figure.series if series.name])]
    for ink, series in zip(cycle(INKS), figure.series, strict=False):
        known = [(at, value) for at, value in zip(series.xs, series.ys, strict=True) if value is not None]
        for stretch in _stretches(series):
            drawn += _band([(x(at), y(low), y(high)) for at, low, high in stretch], ink)
        points = " ".join(f"{_n(x(at))},{_n(y(value))}" for at, value in known)
        drawn.append(element("polyline", points=points, fill="none", stroke=ink, stroke_width=2))
    for at in dict.fromkeys((first, last)):
        drawn.append(element("text", f"{at:g}", x=_n(x(at)), y=height - BOTTOM + 18, text_anchor="middle"))
    drawn.append(element("text", figure.xlabel, x=WIDTH / 2, y=height - 8, text_anchor="middle"))
    return _svg(height, drawn)


def _stretches(series: Series) -> Iterator[list[tuple[float, float, float]]]:
    """The parts of a curve that have intervals: (x, low, high) of their points."""
    stretch: list[tuple[float, float, float]] = []
    for at, bounds in zip(series.xs, series.bounds, strict=True):
        if bounds is not None:
            stretch.append((at, *bounds))
        elif stretch:
            yield stretch
            stretch = []
    if stretch:
        yield stretch


def _band(points: Sequence[tuple[float, float, float]], ink: str) -> list[Html]:
    if len(points) == 1:
        return _upright(*points[0], 4.0)
    edge = [(x, low) for x, low, _ in points] + [(x, high) for x, _, high in reversed(points)]
    corners = " ".join(f"{_n(x)},{_n(y)}" for x, y in edge)
    return [element("polygon", points=corners, fill=ink, fill_opacity=0.2)]


def means_with_intervals(rows: Sequence[tuple[str, float, Interval]]) -> Html:
    """One line for each name: its mean as a dot on its interval."""
    bounds = [bound for _, value, interval in rows for bound in (value, *(interval or ()))]
    low, high = min(bounds, default=0.0), max(bounds, default=1.0)
    span = (high - low) or 1.0
    left, height = 200, 26 * len(rows) + 40

    def x(value: float) -> float:
        return left + (WIDTH - left - 70) * (value - low) / span

    drawn: list[Html] = []
    for index, (name, value, interval) in enumerate(rows):
        y = 18 + 26 * index
        drawn.append(element("text", _short(name, 24), x=left - 12, y=y + 4, text_anchor="end"))
        if interval is not None:
            drawn.append(_line(_n(x(interval[0])), y, _n(x(interval[1])), y))
        drawn.append(element("circle", cx=_n(x(value)), cy=y, r=5, fill=INKS[0]))
        drawn.append(element("text", f"{value:.2f}", x=WIDTH - 8, y=y + 4, text_anchor="end"))
    for value in dict.fromkeys((low, high)):
        drawn.append(element("text", f"{value:.2f}", x=_n(x(value)), y=height - 8, text_anchor="middle"))
    return _svg(height, drawn)


def heat_table(heat: Heat) -> Html:
    rows: list[list[Content]] = [
        [name, *map(_heat_cell, values)] for name, values in zip(heat.rows, heat.values, strict=True)
    ]
    return table(["", *heat.columns], rows)


def _heat_cell(share: float | None) -> Html:
    if share is None:
        return Html('<td class="heat">–</td>')
    return element(
        "td",
        f"{share:.0f} %",
        class_="heat",
        style=f"background: hsl(32 75% {96 - 0.38 * share:.0f}%)",
    )


def _grid(most: float, y: Y) -> Iterator[Html]:
    for tick in _TICKS:
        value = most * tick / 100
        yield element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=_n(y(value)), y2=_n(y(value)), stroke="var(--line)")
        yield element("text", f"{value:g}", x=LEFT - 8, y=_n(y(value) + 4), text_anchor="end")


def _legend(names: Sequence[str]) -> Iterator[Html]:
    x = LEFT + 4
    for ink, name in zip(cycle(INKS), names, strict=False):
        yield element("rect", x=x, y=0, width=10, height=10, fill=ink)
        yield element("text", name, x=x + 15, y=9)
        x += 40 + 7 * len(name)


def _label(name: str, x: float, y: float, groups: int) -> Html:
    return element("text", _short(name, max(4, 90 // max(1, groups))), x=_n(x), y=y, text_anchor="middle")


def _line(x1: Content, y1: Content, x2: Content, y2: Content, ink: str = "var(--ink)") -> Html:
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=ink, stroke_width=1.5)


def _svg(height: float, drawn: Sequence[Html]) -> Html:
    return element("svg", joined(drawn), viewBox=f"0 0 {WIDTH} {height}", width=WIDTH, height=height, role="img")


def _short(name: str, width: int) -> str:
    return name if len(name) <= width else name[: width - 1] + "…"


def _n(value: float) -> Html:
    return text(f"{value:.1f}")
