"""What is wrong with a config, as sentences that each belong to a key: for error messages, and for forms.

A sentence names the nearest known key or the section a key belongs to, and what to write instead of a wrong value.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from tidepool.engine.config import ceilings
from tidepool.engine.config.toml_text import LISTS, NO, NO_LINES, YES, Lines, as_number, format_key, format_value
from tidepool.engine.errors import Location, UsageError

MOST_SHOWN = 5
"""problems that one error message names"""
LONGEST_SHOWN = 60
"""letters or items of a wrong value that are repeated"""
LONGEST_GUESSED = 200
"""letters of a text that is read as another value; Python reads no number of thousands of digits"""
EXPECTED = {
    "string_type": "expected text",
    "int_type": "expected a whole number",
    "int_from_float": "expected a whole number",
    "float_type": "expected a number",
    "bool_type": "expected true or false",
    "list_type": "expected a list",
    "dict_type": "expected a table of names and values",
    "model_type": "expected a table of keys and values",
    "literal_error": "expected {expected}",
    "union_tag_not_found": "the {discriminator} is missing",
    "union_tag_invalid": "the {discriminator} is one of {expected_tags}",
}
"""pydantic's name of a fault → our words for it, with blanks for what pydantic says of it"""

Section = TypeVar("Section", bound=BaseModel)
Write = Callable[[Any], str]
"""the syntax of suggested values: TOML, or Python if the section was made in code"""


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    """One thing that is wrong with a config, and where."""

    where: Location
    """the path of keys and list places, from the top of the config"""
    sentence: str


class WrongValue(ValueError):
    """A rule of a section is broken. `where` is the key to change, within the section that raises it."""

    def __init__(self, message: str, *where: int | str) -> None:
        super().__init__(message)
        self.where: Location = where


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is known of a config beside the section that is checked."""

    lines: Lines = NO_LINES
    """where its keys are written"""
    homes: Mapping[str, str] = field(default_factory=dict)
    """key → the section that has it, as it is written"""
    sections: tuple[str, ...] = ()
    """their headers, as they are written"""


NOWHERE = Surroundings()


def surroundings(
    config: type[BaseModel], kind: str, settings: type[BaseModel], lines: Lines = NO_LINES
) -> Surroundings:
    """What a config of this kind has. A key of several sections belongs to the kind's own, else to the first."""
    homes = dict.fromkeys(settings.model_fields, f"in [{kind}]")
    headers = []
    for name, one in config.model_fields.items():
        section, listed = (settings, False) if name == "settings" else _section_in(one.annotation)
        if section is None and name not in LISTS:
            homes.setdefault(name, "before the first section, at the top of the file")
            continue
        written = kind if name == "settings" else name
        header = f"[[{written}]]" if listed or name in LISTS else f"[{written}]"
        headers.append(header)
        for key in section.model_fields if section and name not in ("settings", "providers") else ():
            homes.setdefault(key, f"in {header}")
        homes.setdefault(written, f"in sections of its own, {header}")
    return Surroundings(lines, homes, tuple(headers))


def _section_in(annotation: Any) -> tuple[type[BaseModel] | None, bool]:
    """The section that a type is made of, and whether it is a list of them."""
    if isinstance(annotation, type) and not get_args(annotation):
        return (annotation, False) if issubclass(annotation, BaseModel) else (None, False)
    inner = (_section_in(one)[0] for one in get_args(annotation))
    found = next((one for one in inner if one is not None), None)
    return found, get_origin(annotation) not in (Union, UnionType) and get_origin(annotation) is list


# -- checking a section ----------------------------------------------------------------------------------


def validated(
    model: type[Section], data: object, source: str = "", prefix: Location = (), around: Surroundings = NOWHERE
) -> Section:
    """The data as a section; what does not fit is reported by key, and `source` says in which file."""
    if not isinstance(data, Mapping):
        raise UsageError(format_error(source, not_a_section(prefix, data), around.lines.of(prefix)), prefix)
    try:
        return model.model_validate(dict(data))
    except ValidationError as error:
        problems = problems_of(error, model, prefix, around)
        first, *others = ((around.lines.of(one.where), one.sentence) for one in problems[:MOST_SHOWN])
        more = (format_error(f"Line {line}" if line else "", sentence) for line, sentence in others)
        raise UsageError(format_error(source, " ".join((first[1], *more)), first[0]), problems[0].where) from None


