"""Changing a study's TOML as a person would: one key at a time, with the comments and the order left as they are.

Each change is made twice: on the plain values, and on the text by tomlkit. Where the text does not come to say the same
as the values (tomlkit has its limits with scattered tables), the text is written anew from the values; then comments
are lost, and nothing else.
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
"""what tomlkit may raise on a text that is sound but unusual"""


MEANT_WHEN_WRITTEN = ("stop", "design")
"""sections that ask for something by being there: an empty one goes with its last key"""


@dataclass(frozen=True, slots=True)
class Put:
    """A key gets a value; UNSET takes the key away. Sections on the way are made, and go when they are empty."""

    path: KeyPath
    value: Any


@dataclass(frozen=True, slots=True)
class Append:
    """A list of tables gets one more."""

    path: KeyPath
    record: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Drop:
    """A list of tables loses one."""

    path: KeyPath
    place: int


Edit = Put | Append | Drop


def values_of(text: str) -> dict[str, Any]:
    """Raises tomllib.TOMLDecodeError, with line and column, where the text is no TOML."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise tomllib.TOMLDecodeError("Nested too deeply", text, 0) from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError as error:
        raise tomllib.TOMLDecodeError(str(error), text, 0) from None


def edited(text: str, edits: Sequence[Edit]) -> str:
    """The text with the changes made, in their order. An edit that finds no place for itself is passed over."""
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
    """UNSET where nothing is written."""
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
    """Makes the change on plain values; with `_written`, on a document of tomlkit."""
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
    """The table or list at the path; tables are made where there is none. None where something else stands there."""
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
    """A new key of a table stands behind its other keys, before the remarks that lead to the next table."""
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
    """The value as an item of a document: sections as [tables], what lies deeper on one line."""
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
    """Lines of text stay lines, where TOML can say them so."""
    try:
        return tomlkit.string(text, multiline=True)
    except ValueError:
        return tomlkit.item(text)
