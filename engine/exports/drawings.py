"""Plots as inline SVG: bars with intervals, named points, means with intervals, and a heat map as a table."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tidepool.engine.exports.html import Content, Html, element, joined, table, text

Interval = Sequence[float] | None
Shares = Mapping[tuple[str, str], float | None]
Y = Callable[[float], float]

WIDTH = 720
LEFT, RIGHT, TOP, BOTTOM = 50, 20, 14, 46
_TICKS = (0, 25, 50, 75, 100)
INKS = ("var(--first)", "var(--second)", "#7a9e5a", "#a06aa8", "#b05a4a", "#5aa0a0")


@dataclass(frozen=True, slots=True)
class Bar:
    value: float
    interval: Interval = None


def grouped_bars(groups: Sequence[str], series: Mapping[str, Sequence[Bar | None]], *, most: float = 100.0) -> Html:
    """One group of bars for each name, from 0 to `most`, each with its interval."""
    height = 260
    step = (WIDTH - LEFT - RIGHT) / max(1, len(groups))
    wide = step * 0.7 / max(1, len(series))

    def y(value: float) -> float:
        return TOP + (height - TOP - BOTTOM) * (1 - min(value, most) / most)

    drawn: list[Html] = [*_grid(most, y), *_legend(list(series))]
    for index, name in enumerate(groups):
        start = LEFT + step * (index + 0.15)
        drawn.append(_label(name, LEFT + step * (index + 0.5), height - BOTTOM + 18, len(groups)))
        for place, (ink, values) in enumerate(zip(INKS, series.values(), strict=False)):
            if (bar := values[index]) is not None:
                drawn += _bar(bar, start + place * wide, wide * 0.9, y, height - BOTTOM, ink)
    return _svg(height, drawn)


def _bar(bar: Bar, x: float, wide: float, y: Y, floor: float, ink: str) -> list[Html]:
    top = y(bar.value)
    drawn = [element("rect", x=_n(x), y=_n(top), width=_n(wide), height=_n(floor - top), fill=ink)]
    if bar.interval is not None:
        middle = _n(x + wide / 2)
        drawn.append(_line(middle, _n(y(bar.interval[0])), middle, _n(y(bar.interval[1]))))
    return drawn


def named_points(points: Mapping[str, tuple[float, float]], xlabel: str, ylabel: str) -> Html:
    """Points between 0 and 100 on both axes, each with its name."""
    size = 420

    def x(value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * value / 100

    def y(value: float) -> float:
        return TOP + (size - TOP - BOTTOM) * (1 - value / 100)

    drawn: list[Html] = list(_grid(100, y))
    drawn += [element("text", f"{tick}", x=_n(x(tick)), y=size - BOTTOM + 16, text_anchor="middle") for tick in _TICKS]
    drawn.append(element("text", xlabel, x=WIDTH / 2, y=size - 8, text_anchor="middle"))
    drawn.append(element("text", ylabel, x=LEFT + 6, y=TOP + 10))
    for name, (across, up) in points.items():
        right = across > 80
        drawn.append(element("circle", cx=_n(x(across)), cy=_n(y(up)), r=5, fill=INKS[0]))
        drawn.append(
            element(
                "text",
                name,
                x=_n(x(across) + (-9 if right else 9)),
                y=_n(y(up) + 4),
                text_anchor="end" if right else "start",
            )
        )
    return _svg(size, drawn)


def curves(series: Mapping[str, Sequence[float]]) -> Html:
    """One line for each name, over the places of its values, from 0 to 1 or to the largest of them."""
    height, most = 260, max((1.0, *(value for values in series.values() for value in values)))
    last = max(1, *(len(values) - 1 for values in series.values()))

    def x(place: int) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * place / last

    def y(value: float) -> float:
        return TOP + (height - TOP - BOTTOM) * (1 - max(0.0, value) / most)

    drawn: list[Html] = [*_grid(most, y), *_legend(list(series))]
    for ink, values in zip(INKS, series.values(), strict=False):
        points = " ".join(f"{_n(x(place))},{_n(y(value))}" for place, value in enumerate(values))
        drawn.append(element("polyline", points=points, fill="none", stroke=ink, stroke_width=2))
    for place in dict.fromkeys((0, last)):
        drawn.append(element("text", str(place), x=_n(x(place)), y=height - BOTTOM + 18, text_anchor="middle"))
    return _svg(height, drawn)


def means_with_intervals(rows: Sequence[tuple[str, float, Interval]]) -> Html:
    """One line for each name: its mean as a dot on its interval."""
    bounds = [bound for _, value, interval in rows for bound in (value, *(interval or ()))]
    low, high = min(bounds, default=0.0), max(bounds, default=1.0)
    span = (high - low) or 1.0
    left, height = 170, 26 * len(rows) + 40

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


def heat_table(names: Sequence[str], share: Shares) -> Html:
    rows: list[list[Content]] = []
    for row in names:
        rows.append([row, *(_heat_cell(share.get((row, column))) for column in names)])
    return table(["", *names], rows)


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
    for ink, name in zip(INKS, names, strict=False):
        yield element("rect", x=x, y=0, width=10, height=10, fill=ink)
        yield element("text", name, x=x + 15, y=9)
        x += 40 + 7 * len(name)


def _label(name: str, x: float, y: float, groups: int) -> Html:
    return element("text", _short(name, max(4, 90 // max(1, groups))), x=_n(x), y=y, text_anchor="middle")


def _line(x1: Content, y1: Content, x2: Content, y2: Content) -> Html:
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke="var(--ink)", stroke_width=1.5)


def _svg(height: float, drawn: Sequence[Html]) -> Html:
    return element("svg", joined(drawn), viewBox=f"0 0 {WIDTH} {height}", width=WIDTH, height=height, role="img")


def _short(name: str, width: int) -> str:
    return name if len(name) <= width else name[: width - 1] + "…"


def _n(value: float) -> Html:
    return text(f"{value:.1f}")
