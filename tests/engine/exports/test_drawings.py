"""Intervals in SVG: on bars, around points, along curves; none where there is none."""

import re

from tidepool.engine.exports.html_blocks import drawn
from tidepool.engine.results.blocks import Figure, Series, line


def svg(figure: Figure) -> str:
    (section,) = drawn([figure])
    return section


def test_a_bar_carries_its_interval_with_its_ends() -> None:
    series = Series("rate", (40.0, 60.0), intervals=((30.0, 50.0), None))
    page = svg(Figure("bars", "rates", (series,), labels=("a", "b")))
    assert page.count("var(--ink)") == 3 and "where there is more than one independent observation" in page


def test_a_point_stands_on_a_cross() -> None:
    series = Series("Ada", (50.0,), (40.0,), intervals=((30.0, 70.0),), across=((20.0, 60.0),))
    page = svg(Figure("points", "both", (series,), square=(0.0, 100.0)))
    lines = [re.findall(r'"([0-9.]+)"', one) for one in re.findall(r"<line ([^>]*var\(--soft\)[^>]*)>", page)]
    (across, upright) = [[float(number) for number in one[:4]] for one in lines]
    assert across[1] == across[3] and across[0] < upright[0] < across[2]
    assert upright[0] == upright[2] and upright[3] < across[1] < upright[1]


def test_a_curve_lies_in_a_band_where_it_is_known_and_a_gap_parts_it() -> None:
    bounds = [(0.5, 1.5), (1.0, 2.0), None, (2.0, 6.0)]
    page = svg(Figure("lines", "curve", (line("mean", range(4), [1.0, 1.5, 2.0, 3.0], "", bounds),)))
    assert page.count("<polygon") == 1 and page.count("var(--ink)") == 3, "one point alone has an error bar"
    assert ">6<" in page, "the axis holds the band"


def test_without_intervals_nothing_is_said_of_them() -> None:
    page = svg(Figure("lines", "curve", (line("mean", range(3), [1.0, 2.0, 3.0]),)))
    assert "<polygon" not in page and "interval" not in page
