"""What is wrong with a config, as sentences that each belong to a key: for error messages, and for forms."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from shlex import quote
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from tidepool.engine.config import ceilings
from tidepool.engine.config.mistakes.lines import NO_LINES, Lines
from tidepool.engine.config.mistakes.types import EXPECTED, nearest_choice, suggest_value, two_levels
from tidepool.engine.config.paths import format_key
from tidepool.engine.config.toml_files import format_value
from tidepool.engine.errors import Location, UsageError

MOST_TOLD = 5
"""problems that one error message names"""
LISTS = ("agents", "entities")
"""sections of which there are several"""
FACTORS: Location = ("design", "factors")
_SHOWN = 60
"""letters or items of a wrong value that are repeated"""
FEWEST_LEVELS = 2
"""of a factor"""

Section = TypeVar("Section", bound=BaseModel)


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


class LibraryIds(ValueError):
    """Agents or entities are given as names, which only entries of the library are."""

    def __init__(self, ids: list[str]) -> None:
        super().__init__("expected a list of tables")
        self.ids = ids


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is known of a config beside the section that is looked at."""

    lines: Lines = NO_LINES
    """where its keys are written"""
    homes: Mapping[str, str] = field(default_factory=dict)
    """key → the section that has it, as it is written"""
    factors: Mapping[str, list[Any]] = field(default_factory=dict)
    """an example of design.factors that this kind accepts"""
    headers: Mapping[str, str] = field(default_factory=dict)
    """section, or table in one → its header, as it is written"""


NOWHERE = Surroundings()


def validated(
    model: type[Section], data: object, source: str = "", prefix: Location = (), around: Surroundings = NOWHERE
) -> Section:
    """The data as a section; what does not fit is told by key, and `source` says in which file."""
    if not isinstance(data, Mapping):
        raise UsageError(told(source, not_a_section(prefix, data), around.lines.of(prefix)), prefix)
    try:
        return model.model_validate(dict(data))
    except ValidationError as error:
        problems = problems_of(error, model, prefix, around)
        first, *others = ((around.lines.of(one.where), one.sentence) for one in problems[:MOST_TOLD])
        more = (told(f"Line {line}" if line else "", sentence) for line, sentence in others)
        raise UsageError(told(source, " ".join((first[1], *more)), first[0]), problems[0].where) from None


def told(source: str, sentence: str, line: int | None = None) -> str:
    """The sentence with the name of what it is about before it, and its line where that is known."""
    if not source:
        return sentence
    return f"{source}, line {line}: {sentence}" if line else f"{source}: {sentence}"


@contextmanager
def placed(source: str, lines: Lines) -> Iterator[None]:
    """What goes wrong in here at a key is told with its line."""
    try:
        yield
    except UsageError as error:
        sentence = str(error).removeprefix(f"{source}: ")
        if source and sentence != str(error) and (line := lines.of(error.where)):
            error.args = (told(source, sentence, line),)
        raise


def problems_of(
    error: ValidationError,
    model: type[BaseModel],
    prefix: Location = (),
    around: Surroundings = NOWHERE,
    write: Callable[[Any], str] = format_value,
) -> list[ConfigProblem]:
    """What pydantic found, in words; an unknown key names the nearest known one, or where it belongs.

    `write` is the syntax of suggested values: TOML, unless the section was made in code.
    """
    return [_problem(one, model, prefix, around, write) for one in error.errors(include_url=False)[: ceilings.PROBLEMS]]


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


def not_a_section(prefix: Location, data: object) -> str:
    """What is said where a table was expected."""
    name = path_in_words(prefix)
    if _is_table_list(data):
        return f"[{name}] exists only once: write [{name}], not [[{name}]]."
    return f"{name} must be a section: write [{name}], and its keys below it."


def _is_table_list(data: object) -> bool:
    return isinstance(data, list) and bool(data) and all(isinstance(one, Mapping) for one in data)


