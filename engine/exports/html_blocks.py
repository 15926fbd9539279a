"""Blocks as HTML: a section for whatever has a title, figures as inline SVG."""

from collections.abc import Iterable, Iterator

from tidepool.engine.exports.drawings import Bar, curves, grouped_bars, heat_table, means_with_intervals, named_points
from tidepool.engine.exports.html import Html, element, folded, joined, section, table
from tidepool.engine.results.blocks import Block, Figure, Folded, Headline, Heat, Table, Words, text_of

CLASSES = {"quiet": "soft", "simulated": "simulated", "warning": "simulated", "strong": "strong"}


def drawn(blocks: Iterable[Block]) -> Iterator[Html]:
    for block in blocks:
        match block:
            case Words():
                yield _words(block)
            case Headline():
                yield element("p", _sentence(block.text), class_="strong")
            case Table():
                rows = [[text_of(cell) for cell in row] for row in block.rows]
                yield _titled(block.title, table(block.columns, rows, left=block.left))
            case Heat():
                yield _titled(block.title, heat_table(block))
            case Figure():
                note = element("p", block.note, class_="soft") if block.note else None
                yield _titled(block.title, joined((_figure(block), note)))
            case Folded():
                yield folded(_sentence(block.title), element("div", block.text, class_="said"))


def _words(block: Words) -> Html:
    if block.level in ("quoted", "tree"):
        return element("div", block.text, class_="said")
    return element("p", _sentence(block.text), class_=CLASSES.get(block.level))


def _titled(title: str, content: Html) -> Html:
    return section(_sentence(title), content) if title else content


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _figure(figure: Figure) -> Html:
    if not any(y is not None for series in figure.series for y in series.ys):
        return element("p", "Nothing to show yet.", class_="soft")
    if figure.form == "lines":
        return curves(figure)
    if figure.form == "points":
        return named_points(figure)
    if figure.form == "means":
        (series,) = figure.series
        means = zip(figure.labels, series.ys, series.intervals, strict=True)
        return means_with_intervals([(name, mean, bounds) for name, mean, bounds in means if mean is not None])
    bars = {
        one.name: [None if y is None else Bar(y, bounds) for y, bounds in zip(one.ys, one.bounds, strict=True)]
        for one in figure.series
    }
    return grouped_bars(figure.labels, bars)
