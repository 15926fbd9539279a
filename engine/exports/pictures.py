"""`--format svg`: every plot of a report as a picture of its own, as it stands in the HTML: fixed colours on white, its title
above and what its intervals are below. What was simulated says so in the picture, which travels without its page."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from tidepool.engine.errors import UsageError
from tidepool.engine.exports.drawings import drawing
from tidepool.engine.exports.html import Html, element, joined
from tidepool.engine.exports.pen import ALONE, FONT, LETTER, WIDTH, n, words
from tidepool.engine.results.blocks import Figure, Heat, Report, Words
from tidepool.storage.transfer.formats import finished_together, write_text

EDGE = 16
LINE = 17
HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'


def write_pictures(report: Report, target: Path | None, name: str) -> list[Path]:
    """A file for each plot in a folder; or all of them, one below another, in the one file that ends in .svg."""
    pictures = list(pictures_of(report))
    if not pictures:
        raise UsageError("There is nothing to draw of this batch yet.")
    if target is not None and target.suffix.lower() == ".svg" and not target.is_dir():
        return write_text(target, HEAD + _below_each_other([picture for _, picture in pictures], report.title))
    folder = target if target is not None else Path(name)
    files = [f"{place:02}_{_file_name(title)}.svg" for place, (title, _) in enumerate(pictures, 1)]
    with finished_together(folder) as scratch:
        for file, (_, picture) in zip(files, pictures, strict=True):
            write_text(scratch / file, HEAD + picture.markup())
    return [folder / file for file in files]


class Picture:
    """A drawing with its title above it, its note and what must be said of it below."""

    def __init__(self, block: Figure | Heat, drawn: Html, said: str) -> None:
        self.title = block.title[:1].upper() + block.title[1:]
        note = block.note if isinstance(block, Figure) else ""
        self._above = _lines(self.title, 1.2)
        self._below = [*_lines(note), *_lines(said)]
        self._drawn = drawn
        found = re.search(r' height="([0-9.]+)"', drawn)
        self._tall = float(found.group(1)) if found else 0.0
        self.height = 2 * EDGE + LINE * (len(self._above) + len(self._below)) + self._tall + 12

    def markup(self, y: float | None = None) -> Html:
        """Alone; or at a height within a larger one."""
        parts: list[Html] = []
        at = float(EDGE + 12)
        for told in self._above:
            parts.append(words(told, EDGE, at, font_size=15, font_weight="bold"))
            at += LINE
        parts.append(_placed(self._drawn, EDGE, at - 8))
        at += self._tall + 10
        for told in self._below:
            parts.append(words(told, EDGE, at, ink=ALONE.soft))
            at += LINE
        return _sheet(self.height, joined(parts), self.title, y)


def pictures_of(report: Report) -> Iterator[tuple[str, Picture]]:
    said = "; ".join(block.text for block in report.overview if isinstance(block, Words) and block.level == "simulated")
    told = f"{said[:1].upper()}{said[1:]}." if said else ""
    for block in report.findings:
        if isinstance(block, Figure | Heat) and (drawn := drawing(block, ALONE)) is not None:
            yield block.title, Picture(block, drawn, told)


def _below_each_other(pictures: Sequence[Picture], title: str) -> Html:
    parts: list[Html] = []
    y = 0.0
    for picture in pictures:
        parts.append(picture.markup(y))
        y += picture.height + EDGE
    return _sheet(y, joined(parts), title)


def _sheet(height: float, content: Html, title: str, y: float | None = None) -> Html:
    wide = WIDTH + 2 * EDGE
    ground = element("rect", x=0, y=0, width=wide, height=n(height), fill="#ffffff")
    return element(
        "svg",
        joined((element("title", title), ground, content)),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {wide} {n(height)}",
        width=wide,
        height=n(height),
        y=None if y is None else n(y),
        font_family=FONT,
        font_size=12,
        fill=ALONE.ink,
        role="img",
    )


def _placed(drawn: Html, x: float, y: float) -> Html:
    return Html(drawn.replace("<svg", f'<svg x="{x}" y="{n(y)}"', 1))


def _lines(told: str, size: float = 1.0) -> list[str]:
    """Broken where a line is full: SVG does not do it."""
    most = int(WIDTH / (LETTER * size))
    lines: list[str] = []
    for word in told.split():
        if lines and len(lines[-1]) + 1 + len(word) <= most:
            lines[-1] += f" {word}"
        else:
            lines.append(word[:most])
    return lines


def _file_name(title: str) -> str:
    """Of the title's letters: whatever somebody called a thing, no path is made of it."""
    plain = re.sub(r"[^a-z0-9]+", "_", title.lower().encode("ascii", "ignore").decode()).strip("_")
    return plain[:50].rstrip("_") or "plot"
