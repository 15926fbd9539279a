"""Problems of a config as sentences, each with its key: for error messages and for forms.

A sentence names the nearest known key, or the section that a key belongs to, and what to write instead of a wrong value.
"""

import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from tidepool.engine.config import ceilings
from tidepool.engine.config.toml_files import LISTS, NO_LINES, Lines, format_key, format_value, read_value
from tidepool.engine.errors import Location, UsageError

MOST_SHOWN = 5
"""problems in one error message"""
LONGEST_SHOWN = 60
"""characters or items of a wrong value that a message repeats"""
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
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "greater_than": "must be greater than {gt}",
    "less_than": "must be less than {lt}",
    "union_tag_not_found": "the {discriminator} is missing",
    "union_tag_invalid": "the {discriminator} must be one of {expected_tags}",
}
"""pydantic's error types, each with our message; blanks are filled from pydantic's context"""

Section = TypeVar("Section", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    """One problem of a config, and its place."""

    where: Location
    """the path of keys and list places, from the top of the config"""
    sentence: str


class WrongValue(ValueError):
    """A section breaks a rule. `where` is the key to change, within the section that raises it."""

    def __init__(self, message: str, *where: int | str) -> None:
        super().__init__(message)
        self.where: Location = where


@dataclass(frozen=True, slots=True)
class ConfigLayout:
    """Facts about a config beyond the section that is checked."""

    lines: Lines = NO_LINES
    """the lines of its keys"""
    key_sections: Mapping[str, str] = field(default_factory=dict)
    """key → the section that has it, in the form of the file"""
    sections: tuple[str, ...] = ()
    """section headers, in the form of the file"""


NO_LAYOUT = ConfigLayout()


def config_layout(
    config: type[BaseModel], kind: str, settings: type[BaseModel], lines: Lines = NO_LINES
) -> ConfigLayout:
    """The keys of a config of this kind. A key of several sections belongs to the kind's own section, else to the first."""
    key_sections = dict.fromkeys(settings.model_fields, f"in [{kind}]")
    headers = []
    for name, info in config.model_fields.items():
        section, is_list = (settings, False) if name == "settings" else _section_in(info.annotation)
        if section is None and name not in LISTS:
            key_sections.setdefault(name, "before the first section, at the top of the file")
            continue
        title = kind if name == "settings" else name
        header = f"[[{title}]]" if is_list or name in LISTS else f"[{title}]"
        headers.append(header)
        for key in section.model_fields if section and name not in ("settings", "providers") else ():
            key_sections.setdefault(key, f"in {header}")
        key_sections.setdefault(title, f"in sections of its own, {header}")
    return ConfigLayout(lines, key_sections, tuple(headers))


def _section_in(annotation: Any) -> tuple[type[BaseModel] | None, bool]:
    """The section class of a type, and whether the type is a list of them."""
    if isinstance(annotation, type) and not get_args(annotation):
        return (annotation, False) if issubclass(annotation, BaseModel) else (None, False)
    inner = (_section_in(part)[0] for part in get_args(annotation))
    section = next((part for part in inner if part is not None), None)
    return section, get_origin(annotation) not in (Union, UnionType) and get_origin(annotation) is list


# -- checking a section ----------------------------------------------------------------------------------


def validated(
    model: type[Section], data: object, source: str = "", prefix: Location = (), layout: ConfigLayout = NO_LAYOUT
) -> Section:
    """Builds the section from the data. Reports each problem by key; `source` names the file."""
    if not isinstance(data, Mapping):
        raise UsageError(format_error(source, not_a_section(prefix, data), layout.lines.of(prefix)), prefix)
    try:
        return model.model_validate(dict(data))
    except ValidationError as error:
        problems = problems_of(error, model, prefix, layout)
        first, *others = ((layout.lines.of(problem.where), problem.sentence) for problem in problems[:MOST_SHOWN])
        more = (format_error(f"Line {line}" if line else "", sentence) for line, sentence in others)
        raise UsageError(format_error(source, " ".join((first[1], *more)), first[0]), problems[0].where) from None


def problems_in(
    model: type[BaseModel], data: Any, prefix: Location = (), layout: ConfigLayout = NO_LAYOUT
) -> list[ConfigProblem]:
    """The problems that prevent the data from being such a section."""
    if not isinstance(data, Mapping):
        return [ConfigProblem(prefix, not_a_section(prefix, data))]
    try:
        model.model_validate(dict(data))
    except ValidationError as error:
        return problems_of(error, model, prefix, layout)
    except UsageError as error:  # a rule of the engine, which pydantic passes on
        return [ConfigProblem(error.where or prefix, str(error))]
    return []


def problems_of(
    error: ValidationError, model: type[BaseModel], prefix: Location = (), layout: ConfigLayout = NO_LAYOUT
) -> list[ConfigProblem]:
    """The errors of pydantic in words."""
    errors = error.errors(include_url=False)[: ceilings.PROBLEMS]
    return [_problem(fault, model, prefix, layout) for fault in errors]


def format_error(source: str, sentence: str, line: int | None = None) -> str:
    """The sentence with its source, and its line if it is known."""
    if not source:
        return sentence
    return f"{source}, line {line}: {sentence}" if line else f"{source}: {sentence}"


@contextmanager
def adding_line(source: str, lines: Lines) -> Iterator[None]:
    """Adds the line to errors of a key that are raised inside."""
    try:
        yield
    except UsageError as error:
        sentence = str(error).removeprefix(f"{source}: ")
        if source and sentence != str(error) and (line := lines.of(error.where)):
            error.args = (format_error(source, sentence, line),)
        raise


def not_a_section(prefix: Location, data: object) -> str:
    """The message for data that should be a table."""
    name = path_in_words(prefix)
    if _is_table_list(data):
        return f"[{name}] can appear only once. Write [{name}], not [[{name}]]."
    return f"{name} must be a section. Write [{name}], and its keys below it."


def path_in_words(location: Location) -> str:
    """The place as a dotted key of TOML."""
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text or "the section"


# -- one problem in words --------------------------------------------------------------------------------


def _problem(error: Any, model: type[BaseModel], prefix: Location, layout: ConfigLayout) -> ConfigProblem:
    location: Location = error["loc"]
    path = (*prefix, *location)
    where = path_in_words(path)
    fault, value = error["type"], error["input"]
    if fault == "extra_forbidden":
        is_table = isinstance(value, Mapping) or _is_table_list(value)
        if len(path) == 1 and "settings" in model.model_fields and is_table:
            return ConfigProblem(path, f"unknown section [{where}].{_nearest_section(where, layout)}")
        return ConfigProblem(path, f"unknown key {where}.{_nearest_key(model, location, layout.key_sections)}")
    if fault == "missing":
        hint = f" Set it in the config, or with --set {where}=…" if prefix and len(path) == 2 else ""
        return ConfigProblem(path, f"{where} is missing.{hint}")
    raised = error.get("ctx", {}).get("error")
    key = (*path, *raised.where) if isinstance(raised, WrongValue) else path
    if fault == "list_type" and isinstance(value, Mapping) and (path[-1] in LISTS or _section_at(model, location)):
        return ConfigProblem(key, f"[{where}] is a list of sections. Write [[{where}]].")
    if fault in ("model_type", "dict_type") and _is_table_list(value):
        return ConfigProblem(key, not_a_section(path, value))
    limits = {name: f"{one:g}" if isinstance(one, float) else one for name, one in error.get("ctx", {}).items()}
    expected = EXPECTED.get(fault, "").format(**limits)
    message = expected or error["msg"].removeprefix("Value error, ").replace(" after validation", "")
    sentence = f"{message[0].lower()}{message[1:].rstrip('.')}" + ("" if message.endswith("?") else ".")
    if expected:
        sentence = f"{sentence} {_hint(error)}".rstrip()
    elif isinstance(value, Mapping):
        return ConfigProblem(key, f"[{where}]: {sentence}" if path else sentence)
    return ConfigProblem(key, f"{where} = {_shortened(value)}: {sentence}")


def _hint(error: Any) -> str:
    """What to write instead: the value that you probably meant."""
    key, value = error["loc"][-1], error["input"]
    meant: Any = None
    match error["type"], value:
        case "int_type" | "float_type" | "bool_type", str():
            number = read_value(value.strip()[:LONGEST_SHOWN])
            wanted = {"int_type": (int,), "float_type": (int, float), "bool_type": (bool,)}[error["type"]]
            meant = number if type(number) in wanted else None
        case "int_type" | "int_from_float", float() if math.isfinite(value):
            meant = round(value)
        case "string_type", int() | float():
            meant = str(value).lower()
        case "list_type", str() if len(value) <= LONGEST_SHOWN:
            words = [word.strip() for word in value.split(",")]
            meant = words if all(word and " " not in word for word in words) else [value]
    if meant is not None and not isinstance(key, int):
        return f"Write {format_key(key)} = {format_value(meant)}."
    options = re.findall(r"'([^']*)'", str(error.get("ctx", {}).get("expected", "")))
    near = get_close_matches(value.lower(), options, n=1, cutoff=0.5) if isinstance(value, str) else []
    return f"Did you mean {near[0]!r}?" if near else ""


def _shortened(value: Any) -> str:
    shown = value[:LONGEST_SHOWN] if isinstance(value, str | list) else value
    try:
        text = format_value(shown)
    except (TypeError, ValueError, RecursionError):  # not a TOML value, or nested too deeply
        text = repr(shown)
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 3] + "…"


