"""A value of the wrong type: what to write instead. A value is suggested only where the config would accept it."""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from tidepool.engine.config.mistakes.values import as_number

EXPECTED = {
    "string_type": "expected text",
    "int_type": "expected a whole number",
    "int_from_float": "expected a whole number",
    "float_type": "expected a number",
    "bool_type": "expected true or false",
    "list_type": "expected a list",
    "dict_type": "expected a table of names and values",
    "model_type": "expected a table of keys and values",
}
"""pydantic's name of a fault → our words for it"""
TRUE = ("true", "yes", "on", "1")
LONGEST_GUESSED = 200
"""characters of a text; Python reads no number of thousands of digits"""


def nearest_choice(value: object, context: Mapping[str, Any]) -> str:
    """The choice that was meant; empty where none is near."""
    options = re.findall(r"'([^']*)'", str(context.get("expected", "")))
    near = get_close_matches(value.lower(), options, n=1, cutoff=0.5) if isinstance(value, str) else []
    return f"Did you mean {near[0]!r}?" if near else ""


def suggest_value(fault: str, value: object, accepts: Callable[[Any], bool]) -> Any:
    """The value that was probably meant; None where no guess would be accepted, or where it is too long to show."""
    if isinstance(value, str) and len(value) > LONGEST_GUESSED:
        return None
    return next((one for one in _guesses(fault, value) if one != [] and accepts(one)), None)


def two_levels(value: object) -> list[Any] | None:
    """A factor's levels where one was written: that one, and one beside it. None where no other can be guessed."""
    match value:
        case bool():
            return [value, not value]
        case int():
            return [value, value + 1]
        case float() if math.isfinite(value):
            return [value, value / 2 or 1.0]
    return None


def _guesses(fault: str, value: object) -> Iterator[Any]:
    match fault, value:
        case ("int_type" | "float_type" | "int_from_float", bool()):
            return
        case ("int_type" | "int_from_float", float()) if math.isfinite(value):
            yield round(value)
        case ("int_type" | "float_type", str()) if number := as_number(value):
            yield float(number) if "." in number else int(number)
        case ("bool_type", str()):
            yield value.strip().lower() in TRUE
        case ("bool_type", int()):
            yield bool(value)
        case ("string_type", bool()):
            yield str(value).lower()
        case ("string_type", int() | float()):
            yield str(value)
        case ("string_type" | "literal_error", [str() as one]):
            yield one
        case ("list_type", str()):
            if not re.search(r"[A-Za-z]{3}", value):  # 1-5, "1, 5", "1 to 5"
                yield [float(one) if "." in one else int(one) for one in re.findall(r"(?<!\d)-?\d+(?:\.\d+)?", value)]
            words = [one.strip() for one in value.split(",")]
            if all(words) and not any(re.search(r"\s", one) for one in words):  # else a sentence with commas
                yield words
            yield [value]
        case ("list_type", int() | float() | Mapping()):
            yield [value]
