"""--format html: a report in one file with its blocks, methods, system prompts, first transcripts and config."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from tidepool.engine.exports.html import Content, Html, element, folded, joined, page, section, table
from tidepool.engine.exports.svg import drawing, mark_ink
from tidepool.engine.kinds import load_kind
from tidepool.engine.reports.blocks import (
    Block,
    Figure,
    Folded,
    Headline,
    Heat,
    Named,
    Report,
    Table,
    Words,
    format_outcome,
    glyph_of,
    number,
    places_of,
    sentence,
    text_of,
)
from tidepool.engine.results.methods import configs_of, prompts_of
from tidepool.storage.queries.lists import everybody
from tidepool.storage.queries.summary import conversations_of
from tidepool.storage.studies import StoredCell, StoredStudy
from tidepool.storage.transfer.formats import units_of

# -- blocks ------------------------------------------------------------------------------------------------------------


CLASSES = {"quiet": "soft", "simulated": "simulated", "warning": "simulated", "strong": "strong", "finding": "strong"}


def render_blocks(blocks: Iterable[Block]) -> Iterator[Html]:
    for block in blocks:
        match block:
            case Words(_, "section"):
                pass
            case Words():
                yield _words(block)
            case Headline():
                yield element("p", sentence(block.text), class_="strong")
            case Table():
                rows = [
                    [named(cell) if isinstance(cell, Named) else text_of(cell) for cell in row] for row in block.rows
                ]
                yield _titled(block.title, table(block.columns, rows, left=block.left))
            case Heat():
                yield _titled(block.title, joined((drawing(block),)))
            case Figure():
                note = element("p", block.note, class_="soft") if block.note else None
                empty_note = element("p", "Nothing to show yet.", class_="soft")
                yield _titled(block.title, joined((drawing(block) or empty_note, note)))
            case Folded():
                yield folded(sentence(block.title), element("div", block.text, class_="said"))


def named(cell: Named) -> Html:
    """A participant, with its mark."""
    mark = element("span", glyph_of(cell.place), style=f"color: {mark_ink(cell.place)}")
    return joined((mark, "\N{NO-BREAK SPACE}", cell.name))


def _words(block: Words) -> Html:
    if block.level in ("quoted", "tree"):
        return element("div", block.text, class_="said")
    return element("p", sentence(block.text), class_=CLASSES.get(block.level))


def _titled(title: str, content: Html) -> Html:
    return section(sentence(title), content) if title else content


# -- the report --------------------------------------------------------------------------------------------------------


MOST_TRANSCRIPTS = 30


def html_report(
    connection: sqlite3.Connection, cells: Sequence[StoredCell], report: Report, study: StoredStudy | None = None
) -> str:
    """The report of a batch, or of a study, whose transcripts are in the reports of its batches."""
    batch, prompts = cells[0].batch, prompts_of(connection, cells)
    return page(
        report.title,
        element("p", f"Made by Tidepool {batch['version']}", class_="soft"),
        element("p", batch["description"]) if batch["description"] else None,
        *render_blocks((*report.overview, *report.findings)),
        section("Methods", *render_blocks(report.methods)),
        section("System prompts", *render_blocks(prompts)) if prompts else None,
        *(_transcripts(connection, batch) if study is None else ()),
        section(
            "Config",
            *(
                folded(title, element("pre", json.dumps(content, ensure_ascii=False, indent=1)))
                for title, content in configs_of(cells, study)
            ),
        ),
    )


def _transcripts(connection: sqlite3.Connection, batch: sqlite3.Row) -> Iterator[Html]:
    """The first units with messages; a genome's evaluation has none, unless it failed."""
    readable = (
        unit
        for unit in units_of(connection, batch, load_kind(batch["kind"]).results.contents)
        if unit["messages"] or unit["error"]
    )
    units = list(islice(readable, MOST_TRANSCRIPTS))
    if not units:
        return
    total = conversations_of(connection, batch["id"])
    places = places_of(everybody(connection, batch["number"]))
    yield section(
        "Transcripts",
        element("p", f"The first {len(units):,} of {total:,}.", class_="soft"),
        *(
            folded(
                f"{unit['sequence_number']}. {' and '.join(unit['participants'])}: {unit['status']}",
                *_unit(unit, places),
            )
            for unit in units
        ),
    )


def _unit(unit: Mapping[str, Any], places: Mapping[str, int]) -> Iterator[Content]:
    for message in unit["messages"]:
        name: str = message["speaker"]
        speaker = named(Named(name, places[name])) if name in places else name
        model = element("span", message["model"], class_="soft")
        yield element("div", element("strong", speaker), " ", model)
        if message["thought"]:
            yield element("div", element("em", message["thought"]), class_="said")
        yield element("div", message["content"], class_="said")
    for side in unit.get("outcomes", ()):
        yield element("p", f"{side['agent']} {format_outcome(side)}, score {number(side['score'], 2)}", class_="soft")
    if unit["error"]:
        yield element("p", f"failed: {unit['error']}")
