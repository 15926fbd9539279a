"""Rows as the types that they say they are: a column of SQLite takes any value, and a screen that draws a text as a number
dies far from where the file could be told of."""

import math
from dataclasses import fields
from functools import cache
from types import NoneType
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")
LAST_MOMENT = 253_402_300_799
"""the end of the year 9999: no calendar goes on"""


def whole(record: T) -> T:
    """The dataclass as it is; raises where a value is not of its field's type, or a number that nobody can show."""
    for name, kinds, moment in _fields(cast(Any, type(record))):
        value: Any = getattr(record, name)
        if not isinstance(value, kinds):
            raise TypeError(f"{name} is no {kinds[0].__name__}")
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"{name} is a number without end")
        if moment and isinstance(value, float | int) and not 0 <= value <= LAST_MOMENT:
            raise ValueError(f"{name} is a moment that no calendar has")
    return record


@cache
def _fields(kind: Any) -> tuple[tuple[str, tuple[type, ...], bool], ...]:
    hints = get_type_hints(kind)
    return tuple(
        (one.name, _kinds(hints[one.name]), one.name == "at" or one.name.endswith("_at")) for one in fields(kind)
    )


def _kinds(hint: Any) -> tuple[type, ...]:
    if get_origin(hint) in (tuple, list, dict):
        return (get_origin(hint),)
    parts = get_args(hint) or (hint,)
    return tuple(kind for part in parts for kind in ((float, int) if part is float else (part or NoneType,)))
