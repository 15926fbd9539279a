"""Statistics as types: frozen dataclasses whose fields are named as the JSON they become, and are read back from.

The names of the JSON are a promise to scripts, so a class spells them out, and the order of its fields is the order of
the JSON.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import lru_cache
from types import NoneType, UnionType
from typing import Any, ClassVar, Self, cast, get_args, get_origin, get_type_hints


class Statistics:
    """What every class of statistics can do."""

    LEFT_OUT: ClassVar[frozenset[str]] = frozenset()
    """fields that have no key at all where they are None"""
    EMPTY: ClassVar[frozenset[str]] = frozenset()
    """fields that are an empty object where they are None"""

    def as_json(self) -> dict[str, Any]:
        return {
            name: {} if value is None and name in self.EMPTY else _plain(value)
            for name in _shape(cast(Any, type(self)))
            if (value := getattr(self, name)) is not None or name not in self.LEFT_OUT
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Keys that are not there are None; those that the class does not know are passed over."""
        shape = _shape(cast(Any, cls))
        values = {name: data.get(name) for name in shape}
        values |= {name: None for name in cls.EMPTY if not values[name]}
        return cls(**{name: reader_of(hint)(values[name]) for name, hint in shape.items()})


@lru_cache(None)
def _shape(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def _plain(value: Any) -> Any:
    if isinstance(value, Statistics):
        return value.as_json()
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, tuple | list) else value


@lru_cache(None)
def reader_of(kind: Any) -> Callable[[Any], Any]:
    """Of a field's type: what makes its value of the JSON. Asking a type what it is takes longer than the reading."""
    if isinstance(kind, UnionType):
        present = reader_of(next(option for option in get_args(kind) if option is not NoneType))
        return lambda data: None if data is None else present(data)
    if is_dataclass(kind):
        return cast(type[Statistics], kind).from_json
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind
    origin = get_origin(kind)
    if origin in (tuple, list):
        read_item = reader_of(get_args(kind)[0])
        return lambda data: origin(map(read_item, data))
    if origin is Mapping:
        value = reader_of(get_args(kind)[1])
        return lambda data: {key: value(inner) for key, inner in data.items()}
    return lambda data: data
