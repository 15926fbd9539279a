"""A heat map as lines of text: shade, number and colour say the same, so it reads without colours too.

plotext's matrix plot scales each map to its own largest value and has no cell labels; here 0 and 100 are always the same.
"""

from collections.abc import Callable, Sequence

from rich.text import Text

SHADES = " ░▒▓█"
COLOURS = ("grey35", "steel_blue", "deep_sky_blue3", "orange3", "red3")
CELL = 9


def heat_map(
    rows: Sequence[str], columns: Sequence[str], value: Callable[[int, int], float | None], width: int
) -> list[Text]:
    """Shares from 0 to 100 by row and column; None is shown as a dash. Names must be printable."""
    label = min(14, max(map(len, rows), default=0))
    shown = max(1, (width - label - 1) // CELL)
    lines = [Text(" " * (label + 1) + "".join(_short(name, CELL - 1).rjust(CELL) for name in columns[:shown]))]
    for row, name in enumerate(rows):
        line = Text(_short(name, label).ljust(label + 1))
        for column in range(min(shown, len(columns))):
            line.append_text(_cell(value(row, column)))
        lines.append(line)
    return lines


def _cell(share: float | None) -> Text:
    if share is None:
        return Text("–".rjust(CELL), style="dim")
    level = min(4, int(share / 20))
    return Text(f" {SHADES[level] * 2}{share:4.0f} %", style=COLOURS[level])


def _short(name: str, width: int) -> str:
    return name if len(name) <= width else name[: width - 1] + "…"
