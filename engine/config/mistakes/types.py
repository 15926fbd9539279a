"""A value of the wrong type: how the right one is written."""

import json
import math
import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any


def cure_of(fault: str, key: str, value: object, context: Mapping[str, Any]) -> str:
    """What to write instead, by pydantic's name of the fault; empty where its own words say it."""
    match fault, value:
        case ("int_type" | "float_type" | "int_from_float", bool()):
            return "Write a number."
        case ("int_type" | "int_from_float", float()) if math.isfinite(value):
            return f"Write a whole number, such as {key} = {round(value)}."
        case ("int_type" | "float_type", str()):
            number = re.fullmatch(r"\s*([+-]?\d+(?:\.\d+)?)\s*", value)
            return f"Write it without quotes: {key} = {number[1]}." if number else "Write a number, without quotes."
        case ("bool_type", str()):
            said = value.strip().lower() in ("true", "yes", "on", "1")
            return f"Write it without quotes: {key} = {'true' if said else 'false'}."
        case ("bool_type", int()):
            return f"Write {key} = {'true' if value else 'false'}."
        case ("string_type", bool() | int() | float()):
            return f"Write it in quotes: {key} = {json.dumps(str(value).lower() if isinstance(value, bool) else str(value))}."
        case ("string_type" | "literal_error", [str() as one]):
            return f"Write it without brackets: {key} = {json.dumps(one, ensure_ascii=False)}."
        case ("list_type", str() | int() | float()):
            return f"A list stands in brackets: {key} = [{json.dumps(value, ensure_ascii=False)}]."
        case ("model_type", str() | bool() | int() | float()):
            return f"It is a section: write [{key}], and its keys below it."
        case ("literal_error", str()):
            options = re.findall(r"'([^']*)'", str(context.get("expected", "")))
            near = get_close_matches(value.lower(), options, n=1, cutoff=0.5)
            return f"Did you mean {near[0]!r}?" if near else ""
    return ""
