"""A stranger's study file: one nasty text in front of every text of every table, found from the schema itself.

The text stands in front of what was there, so that names still differ where they differed and rows that name each
other by a text still do. A column that comes later is poisoned by itself.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.support.all_kinds import file_of_all_kinds
from tidepool.engine.config.freezing import load_frozen
from tidepool.engine.errors import TidepoolError

POISON = (
    "=cmd|' /C calc'!A0\x1b[2J\x1b]52;c;cm0K\x07\x9b31m\x9d0;owned\x9c\x85\r\b\x7f\u202eevil\u2066\u200b\ufeff\u2028"
    "\U000e0041[/][bold]b[@click=app.poisoned]x[link=http://192.0.2.1]y:skull:</title></script>"
    "<img src=x onerror=alert(1)>\"'&lt;{0}%s"
)

FIXED = {
    "batch": {"id", "kind", "status", "stop_code", "config"},
    "unit": {"status"},
    "call": {"step", "status", "source", "finish_reason"},
    "line": {"step"},
    "answer": {"step", "split"},
    "problem": {"split"},
    "provider_batch": {"state"},
    "finding": {"name"},
    "record": {"name"},
    "control": {"command"},
    "library_type": {"definition"},
}
"""columns by which the program finds its way: another value there is told as an error, which `FIXED_ALONE` tries"""

JSON = {
    *(
        "arguments",
        "attributes",
        "calls",
        "content",
        "definition",
        "design",
        "details",
        "in_flight",
        "limits",
        "origin",
    ),
    *("parents", "participants"),
}
"""columns that hold JSON, in whatever table"""


def text_columns(connection: sqlite3.Connection) -> dict[str, list[str]]:
    """Every column that is declared as text, by its table."""
    tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%'")
    found = {}
    for (table,) in tables.fetchall():
        columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
        found[table] = [name for _, name, kind, *_ in columns if kind.upper().startswith(("VARCHAR", "TEXT"))]
    return {table: columns for table, columns in found.items() if columns and not table.startswith("sqlite_")}


def poison(path: Path, text: str = POISON) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.create_function("poisoned", 2, lambda value, name: poisoned(value, name, text))
        for table, columns in text_columns(connection).items():
            _fill(connection, table)
            free = [column for column in columns if column not in FIXED.get(table, ())]
            if free:
                changes = ", ".join(f"{name} = poisoned({name}, '{name}')" for name in free)
                connection.execute(f"UPDATE {table} SET {changes}")
        for number, config in connection.execute("SELECT number, config FROM batch").fetchall():
            changed = json.dumps(poisoned_config(json.loads(config), text))
            connection.execute("UPDATE batch SET config = ? WHERE number = ?", (changed, number))
        connection.commit()


def _fill(connection: sqlite3.Connection, table: str) -> None:
    """A table that is empty gets a row."""
    if connection.execute(f"SELECT 1 FROM {table}").fetchone():
        return
    columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
    values = {name: "" if kind.upper().startswith(("VARCHAR", "TEXT")) else 1 for _, name, kind, *_ in columns}
    names, marks = ", ".join(values), ", ".join("?" * len(values))
    connection.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(values.values()))


def poisoned(value: str | None, name: str, text: str = POISON) -> str:
    """JSON stays JSON: its texts are poisoned, and one more name is in each of its tables."""
    if name in JSON and not value:
        return json.dumps({text: text})
    try:
        content = json.loads(value or "")
    except ValueError:
        return text + (value or "")
    return json.dumps(_within(content, text)) if isinstance(content, dict | list) else text + (value or "")


def _within(content: Any, text: str) -> Any:
    if isinstance(content, dict):
        inner = {key: _within(item, text) for key, item in content.items()}
        return inner | {text + key: item for key, item in list(inner.items())[:1]}
    if isinstance(content, list):
        return [_within(item, text) for item in content]
    return text + content if isinstance(content, str) else content


def poisoned_config(config: dict[str, Any], text: str = POISON) -> dict[str, Any]:
    """Every free text of a frozen config and every free name in it: those with which it still loads. Texts in the same
    place of several entries, such as the names of all agents, are tried together."""
    for place in sorted(set(_places(config))):
        for names in (True, False):
            changed = _changed(config, place, text, names=names)
            if changed != config and _loads(changed):
                config = changed
    return config


def _places(content: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield place
    if isinstance(content, dict):
        for key, item in content.items():
            yield from _places(item, (*place, key))
    elif isinstance(content, list):
        for item in content:
            yield from _places(item, (*place, "*"))


def _changed(content: Any, place: tuple[str, ...], text: str, *, names: bool) -> Any:
    if not place and names and isinstance(content, dict):
        return {text + key: item for key, item in content.items()}
    if not place and not names and isinstance(content, str) and not content.startswith(text):
        return text + content
    if place and isinstance(content, dict) and place[0] in content:
        return content | {place[0]: _changed(content[place[0]], place[1:], text, names=names)}
    if place and isinstance(content, list):
        return [_changed(item, place[1:], text, names=names) for item in content]
    return content


def _loads(config: dict[str, Any]) -> bool:
    try:
        frozen = load_frozen(json.dumps(config))
        frozen.models()
    except TidepoolError:
        return False
    return True


def poisoned_file(folder: Path) -> Path:
    """A file with batches of all kinds, poisoned."""
    path = file_of_all_kinds(folder / "study.db")
    poison(path)
    return path
