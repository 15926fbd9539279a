"""Builds safe HTML: everything that `element` did not make is text, and is escaped.

A report is one file without scripts and without external resources, and a content security policy enforces this.
"""

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path

from tidepool.engine.reports.blocks import INKS, Colour, as_hex, ink_of
from tidepool.storage.text import in_report


def _marks(ground: Colour) -> str:
    inks = "".join(f" --mark-{index}: {as_hex(ink_of(index, ground))};" for index in range(len(INKS)))
    return f":root {{{inks} }}"


STYLE = f"""
{Path(__file__).with_name("report.css").read_text(encoding="utf-8")}{_marks((251, 250, 247))}
@media (prefers-color-scheme: dark) {{ {_marks((20, 25, 31))} }}
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

VOID = frozenset({"meta", "line", "rect", "circle", "path", "polyline", "polygon"})


class Html(str):
    """Markup that was made here."""

    __slots__ = ()


Content = str | float | None


def text(content: Content) -> Html:
    """Foreign text: plain, and escaped."""
    if isinstance(content, Html):
        return content
    return Html(escape(in_report("" if content is None else str(content))))


def element(name: str, /, *children: Content, **attributes: Content) -> Html:
    """`class_` means class, and `_` means a hyphen. Empty attributes are left out."""
    attribute_text = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in VOID and not children:
        return Html(f"<{name}{attribute_text}{'>' if name == 'meta' else '/>'}")
    return Html(f"<{name}{attribute_text}>{joined(children)}</{name}>")


def joined(children: Iterable[Content]) -> Html:
    return Html("".join(text(child) for child in children))


def table(head: Sequence[Content], rows: Iterable[Sequence[Content]], left: int = 1) -> Html:
    """The first `left` columns are words, the others numbers."""
    body = joined(element("tr", *_cells("td", row, left)) for row in rows)
    header = element("thead", element("tr", *_cells("th", head, left))) if any(head) else None
    return element("table", header, element("tbody", body))


def _cells(name: str, cells: Sequence[Content], left: int) -> Iterator[Html]:
    for index, cell in enumerate(cells):
        yield element(name, cell, class_="word" if index < left else None)


def section(title: str, *children: Content) -> Html:
    return element("section", element("h2", title), *children)


def folded(title: Content, *children: Content) -> Html:
    return element("details", element("summary", title), *children)


def page(title: str, *children: Content) -> str:
    head = joined(
        (
            element("meta", charset="utf-8"),
            Html(f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element("title", title),
            Html(f"<style>{STYLE}</style>"),
        )
    )
    body = element("body", element("h1", title), *children)
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n{body}</html>\n'