def path_in_words(location: Location) -> str:
    """The place as it is written in TOML's dotted keys."""
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text or "the section"


def _problem(
    found: Any, model: type[BaseModel], prefix: Location, around: Surroundings, write: Callable[[Any], str]
) -> ConfigProblem:
    location: Location = found["loc"]
    path = (*prefix, *location)
    where = path_in_words(path)
    fault, value = found["type"], found["input"]
    if fault == "extra_forbidden":
        if (
            len(path) == 1
            and "settings" in model.model_fields
            and (isinstance(value, Mapping) or _is_table_list(value))
        ):
            return ConfigProblem(path, f"unknown section [{where}].{_nearest_section(model, where, around)}")
        return ConfigProblem(path, f"unknown key {where}.{_nearest(model, location, around.homes)}")
    if fault == "missing":
        return ConfigProblem(path, f"{where} is missing.")
    raised = found.get("ctx", {}).get("error")
    if isinstance(raised, LibraryIds):
        return ConfigProblem(path, f"{where} = {_short(value, write)}: {_library_hint(raised.ids, path, around)}")
    key = (*path, *raised.where) if isinstance(raised, WrongValue) else path
    expected = f"expected {found['ctx']['expected']}" if fault == "literal_error" else EXPECTED.get(fault)
    message = expected or found["msg"].removeprefix("Value error, ").replace(" after validation", "")
    said = f"{message[0].lower()}{message[1:].rstrip('.')}" + ("" if message.endswith("?") else ".")
    if fault == "list_type" and isinstance(value, Mapping) and (path[-1] in LISTS or _section_at(model, location)):
        inner = [name for name, one in value.items() if isinstance(one, Mapping)]
        named = f' with name = "{inner[0]}"' if inner and len(inner) == len(value) else ""
        return ConfigProblem(key, f"[{where}] is one of a list, and is written [[{where}]]{named}.")
    if fault in ("model_type", "dict_type") and _is_table_list(value):
        return ConfigProblem(key, not_a_section(path, value))
    if fault in EXPECTED or fault == "literal_error":
        said = f"{said} {_hint(found, model, prefix, around, write)}".rstrip()
    if isinstance(value, Mapping) and fault not in EXPECTED:
        return ConfigProblem(key, f"[{where}]: {said}" if path else said)
    return ConfigProblem(key, f"{where} = {_short(value, write)}: {said}")


def _hint(
    found: Any, model: type[BaseModel], prefix: Location, around: Surroundings, write: Callable[[Any], str]
) -> str:
    """What to write instead: the value that was meant where it would be accepted, else an example of the key."""
    location: Location = found["loc"]
    place, example = _example_at(model, location)
    meant = suggest_value(found["type"], found["input"], lambda value: _accepts(model, location, value))
    last, lines = location[-1], around.lines
    if location[: len(FACTORS)] == FACTORS and around.factors and (meant is None or len(meant) < FEWEST_LEVELS):
        meant = two_levels(found["input"]) if "." in str(last) else None
        place, example = (location, around.factors) if last == FACTORS[-1] else _first_factor(around.factors)
    if meant is not None:
        return f"Write {write(meant) if isinstance(last, int) else _assignment((*prefix, *location), write(meant), lines)}."
    if near := nearest_choice(found["input"], found.get("ctx", {})):
        return near
    if example is None:
        return ""
    hint = f"For example, write {_assignment((*prefix, *place), write(example), lines, (*prefix, *location))}"
    if write is not format_value or lines.option((*prefix, *place)):
        return f"{hint}."
    if place[-1] in LISTS:
        return f"{hint}, or the keys of each below [[{place[-1]}]]."
    if found["type"] == "model_type" and place == location:
        return f"{hint}, or its keys below [{'.'.join(format_key(str(part)) for part in (*prefix, *location))}]."
    return f"{hint}."


