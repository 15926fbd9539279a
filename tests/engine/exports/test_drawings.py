"""Drawings of a page: intervals on bars, on means and along curves; marks of their own."""

import re

from tidepool.engine.exports.html_report import render_blocks
from tidepool.engine.reports.blocks import Figure, Series, line


def svg(figure: Figure) -> str:
    (section,) = render_blocks([figure])
    return section


def test_a_curve_lies_in_a_band_where_it_is_known_and_a_gap_parts_it() -> None:
    bounds = [(0.5, 1.5), (1.0, 2.0), None, (2.0, 6.0)]
    page = svg(Figure("lines", "curve", (line("mean", range(4), [1.0, 1.5, 2.0, 3.0], "", bounds),)))
    assert page.count("<polygon") == 1 and page.count("var(--ink)") == 3, "one point alone has an error bar"
    assert ">6<" in page, "the axis holds the band"


def test_axes_have_their_names_and_differences_their_line() -> None:
    curve = svg(Figure("lines", "curve", (line("", range(3), [1.0, 2.0, 3.0]),), xlabel="steps", ylabel="reward"))
    assert re.search(r'rotate\(-90 [^>]*">reward<', curve) and ">steps<" in curve
    means = Figure("means", "", (Series("", (3.0,), intervals=((1.0, 5.0),)),), labels=("a",), reference=0.0)
    assert "stroke-dasharray" in svg(means) and ">+3.0<" in svg(means) and ">0<" in svg(means)
