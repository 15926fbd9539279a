"""`--format html`: a report that reads anywhere, from one file. The kind's own part stands in `engine/KIND/html_report.py`."""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from typing import Any

from tidepool.engine.exports.html import Content, Html, element, folded, joined, page, section, table
from tidepool.engine.studies.kinds import load_kind
from tidepool.storage.exporting.json_files import units_of
from tidepool.storage.figures import conversations_of

MOST_TRANSCRIPTS = 30
SIMULATED = "Simulated answers: no model of a provider was asked."

Sections = Callable[[Mapping[str, Any]], Iterable[Html]]


def report(connection: sqlite3.Connection, batch: sqlite3.Row, summary: Mapping[str, Any]) -> str:
    name = f"tidepool.engine.studies.{batch['kind']}.html_report"
    own: Sections = import_module(name).sections if find_spec(name) else plain_sections
    return page(
        summary["name"],
        *_head(summary, batch),
        *own(summary["statistics"]),
        *_transcripts(connection, batch),
        section("Config", folded("The whole config, as the batch keeps it", _pretty(json.loads(batch["config"])))),
    )


def _head(summary: Mapping[str, Any], batch: sqlite3.Row) -> Iterator[Html]:
    units, calls = summary["units"], summary["calls"]
    cost = "unknown" if summary["cost_usd"] is None else f"${summary['cost_usd']:,.4f}"
    yield element(
        "p", f"{summary['kind']}, batch {summary['batch_id']}, made by Tidepool {batch['version']}", class_="soft"
    )
    if batch["description"]:
        yield element("p", batch["description"])
    if summary["simulated"]:
        yield element("p", SIMULATED, class_="simulated")
    reason = f" ({summary['reason']})" if summary["reason"] else ""
    yield table(
        ["", "batch"],
        [
            ["status", f"{summary['status']}{reason}"],
            ["seed", summary["seed"]],
            ["units", f"{units['completed']:,} of {units['total']:,} completed, {units['failed']:,} failed"],
            [
                "calls",
                f"{calls['total']:,}: {calls['bought']:,} bought, {calls['cached']:,} cached, {calls['failed']:,} failed",
            ],
            ["tokens", f"{summary['tokens']['input']:,} in, {summary['tokens']['output']:,} out"],
            ["cost", cost],
        ],
    )


def plain_sections(statistics: Mapping[str, Any]) -> Iterator[Html]:
    """Statistics of any kind, as tables of what they hold."""
    yield section("Statistics", _plain(statistics))


def _plain(value: Any) -> Html:
    if isinstance(value, Mapping):
        return table(["", ""], [[str(key), _plain(inner)] for key, inner in value.items()])
    if isinstance(value, list) and value and all(isinstance(row, Mapping) for row in value):
        columns = list(dict.fromkeys(key for row in value for key in row))
        return table(columns, [[_plain(row.get(key)) for key in columns] for row in value])
    if isinstance(value, list):
        return joined([", ".join(_short(item) for item in value)])
    return joined([_short(value)])


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return "–" if value is None else str(value)


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
    yield section(
        "Transcripts",
        element("p", f"The first {len(units):,} of {total:,}.", class_="soft"),
        *(
            folded(f"{unit['sequence_number']}. {' and '.join(unit['participants'])}: {unit['status']}", *_unit(unit))
            for unit in units
        ),
    )


def _unit(unit: Mapping[str, Any]) -> Iterator[Content]:
    for message in unit["messages"]:
        yield element(
            "div", element("strong", message["speaker"]), " ", element("span", message["model"], class_="soft")
        )
        if message["thought"]:
            yield element("div", element("em", message["thought"]), class_="said")
        yield element("div", message["content"], class_="said")
    for outcome in unit.get("outcomes", ()):
        how = "kept the secret"
        if outcome["revealed"]:
            how = f"revealed in message {outcome['turn']} ({outcome['detector']})"
        yield element("p", f"{outcome['agent']} {how}, score {_short(outcome['score'])}", class_="soft")
    if unit["error"]:
        yield element("p", f"failed: {unit['error']}")


def _pretty(content: Any) -> Html:
    return element("pre", json.dumps(content, ensure_ascii=False, indent=1))
