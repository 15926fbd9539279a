"""The forms of the answers of judges, raters and rewriters, and the parser of ratings.

A model that supports JSON schemas gets one. The prompt asks for the same in words, so a model without structured output answers in
words. Readers look for the form first, then for the words. A form is not part of a call's key. A reply without a clear rating on the scale
counts as missing, and is never guessed.
"""

import json
import re
from collections.abc import Collection
from typing import Any

from tidepool.engine.answers import sent_schema

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
MOST_LEVELS = 11
"""maximum levels of a scale with whole-number ratings: 0 to 10"""


def levels_of(scale: tuple[float, float]) -> tuple[int, ...]:
    """The levels of a Likert scale such as 1 to 5; empty if any number between the ends is a rating, as from 0 to 1."""
    low, high = map(float, scale)
    likert = low.is_integer() and high.is_integer() and 2 <= high - low < MOST_LEVELS
    return tuple(range(int(low), int(high) + 1)) if likert else ()


def schema_of(form: str, scale: tuple[float, float] | None = None) -> dict[str, Any]:
    """The JSON schema of a form. A scale is an enum or words, since Anthropic rejects `minimum` and `maximum`."""
    if form.startswith("{"):
        return sent_schema(form)
    schema = SCHEMAS[form]
    if scale is None:
        return schema
    levels = list(levels_of(scale))
    words = f"From {scale[0]:g} to {scale[1]:g}."
    bounded = {"type": "integer", "enum": levels} if levels else {"type": "number", "description": words}
    return {**schema, "properties": {**schema["properties"], "rating": bounded}}


_BEGINNING = re.compile(r"\s*(?:```\w*\s*)?\{(?=\s*(?:[\"}]|$))")
_PAIR = re.compile(
    r'\s*"(?P<name>(?:[^"\\]|\\.)*)"\s*:\s*'
    r'(?P<value>"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false|null)\s*[,}]',
    re.DOTALL,
)
_DECODER = json.JSONDecoder(strict=False)
AFTER = ""
"""the name of the text after a whole form"""
_DEEPEST = 20
"""maximum brackets of a form, with a margin; more is an attack on the parser"""


def fields_of(reply: str) -> dict[str, Any] | None:
    """The fields of a reply in a form, by their names in lower case; None if the reply is words.

    Only complete fields count; in a truncated form, these are the fields before the cut. The content of a field is never
    read as the words of a reply, so a form without the wanted field has no answer.
    """
    beginning = _BEGINNING.match(reply)
    if beginning is None:
        return None
    start = beginning.end()
    if reply.count("{") + reply.count("[") <= _DEEPEST:
        try:
            whole, end = _DECODER.raw_decode(reply, start - 1)
        except ValueError:
            pass
        else:
            words = reply[end:].strip("` \n")
            return {**{name.lower(): value for name, value in whole.items()}, **({AFTER: words} if words else {})}
    fields: dict[str, Any] = {}
    while pair := _PAIR.match(reply, start):
        start = pair.end()
        try:
            fields[pair["name"].lower()] = json.loads(pair["value"], strict=False)
        except ValueError:
            break
    return fields


def text_of(value: object) -> str:
    """The text of a field, if it has any."""
    return value if isinstance(value, str) else ""


def number_of(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


_NUMBER = r"(?P<rating>[-+−]?\d{1,6}(?:[.,]\d{1,6})?)(?![\d%])(?!\s*[-–—]\s*\d)"
_LABELS = ("rating", "score", "verdict", "answer", "note")
_LABELLED = re.compile(
    rf"(?:{'|'.join(_LABELS)})\b[\"'*_]{{0,4}}\s*(?::|=|is)\s*[\"'*_]{{0,4}}\s*{_NUMBER}",
    re.IGNORECASE,
)
_OUT_OF = re.compile(rf"(?<![\d.,]){_NUMBER}\s*(?:/|out of|of)\s*(?P<most>\d{{1,6}})(?!\d)", re.IGNORECASE)
_RANGE = re.compile(
    r"(?<![\d.,])[-+−]?\d{1,6}(?:[.,]\d+)?\s*(?:-|–|—|to|through|and)\s*[-+−]?\d{1,6}(?:[.,]\d+)?(?![\d.,]*\d)",
    re.IGNORECASE,
)
_UNENDED = re.compile(r"(?<![-+−\d.,])[-+−\d.,]++\s*$")
"""a number that may have been truncated"""
_ANY = re.compile(rf"(?<![\w.,]){_NUMBER}(?!\w)")


def read_rating(
    reply: str, scale: tuple[float, float], *, cut: bool = False, levels: Collection[float] = ()
) -> float | None:
    """The rating in a judge's reply: labelled, else 'N out of M', else the only number of the reply.

    If the scale has levels, any other number is not a rating.

    In a truncated reply, only a labelled rating that is followed by more text counts."""
    rating = _read(reply, scale, cut)
    return None if levels and rating not in levels else rating


def _read(reply: str, scale: tuple[float, float], cut: bool) -> float | None:
    fields = fields_of(reply)
    if fields is not None:
        value = next((fields[name] for name in (*_LABELS, AFTER) if name in fields), None)
        number = number_of(value)
        return _in_words(text_of(value), scale) if number is None else _single({number}, scale)
    return _labelled(_UNENDED.sub("", reply), scale) if cut else _in_words(reply, scale)


def _in_words(reply: str, scale: tuple[float, float]) -> float | None:
    if _LABELLED.search(reply):
        return _labelled(reply, scale)
    out_of = {_value(f["rating"]) for f in _OUT_OF.finditer(reply) if _value(f["most"]) == scale[1]}
    if out_of:
        return _single(out_of, scale)
    # 'On a scale of 1 to 5' names the scale, not the verdict.
    return _single({_value(match["rating"]) for match in _ANY.finditer(_RANGE.sub(" ", reply))}, scale)


def _labelled(reply: str, scale: tuple[float, float]) -> float | None:
    return _single({_value(match["rating"]) for match in _LABELLED.finditer(reply)}, scale)


def _single(values: set[float], scale: tuple[float, float]) -> float | None:
    low, high = scale
    value = values.pop() if len(values) == 1 else None
    return value if value is not None and low <= value <= high else None


def _value(number: str) -> float:
    return float(number.replace("−", "-").replace(",", "."))
