"""Text and bytes at the border: what comes in is made storable, what goes out is made sendable."""

import json
from typing import Any

from pydantic_core import from_json, to_json


def clean(text: str) -> str:
    """Text that every file and every provider takes: halves of surrogate pairs are replaced."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


def packed(body: Any) -> bytes:
    """The JSON of what goes out; halves of surrogate pairs are replaced."""
    try:
        return to_json(body)
    except ValueError:
        return _compact(body).encode("utf-8", "replace")


def unpacked(content: str | bytes) -> Any:
    """What came as JSON: quickly where it is as it should be, else as patiently as Python's own reader, whose errors it
    raises."""
    try:
        return from_json(content, cache_strings="keys")
    except ValueError:
        return json.loads(content)
