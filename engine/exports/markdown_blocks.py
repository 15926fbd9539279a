"""Blocks as Markdown: a figure is the table of its values, with their intervals."""

from collections.abc import Iterable, Iterator

from tidepool.engine.exports import markdown as md
from tidepool.engine.results.blocks import Block, Estimate, Figure, Folded, Headline, Heat, Table, Words, text_of
from tidepool.engine.results.wording import more

MOST_ROWS = 200
MOST_POINTS = 50
"""rows of a curve"""


def drawn(blocks: Iterable[Block]) -> Iterator[str]:
    for block in blocks:
        match block:
            case Words():
                yield _words(block)
            case Headline():
                yield md.marked("**", sentence(block.text))
            case Table():
                yield from _titled(2, block.title)
                yield from _table(block)
            case Heat():
                yield from _titled(2, block.title)
                yield _heat(block)
            case Figure():
                yield from _titled(2, block.title)
                yield from _figure(block)
            case Folded():
                yield from _titled(3, block.title)
                yield md.quote(block.text)


def sentence(words: str) -> str:
    return words[:1].upper() + words[1:]


def _titled(level: int, title: str) -> Iterator[str]:
    if title:
        yield md.heading(level, sentence(title))


def _words(block: Words) -> str:
    match block.level:
        case "quoted" | "tree":
            return md.quote(block.text)
        case "strong" | "simulated" | "warning":
            return md.marked("**", sentence(block.text))
        case "quiet":
            return md.marked("*", sentence(block.text))
    return md.paragraph(sentence(block.text))


def _table(block: Table) -> Iterator[str]:
    """Rows that are facts become a list: a table of Markdown has a head."""
    rows = [[text_of(cell) for cell in row] for row in block.rows[:MOST_ROWS]]
    if any(block.columns):
        yield md.table(block.columns, rows, block.left)
    elif rows:
        yield "\n".join(f"- {md.marked('**', row[0])}: {md.text(' '.join(row[1:]))}" for row in rows)
    if len(block.rows) > MOST_ROWS:
        yield md.marked("*", more(len(block.rows) - MOST_ROWS))


def _heat(block: Heat) -> str:
    rows = [
        [name, *("–" if value is None else f"{value:.0f} %" for value in values)]
        for name, values in zip(block.rows, block.values, strict=True)
    ]
    return md.table(["", *block.columns], rows)


def _figure(figure: Figure) -> Iterator[str]:
    if not any(y is not None for series in figure.series for y in series.ys):
        yield md.marked("*", "Nothing to show yet.")
        return
    digits = _digits(figure)
    if figure.form == "points":
        rows = [
            [
                one.name,
                _cell(one.xs[0], one.across[0] if one.across else None, digits),
                _cell(one.ys[0], one.bounds[0], digits),
            ]
            for one in figure.series
        ]
        yield md.table(["", figure.xlabel or "x", figure.ylabel or "y"], rows)
    elif figure.form == "lines":
        yield from _curves(figure, digits)
    else:
        rows = [
            [label, *(_cell(one.ys[place], one.bounds[place], digits) for one in figure.series)]
            for place, label in enumerate(figure.labels)
        ]
        yield md.table(["", *(one.name for one in figure.series)], rows)
    if figure.note:
        yield md.marked("*", figure.note)


def _curves(figure: Figure, digits: int) -> Iterator[str]:
    """By x; of long curves every so many, and the last."""
    known = [{x: (y, bounds) for x, y, bounds in zip(one.xs, one.ys, one.bounds, strict=True)} for one in figure.series]
    xs = sorted({x for values in known for x in values})
    step = -(-len(xs) // MOST_POINTS)
    shown = sorted({*xs[::step], xs[-1]})
    rows = [[f"{x:,g}", *(_cell(*values.get(x, (None, None)), digits) for values in known)] for x in shown]
    yield md.table([figure.xlabel or "x", *(one.name or figure.title for one in figure.series)], rows, left=0)
    if len(shown) < len(xs):
        yield md.marked("*", f"{len(shown):,} of {len(xs):,} points.")


def _digits(figure: Figure) -> int:
    values = [y for one in figure.series for y in one.ys if y is not None]
    if all(value == int(value) for value in values) and not any(any(one.intervals) for one in figure.series):
        return 0
    return 1 if max(map(abs, values)) >= 10 else 3


def _cell(value: float | None, bounds: tuple[float, float] | None, digits: int) -> str:
    return text_of(Estimate(value, bounds, digits))
