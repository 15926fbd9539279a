"""The shapes that judges, raters and rewriters answer in, for models that can be held to a JSON schema.

What is asked stays the same in words, so a model without structured output answers in the words' own form, and whoever
reads a reply looks for the form first, and for the words where there is none. A form is no part of what a call is known by.
"""

import json
import re
from typing import Any

_REASON = {"type": "string", "description": "In one or two sentences, before the answer."}
_FIELDS: dict[str, dict[str, dict[str, Any]]] = {
    "verdict": {"reason": _REASON, "verdict": {"type": "string", "enum": ["yes", "no"]}},
    "rating": {"reason": _REASON, "rating": {"type": "number"}},
    "score": {"score": {"type": "number"}},
    "prompt": {"prompt": {"type": "string", "description": "The new prompt and nothing else."}},
    "query": {"query": {"type": "string", "description": "The rewritten question and nothing else."}},
}
SCHEMAS: dict[str, dict[str, Any]] = {
    name: {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    for name, fields in _FIELDS.items()
}
_BEGINNING = re.compile(r"\s*(?:```\w*\s*)?\{(?=\s*(?:[\"}]|$))")
_PAIR = re.compile(
    r'\s*"(?P<name>(?:[^"\\]|\\.)*)"\s*:\s*'
    r'(?P<value>"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false|null)\s*(?P<end>[,}])',
    re.DOTALL,
)
AFTER = ""
"""the name of what follows a whole form, where that is words"""
_DEEPEST = 20
"""brackets that a form can have, and some to spare: more is an attempt at the reader"""


def fields_of(reply: str) -> dict[str, Any] | None:
    """The fields of a reply in a form, by their names in small letters; None where the reply is words.

    Only what is whole is a field: of a form that was cut, those before the cut. What stands in a field is never taken
    for the words of a reply, so a form without the field that is looked for has no answer.
    """
    beginning = _BEGINNING.match(reply)
    if beginning is None:
        return None
    fields: dict[str, Any] = {}
    place = beginning.end()
    while pair := _PAIR.match(reply, place):
        place = pair.end()
        try:
            fields[pair["name"].lower()] = json.loads(pair["value"], strict=False)
        except ValueError:
            break
        if pair["end"] == "}":
            words = reply[place:].strip("` \n")
            return {**fields, AFTER: words} if words else fields
    return _nested(reply[beginning.end() - 1 :]) or fields


def _nested(text: str) -> dict[str, Any]:
    """A whole form with more in it than was asked for."""
    text = text.rstrip("` \n")
    if text.count("{") + text.count("[") > _DEEPEST:
        return {}
    try:
        return {name.lower(): value for name, value in json.loads(text, strict=False).items()}
    except ValueError:
        return {}


def text_of(value: object) -> str:
    """A field's own words, where it has any."""
    return value if isinstance(value, str) else ""


def number_of(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
