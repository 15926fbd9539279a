"""What is wrong with a config, as sentences that each belong to a key: for error messages, and for forms."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from tidepool.engine.config.mistakes.lines import NO_LINES, Lines
from tidepool.engine.config.mistakes.types import cure_of
from tidepool.engine.errors import Location, UsageError

MOST_TOLD = 5
"""problems that one error message names"""
LISTS = ("agents", "entities")
"""sections of which there are several"""

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


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is known of a config beside the section that is looked at."""

    lines: Lines = NO_LINES
    """where its keys are written"""
    homes: Mapping[str, str] = field(default_factory=dict)
    """key → the section that has it, as it is written"""


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
        problems = problems_of(error, model, prefix, around.homes)
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
    error: ValidationError, model: type[BaseModel], prefix: Location = (), homes: Mapping[str, str] | None = None
) -> list[ConfigProblem]:
    """Everything that pydantic found, in words; an unknown key names the nearest known one, or where it belongs."""
    return [_problem(one, model, prefix, homes or {}) for one in error.errors(include_url=False)]


def problems_in(model: type[BaseModel], data: Any, prefix: Location = ()) -> list[ConfigProblem]:
    """What keeps the data from being such a section."""
    if not isinstance(data, Mapping):
        return [ConfigProblem(prefix, not_a_section(prefix, data))]
    try:
        model.model_validate(dict(data))
    except ValidationError as error:
        return problems_of(error, model, prefix)
    except UsageError as error:  # a rule in the engine's own words, which pydantic lets through
        return [ConfigProblem(error.where or prefix, str(error))]
    return []


def not_a_section(prefix: Location, data: object) -> str:
    """What is said where a table was expected."""
    if isinstance(data, list) and prefix:
        name = path_in_words(prefix)
        return f"[[{name}]] is there once only, and is written [{name}]."
    return f"{path_in_words(prefix)} must be a section, not {type(data).__name__}."


def path_in_words(location: Location) -> str:
    """The place as it is written in TOML's dotted keys."""
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text or "the section"


def _problem(found: Any, model: type[BaseModel], prefix: Location, homes: Mapping[str, str]) -> ConfigProblem:
    location: Location = found["loc"]
    path = (*prefix, *location)
    where = path_in_words(path)
    if found["type"] == "extra_forbidden":
        if len(path) == 1 and "settings" in model.model_fields and isinstance(found["input"], Mapping | list):
            return ConfigProblem(path, f"unknown section [{where}].{_nearest_section(model, where)}")
        return ConfigProblem(path, f"unknown key {where}.{_nearest(model, location, homes)}")
    if found["type"] == "missing":
        return ConfigProblem(path, f"{where} is missing.")
    raised = found.get("ctx", {}).get("error")
    key = (*path, *raised.where) if isinstance(raised, WrongValue) else path
    message = found["msg"].removeprefix("Value error, ")
    said = f"{message[0].lower()}{message[1:].rstrip('.')}" + ("" if message.endswith("?") else ".")
    if (
        found["type"] == "list_type"
        and isinstance(found["input"], Mapping)
        and (path[-1] in LISTS or _section_at(model, location))
    ):
        inner = [name for name, one in found["input"].items() if isinstance(one, Mapping)]
        named = f' with name = "{inner[0]}"' if inner and len(inner) == len(found["input"]) else ""
        return ConfigProblem(key, f"[{where}] is one of a list, and is written [[{where}]]{named}.")
    if len(path) == 1 and found["type"].startswith("model") and isinstance(found["input"], list):
        return ConfigProblem(key, not_a_section(path, found["input"]))
    if cure := cure_of(found["type"], str(path[-1]) if path else "", found["input"], found.get("ctx", {})):
        return ConfigProblem(key, f"{where} = {_short(found['input'])}: {said} {cure}")
    if isinstance(found["input"], Mapping):
        return ConfigProblem(key, f"[{where}]: {said}" if path else said)
    return ConfigProblem(key, f"{where} = {_short(found['input'])}: {said}")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def _nearest_section(model: type[BaseModel], name: str) -> str:
    sections = {one: f"[[{one}]]" if one in LISTS else f"[{one}]" for one in model.model_fields if one != "settings"}
    providers = model.model_fields.get("providers")
    if providers and name in getattr(providers.annotation, "model_fields", {}):
        return f" A provider's keys stand in [providers.{name}]."
    near = get_close_matches(name.lower(), sections, n=1, cutoff=0.5)
    return f" Did you mean {sections[near[0]]}?" if near else f" Sections are {', '.join(sections.values())}."


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
