"""The base class of every table of a config.

A section made in code, such as `Agent(name="Ada", model="gpt4o_mini")`, reports mistakes in the words of the command line. Type
checkers see a plain pydantic class.
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
                return super().__call__(*values, **keywords)
            except ValidationError as error:
                problems = problems_of(error, cls)
                sentences = " ".join(problem.sentence for problem in problems[:MOST_SHOWN])
                raise UsageError(format_error(cls.__name__, sentences), problems[0].where) from None

    class Constructed(BaseModel, metaclass=_RaisesUsageError):
        pass


S = TypeVar("S", bound=BaseModel)


Hosts = Annotated[list[Address], BeforeValidator(lambda value: [LOCAL] if value == LOCAL else value)]


class Section(Constructed):
    """A table of the config: only keys that it knows, with values of their own type."""

    model_config = ConfigDict(extra="forbid", strict=True, use_attribute_docstrings=True, validate_default=True)


@dataclass(frozen=True, slots=True)
class ConfigOrigin:
    """Where a config was written."""

    source: str
    """what errors call it: the path of its file, say"""
    folder: Path | None
    """where relative paths start; None: in the working folder"""
    lines: Lines = NO_LINES
    """where its keys are written"""


@dataclass(frozen=True, slots=True)
class OneOf:
    """Written beside a type: `Annotated[str, OneOf(KINDS)]`. Forms and the reference read the choices from it."""

    registry: Registry[Any]
    extra_names: tuple[str, ...] = ()
    """names that mean something else than an entry of the registry"""
    like: str = ""
    """a pattern of names that are no entries either, and typed by hand"""

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


# -- models that a section names -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NamesModel:
    """Written beside a type whose values name models: every such field is found, wherever a section holds it."""


def models_at(section: BaseModel, where: Location = ()) -> Iterator[tuple[Location, str]]:
    """Every model that the section names, as it is written, with its place."""
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
    """The fields with `NamesModel` in their type: alone, in a list, or as the values of a table."""
    fields = section.model_fields.items()
    return frozenset(name for name, field in fields if repr(NamesModel()) in f"{field.annotation} {field.metadata}")


def models_named(section: BaseModel, but: Collection[str] = ()) -> set[str]:
    """Every PROVIDER:MODEL of the section but those of the fields that are named."""
    return {resolve_model(name) for where, name in models_at(section) if where[0] not in but}


def with_full_names(section: S) -> S:
    """The section with what its presets stand for today: a batch keeps the full names."""
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
    """Whether nobody wrote what stands at this place of the section."""
    node: Any = section
    for part in where:
        if isinstance(node, BaseModel):
            if part not in node.model_fields_set:
                return True
            node = getattr(node, str(part))
        else:
            node = node[part]
    return False
