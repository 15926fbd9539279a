"""Plots in characters: readable without colours, from round number to round number, every bar and point with its name."""

import re
from random import Random
from xml.etree import ElementTree

import pytest
from rich.cells import cell_len

from tidepool.engine.reports.blocks import Figure, Series
from tidepool.engine.reports.svg import drawing
from tidepool.tui.drawing.figures import draw, preferred_height

SERIES = (Series("first", (1.0, 2.0), (1.0, 2.0)), Series("second", (2.0, 1.0), (1.0, 2.0)))


def drawn(figure: Figure, width: int = 76, height: int = 16) -> str:
    return "\n".join("".join(run for run, _ in row) for row in draw(figure, width, height, {}, plain=True))


@pytest.mark.parametrize(("form", "glyphs"), [("bars", "█▒"), ("lines", "●■")])
def test_series_are_told_apart_without_colours(form: str, glyphs: str) -> None:
    plot = drawn(Figure(form, "title", SERIES, labels=("a", "b"))).splitlines()  # type: ignore[arg-type]
    assert plot[1] == f"{glyphs[0]} first   {glyphs[1]} second", "the legend covers nothing"
    assert all(sum(row.count(glyph) for row in plot[2:]) > 0 for glyph in glyphs)


def test_bars_lie_from_zero_between_their_whole_name_and_their_value() -> None:
    names = tuple(f"operator_number_{place}" for place in range(9))
    figure = Figure("bars", "uses", (Series("", (0.0, *(100.0 + 9 * place for place in range(1, 9)))),), labels=names)
    rows = drawn(figure, 80, preferred_height(figure, 80)).splitlines()
    assert rows[1] == f"{names[0]} │{' ' * 59} 0", "a bar of nothing is none"
    assert all(
        re.match(rf"{name} │█+ +{100 + 9 * place}$", rows[1 + place]) for place, name in enumerate(names) if place
    )
    assert rows[-1].split() == ["0", "50", "100", "150", "200"]
    assert "… and 4 more" in drawn(figure, 76, 9)
    rows = drawn(Figure("bars", "", (Series("", (2.0, -0.1)),), labels=("up", "down")), 40, 12).splitlines()
    assert rows[1].index("█") == rows[2].rindex("█"), "one below zero lies to its left"


def test_means_stand_on_their_intervals_and_an_unknown_one_is_left_out() -> None:
    series = Series("mean", (1.0, None, 3.0), intervals=((0.0, 2.0), None, (2.0, 4.0)))
    figure = Figure("means", "score", (series,), labels=("Ada", "Bob", "Cleo"), xlabel="points")
    title, ada, cleo, axis, ticks, name, note = drawn(figure).splitlines()
    assert title.strip() == "score" and ada.startswith("Ada  │──") and cleo.split()[-1] == "3.0"
    assert ada.index("●") < cleo.index("●") and axis.count("┬") == 5 and note == "With 95 % intervals."
    assert ticks.split() == ["0", "1", "2", "3", "4"] and name.strip() == "points"


def test_differences_are_held_against_none() -> None:
    series = Series("", (3.0, 4.0, 1.0), intervals=((1.0, 5.0), (2.0, 6.0), (-2.0, 4.0)))
    rows = drawn(Figure("means", "", (series,), labels=("a", "b", "c"), reference=0.0)).splitlines()
    zero = rows[5].index("0")
    assert [row[zero] for row in rows[1:5]] == ["┊", "┊", "┼", "┬"]
    assert rows[1].endswith("+3.0")


def test_intervals_are_drawn_on_bars_and_along_lines() -> None:
    known = Series("first", (2.0, 1.0), (1.0, 2.0), intervals=((1.5, 3.0), None))
    bars = drawn(Figure("bars", "", (known, SERIES[1]), labels=("a", "b")))
    assert re.search(r"^a │█+├─+┤ +2.0$", bars, re.M) and bars.count("├") == 1
    assert "where there is more than one independent observation" in bars
    band = Series("mean", (1.0, 2.0), (1.0, 2.0), intervals=((0.5, 1.5), (1.0, 3.0)))
    rows = drawn(Figure("lines", "", (band,))).splitlines()
    columns = list(zip(*(row.ljust(76) for row in rows[1:-3]), strict=True))[2:]
    assert all("░" in column and any("⠀" < cell <= "⣿" for cell in column) for column in columns)


def test_names_of_axes_stand_at_their_own_axis() -> None:
    rows = drawn(Figure("lines", "reward", (SERIES[0],), xlabel="steps", ylabel="mean reward")).splitlines()
    assert rows[1] == "mean reward" and rows[2].split("┤")[0] == "2.0" and rows[-1].strip() == "steps"


@pytest.mark.parametrize("form", ["lines", "bars", "means"])
def test_any_figure_keeps_to_its_room_on_a_terminal_and_is_well_formed_on_a_page(form: str) -> None:
    """Names without end, one value or many, tiny or huge, below zero, with and without intervals."""
    chance = Random(form)

    def value(scale: float) -> float | None:
        return chance.choice([None, 0.0, -scale * chance.random(), scale * chance.random()])

    def series(count: int, scale: float) -> Series:
        ys = tuple(value(scale) for _ in range(count))
        bounds = tuple(None if y is None or chance.random() < 0.3 else (y - scale, y + scale / 2) for y in ys)
        name = chance.choice(["", "潮汐" * 9, "a <b> & name " * 6])
        return Series(name, ys, tuple(map(float, range(count))), "", bounds)

    for _ in range(20):
        count = chance.choice([1, 2, 9, 40])
        scale = chance.choice([1e-6, 1.0, 1e7])
        several = range(1 if form == "means" else chance.choice([1, 2, 7]))
        labels = tuple(chance.choice(["", "潮汐池", "x" * 60]) for _ in range(count))
        figure = Figure(
            form,  # type: ignore[arg-type]
            "title " * 30,
            tuple(series(count, scale) for _ in several),
            labels if form in ("bars", "means") else (),
            "name of an axis " * 3,
            "name of the other " * 3,
            places=tuple(range(count)) if form in ("bars", "means") else (),
        )
        for width, height in ((20, 7), (54, 18), (160, 48)):
            rows = drawn(figure, width, height).splitlines()
            assert len(rows) <= height and max(map(cell_len, rows)) <= width
        if (picture := drawing(figure)) is not None:
            ElementTree.fromstring(picture)
