"""Plots of the terminal report: readable without colours, every point with its name where there is room."""

import pytest

from tidepool.tui.drawing.charts import bars, label_sides, lines


@pytest.mark.parametrize("draw", [bars, lines])
def test_series_are_told_apart_without_colours(draw: object) -> None:
    xs = ["a", "b"] if draw is bars else [1, 2]
    plot = draw("title", xs, {"first": [1, 2], "second": [2, 1]}, colour=False)  # type: ignore[operator]
    legend = {line.split()[1] for line in plot.splitlines() if "first" in line or "second" in line}
    assert len(legend) == 2 and "\x1b" not in plot


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
