"""--format markdown: a report as one text to edit and publish; a figure becomes a table of its values.

Foreign text is escaped, so that it is read literally and never as markup. The dialect is CommonMark with tables, which
GitHub, pandoc and most editors read. There, a backslash before an ASCII character makes it plain. Characters that only
some of them interpret (`$`, `@`, `:smile:`, bare addresses) are escaped as well."""

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence

from tidepool.engine.reports.blocks import (
    UNKNOWN,
    Block,
    Figure,
    Folded,
    Headline,
    Heat,
    Report,
    Table,
    Words,
    more,
    sentence,
    text_of,
)
from tidepool.engine.reports.figures import value_of
from tidepool.engine.results.methods import configs_of, prompts_of
from tidepool.storage.studies import StoredCell, StoredStudy
from tidepool.storage.text import in_report

_SIGNS = re.compile(r"[\\`*_{}\[\]<>|~&$^#@]|:(?=//|[A-Za-z0-9_+-]+:)|(?<=\bwww)\.", re.IGNORECASE)
"""the last two: the name of an emoji, and the dot in a bare web address"""
_AT_START = re.compile(r"[-+=:%]|\d{1,9}(?=[.)])")
MOST_INDENT = 40


def text(foreign: str) -> str:
    """Foreign text within a line. Several lines become one."""
    line = " ".join(in_report(foreign).split())
    return _SIGNS.sub(r"\\\g<0>", line)


def line(foreign: str) -> str:
    """Foreign text at the start of a line."""
    escaped = text(foreign)
    opening = _AT_START.match(escaped)
    if opening is None:
        return escaped
    number = opening[0].isdigit()
    return f"{opening[0]}\\{escaped[opening.end() :]}" if number else f"\\{escaped}"


def lines(foreign: str) -> list[str]:
    """Foreign text in its own lines, with its indents. Empty lines separate paragraphs, and other line breaks are kept."""
    source = in_report(foreign).expandtabs(4).split("\n")
    escaped_lines = []
    for index, source_line in enumerate(source):
        bare = source_line.strip()
        indent = "&nbsp;" * min(MOST_INDENT, len(source_line) - len(source_line.lstrip())) if bare else ""
        goes_on = bare and index + 1 < len(source) and source[index + 1].strip()
        escaped_lines.append((indent + text(bare) if indent else line(bare)) + ("\\" if goes_on else ""))
    return escaped_lines


def paragraph(foreign: str) -> str:
    return "\n".join(lines(foreign))


def quote(foreign: str) -> str:
    return "\n".join(f"> {quoted_line}".rstrip() for quoted_line in lines(foreign))


def heading(level: int, foreign: str) -> str:
    return f"{'#' * level} {text(foreign)}"


def marked(mark: str, foreign: str) -> str:
    """*soft* or **strong**; empty text has no marks."""
    return f"{mark}{escaped}{mark}" if (escaped := text(foreign)) else ""


def table(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """The first `left` columns are words, the others numbers."""
    rule = [":---" if place < left else "---:" for place in range(len(head))]
    all_rows = (map(text, head), rule, *(map(text, row) for row in rows))
    return "\n".join(f"| {' | '.join(row)} |" for row in all_rows)


def fenced(foreign: str, language: str) -> str:
    """Literal text between fences that are longer than any run in it."""
    plain = in_report(foreign)
    runs = [len(run) for run in re.findall("`+", plain)]
    fence = "`" * max(3, *(run + 1 for run in runs)) if runs else "```"
    return f"{fence}{language}\n{plain}\n{fence}"


MOST_ROWS = 200
MOST_POINTS = 50
"""rows of a curve"""


def render_blocks(blocks: Iterable[Block]) -> Iterator[str]:
    for block in blocks:
        match block:
            case Words(_, "section"):
                pass
            case Words():
                yield _words(block)
            case Headline():
                yield marked("**", sentence(block.text))
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
                yield quote(block.text)


def _titled(level: int, title: str) -> Iterator[str]:
    if title:
        yield heading(level, sentence(title))


def _words(block: Words) -> str:
    match block.level:
        case "quoted" | "tree":
            return quote(block.text)
        case "strong" | "finding" | "simulated" | "warning":
            return marked("**", sentence(block.text))
        case "quiet":
            return marked("*", sentence(block.text))
    return paragraph(sentence(block.text))


def _table(block: Table) -> Iterator[str]:
    """Rows of facts become a list, since a Markdown table needs a header."""
    rows = [[text_of(cell) for cell in row] for row in block.rows[:MOST_ROWS]]
    if any(block.columns):
        yield table(block.columns, rows, block.left)
    elif rows:
        yield "\n".join(f"- {marked('**', row[0])}: {text(' '.join(row[1:]))}" for row in rows)
    if len(block.rows) > MOST_ROWS:
        yield marked("*", more(len(block.rows) - MOST_ROWS))


def _heat(block: Heat) -> str:
    rows = [
        [name, *("–" if value is None else f"{value:.0f} %" for value in values)]
        for name, values in zip(block.rows, block.values, strict=True)
    ]
    return table(["", *block.columns], rows)


def _figure(figure: Figure) -> Iterator[str]:
    if not any(y is not None for series in figure.series for y in series.ys):
        yield marked("*", "Nothing to show yet.")
        return
    if figure.form == "lines":
        yield from _curves(figure)
    else:
        rows = [
            [label, *(text_of(value_of(figure, item, place)) for item in figure.series)]
            for place, label in enumerate(figure.labels)
        ]
        yield table(["", *(item.name for item in figure.series)], rows)
    if figure.note:
        yield marked("*", figure.note)


def _curves(figure: Figure) -> Iterator[str]:
    """The values by x. Long curves are thinned, with the last point."""
    by_x = [{x: value_of(figure, one, place) for place, x in enumerate(one.xs)} for one in figure.series]
    xs = sorted({x for values in by_x for x in values})
    step = -(-len(xs) // MOST_POINTS)
    shown = sorted({*xs[::step], xs[-1]})
    rows = [[f"{x:,g}", *(text_of(values[x]) if x in values else UNKNOWN for values in by_x)] for x in shown]
    yield table([figure.xlabel or "x", *(one.name or figure.title for one in figure.series)], rows, left=0)
    if len(shown) < len(xs):
        yield marked("*", f"{len(shown):,} of {len(xs):,} points.")


def markdown_report(
    connection: sqlite3.Connection, cells: Sequence[StoredCell], report: Report, study: StoredStudy | None = None
) -> str:
    batch, prompts = cells[0].batch, prompts_of(connection, cells)
    parts = [
        heading(1, report.title),
        marked("*", f"Made by Tidepool {batch['version']}"),
        paragraph(batch["description"]),
        *render_blocks((*report.overview, *report.findings)),
        heading(2, "Methods"),
        *render_blocks(report.methods),
        heading(2, "Appendix: system prompts") if prompts else "",
        *render_blocks(prompts),
        heading(2, "Appendix: config"),
    ]
    for title, content in configs_of(cells, study):
        parts += [line(f"{title}:"), fenced(json.dumps(content, ensure_ascii=False, indent=1), "json")]
    return "\n\n".join(filter(None, parts)) + "\n"
