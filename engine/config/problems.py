"""What is wrong with a config, as sentences that each belong to a key: for error messages, and for forms."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ValidationError

from tidepool.engine.errors import UsageError

Location = tuple[int | str, ...]


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    where: Location
    """the path of keys and list places, from the top of the config"""
    sentence: str


def problems_of(error: ValidationError, model: type[BaseModel], prefix: Location = ()) -> list[ConfigProblem]:
    """Every fault pydantic found, in words; an unknown key names the nearest known one."""
    return [_fault(one, model, prefix) for one in error.errors(include_url=False)]


def problems_in(model: type[BaseModel], data: Any, prefix: Location = ()) -> list[ConfigProblem]:
    """What keeps the data from being such a section."""
    if not isinstance(data, Mapping):
        return [ConfigProblem(prefix, not_a_section(prefix, data))]
    try:
        model.model_validate(dict(data))
    except ValidationError as error:
        return problems_of(error, model, prefix)
    except UsageError as error:  # a rule in the engine's own words, which pydantic lets through
        return [ConfigProblem(prefix, str(error))]
    return []


def not_a_section(prefix: Location, data: object) -> str:
    return f"{path_in_words(prefix)} must be a section, not {type(data).__name__}."


def path_in_words(location: Location) -> str:
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text or "the section"


def _fault(fault: Any, model: type[BaseModel], prefix: Location) -> ConfigProblem:
    location: Location = fault["loc"]
    path = (*prefix, *location)
    where = path_in_words(path)
    if fault["type"] == "extra_forbidden":
        return ConfigProblem(path, f"unknown key {where}.{_nearest(model, location)}")
    if fault["type"] == "missing":
        return ConfigProblem(path, f"{where} is missing.")
    message = fault["msg"].removeprefix("Value error, ")
    said = f"{message[0].lower()}{message[1:].rstrip('.')}" + ("" if message.endswith("?") else ".")
    if isinstance(fault["input"], Mapping):
        return ConfigProblem(path, f"[{where}]: {said}" if path else said)
    return ConfigProblem(path, f"{where} = {_short(fault['input'])}: {said}")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def _nearest(model: type[BaseModel], location: Location) -> str:
    key = str(location[-1])
    if "key" in key.lower() and "api" in key.lower():
        return " Keys are read from the environment only and never written into a config."
    known = _fields_at(model, location[:-1])
    if near := get_close_matches(key, known, n=1, cutoff=0.5):
        return f" Did you mean {near[0]!r}?"
    return f" Known here: {', '.join(sorted(known))}." if known else ""


def _fields_at(model: Any, location: Location) -> list[str]:
    for part in location:
        if isinstance(part, int):
            continue
        annotation = model.model_fields[part].annotation if part in model.model_fields else None
        inner = [a for a in (annotation, *getattr(annotation, "__args__", ())) if isinstance(a, type)]
        models = [a for a in inner if issubclass(a, BaseModel)]
        if not models:
            return []
        model = models[0]
    return list(model.model_fields)
