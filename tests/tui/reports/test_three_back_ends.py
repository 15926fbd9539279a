"""What one report shows, all show: every kind's blocks on the terminal, in the app and in HTML."""

import io
import json
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.engine.studies.evolution.running import study as evolution
from tests.engine.studies.mutation.studies import mutation
from tests.engine.studies.simulation.panels import panel
from tests.tui.reports.test_secret_game import study as secret_game
from tidepool import run_batch
from tidepool.engine.exports.html import joined
from tidepool.engine.exports.html_blocks import drawn
from tidepool.engine.results.blocks import Block, Figure, Headline, Heat, Table, Words, as_json, from_json, text_of
from tidepool.engine.results.comparing import compare
from tidepool.engine.results.comparison_report import comparison_blocks
from tidepool.engine.results.report import plain_blocks, report_of
from tidepool.engine.statistics.typed import Statistics
from tidepool.engine.studies.evolution.statistics import EvolutionStatistics
from tidepool.engine.studies.mutation.statistics import MutationStatistics
from tidepool.engine.studies.secret_game.findings.analysis import SecretGameStatistics
from tidepool.engine.studies.simulation.statistics import SimulationStatistics
from tidepool.tui.app.widgets.block_list import content_of
from tidepool.tui.drawing.blocks import COLOURS, print_blocks
from tidepool.tui.drawing.figures import draw

STUDIES: dict[str, Any] = {
    "secret_game": lambda seed: secret_game(24, detection=["exact", "judge"], judge="simulated:judge", seed=seed),
    "simulation": lambda seed: panel(num_simulations=6, judge={"question": "In favour?"}, seed=seed),
    "evolution": lambda seed: evolution(random_baseline=True, max_generations=2, seed=seed),
    "mutation": lambda seed: mutation(seed=seed),
}

TYPES: dict[str, type[Statistics]] = {
    "secret_game": SecretGameStatistics,
    "simulation": SimulationStatistics,
    "evolution": EvolutionStatistics,
    "mutation": MutationStatistics,
}


def told(block: Block) -> Iterator[str]:
    """Every text of a block that a reader must find."""
    match block:
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


def on_a_terminal(blocks: list[Block]) -> str:
    out = io.StringIO()
    print_blocks(Console(file=out, width=400, markup=False, highlight=False), blocks)
    return out.getvalue()


def in_the_app(blocks: list[Block]) -> str:
    rows = []
    for block in blocks:
        if isinstance(block, Figure):
            rows += ["".join(run for run, _ in row) for row in draw(block, 120, 18, COLOURS)]
        else:
            rows.append(content_of(block).plain)
    return "\n".join(rows)


def in_html(blocks: list[Block]) -> str:
    class Page(HTMLParser):
        text = ""

        def handle_data(self, data: str) -> None:
            self.text += f" {data} "

    page = Page()
    page.feed(joined(drawn(blocks)))
    return page.text


def flat(text: str) -> str:
    return "".join(text.split()).lower()


def check(blocks: list[Block]) -> None:
    shown = {show.__name__: flat(show(blocks)) for show in (on_a_terminal, in_the_app, in_html)}
    for text in (text for block in blocks for text in told(block)):
        for name, page in shown.items():
            assert flat(text) in page, (name, text)


@pytest.mark.parametrize("kind", STUDIES)
async def test_every_headline_cell_and_note_of_a_kind_is_in_all_three(kind: str, database: Path) -> None:
    summaries = [await run_batch(STUDIES[kind](seed), database) for seed in (1, 2)]
    statistics = summaries[0]["statistics"]
    assert json.dumps(TYPES[kind].from_json(statistics).as_json()) == json.dumps(statistics)
    report = report_of(database, summaries[0])
    assert from_json(as_json(report)) == report
    found = compare(database, [summary["batch_id"] for summary in summaries])
    blocks = [*report.overview, *report.findings]
    assert {type(block) for block in blocks} >= {Words, Table, Figure}
    check(blocks)
    check(comparison_blocks(found["batches"], found["differences"]))


def test_of_a_kind_without_a_report_all_figures_are_shown() -> None:
    statistics = {
        "heads": 3,
        "share": 0.34567,
        "ci95": [0.1, 0.5],
        "coins": {"A": {"tossed": 7, "by": {"hand": 2}}, "B": {"tossed": 8}},
        "tosses": [{"toss": 1, "fell": "heads"}, {"toss": 2, "fell": None}],
        "whole": {"tossed": 15, "missing": {}},
    }
    blocks = plain_blocks("statistics", statistics)
    cells = [text for block in blocks for text in told(block)]
    for text in ("heads", "3", "0.3457", "0.1, 0.5", "statistics · coins", "by.hand", "2", "fell", "–", "15"):
        assert text in cells, text
    check(blocks)


HOSTILE = "[bold]<script>alert(1)</script>\x1b[31m & \u202e"


def test_foreign_text_is_never_markup() -> None:
    blocks: list[Block] = [Words(HOSTILE), Words(HOSTILE, "quoted"), Table(HOSTILE, (HOSTILE, "n"), ((HOSTILE, 1),))]
    assert "<script" not in joined(drawn(blocks)) and "\x1b" not in joined(drawn(blocks))
    for text in (on_a_terminal(blocks), in_the_app(blocks)):
        assert text.count("[bold]<script>") == 5 and "\x1b" not in text and "\u202e" not in text
