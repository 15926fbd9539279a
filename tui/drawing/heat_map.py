"""A heat map as lines of text: shade, number and colour say the same, so it reads without colours too. Its scale stands below
it, and 0 and 100 are always the same."""

from rich.text import Text

from tidepool.engine.results.blocks import Heat
from tidepool.tui.drawing.bars import named
from tidepool.tui.drawing.plain import fitted

SHADES = " ░▒▓█"
COLOURS = ("grey50", "light_sky_blue3", "steel_blue1", "dodger_blue2", "dodger_blue3")
CELL = 9


def heat_map(heat: Heat, width: int) -> list[Text]:
    """Rows and columns of shares from 0 to 100, as many columns as there is room for; None is shown as a dash."""
    names = named(heat.rows, heat.places)
    label = min(14, max(map(len, names), default=0))
    shown = max(1, (width - label - 1) // CELL)
    heads = "".join(" " + fitted(name, CELL - 1, right=True) for name in named(heat.columns, heat.places)[:shown])
    lines = [Text(" " * (label + 1) + heads)]
    for name, values in zip(names, heat.values, strict=True):
        line = Text(fitted(name, label) + " ")
        for value in values[:shown]:
            line.append_text(_cell(value))
        lines.append(line)
    return [*lines, _scale()]


def _scale() -> Text:
    scale = Text("0 % ▕", style="dim")
    for shade, colour in zip(SHADES, COLOURS, strict=True):
        scale.append(shade * 2, style=colour)
    return scale.append("▏ 100 %", style="dim")


def _cell(share: float | None) -> Text:
    if share is None:
        return Text("–".rjust(CELL), style="dim")
    level = min(4, int(share / 20))
    return Text(f" {SHADES[level] * 2}{share:4.0f} %", style=COLOURS[level])
