"""`--format markdown`: the blocks that every report has, how it was done, and its prompts and config in full, as one text
to edit and to publish from."""

import json
import sqlite3
from collections.abc import Iterator, Sequence

from tidepool.engine.exports import markdown as md
from tidepool.engine.exports.markdown_blocks import drawn
from tidepool.engine.results.blocks import Report
from tidepool.engine.results.methods import configs_of, prompts_of
from tidepool.storage.studies import StoredCell, StoredStudy


def markdown_report(
    connection: sqlite3.Connection, cells: Sequence[StoredCell], report: Report, study: StoredStudy | None = None
) -> str:
    return "\n\n".join(part for part in _parts(connection, cells, report, study) if part) + "\n"


def _parts(
    connection: sqlite3.Connection, cells: Sequence[StoredCell], report: Report, study: StoredStudy | None
) -> Iterator[str]:
    batch = cells[0].batch
    yield md.heading(1, report.title)
    yield md.marked("*", f"Made by Tidepool {batch['version']}")
    yield md.paragraph(batch["description"])
    yield from drawn((*report.overview, *report.findings, *report.waves))
    yield md.heading(2, "Methods")
    yield from drawn(report.methods)
    if prompts := prompts_of(connection, cells):
        yield md.heading(2, "Appendix: system prompts")
        yield from drawn(prompts)
    yield md.heading(2, "Appendix: config")
    for title, content in configs_of(cells, study):
        yield md.line(f"{title}:")
        yield md.fenced(json.dumps(content, ensure_ascii=False, indent=1), "json")