def problems_in(
    model: type[BaseModel], data: Any, prefix: Location = (), around: Surroundings = NOWHERE
) -> list[ConfigProblem]:
    """What keeps the data from being such a section."""
    if not isinstance(data, Mapping):
        return [ConfigProblem(prefix, not_a_section(prefix, data))]
    try:
        model.model_validate(dict(data))
    except ValidationError as error:
        return problems_of(error, model, prefix, around)
    except UsageError as error:  # a rule in the engine's own words, which pydantic lets through
        return [ConfigProblem(error.where or prefix, str(error))]
    return []


def problems_of(
    error: ValidationError,
    model: type[BaseModel],
    prefix: Location = (),
    around: Surroundings = NOWHERE,
    write: Write = format_value,
) -> list[ConfigProblem]:
    """What pydantic found, in words."""
    found = error.errors(include_url=False)[: ceilings.PROBLEMS]
    return [_problem(one, model, prefix, around, write) for one in found]


def format_error(source: str, sentence: str, line: int | None = None) -> str:
    """The sentence after the name of what it is about, and its line if that is known."""
    if not source:
        return sentence
    return f"{source}, line {line}: {sentence}" if line else f"{source}: {sentence}"


@contextmanager
def placed(source: str, lines: Lines) -> Iterator[None]:
    """Adds the line to errors of a key that are raised in here."""
    try:
        yield
    except UsageError as error:
        sentence = str(error).removeprefix(f"{source}: ")
        if source and sentence != str(error) and (line := lines.of(error.where)):
            error.args = (format_error(source, sentence, line),)
        raise


def not_a_section(prefix: Location, data: object) -> str:
    """The message where a table was expected."""
    name = path_in_words(prefix)
    if _is_table_list(data):
        return f"[{name}] exists only once: write [{name}], not [[{name}]]."
    return f"{name} must be a section: write [{name}], and its keys below it."


def path_in_words(location: Location) -> str:
    """The place as it is written in TOML's dotted keys."""
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text or "the section"


# -- one problem in words --------------------------------------------------------------------------------


def _problem(found: Any, model: type[BaseModel], prefix: Location, around: Surroundings, write: Write) -> ConfigProblem:
    location: Location = found["loc"]
    path = (*prefix, *location)
    where = path_in_words(path)
    fault, value = found["type"], found["input"]
    if fault == "extra_forbidden":
        is_table = isinstance(value, Mapping) or _is_table_list(value)
        if len(path) == 1 and "settings" in model.model_fields and is_table:
            return ConfigProblem(path, f"unknown section [{where}].{_nearest_section(model, where, around)}")
        return ConfigProblem(path, f"unknown key {where}.{_nearest_key(model, location, around.homes)}")
    if fault == "missing":
        return ConfigProblem(path, f"{where} is missing.")
    raised = found.get("ctx", {}).get("error")
    key = (*path, *raised.where) if isinstance(raised, WrongValue) else path
    if fault == "list_type" and isinstance(value, Mapping) and (path[-1] in LISTS or _section_at(model, location)):
        inner = [name for name, one in value.items() if isinstance(one, Mapping)]
        named = f' with name = "{inner[0]}"' if inner and len(inner) == len(value) else ""
        return ConfigProblem(key, f"[{where}] is one of a list, and is written [[{where}]]{named}.")
    if fault in ("model_type", "dict_type") and _is_table_list(value):
        return ConfigProblem(key, not_a_section(path, value))
    expected = EXPECTED.get(fault, "").format(**found.get("ctx", {}))
    message = expected or found["msg"].removeprefix("Value error, ").replace(" after validation", "")
    sentence = f"{message[0].lower()}{message[1:].rstrip('.')}" + ("" if message.endswith("?") else ".")
    if expected:
        sentence = f"{sentence} {_hint(found, model, write)}".rstrip()
    elif isinstance(value, Mapping):
        return ConfigProblem(key, f"[{where}]: {sentence}" if path else sentence)
    return ConfigProblem(key, f"{where} = {_shortened(value, write)}: {sentence}")


