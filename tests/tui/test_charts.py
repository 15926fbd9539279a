"""Plots in characters: readable without colours, every point with its name where there is room."""

import re

import pytest

from tidepool.engine.results.blocks import Figure, Series
from tidepool.tui.drawing.figures import draw, label_sides

SERIES = (Series("first", (1.0, 2.0), (1.0, 2.0)), Series("second", (2.0, 1.0), (1.0, 2.0)))


def drawn(figure: Figure) -> str:
    return "\n".join("".join(run for run, _ in row) for row in draw(figure, 76, 16, {}, plain=True))


@pytest.mark.parametrize("form", ["bars", "lines"])
def test_series_are_told_apart_without_colours(form: str) -> None:
    plot = drawn(Figure(form, "title", SERIES, labels=("a", "b")))  # type: ignore[arg-type]
    legend = {line.split()[1] for line in plot.splitlines() if "first" in line or "second" in line}
    assert len(legend) == 2 and "\x1b" not in plot


def test_means_stand_on_their_intervals_and_an_unknown_one_is_left_out() -> None:
    series = Series("mean", (1.0, None, 3.0), intervals=((0.0, 2.0), None, (2.0, 4.0)))
    title, ada, cleo, axis, note = drawn(
        Figure("means", "score", (series,), labels=("Ada", "Bob", "Cleo"))
    ).splitlines()
    assert title.strip() == "score" and ada.startswith("Ada  ──") and cleo.split()[-1] == "3.00"
    assert ada.index("●") < cleo.index("●") and axis.split() == ["0.00", "4.00"] and note == "With 95 % intervals."


def test_intervals_are_drawn_on_bars_around_points_and_along_lines() -> None:
    known = Series("first", (2.0, 1.0), (1.0, 2.0), intervals=((1.5, 3.0), None))
    bars = drawn(Figure("bars", "", (known, SERIES[1]), labels=("a", "b")))
    assert bars.count("┬") - bars.count("┴") == 2, "two ticks of the axis, and one error bar in view"
    assert "where there is more than one independent observation" in bars
    point = Series("Ada", (50.0,), (40.0,), intervals=((30.0, 70.0),), across=((20.0, 60.0),))
    cross = drawn(Figure("points", "", (point,), square=(0.0, 100.0)))
    assert re.search("────+●─Ada─+", cross) and sum(line.count("│") for line in cross.splitlines()) > 11
    band = Series("mean", (1.0, 2.0), (1.0, 2.0), intervals=((0.5, 1.5), (1.0, 3.0)))
    assert drawn(Figure("lines", "", (band,))).count("·") > 60 and "·" not in drawn(Figure("lines", "", SERIES))


def test_a_note_gives_way_where_a_figure_has_little_room() -> None:
    figure = Figure("lines", "title", SERIES, caption="a note of some words that goes on " * 6)
    rows = ["".join(run for run, _ in row) for row in draw(figure, 40, 8, {})]
    assert len(rows) <= 8 and not any("a note" in row for row in rows)
    rows = ["".join(run for run, _ in row) for row in draw(figure, 40, 16, {})]
    assert len(rows) <= 16 and rows[-1].endswith("goes on") and "a note" in rows[-6]


def test_points_that_would_cover_each_other_are_named_in_a_legend() -> None:
    apart, close = (
        Figure("points", "", tuple(Series(name, (x,), (x,)) for name, x in points.items()), square=(0.0, 100.0))
        for points in ({"Ada": 20.0, "Bob": 80.0}, dict.fromkeys(("Ada", "Bob", "Cleo"), 50.0))
    )
    assert re.search("●.Ada", drawn(apart)) and "●" not in drawn(close)
    assert all(legend in drawn(close) for legend in ("aa Ada", "bb Bob", "cc Cleo"))


@pytest.mark.parametrize(
    ("cells", "sides"),
    [
        ({"Ada": (8, 8)}, {"Ada": 1}),
        ({"Ada": (70, 8)}, {"Ada": -1}),
        ({"Cleo": (32, 9.6), "Dion": (42, 8.4), "Bob": (58, 10)}, {"Cleo": 1, "Dion": 1, "Bob": -1}),
        ({"Ada": (3, 8), "Bob": (7, 8), "Cleo": (11, 8)}, {"Ada": 0, "Bob": 0, "Cleo": 1}),
        ({"Ada": (5, 8), "Bob": (9, 3)}, {"Ada": 1, "Bob": 1}),
    ],
)
def test_a_point_is_named_on_a_side_where_nothing_is_covered(
    cells: dict[str, tuple[int, float]], sides: dict[str, int]
) -> None:
    assert label_sides(cells, 76) == sides
