"""Text and bytes at the border: what comes in is made storable, what goes out is made sendable."""

import json
from typing import Any


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
    return _compact(body).encode("utf-8", "replace")
