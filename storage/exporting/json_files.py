"""A batch as JSON: written unit by unit, so its size in memory is that of a page."""

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from tidepool.storage.exporting.contents import PLAIN, ExportContents
from tidepool.storage.exporting.files import finished, write_text
from tidepool.storage.exporting.rows import RowPage, columns_of, page_of, rows_of, unit_pages
from tidepool.storage.plain_text import json_text
from tidepool.storage.reading.figures import MOST_WAVES
from tidepool.storage.study_rows.codes import MOST_CODES
from tidepool.storage.study_rows.findings import findings


def export_results(
    connection: sqlite3.Connection,
    batch: sqlite3.Row,
    path: Path,
    head: Mapping[str, Any],
    contents: ExportContents,
    **more: Any,
) -> list[Path]:
    """`results.json`: the batch, its units with their messages and outcomes, its findings and its log; and what else is named."""
    with finished(path) as unfinished, unfinished.open("w", encoding="utf-8") as stream:
        for piece in _pieces(connection, batch, head, contents, more):
            stream.write(piece)
    return [path]


def write_json(path: Path, content: Any) -> list[Path]:
    return write_text(path, json_text(content, indent=1) + "\n")


def _pieces(
    connection: sqlite3.Connection,
    batch: sqlite3.Row,
    head: Mapping[str, Any],
    contents: ExportContents,
    more: Mapping[str, Any],
) -> Iterator[str]:
    yield f'{{"batch": {_dump(head)},\n"units": ['
    for count, unit in enumerate(units_of(connection, batch, contents)):
        yield (",\n" if count else "\n") + _dump(unit)
    yield "\n]"
    for view in (*contents.beside_units, "waves", "log"):
        columns = columns_of(connection, view)
        yield f',\n"{view}": ['
        rows = rows_of(connection, view, batch)
        for count, values in enumerate(islice(rows, MOST_WAVES if view == "waves" else None)):
            row = _without_batch(dict(zip(columns, values, strict=True)))
            if view == "genomes":
                row["parents"] = json.loads(row["parents"])
            yield (", " if count else "") + _dump(row)
        yield "]"
        if left := sum(1 for _ in rows):
            yield f',\n"{view}_left_out": {left}'
    for table in (make(connection, batch) for make in contents.tables):
        yield f',\n"{table.name}": ['
        for count, values in enumerate(table.rows):
            yield (", " if count else "") + _dump(_without_batch(dict(zip(table.columns, values, strict=True))))
        yield "]"
    for name, content in more.items():
        yield f',\n"{name}": {_dump(content)}'
    yield f',\n"findings": {_dump(findings(connection, batch["number"]))}}}\n'


def units_of(
    connection: sqlite3.Connection, batch: sqlite3.Row, contents: ExportContents = PLAIN
) -> Iterator[dict[str, Any]]:
    """Each unit with its messages and what else its kind keeps of it, in order."""
    for page in unit_pages(connection, batch["number"], contents.of_units):
        left_out: Counter[int] = Counter()
        messages = _by_unit(connection, "messages", batch, page, left_out)
        rows_by_view = {view: _by_unit(connection, view, batch, page, left_out) for view in contents.of_units}
        details = _details(connection, page) if contents.details is not None else {}
        for row in page_of(connection, "conversations", batch, page):
            unit = _without_batch(dict(row))
            unit["participants"] = json.loads(unit["participants"])
            unit["messages"] = messages.get(row["id"], [])
            if contents.details is not None:
                kept = details.get(row["id"], {})
                unit |= {contents.details: kept} if contents.details else kept
            for view, found in rows_by_view.items():
                unit[view] = found.get(row["id"], [])
            if row["id"] in left_out:
                unit["codes_left_out"] = left_out[row["id"]]
            yield unit


def _by_unit(
    connection: sqlite3.Connection, view: str, batch: sqlite3.Row, page: RowPage, left_out: Counter[int]
) -> dict[int, list[dict[str, Any]]]:
    found: dict[int, list[dict[str, Any]]] = defaultdict(list)
    rows = page_of(connection, view, batch, page)
    for row in islice(rows, MOST_CODES if view == "codes" else None):
        content = _without_batch(dict(row))
        found[content.pop("conversation_id")].append(content)
    for row in rows:
        left_out[row["conversation_id"]] += 1
    return found


def _details(connection: sqlite3.Connection, page: RowPage) -> dict[int, dict[str, Any]]:
    """What a study keeps of a unit beside its calls: of a simulation, its entities' ids and its replicate; of an
    episode, its query, its steps and their rewards."""
    rows = connection.execute("SELECT id, details FROM unit WHERE id BETWEEN ? AND ?", (page.first, page.last))
    return {row["id"]: json.loads(row["details"] or "{}") for row in rows.fetchall()}


def _without_batch(row: dict[str, Any]) -> dict[str, Any]:
    row.pop("batch_id", None)
    return row


def _dump(content: Any) -> str:
    return json_text(content)
