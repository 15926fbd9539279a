"""What an error's body says, whatever house worded it: OpenAI's and Anthropic's objects, FastAPI's details, plain words,
pages of a proxy. Nothing in it is trusted to have the shape it should have."""

import html
import json
import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

NESTED = ("error", "errors", "detail", "fault", "message")
"""keys under which an error may stand as an object or a list of its own"""
WORDS = (
    "message",
    "msg",
    "error_description",
    "detail",
    "faultstring",
    "Message",
    "reason",
    "error",
    "title",
    "__type",
)
STATUSES = ("code", "status", "statusCode", "status_code")
DEEPEST = 6
MOST_READ = 20_000
"""letters of a page that are looked at"""
MOST_PARTS = 5
_TITLE = re.compile(r"<(title|h1|message)\b[^>]*>(.*?)</\1>", re.IGNORECASE | re.DOTALL)
_UNSEEN = re.compile(r"<(script|style|head)\b.*?</\1>", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<[^>]*>")


class ErrorBody(NamedTuple):
    """What was found; all of it may be missing."""

    words: str = ""
    code: str = ""
    param: str = ""
    """the setting it is about, as a path such as messages.0.role"""
    status: int | None = None
    """the one that stands inside: an answer of 200 may carry another"""


def error_in(content: bytes | str) -> ErrorBody:
    """Reads the body of an error as it came over the line."""
    text = content.decode("utf-8", "replace") if isinstance(content, bytes) else content
    try:
        body = json.loads(text)
    except ValueError:
        return ErrorBody(_plain(text))
    except RecursionError:
        return ErrorBody()
    return read_error(body)


def read_error(body: object, depth: int = 0) -> ErrorBody:
    """Reads an error that was parsed already."""
    if depth > DEEPEST or body is None or isinstance(body, bool):
        return ErrorBody()
    if isinstance(body, str):
        return _of_text(body, depth)
    if isinstance(body, (int, float)):
        return ErrorBody(str(body)) if isinstance(body, int) or math.isfinite(body) else ErrorBody()
    if isinstance(body, list):
        return _of_list(body, depth)
    return _of_object(body, depth) if isinstance(body, Mapping) else ErrorBody()


def _of_text(text: str, depth: int) -> ErrorBody:
    """An error may be wrapped in a text of JSON."""
    if text.lstrip()[:1] in ("{", "["):
        try:
            return read_error(json.loads(text), depth + 1)
        except (ValueError, RecursionError):
            pass
    return ErrorBody(_plain(text))


def _of_list(parts: list[Any], depth: int) -> ErrorBody:
    read = [one for one in (read_error(part, depth + 1) for part in parts[:MOST_PARTS]) if one.words]
    return read[0]._replace(words="; ".join(one.words for one in read)) if read else ErrorBody()


def _of_object(body: Mapping[str, Any], depth: int) -> ErrorBody:
    inner = next(
        (
            one
            for key in NESTED
            if isinstance(body.get(key), (Mapping, list)) and (one := read_error(body[key], depth + 1)).words
        ),
        ErrorBody(),
    )
    words = inner.words or next((found for key in WORDS if (found := _said(body.get(key), depth))), "")
    place = _place(body.get("loc"))
    return ErrorBody(
        words=_with_raw(f"{place}: {words}" if place and words else words, body.get("metadata"), depth),
        code=inner.code or _code(body, words),
        param=inner.param or place or _name(body.get("param")),
        status=inner.status or next((status for key in STATUSES if (status := _status(body.get(key)))), None),
    )


def _said(value: object, depth: int) -> str:
    return read_error(value, depth + 1).words if isinstance(value, (str, int, float)) else ""


def _with_raw(words: str, metadata: object, depth: int) -> str:
    """A relay may tell beside its own words what the server behind it said."""
    raw = read_error(metadata.get("raw"), depth + 1).words if isinstance(metadata, Mapping) else ""
    return f"{words}: {raw}" if raw and words else words


def _code(body: Mapping[str, Any], words: str) -> str:
    details = body.get("details")
    named = details.get("error_code") if isinstance(details, Mapping) else None
    for value in (named, body.get("code"), body.get("type"), body.get("error"), body.get("status")):
        if (name := _name(value)) and name != words and not name.isdigit():
            return name
    return ""


def _place(loc: object) -> str:
    """FastAPI names the setting as a path from the body on."""
    if not isinstance(loc, list):
        return ""
    return ".".join(str(part) for part in loc if isinstance(part, (str, int)) and part not in ("body", "query"))


def _name(value: object) -> str:
    return value[:200] if isinstance(value, str) and value != "None" else ""


def _status(value: object) -> int | None:
    try:
        number = int(value) if isinstance(value, (int, str)) and len(str(value)) == 3 else 0
    except ValueError:
        return None
    return number if 400 <= number < 600 else None


def _plain(text: str) -> str:
    """A text in one line; of a page only what it is headed with."""
    text = text[:MOST_READ].strip()
    if text.startswith("<"):
        titled = _TITLE.search(text)
        text = html.unescape(_TAG.sub(" ", titled[2] if titled else _UNSEEN.sub(" ", text)))[:200]
    return " ".join(text.split())
