"""What is wrong with a config, as sentences that each belong to a key: for error messages, and for forms."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from tidepool.engine.errors import Location, UsageError

MOST_TOLD = 5
"""problems that one error message names"""

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


def validated(model: type[Section], data: object, source: str = "", prefix: Location = ()) -> Section:
    """The data as a section; what does not fit is told by key, and `source` says in which file."""
    if not isinstance(data, Mapping):
        raise UsageError(told(source, not_a_section(prefix, data)), prefix)
    try:
        return model.model_validate(dict(data))
    except ValidationError as error:
        problems = problems_of(error, model, prefix)
        sentences = " ".join(problem.sentence for problem in problems[:MOST_TOLD])
        raise UsageError(told(source, sentences), problems[0].where) from None


def told(source: str, sentence: str) -> str:
    """The sentence with the name of what it is about before it."""
    return f"{source}: {sentence}" if source else sentence


def problems_of(error: ValidationError, model: type[BaseModel], prefix: Location = ()) -> list[ConfigProblem]:
    """Everything that pydantic found, in words; an unknown key names the nearest known one."""
    return [_problem(one, model, prefix) for one in error.errors(include_url=False)]


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
    return f"{path_in_words(prefix)} must be a section, not {type(data).__name__}."


def path_in_words(location: Location) -> str:
    """The place as it is written in TOML's dotted keys."""
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text or "the section"


def _problem(found: Any, model: type[BaseModel], prefix: Location) -> ConfigProblem:
    location: Location = found["loc"]
    path = (*prefix, *location)
    where = path_in_words(path)
    if found["type"] == "extra_forbidden":
        return ConfigProblem(path, f"unknown key {where}.{_nearest(model, location)}")
    if found["type"] == "missing":
        return ConfigProblem(path, f"{where} is missing.")
    raised = found.get("ctx", {}).get("error")
    key = (*path, *raised.where) if isinstance(raised, WrongValue) else path
    message = found["msg"].removeprefix("Value error, ")
    said = f"{message[0].lower()}{message[1:].rstrip('.')}" + ("" if message.endswith("?") else ".")
    if found["type"] == "list_type" and isinstance(found["input"], Mapping) and _section_at(model, location):
        return ConfigProblem(key, f"[{where}] is one of a list, and is written [[{where}]].")
    if isinstance(found["input"], Mapping):
        return ConfigProblem(key, f"[{where}]: {said}" if path else said)
    return ConfigProblem(key, f"{where} = {_short(found['input'])}: {said}")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def _nearest(model: type[BaseModel], location: Location) -> str:
    key = str(location[-1])
    if "key" in key.lower() and "api" in key.lower():
        return " Keys are read from the environment only and never written into a config."
    section = _section_at(model, location[:-1])
    known = list(section.model_fields) if section else []
    beside = getattr(section, "other_names", "")
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