def _library_hint(ids: list[str], path: Location, around: Surroundings) -> str:
    """How entries of the library are named: a kind with entities has a key for them in its own section."""
    home = around.homes.get("entity_ids", "")
    place: Location = (home.removeprefix("in [").removesuffix("]"), "entity_ids") if home else ("agent_ids",)
    written = _assignment(place, format_value(ids), around.lines, path)
    where = "" if around.lines.option(path) else f" {home or 'before the first section'}"
    section = "[[entities]]" if home else "[[agents]]"
    return f"each is a section, {section}. To name entries of the library, write {written}{where}."


def _first_factor(factors: Mapping[str, list[Any]]) -> tuple[Location, list[Any]]:
    name, levels = next(iter(factors.items()))
    return (*FACTORS, name), levels


def _assignment(place: Location, value: str, lines: Lines, wrong: Location = ()) -> str:
    """The key with its value, as a line of the file, or as an option where one gave it or gave the wrong key."""
    option = lines.option(place) or (".".join(format_key(str(one)) for one in place) if lines.option(wrong) else "")
    return f"--set {quote(f'{option}={value}')}" if option else f"{format_key(str(place[-1]))} = {value}"


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


def _example_at(model: Any, location: Location) -> tuple[Location, Any]:
    """The key that the place is in, and a value that shows how it is written; None where there is none to show."""
    place: Location = ()
    example = None
    for count, part in enumerate(location, 1):
        if isinstance(part, str) and part in getattr(model, "model_fields", {}):
            place, example = location[:count], example_of(model.model_fields[part])
            model = _section_at(model, (part,))
        elif isinstance(part, str):  # a name in a table of any names
            place, example = location[:count], next(iter(example.values())) if isinstance(example, dict) else None
    return place, example


def example_of(described: FieldInfo) -> Any:
    """A value that shows how a key is written: its example, else its default; None where neither shows anything."""
    if described.examples:
        return described.examples[0]
    value = described.get_default(call_default_factory=True, validated_data={})
    if isinstance(value, BaseModel):
        return dict(list(value.model_dump().items())[:1])
    return None if value is PydanticUndefined or value in ("", [], {}) else value


def _short(value: Any, write: Callable[[Any], str]) -> str:
    shown = value[:_SHOWN] if isinstance(value, str | list) else value
    try:
        text = write(shown)
    except (TypeError, ValueError, RecursionError):  # no value of TOML, or too deep
        text = repr(shown)
    return text if len(text) <= 60 else text[:57] + "…"


def _nearest_section(model: type[BaseModel], name: str, around: Surroundings) -> str:
    providers = model.model_fields.get("providers")
    if providers and name in getattr(providers.annotation, "model_fields", {}):
        return f" A provider's keys stand in [providers.{name}]."
    if name in around.headers:
        return f" Did you mean {around.headers[name]}?"
    sections = {one: header for one, header in around.headers.items() if "." not in header}
    if near := get_close_matches(name.lower(), sections, n=1, cutoff=0.5):
        return f" Did you mean {sections[near[0]]}?"
    if name in around.homes:
        return f" {name} is a key {around.homes[name]}."
    return f" Sections are {', '.join(sections.values())}."


def _nearest(model: type[BaseModel], location: Location, homes: Mapping[str, str]) -> str:
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


def _of_any_name(model: Any, name: str) -> Any:
    """A section that takes names of its user's making says itself what stands under one."""
    return model.type_under(name) if hasattr(model, "type_under") else None


def _section_at(model: Any, location: Location) -> Any:
    for part in location:
        if isinstance(part, int):
            continue
        annotation = model.model_fields[part].annotation if part in model.model_fields else _of_any_name(model, part)
        inner = [a for a in (annotation, *getattr(annotation, "__args__", ())) if isinstance(a, type)]
        models = [a for a in inner if issubclass(a, BaseModel)]
        if not models:
            return None
        model = models[0]
    return model
