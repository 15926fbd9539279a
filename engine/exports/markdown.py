"""Markdown by construction safe: foreign text is escaped, so that it is read as it stands and never as markup.

It is written for CommonMark with tables, which GitHub, pandoc and most editors read. There a backslash before a sign of
ASCII makes it plain; what only some of them know (`$`, `@`, `:smile:`, bare addresses) is escaped as well.
"""

import re
from collections.abc import Iterable, Sequence

from tidepool.storage.text import in_report

_SIGNS = re.compile(r"[\\`*_{}\[\]<>|~&$^#@]|:(?=//|[A-Za-z0-9_+-]+:)|(?<=\bwww)\.", re.IGNORECASE)
"""the last two: the name of an emoji, and what makes an address of bare words"""
_AT_START = re.compile(r"[-+=:%]|\d{1,9}(?=[.)])")
MOST_INDENT = 40


def text(foreign: str) -> str:
    """Foreign text within a line: of several lines it makes one."""
    line = " ".join(in_report(foreign).split())
    return _SIGNS.sub(r"\\\g<0>", line)


def line(foreign: str) -> str:
    """Foreign text where a line begins."""
    escaped = text(foreign)
    opening = _AT_START.match(escaped)
    if opening is None:
        return escaped
    number = opening[0].isdigit()
    return f"{opening[0]}\\{escaped[opening.end() :]}" if number else f"\\{escaped}"


def lines(foreign: str) -> list[str]:
    """Foreign text in its own lines, with its indents: empty ones part paragraphs, the others break where it breaks."""
    told = in_report(foreign).expandtabs(4).split("\n")
    written = []
    for place, one in enumerate(told):
        bare = one.strip()
        indent = "&nbsp;" * min(MOST_INDENT, len(one) - len(one.lstrip())) if bare else ""
        goes_on = bare and place + 1 < len(told) and told[place + 1].strip()
        written.append((indent + text(bare) if indent else line(bare)) + ("\\" if goes_on else ""))
    return written


def paragraph(foreign: str) -> str:
    return "\n".join(lines(foreign))


def quote(foreign: str) -> str:
    return "\n".join(f"> {one}".rstrip() for one in lines(foreign))


def heading(level: int, foreign: str) -> str:
    return f"{'#' * level} {text(foreign)}"


def marked(mark: str, foreign: str) -> str:
    """*soft* or **strong**; what is empty has no marks."""
    return f"{mark}{escaped}{mark}" if (escaped := text(foreign)) else ""


def table(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """The first so many columns are words, the others numbers."""
    rule = [":---" if place < left else "---:" for place in range(len(head))]
    return "\n".join(_row(row) for row in (map(text, head), rule, *(map(text, row) for row in rows)))


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def fenced(foreign: str, language: str) -> str:
    """Text to the letter, between fences longer than any run in it."""
    plain = in_report(foreign)
    runs = [len(run) for run in re.findall("`+", plain)]
    fence = "`" * max(3, *(run + 1 for run in runs)) if runs else "```"
    return f"{fence}{language}\n{plain}\n{fence}"
