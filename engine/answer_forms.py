"""The shapes that judges, raters and rewriters answer in, for models that can be held to a JSON schema.

What is asked stays the same in words, so a model without structured output answers in the words' own form, and whoever
reads a reply looks for the form first and for the words after it. A form is no part of what a call is known by.
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
_FENCED = re.compile(r"\s*```(?:json)?\s*(\{.*\})\s*```\s*", re.DOTALL)
_DEEPEST = 20
"""brackets that a form can have, and some to spare: more is an attempt at the reader"""


def field_of(reply: str, name: str) -> Any:
    """The field of a reply in a form; None where the reply is no JSON object or has no such field."""
    fenced = _FENCED.fullmatch(reply)
    text = (fenced[1] if fenced else reply).strip()
    if not text.startswith("{") or text.count("{") + text.count("[") > _DEEPEST:
        return None
    try:
        data = json.loads(text)
    except ValueError:
        return None
    return data.get(name)


def text_field_of(reply: str, name: str) -> str | None:
    found = field_of(reply, name)
    return found if isinstance(found, str) else None


def number_field_of(reply: str, name: str) -> float | None:
    found = field_of(reply, name)
    return float(found) if isinstance(found, (int, float)) and not isinstance(found, bool) else None
