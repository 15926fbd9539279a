"""Drawings of a page: intervals on bars, around points, along curves; marks of their own."""

import re

from tidepool.engine.exports.html_report import render_blocks
from tidepool.engine.reports.blocks import Figure, Series, line


def svg(figure: Figure) -> str:
    (section,) = render_blocks([figure])
    return section


def test_a_point_stands_on_a_cross_in_the_colour_of_its_mark() -> None:
    series = Series("Ada", (50.0,), (40.0,), intervals=((30.0, 70.0),), across=((20.0, 60.0),), place=3)
    page = svg(Figure("points", "both", (series,), square=(0.0, 100.0)))
    lines = [re.findall(r'"([0-9.]+)"', one) for one in re.findall(r"<line ([^>]*var\(--mark-3\)[^>]*)>", page)]
    (across, upright) = [[float(number) for number in one[:4]] for one in lines]
    assert across[1] == across[3] and across[0] < upright[0] < across[2]
    assert upright[0] == upright[2] and upright[3] < across[1] < upright[1]


def test_a_curve_lies_in_a_band_where_it_is_known_and_a_gap_parts_it() -> None:
    bounds = [(0.5, 1.5), (1.0, 2.0), None, (2.0, 6.0)]
    page = svg(Figure("lines", "curve", (line("mean", range(4), [1.0, 1.5, 2.0, 3.0], "", bounds),)))
    assert page.count("<polygon") == 1 and page.count("var(--ink)") == 3, "one point alone has an error bar"
    assert ">6<" in page, "the axis holds the band"


def test_axes_have_their_names_and_differences_their_line() -> None:
    curve = svg(Figure("lines", "curve", (line("", range(3), [1.0, 2.0, 3.0]),), xlabel="steps", ylabel="reward"))
    assert re.search(r'rotate\(-90 [^>]*">reward<', curve) and ">steps<" in curve
    means = Figure("means", "", (Series("", (3.0,), intervals=((1.0, 5.0),)),), labels=("a",), reference=0.0)
    assert "stroke-dasharray" in svg(means) and ">+3.00<" in svg(means) and ">0<" in svg(means)
