"""The base class of every table of a config.

A section built in code, such as `Agent(name="Ada", model="gpt4o_mini")`, reports mistakes with the messages of the command
line. For type checkers it is a plain pydantic class.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, GetCoreSchemaHandler, ValidationError
from pydantic_core import CoreSchema, core_schema

from tidepool.engine.config.ceilings import Address
from tidepool.engine.config.endpoints import LOCAL, PRESETS, resolve_model
from tidepool.engine.config.problems import MOST_SHOWN, format_error, problems_of
from tidepool.engine.config.toml_files import NO_LINES, Lines
from tidepool.engine.errors import Location, UsageError
from tidepool.engine.registries import Registry

if TYPE_CHECKING:
    Constructed = BaseModel
else:

    class _RaisesUsageError(type(BaseModel)):
        def __call__(cls, *values, **keywords):
            try:
                return super().__call__(**dict(zip(cls.model_fields, values, strict=False), **keywords))
            except ValidationError as error:
                problems = problems_of(error, cls)
                sentences = " ".join(problem.sentence for problem in problems[:MOST_SHOWN])
                raise UsageError(format_error(cls.__name__, sentences), problems[0].where) from None

        @property
        def __doc__(cls):
            """The class and its fields, for `help()`."""
            fields = vars(cls).get("__pydantic_fields__") or {}
            lines = [f"    {name}: {field.description or ''}".rstrip(": ") for name, field in fields.items()]
            return "\n".join((vars(cls).get("__doc__") or "", "", *lines)).strip()

    class Constructed(BaseModel, metaclass=_RaisesUsageError):
        pass


S = TypeVar("S", bound=BaseModel)


Hosts = Annotated[list[Address], BeforeValidator(lambda value: [LOCAL] if value == LOCAL else value)]


class Section(Constructed):
    """A table of the config, which accepts only known keys with values of the right type."""

    model_config = ConfigDict(extra="forbid", strict=True, use_attribute_docstrings=True, validate_default=True)


@dataclass(frozen=True, slots=True)
class ConfigOrigin:
    """The file that a config comes from."""

    source: str
    """the name in error messages, such as the path of the file"""
    folder: Path | None
    """where relative paths start; None: in the working folder"""
    lines: Lines = NO_LINES
    """the lines of its keys"""


@dataclass(frozen=True, slots=True)
class OneOf:
    """Annotates a type with its choices: `Annotated[str, OneOf(KINDS)]`. Forms and the reference read them."""

    registry: Registry[Any]
    extra_names: tuple[str, ...] = ()
    """names with a meaning of their own, outside the registry"""
    like: str = ""
    """a pattern of further names, which users type by hand"""

    def options(self) -> Iterator[str]:
        yield from self.registry
        yield from self.extra_names

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._checked, handler(source))

    def _checked(self, name: str) -> str:
        if self.like and re.fullmatch(self.like, name):
            return name
        if name not in self.extra_names and name not in self.registry:
            raise ValueError(self.registry.unknown(name, self.extra_names))
        return name


@dataclass(frozen=True, slots=True)
class NamesModel:
    """Annotates a type whose values name models, so that every such field can be found in any section."""


def models_at(section: BaseModel, where: Location = ()) -> Iterator[tuple[Location, str]]:
    """Every model that the section names, exactly as written, with its place."""
    for name in type(section).model_fields:
        yield from _models_in(getattr(section, name), (*where, name), name in _model_fields(type(section)))


def _models_in(value: Any, where: Location, names_models: bool) -> Iterator[tuple[Location, str]]:
    if isinstance(value, BaseModel):
        yield from models_at(value, where)
    elif isinstance(value, str) and names_models:
        yield where, value
    elif isinstance(value, list | dict):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            if names_models or isinstance(item, BaseModel):
                yield from _models_in(item, (*where, key), names_models)


@cache
def _model_fields(section: type[BaseModel]) -> frozenset[str]:
    """The fields with `NamesModel` in their type: as a single value, in a list, or as the values of a table."""
    fields = section.model_fields.items()
    return frozenset(name for name, field in fields if repr(NamesModel()) in f"{field.annotation} {field.metadata}")


def models_named(section: BaseModel, but: Collection[str] = ()) -> set[str]:
    """Every PROVIDER:MODEL of the section, except those of the named fields."""
    return {resolve_model(name) for where, name in models_at(section) if where[0] not in but}


def with_full_names(section: S) -> S:
    """The section with presets replaced by their full names, which a batch stores."""
    for where, name in models_at(section):
        if name in PRESETS:
            section = _with_model(section, where, PRESETS[name])
    return section


def _with_model(value: Any, where: Location, name: str) -> Any:
    if not where:
        return name
    if isinstance(value, BaseModel):
        field = str(where[0])
        return value.model_copy(update={field: _with_model(getattr(value, field), where[1:], name)})
    changed = value.copy()
    changed[where[0]] = _with_model(value[where[0]], where[1:], name)
    return changed


def left_to_default(section: BaseModel, where: Location) -> bool:
    """Whether the value at this place of the section is a default."""
    node: Any = section
    for part in where:
        if isinstance(node, BaseModel):
            if part not in node.model_fields_set:
                return True
            node = getattr(node, str(part))
        else:
            node = node[part]
    return False
