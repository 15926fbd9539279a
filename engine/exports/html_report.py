"""`--format html`: a report that reads anywhere, from one file: the blocks that every report has, how it was done, its
system prompts, the first transcripts, and the config."""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from tidepool.engine.exports.html import Content, Html, element, folded, page, section
from tidepool.engine.exports.html_blocks import drawn, named
from tidepool.engine.results.blocks import Named, Report
from tidepool.engine.results.marks import places_of
from tidepool.engine.results.methods import configs_of, prompts_of
from tidepool.engine.results.wording import gave, number
from tidepool.engine.studies.kinds import load_kind
from tidepool.storage.queries.lists import everybody
from tidepool.storage.queries.summary import conversations_of
from tidepool.storage.studies import StoredCell, StoredStudy
from tidepool.storage.transfer.formats import units_of

MOST_TRANSCRIPTS = 30


def html_report(
    connection: sqlite3.Connection, cells: Sequence[StoredCell], report: Report, study: StoredStudy | None = None
) -> str:
    """Of a batch, or of a study: its transcripts are in the reports of its batches."""
    batch = cells[0].batch
    return page(
        report.title,
        element("p", f"Made by Tidepool {batch['version']}", class_="soft"),
        element("p", batch["description"]) if batch["description"] else None,
        *drawn((*report.overview, *report.findings, *report.waves)),
        section("Methods", *drawn(report.methods)),
        *_prompts(connection, cells),
        *(_transcripts(connection, batch) if study is None else ()),
        section("Config", *(folded(title, _pretty(content)) for title, content in configs_of(cells, study))),
    )


def _prompts(connection: sqlite3.Connection, cells: Sequence[StoredCell]) -> Iterator[Html]:
    if prompts := prompts_of(connection, cells):
        yield section("System prompts", *drawn(prompts))


def _transcripts(connection: sqlite3.Connection, batch: sqlite3.Row) -> Iterator[Html]:
    """Of units that have something to read: a genome's evaluation has not, unless it failed."""
    told = (
        unit
        for unit in units_of(connection, batch, load_kind(batch["kind"]).contents)
        if unit["messages"] or unit["error"]
    )
    units = list(islice(told, MOST_TRANSCRIPTS))
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
        yield element(
            "div",
            element("strong", _speaker(message["speaker"], places)),
            " ",
            element("span", message["model"], class_="soft"),
        )
        if message["thought"]:
            yield element("div", element("em", message["thought"]), class_="said")
        yield element("div", message["content"], class_="said")
    for outcome in unit.get("outcomes", ()):
        yield element("p", f"{outcome['agent']} {gave(outcome)}, score {number(outcome['score'], 2)}", class_="soft")
    if unit["error"]:
        yield element("p", f"failed: {unit['error']}")


def _speaker(name: str, places: Mapping[str, int]) -> Content:
    return named(Named(name, places[name])) if name in places else name


def _pretty(content: Any) -> Html:
    return element("pre", json.dumps(content, ensure_ascii=False, indent=1))