def _hint(found: Any, model: type[BaseModel], write: Write) -> str:
    """What to write instead: the value that was meant, if it would be accepted."""
    location, value = found["loc"], found["input"]
    guesses = _guesses(found["type"], value) if not isinstance(value, str) or len(value) <= LONGEST_GUESSED else ()
    for guess in guesses:
        if _accepts(model, location, guess):
            key = location[-1]
            return f"Write {write(guess)}." if isinstance(key, int) else f"Write {format_key(key)} = {write(guess)}."
    options = re.findall(r"'([^']*)'", str(found.get("ctx", {}).get("expected", "")))
    if near := get_close_matches(value.lower(), options, n=1, cutoff=0.5) if isinstance(value, str) else []:
        return f"Did you mean {near[0]!r}?"
    return ""


def _guesses(fault: str, value: object) -> Iterator[Any]:
    """Values that were perhaps meant."""
    match fault, value:
        case ("int_type" | "int_from_float", float()) if math.isfinite(value):
            yield round(value)
        case ("int_type" | "float_type", str()) if number := as_number(value):
            yield float(number) if "." in number else int(number)
        case ("bool_type", str()) if value.strip().lower() in YES | NO:
            yield value.strip().lower() in YES
        case ("string_type", bool()):
            yield str(value).lower()
        case ("string_type", int() | float()):
            yield str(value)
        case ("string_type" | "literal_error", [str() as one]):
            yield one
        case ("list_type", str()):
            words = [one.strip() for one in value.split(",")]
            if all(words) and not any(re.search(r"\s", one) for one in words):  # else a sentence with commas
                yield words
            yield [value]
        case ("list_type", int() | float() | Mapping()):
            yield [value]


def _accepts(model: type[BaseModel], location: Location, value: Any) -> bool:
    """Whether the section has nothing against this value at this place, whatever else it may lack."""
    place = tuple(0 if isinstance(part, int) else part for part in location)
    data = value
    for part in reversed(place):
        data = [data] if isinstance(part, int) else {part: data}
    try:
        model.model_validate(data)
    except ValidationError as error:
        raised = [(*one["loc"], *getattr(one.get("ctx", {}).get("error"), "where", ())) for one in error.errors()]
        return not any(where[: len(place)] == place for where in raised)
    except UsageError:
        return False
    return True


def _shortened(value: Any, write: Write) -> str:
    shown = value[:LONGEST_SHOWN] if isinstance(value, str | list) else value
    try:
        text = write(shown)
    except (TypeError, ValueError, RecursionError):  # no value of TOML, or too deep
        text = repr(shown)
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 3] + "…"


def _nearest_section(model: type[BaseModel], name: str, around: Surroundings) -> str:
    providers = model.model_fields.get("providers")
    if providers and name in getattr(providers.annotation, "model_fields", {}):
        return f" A provider's keys stand in [providers.{name}]."
    headers = {header.strip("[]"): header for header in around.sections}
    if near := get_close_matches(name.lower(), headers, n=1, cutoff=0.5):
        return f" Did you mean {headers[near[0]]}?"
    if name in around.homes:
        return f" {name} is a key {around.homes[name]}."
    return f" Sections are {', '.join(around.sections)}."


def _nearest_key(model: type[BaseModel], location: Location, homes: Mapping[str, str]) -> str:
    key = str(location[-1])
    if "key" in key.lower() and "api" in key.lower():
        return " Keys are read from the environment only and never written into a config."
    section = _section_at(model, location[:-1])
    known = list(section.model_fields) if section else []
    beside = getattr(section, "other_names", "")
    if not get_close_matches(key, known, n=1, cutoff=0.8) and key in homes:
        return f" It belongs {homes[key]}."
    if near := get_close_matches(key, known, n=1, cutoff=0.5):
        return f" Did you mean {near[0]!r}?{beside}"
    return f" Known here: {', '.join(sorted(known))}.{beside}" if known else ""


def _section_at(model: Any, location: Location) -> Any:
    """The section at this place; a section with names of the user's making says itself what stands under one."""
    for part in location:
        if isinstance(part, int):
            continue
        if part in model.model_fields:
            annotation = model.model_fields[part].annotation
        else:
            annotation = model.type_under(part) if hasattr(model, "type_under") else None
        if (model := _section_in(annotation)[0]) is None:
            return None
    return model


def _is_table_list(data: object) -> bool:
    return isinstance(data, list) and bool(data) and all(isinstance(one, Mapping) for one in data)
