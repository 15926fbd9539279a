"""What one report shows, all show: every kind's blocks on the terminal, in the app, in HTML and in Markdown."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from tests.engine.studies.evolution.running import study as evolution
from tests.engine.studies.mutation.studies import mutation
from tests.engine.studies.simulation.panels import panel
from tests.support.html_page import Page
from tests.tui.reports.test_secret_game import study as secret_game
from tests.tui.studies import printed
from tidepool import run_batch
from tidepool.engine.exports.html_report import render_blocks
from tidepool.engine.exports.markdown import render_blocks as in_markdown_blocks
from tidepool.engine.reports.blocks import (
    Block,
    Figure,
    Folded,
    Headline,
    Heat,
    Series,
    Table,
    Words,
    as_json,
    from_json,
    more,
    text_of,
)
from tidepool.engine.reports.html import joined
from tidepool.engine.results.comparing import compare, comparison_blocks
from tidepool.engine.results.methods import SIMULATED_DATA as SIMULATED
from tidepool.engine.results.report import report_of
from tidepool.tui.app.widgets.blocks import content_of
from tidepool.tui.drawing.blocks import COLOURS
from tidepool.tui.drawing.figures import draw

STUDIES: dict[str, Any] = {
    "secret_game": lambda seed: secret_game(24, detection=["exact", "judge"], judge="simulated:judge", seed=seed),
    "simulation": lambda seed: panel(num_simulations=6, judge={"question": "In favour?"}, seed=seed),
    "evolution": lambda seed: evolution(random_baseline=True, max_generations=2, seed=seed),
    "mutation": lambda seed: mutation(seed=seed),
}

JUDGED, RANDOM = "The question was: “In favour?”", "random search with the same number of requests"
PAIRED = "Student's 95 % intervals and two-sided tests"
SAID = {
    "secret_game": (
        "5 agents (Guarded, ",
        "round robin",
        "24 conversations in total",
        "exact (the word itself, in any case",
    ),
    "simulation": ("4 described entities", "“A plan for a new water mill”", "6 of 6 possible", JUDGED),
    "evolution": ("by a genetic algorithm", "answered problems of the set", RANDOM, "computed problem by problem"),
    "mutation": ("a contextual bandit, trained over 64 answered steps", "held out, drawn by the seed", PAIRED),
}
"""some of what the methods of each must tell"""


def told(block: Block) -> Iterator[str]:
    """Every text of a block that a reader must find."""
    match block:
        case Words(_, "section"):
            return
        case Words(text):
            yield text
        case Headline():
            yield block.text
        case Table():
            yield from (block.title, *block.columns, *(text_of(cell) for row in block.rows for cell in row))
        case Heat():
            yield from (block.title, *block.rows)
            yield from (f"{value:.0f} %" for row in block.values for value in row if value is not None)
        case Figure():
            yield from (block.title, block.note)
            yield from (label for label in block.labels if len(label) < 5)
        case Folded():
            yield block.title


def on_a_terminal(blocks: list[Block]) -> str:
    return printed(blocks, 400)


def in_the_app(blocks: list[Block]) -> str:
    rows = []
    for block in blocks:
        if isinstance(block, Figure):
            rows += ["".join(run for run, _ in row) for row in draw(block, 120, 18, COLOURS)]
        else:
            rows.append(content_of(block).plain)
    return "\n".join(rows)


def in_html(blocks: list[Block]) -> str:
    return Page(joined(render_blocks(blocks))).text


def in_markdown(blocks: list[Block]) -> str:
    """As a program shows it that lets HTML pass."""
    return Page(rendered("\n\n".join(in_markdown_blocks(blocks)))).text


def rendered(markdown: str) -> str:
    return str(MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(markdown))


def flat(text: str) -> str:
    return "".join(text.split()).lower()


def check(blocks: list[Block]) -> None:
    shown = {show.__name__: flat(show(blocks)) for show in (on_a_terminal, in_the_app, in_html, in_markdown)}
    short = [replace(block, rows=block.rows[: block.first]) if isinstance(block, Table) else block for block in blocks]
    for name, page in shown.items():
        expected = (
            short if name == "on_a_terminal" else blocks
        )  # there a long table ends with the number of its other rows
        for text in (text for block in expected for text in told(block)):
            assert flat(text) in page, (name, text)
    for block in blocks:
        if isinstance(block, Table) and len(block.rows) > block.first:
            assert flat(more(len(block.rows) - block.first)) in shown["on_a_terminal"]


@pytest.mark.parametrize("kind", STUDIES)
async def test_every_headline_cell_and_note_of_a_kind_is_in_all_four(kind: str, database: Path) -> None:
    summaries = [await run_batch(STUDIES[kind](seed), database) for seed in (1, 2)]
    report = report_of(database, summaries[0])
    assert from_json(as_json(report)) == report
    found = compare(database, [summary["batch_id"] for summary in summaries])
    blocks = [*report.overview, *report.findings, *report.methods_on_screen]
    methods = " ".join(block.text for block in report.methods if isinstance(block, Words))
    assert [words for words in SAID[kind] if words not in methods] == []
    assert report.methods[0] == Words(SIMULATED, "simulated") and len(report.methods) > 5
    assert {type(block) for block in blocks} >= {Words, Table, Figure}
    check(blocks)
    check(comparison_blocks(found["batches"], found["differences"]))


HOSTILE = "[bold]<script>alert(1)</script>\x1b[31m & \u202e"


MARKS = """# a heading
- a list
1. numbered
+ another
    code
