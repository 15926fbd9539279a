"""Edits the TOML of a study one key at a time, and preserves comments and order.

Each change is applied twice: to the plain values, and to the text with tomlkit. If the text then differs from the values
(tomlkit has limits with scattered tables), the text is generated from the values, which loses only the comments.
"""

import tomllib
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, InlineTable, Table

from tidepool.tui.app.compose.fields import UNSET, KeyPath

ANYTHING = (KeyError, IndexError, TypeError, ValueError, AttributeError, AssertionError, TOMLKitError, RecursionError)
"""errors that tomlkit may raise for a valid but unusual text"""


MEANT_WHEN_WRITTEN = ("stop", "design")
"""sections that have an effect even when empty, so an empty one is removed with its last key"""


@dataclass(frozen=True, slots=True)
class Put:
    """Sets a key; UNSET removes it. Creates missing sections on the way, and removes empty ones."""

    path: KeyPath
    value: Any


@dataclass(frozen=True, slots=True)
class Append:
    """Adds a table to a list of tables."""

    path: KeyPath
    record: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Drop:
    """Removes a table from a list of tables."""

    path: KeyPath
    place: int


Edit = Put | Append | Drop


def values_of(text: str) -> dict[str, Any]:
    """Parses TOML. Raises tomllib.TOMLDecodeError, with line and column, if the text is invalid."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise tomllib.TOMLDecodeError("Nested too deeply", text, 0) from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError as error:
        raise tomllib.TOMLDecodeError(str(error), text, 0) from None


def edited(text: str, edits: Sequence[Edit]) -> str:
    """Returns the text with the changes in order. Ignores an edit whose place does not exist."""
    expected = values_of(text)
    for edit in edits:
        apply(expected, edit)
    try:
        document = tomlkit.parse(text)
        for edit in edits:
            apply(document, edit, _written)
        new_text = document.as_string()
        if values_of(new_text) == expected:
            return new_text
    except ANYTHING:
        pass
    return tomlkit.dumps(expected)


def value_at(values: Any, path: KeyPath) -> Any:
    """Returns the value at a path, or UNSET."""
    for part in path:
        if isinstance(part, int):
            if not isinstance(values, list) or part >= len(values):
                return UNSET
        elif not isinstance(values, Mapping) or part not in values:
            return UNSET
        values = values[part]
    return values


def _plain(value: Any, holder: Any, **_: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(item, None) for name, item in value.items()}
    return [_plain(item, None) for item in value] if isinstance(value, list) else value


def apply(values: Any, edit: Edit, make: Any = _plain) -> None:
    """Applies the change to plain values, or with `_written` to a tomlkit document."""
    match edit:
        case Put(path, value) if value is UNSET:
            _take_away(values, path)
        case Put(path, value):
            holder = _holder(values, path[:-1], make)
            if holder is not None:
                _set(holder, path[-1], make(value, holder))
        case Append(path, record):
            holder = _holder(values, path[:-1], make)
            if holder is None:
                return
            if not isinstance(holder.get(path[-1]), list):
                holder[path[-1]] = make([], holder)
            place = holder[path[-1]]
            place.append(make(record, place))
        case Drop(path, place):
            records = value_at(values, path)
            if isinstance(records, list) and place < len(records):
                del records[place]
                if not records:
                    _take_away(values, path)


def _holder(values: Any, path: KeyPath, make: Any) -> Any:
    """Returns the table or list at the path. Creates missing tables. Returns None if another value is there."""
    for depth, key in enumerate(path):
        if isinstance(key, int):
            if not isinstance(values, list) or key >= len(values):
                return None
        elif not isinstance(values, MutableMapping):
            return None
        elif key not in values:
            values[key] = make({}, values, section=depth == 0, outer=depth + 1 < len(path))
        values = values[key]
    return values if isinstance(values, MutableMapping | list) else None


def _set(holder: Any, key: Any, item: Any) -> None:
    """Sets a key. A new key goes after the other keys of its table, before the comments of the next table."""
    if isinstance(holder, Table) and key not in holder and not isinstance(item, Table | AoT):
        names = [name for name, inner in holder.value.body if name is not None and not isinstance(inner, Table | AoT)]
        if names:
            holder.value._insert_after(names[-1], key, item)
            dict.__setitem__(holder, key, item)
            return
    holder[key] = item


def _take_away(values: Any, path: KeyPath) -> None:
    holder = value_at(values, path[:-1])
    key = path[-1]
    if not isinstance(holder, MutableMapping) or key not in holder:
        return
    del holder[key]
    if (
        len(path) > 1
        and not holder
        and not isinstance(path[-2], int)
        and (len(path) > 2 or path[0] in MEANT_WHEN_WRITTEN)
    ):
        _take_away(values, path[:-1])


def _written(value: Any, holder: Any, *, section: bool = False, outer: bool = False) -> Any:
    """Returns the value as a tomlkit item: sections as [tables], deeper values on one line."""
    if isinstance(value, Mapping):
        table: Any = _table(holder, section, outer)
        for name, element in value.items():
            table[name] = _written(element, table)
        return table
    if isinstance(value, list):
        if not value and isinstance(holder, tomlkit.TOMLDocument):
            return tomlkit.aot()
        array = tomlkit.array()
        for element in value:
            array.append(_written(element, array))
        return array
    if isinstance(value, str) and "\n" in value and not isinstance(holder, InlineTable):
        return _long_string(value)
    return tomlkit.item(value)


def _table(holder: Any, section: bool, outer: bool) -> Any:
    if isinstance(holder, AoT):
        return tomlkit.table()
    if section:
        return tomlkit.table(is_super_table=outer)
    if not outer and isinstance(holder, Table) and holder.is_super_table():
        return tomlkit.table()
    return tomlkit.inline_table()


def _long_string(text: str) -> Any:
    """Returns a multi-line string if TOML can represent the text as one."""
    try:
        return tomlkit.string(text, multiline=True)
    except ValueError:
        return tomlkit.item(text)
