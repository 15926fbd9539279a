"""Keys and sections that stand in the wrong place, or under a name that is nearly theirs."""

from collections.abc import Container, Mapping
from difflib import SequenceMatcher
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel

from tidepool.engine.config.mistakes.lines import NO_LINES, Lines
from tidepool.engine.config.problems import LISTS, ConfigProblem, Surroundings

ALIKE = 0.6
"""from this likeness on, one name is taken for the other"""
TOP = "before the first section, at the top of the file"


def surroundings(
    config: type[BaseModel], kind: str, settings: type[BaseModel], lines: Lines = NO_LINES
) -> Surroundings:
    """What a config of this kind has beside each of its sections."""
    who = kind if "temperature" in settings.model_fields else "agents.*"
    factors = {f"{who}.temperature": [0.2, 1.0]}
    return Surroundings(lines, homes_of_keys(config, kind, settings), factors, headers_of(config, kind, settings))


def headers_of(config: type[BaseModel], kind: str, settings: type[BaseModel]) -> dict[str, str]:
    """Section → its header; then table in a section → its header, the kind's own first."""
    sections = {kind if name == "settings" else name: one.annotation for name, one in config.model_fields.items()}
    sections[kind] = settings
    headers = {name: header for name, one in sections.items() if (header := _header(name, name, one))}
    for name in sorted(headers, key=lambda one: one != kind):
        section = _section_in(sections[name])[0] if name != "providers" else None
        for key, inner in section.model_fields.items() if section else ():
            if header := _header(f"{name}.{key}", key, inner.annotation):
                headers.setdefault(key, header)
    return headers


def _header(path: str, name: str, annotation: Any) -> str:
    """How the table is opened; empty where the value is none."""
    section, listed = _section_in(annotation)
    if (listed and section) or name in LISTS:
        return f"[[{path}]]"
    return f"[{path}]" if section or get_origin(annotation) is dict else ""


def homes_of_keys(config: type[BaseModel], kind: str, settings: type[BaseModel]) -> dict[str, str]:
    """key → where it belongs, in words: what is written in two places is the kind's own, or that of the first section."""
    homes = dict.fromkeys(settings.model_fields, f"in [{kind}]")
    homes.setdefault(kind, f"on a line of its own, [{kind}], with its keys below it")
    for name, field in config.model_fields.items():
        section, listed = _section_in(field.annotation)
        for key in section.model_fields if section and name not in ("settings", "providers") else ():
            homes.setdefault(key, f"in [[{name}]]" if listed else f"in [{name}]")
        if section is None and name not in LISTS:
            homes.setdefault(name, TOP)
        elif name != "settings":
            listed = listed or name in LISTS
            homes.setdefault(name, f"in sections of its own, {f'[[{name}]]' if listed else f'[{name}]'}")
    return homes


def _section_in(annotation: Any) -> tuple[type[BaseModel] | None, bool]:
    """The section that a type is made of, and whether there is a list of them."""
    if isinstance(annotation, type) and not get_args(annotation):
        return (annotation, False) if issubclass(annotation, BaseModel) else (None, False)
    inner = [_section_in(one)[0] for one in get_args(annotation)]
    found = next((one for one in inner if one is not None), None)
    return found, get_origin(annotation) not in (Union, UnionType) and get_origin(annotation) is list


def misplaced_kind(sections: Mapping[str, Any]) -> ConfigProblem | None:
    """Where there is no [batch] with a kind: what was perhaps meant to be it."""
    for name, value in sections.items():
        if isinstance(value, Mapping) and name != "batch" and (name.lower() == "batch" or "kind" in value):
            return ConfigProblem((name,), f"unknown section [{name}]. Did you mean [batch]?")
    if "kind" in sections:
        return ConfigProblem(("kind",), "kind stands before every section. It belongs in [batch], below that line.")
    return None


def section_meant(sections: Mapping[str, Any], kind: str, known: Container[str]) -> str | None:
    """The section that was meant to be the kind's own, by its name."""
    strange = [name for name, one in sections.items() if name not in known and isinstance(one, Mapping | list)]
    plain = kind.replace("_", "")

    def likeness(name: str) -> float:
        bare = name.lower().replace("-", "").replace("_", "").replace(" ", "")
        return 1.0 if bare and (bare in plain or plain in bare) else SequenceMatcher(None, bare, plain).ratio()

    best = max(strange, key=likeness, default=None)
    return best if best is not None and likeness(best) >= ALIKE else None
