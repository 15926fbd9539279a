"""An animated picture of a command in a terminal: its recorded output as SVG text, revealed line by line with CSS.

The picture begins and ends with the whole output. So its first frame makes sense, and so does a picture that never moves, which
is what readers get who prefer reduced motion.
"""

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

from rich.cells import cell_len
from rich.color_triplet import ColorTriplet
from rich.console import Console
from rich.style import Style
from rich.text import Text

from benchmarks.terminal import Terminal

COLUMNS, ROWS = 92, 50
MOST_LINES, MOST_STATES = 32, 9
"""of the output, which is cut after a paragraph; of a progress line"""
WIDTH, HEIGHT, MARGIN = 8.4, 18, 16
"""of a character, a line and the frame, in pixels"""
CYCLE, REST, PROGRESS, REVEAL = 15.0, 4.0, 0.35, 0.12
"""seconds: all of it, until the output vanishes, for one state of the progress line, between two lines"""


CONSOLE = Console(width=COLUMNS, color_system="truecolor", force_terminal=True)


@dataclass(frozen=True, slots=True)
class Theme:
    background: str
    foreground: str
    frame: str


DARK = Theme("#0d1117", "#d1d7e0", "#3d444d")
LIGHT = Theme("#ffffff", "#1f2328", "#d1d9e0")


def record(arguments: list[str], folder: Path) -> list[list[Text]]:
    """Runs `tidepool` with these arguments. Each line has its states, in order; all but a progress line have one."""
    environment = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "COLORTERM")}
    command = [sys.executable, "-m", "tidepool", *arguments]
    with Terminal(command, environment, size=(COLUMNS, ROWS), folder=folder) as terminal:
        code = terminal.ended(120)
    output = terminal.drawn
    if code:
        raise RuntimeError(f"{' '.join(command)} ended with {code}:\n{output}")
    lines = [_states(line) for line in output.rstrip().split("\r\n")]
    if len(lines) > MOST_LINES:
        empty = [number for number, states in enumerate(lines[:MOST_LINES]) if not states[-1].plain.strip()]
        lines = lines[: empty[-1] if empty else MOST_LINES]
    return lines


def _states(line: str) -> list[Text]:
    states = [Text.from_ansi(state) for state in re.split(r"\r?\x1b\[K|\r", line) if state] or [Text()]
    every = -(-len(states) // MOST_STATES)
    return [*states[:-1:every], states[-1]]


def draw(arguments: list[str], lines: list[list[Text]], theme: Theme) -> str:
    """The SVG of a command with its output."""
    picture = _Picture(theme)
    picture.add(0, Text.assemble(("$ ", "dim"), ("tidepool " + " ".join(arguments), "bold")), "")
    moment = REST + 0.6
    for row, states in enumerate(lines, 1):
        *passing, last = states
        for state in passing:
            picture.add(
                row,
                state,
                picture.animated(f"0%{{opacity:0}}{_at(moment)}{{opacity:1}}{_at(moment + PROGRESS)}{{opacity:0}}"),
                hidden=True,
            )
            moment += PROGRESS
        picture.add(row, last, picture.animated(f"0%{{opacity:1}}{_at(REST)}{{opacity:0}}{_at(moment)}{{opacity:1}}"))
        moment += REVEAL
    return picture.svg(len(lines) + 1, "tidepool " + " ".join(arguments))


def _at(seconds: float) -> str:
    return f"{100 * seconds / CYCLE:.1f}%"


class _Picture:
    def __init__(self, theme: Theme) -> None:
        self._theme = theme
        self._rows: list[str] = []
        self._keyframes: list[str] = []
        self._colours: dict[str, str] = {}

    def animated(self, keyframes: str) -> str:
        """The class of an element that follows these keyframes."""
        self._keyframes.append(keyframes)
        return f"a{len(self._keyframes) - 1}"

    def add(self, row: int, text: Text, animation: str, hidden: bool = False) -> None:
        runs = "".join(self._runs(row, text))
        if runs:
            opacity = ' opacity="0"' if hidden else ""
            self._rows.append(f'<g class="a {animation}"{opacity}>{runs}</g>')

    def _runs(self, row: int, text: Text) -> Iterator[str]:
        """The words of a line, each where a terminal has them whatever the font."""
        y = MARGIN + HEIGHT * row + 14
        column = 0
        for segment in text.render(CONSOLE):
            for part in re.split(r"( {2,})", segment.text.rstrip("\n")):
                width = cell_len(part)
                if part.strip():
                    start = len(part) - len(part.lstrip())
                    words = part.strip()
                    yield (
                        f'<text x="{MARGIN + WIDTH * (column + start):.1f}" y="{y}" '
                        f'textLength="{WIDTH * cell_len(words):.1f}"{self._classes(segment.style)}>{escape(words, quote=False)}</text>'
                    )
                column += width

    def _classes(self, style: Style | None) -> str:
        names = []
        if style and style.color and not style.color.is_default:
            colour = _readable(style.color.get_truecolor(), self._theme)
            names.append(self._colours.setdefault(colour, f"c{len(self._colours)}"))
        if style and style.bold:
            names.append("b")
        if style and style.dim:
            names.append("d")
        return f' class="{" ".join(names)}"' if names else ""

    def svg(self, rows: int, title: str) -> str:
        width, height = 2 * MARGIN + WIDTH * COLUMNS, 2 * MARGIN + HEIGHT * rows
        theme = self._theme
        style = [
            f"text{{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:{theme.foreground};white-space:pre}}",
            ".b{font-weight:bold}.d{fill-opacity:.65}",
            *(f".{name}{{fill:{colour}}}" for colour, name in self._colours.items()),
            f".a{{animation:{CYCLE:g}s step-end infinite}}",
            *(f".a{n}{{animation-name:k{n}}}@keyframes k{n}{{{frames}}}" for n, frames in enumerate(self._keyframes)),
            "@media (prefers-reduced-motion:reduce){.a{animation:none}}",
        ]
        return "\n".join(
            (
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" role="img" aria-label="{escape(title)}">',
                f"<title>{escape(title)}</title>",
                f"<style>{''.join(style)}</style>",
                f'<rect x=".5" y=".5" width="{width - 1:.0f}" height="{height - 1}" rx="8" fill="{theme.background}" stroke="{theme.frame}"/>',
                *self._rows,
                "</svg>\n",
            )
        )


def _readable(colour: ColorTriplet, theme: Theme) -> str:
    """The colour, moved towards that of the text until it can be read on the background."""
    text, background = _triplet(theme.foreground), _triplet(theme.background)
    for step in range(11):
        mixed = ColorTriplet(*(round(a + (b - a) * step / 10) for a, b in zip(colour, text, strict=True)))
        light, dark = sorted((_luminance(mixed), _luminance(background)), reverse=True)
        if (light + 0.05) / (dark + 0.05) >= 4.5:
            break
    return mixed.hex


def _triplet(text: str) -> ColorTriplet:
    return ColorTriplet(*bytes.fromhex(text.lstrip("#")))


def _luminance(colour: ColorTriplet) -> float:
    shares = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in colour.normalized]
    return sum(weight * share for weight, share in zip((0.2126, 0.7152, 0.0722), shares, strict=True))
