"""YAML for the heads of cards: every text is quoted as JSON quotes it, so that none of it is read as YAML."""

import re
from collections.abc import Iterator, Mapping, Sequence

from tidepool.storage.text import json_text, plain

Value = str | int | bool | Mapping[str, "Value"] | Sequence["Value"]


def yaml(content: Mapping[str, Value]) -> str:
    return "\n".join(_lines(content)) + "\n"


def _lines(content: Mapping[str, Value]) -> Iterator[str]:
    for key, value in content.items():
        if isinstance(value, str | int):
            yield f"{key}: {_single(value)}"
            continue
        yield f"{key}:"
        yield from (f"  {line}" for line in (_lines(value) if isinstance(value, Mapping) else _items(value)))


def _items(values: Sequence[Value]) -> Iterator[str]:
    for value in values:
        if isinstance(value, Mapping):
            first, *others = _lines(value)
            yield f"- {first}"
            yield from (f"  {line}" for line in others)
        elif isinstance(value, str | int):
            yield f"- {_single(value)}"


def _single(value: str | int) -> str:
    """A card's head may be shown as Markdown by a program that knows no heads: signs that would act there are escaped."""
    if not isinstance(value, str):
        return json_text(value)
    return re.sub(r"[<>\[&]", lambda sign: f"\\u{ord(sign[0]):04x}", json_text(plain(value)))
