"""--format html: a report in one file with its blocks, methods, system prompts, first transcripts and config."""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from tidepool.engine.kinds import load_kind
from tidepool.engine.reports.blocks import Named, Report, format_outcome, number, places_of
from tidepool.engine.reports.html import Content, Html, element, folded, page, section
from tidepool.engine.reports.html_blocks import named, render_blocks
from tidepool.engine.results.methods import configs_of, prompts_of
from tidepool.storage.queries.lists import everybody
from tidepool.storage.queries.summary import conversations_of
from tidepool.storage.studies import StoredCell, StoredStudy
from tidepool.storage.transfer.formats import units_of

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