> a quote
```
[link](http://x.example) ![image](x.png) <b>bold</b> **strong** _soft_ `code` ~~gone~~ a|b &lt; &amp; \\
===
| a | b |
|---|---|
https://x.example www.x.example <https://x.example> :skull: $x^2$ {.class} [^1] [@cited]
<!-- hidden --> <details>"""


@pytest.mark.parametrize(
    "text", [MARKS, *MARKS.splitlines(), "a\n---", "x\n===\ny", "\t\tcode", "  \n\n  ", "***", "1) x", "%"]
)
def test_foreign_text_is_no_markdown(text: str) -> None:
    head = text.splitlines()[0] if text.strip() else "-"
    blocks: list[Block] = [
        Words(text),
        *(Words(text, level) for level in ("strong", "quiet", "quoted", "warning")),  # type: ignore[arg-type]
        Headline(head, text),
        Table(text, (head, "n"), ((text, 1), ("- x", 2))),
        Table("", ("", ""), ((text, text),)),
        Heat(text, (text,), (head,), ((5.0,),)),
        Figure("bars", text, (Series(text, (1.0,)),), labels=(text,), caption=text),
        Folded(text, text),
    ]
    for block in blocks:
        page = Page(rendered("\n\n".join(in_markdown_blocks([block]))))
        assert {*page.tags} <= set("h2 h3 p br table thead tbody tr th td strong em ul li blockquote".split())
        for seen in told(block):
            assert flat(seen) in flat(page.text), (block, page.text)
    assert set(Page(rendered("\n\n".join(in_markdown_blocks([Folded("", text)])))).tags) <= {"blockquote", "p", "br"}


def test_foreign_text_is_never_markup() -> None:
    blocks: list[Block] = [Words(HOSTILE), Words(HOSTILE, "quoted"), Table(HOSTILE, (HOSTILE, "n"), ((HOSTILE, 1),))]
    page = Page(rendered("\n\n".join(in_markdown_blocks(blocks))))
    assert "script" not in page.tags and page.text.count("<script>") == 5 and "\x1b" not in page.text
    assert "<script" not in joined(render_blocks(blocks)) and "\x1b" not in joined(render_blocks(blocks))
    for text in (on_a_terminal(blocks), in_the_app(blocks)):
        assert text.count("[bold]<script>") == 5 and "\x1b" not in text and "\u202e" not in text
