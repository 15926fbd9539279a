"""HTML by construction safe: whatever is not made by `element` is text, and is escaped.

A report is one file without scripts and without anything from elsewhere; a policy in its head holds the browser to that.
"""

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from tidepool.engine.reports.blocks import INKS, Colour, as_hex, ink_of
from tidepool.storage.text import in_report

_STYLE = """
:root { color-scheme: light dark; --ink: #1c2530; --paper: #fbfaf7; --soft: #6b7683; --line: #d8d5cc;
        --first: #2f6f9f; --second: #d08c2f; --mark: #fff1b8; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e3da; --paper: #14191f; --soft: #97a1ad; --line: #38414b;
        --first: #6fb1e0; --second: #e3ae62; --mark: #5b4a12; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 60rem;
       margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; } .soft { color: var(--soft); }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: .6rem 0; display: block; overflow-x: auto; }
th, td { padding: .2rem .7rem; border-bottom: 1px solid var(--line); text-align: right; }
th.word, td.word { text-align: left; } .strong { font-weight: 600; } th { font-weight: 600; color: var(--soft); }
.simulated { border-left: .3rem solid var(--second); padding: .3rem .8rem; }
details { margin: .4rem 0; } summary { cursor: pointer; } pre, .said { white-space: pre-wrap; overflow-wrap: anywhere; }
.said { margin: .2rem 0 .8rem 1rem; unicode-bidi: plaintext; } strong, span, summary, td, th { unicode-bidi: isolate; }
mark { background: var(--mark); color: inherit; }
svg { max-width: 100%; height: auto; } svg text { fill: var(--ink); font: 12px system-ui, sans-serif; }
"""


def _marks(ground: Colour) -> str:
    inks = "".join(f" --mark-{index}: {as_hex(ink_of(index, ground))};" for index in range(len(INKS)))
    return f":root {{{inks} }}"


STYLE = f"""{_STYLE}{_marks((251, 250, 247))}
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
    """`class_` is written for class, `_` stands for a hyphen; attributes that are None are left out."""
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
    """The first so many columns are words, the others numbers."""
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
