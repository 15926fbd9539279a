"""A heat map as lines of text: shade, number and colour say the same, so it reads without colours too.

plotext's matrix plot scales each map to its own largest value and has no cell labels; here 0 and 100 are always the same.
"""

from rich.text import Text

from tidepool.engine.results.blocks import Heat
from tidepool.tui.drawing.plain import fitted, one_line

SHADES = " ░▒▓█"
COLOURS = ("grey35", "steel_blue", "deep_sky_blue3", "orange3", "red3")
CELL = 9


def heat_map(heat: Heat, width: int) -> list[Text]:
    """Rows and columns of shares from 0 to 100, as many columns as there is room for; None is shown as a dash."""
    names = [one_line(name) for name in heat.rows]
    label = min(14, max(map(len, names), default=0))
    shown = max(1, (width - label - 1) // CELL)
    heads = "".join(" " + fitted(one_line(name), CELL - 1, right=True) for name in heat.columns[:shown])
    lines = [Text(" " * (label + 1) + heads)]
    for name, values in zip(names, heat.values, strict=True):
        line = Text(fitted(name, label) + " ")
        for value in values[:shown]:
            line.append_text(_cell(value))
        lines.append(line)
    return lines


def _cell(share: float | None) -> Text:
    if share is None:
        return Text("–".rjust(CELL), style="dim")
    level = min(4, int(share / 20))
    return Text(f" {SHADES[level] * 2}{share:4.0f} %", style=COLOURS[level])