def _nearest_section(name: str, layout: ConfigLayout) -> str:
    headers = {header.strip("[]"): header for header in layout.sections}
    if near := get_close_matches(name.lower(), headers, n=1, cutoff=0.5):
        return f" Did you mean {headers[near[0]]}?"
    return f" Known sections are {', '.join(layout.sections)}."


def _nearest_key(model: type[BaseModel], location: Location, key_sections: Mapping[str, str]) -> str:
    key = str(location[-1])
    if "key" in key.lower() and "api" in key.lower():
        return " Keys are read from the environment only and never written into a config."
    section = _section_at(model, location[:-1])
    keys = list(section.model_fields) if section else []
    note = getattr(section, "other_names", "")
    if not get_close_matches(key, keys, n=1, cutoff=0.8) and key in key_sections:
        return f" Move it: it belongs {key_sections[key]}."
    if near := get_close_matches(key, keys, n=1, cutoff=0.5):
        return f" Did you mean {near[0]!r}?{note}"
    return f" Known keys are {', '.join(sorted(keys))}.{note}" if keys else ""


def _section_at(model: Any, location: Location) -> Any:
    """The section at this place. A section with user-defined names decides which type they have."""
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
    return isinstance(data, list) and bool(data) and all(isinstance(item, Mapping) for item in data)
