"""Answers in a form that the asker chooses: one of some options, a number in a range, a pydantic model, or any JSON schema.

A form is a JSON schema, stored as text in `Call.form`. Models with structured output get the schema. All models get it in words.
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import islice
from random import Random
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from tidepool.engine.errors import UsageError

if TYPE_CHECKING:
    from pydantic import BaseModel

AnswerForm: TypeAlias = "Sequence[str] | tuple[float, float] | type[BaseModel] | Mapping[str, Any]"
"""options, the ends of a range, a model, or a schema"""
_BOUNDS = ("minimum", "maximum")
"""keys that not all providers accept"""
_WORD = "answer"


def form_of(answer: AnswerForm) -> str:
    """The form as a JSON schema of an object."""
    if not (
        isinstance(answer, Mapping)
        or hasattr(answer, "model_json_schema")
        or _is_range(answer)
        or (isinstance(answer, Sequence) and answer and all(isinstance(option, str) for option in answer))
    ):
        raise UsageError(
            f"answer={answer!r} is no form. Use a list of texts, a range such as (0, 100), a pydantic model, or a JSON schema."
        )
    if isinstance(answer, Mapping):
        schema = dict(answer)
    elif isinstance(answer, type):
        schema = answer.model_json_schema()
    elif _is_range(answer):
        low, high = cast("tuple[float, float]", answer)
        whole = isinstance(low, int) and isinstance(high, int)
        value = {"type": "integer" if whole else "number", "minimum": low, "maximum": high}
        schema = {"type": "object", "properties": {_WORD: value}}
    else:
        schema = {"type": "object", "properties": {_WORD: {"type": "string", "enum": list(answer)}}}
    if schema.get("type") != "object":
        raise UsageError("answer= needs a JSON schema of an object.")
    return json.dumps(_strict(schema), ensure_ascii=False)


def _is_range(answer: AnswerForm) -> bool:
    if not (isinstance(answer, tuple) and len(answer) == 2 and all(isinstance(end, int | float) for end in answer)):
        return False
    low, high = cast("tuple[float, float]", answer)
    return low < high


def _strict(schema: Any) -> Any:
    """The schema with all properties required and no others, as providers demand."""
    if isinstance(schema, list):
        return [_strict(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    strict = {key: _strict(value) for key, value in schema.items()}
    if strict.get("type") == "object" and isinstance(properties := strict.get("properties"), dict):
        strict |= {"required": list(properties), "additionalProperties": False}
    return strict


@lru_cache(maxsize=256)
def sent_schema(form: str) -> dict[str, Any]:
    """The schema as providers get it."""

    def without_bounds(node: Any) -> Any:
        if isinstance(node, list):
            return [without_bounds(item) for item in node]
        if not isinstance(node, dict):
            return node
        kept = {key: without_bounds(value) for key, value in node.items() if key not in _BOUNDS}
        words = " ".join(f"{key} {node[key]:g}." for key in _BOUNDS if isinstance(node.get(key), int | float))
        return {**kept, "description": words} if words else kept

    return cast("dict[str, Any]", without_bounds(json.loads(form)))


def in_words(form: str) -> str:
    """The request for this form, which ends a message."""
    properties = json.loads(form).get("properties", {})
    if list(properties) != [_WORD]:
        return f"Reply with JSON only, in the form of this JSON schema: {form}"
    value = properties[_WORD]
    allowed = (
        ", ".join(value["enum"]) if "enum" in value else f"a number from {value['minimum']:g} to {value['maximum']:g}"
    )
    return f'Reply with JSON only: {{"{_WORD}": …}}. The answer is {"one of: " if "enum" in value else ""}{allowed}.'


def read_answer(text: str, answer: AnswerForm) -> Any:
    """The answer in a reply; None if it has no readable one. Nothing is guessed."""
    fields = _object_in(text)
    if isinstance(answer, type):
        try:
            return None if fields is None else answer.model_validate(fields)
        except ValueError:
            return None
    if isinstance(answer, Mapping):
        names = json.loads(form_of(answer)).get("properties", {})
        return fields if fields is not None and names.keys() <= fields.keys() else None
    value = (fields or {}).get(_WORD) if fields is not None else text.strip().strip("\"'`*.")
    if _is_range(answer):
        low, high = cast("tuple[float, float]", answer)
        try:
            number = float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            return None
        whole = isinstance(low, int) and isinstance(high, int)
        if not low <= number <= high or (whole and not number.is_integer()):
            return None
        return int(number) if whole else number
    wanted = str(value).strip().casefold()
    return next((option for option in cast("Sequence[str]", answer) if option.casefold() == wanted), None)


_MOST_TRIED = 20


def _object_in(text: str) -> dict[str, Any] | None:
    """The first JSON object of a reply."""
    for found in islice(re.finditer(r"\{", text), _MOST_TRIED):
        try:
            value, _ = json.JSONDecoder(strict=False).raw_decode(text, found.start())
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            return value
    return None


def fits(text: str, form: str) -> bool:
    """Whether a text is an answer in this form."""
    schema = json.loads(form)
    value = schema.get("properties", {}).get(_WORD, {})
    if "enum" in value:
        return read_answer(text, value["enum"]) is not None
    return read_answer(text, (value["minimum"], value["maximum"]) if "minimum" in value else schema) is not None


def made_up(form: str, random: Random) -> str:
    """A reply in this form, chosen at random: what a simulated model answers."""
    schema = json.loads(form)
    return json.dumps(_value(schema, schema.get("$defs", {}), random), ensure_ascii=False)


def _value(schema: Mapping[str, Any], definitions: Mapping[str, Any], random: Random, depth: int = 0) -> Any:
    def inner(part: Mapping[str, Any]) -> Any:
        return _value(part, definitions, random, depth + 1)

    if "$ref" in schema:
        return inner(definitions[schema["$ref"].rpartition("/")[2]])
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return random.choice(schema["enum"])
    if options := schema.get("anyOf") or schema.get("oneOf"):
        return inner(options[-1] if depth > 8 else random.choice(options))
    low, high = schema.get("minimum", 0), schema.get("maximum", 10)
    match schema.get("type", "object"):
        case "integer":
            return random.randint(round(low), round(high))
        case "number":
            return round(random.uniform(low, high), 2)
        case "boolean":
            return random.random() < 0.5
        case "null":
            return None
        case "array":
            return [
                inner(schema.get("items", {"type": "string"})) for _ in range(0 if depth > 8 else random.randint(1, 3))
            ]
        case "object":
            return {name: inner(part) for name, part in schema.get("properties", {}).items()}
    return random.choice(("amber", "basalt", "cedar", "delta"))
