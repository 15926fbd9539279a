"""The base class of every table of a config.

A section made in code, such as `Agent(name="Ada", model="gpt4o_mini")`, reports mistakes in the words of the command line, and `help()`
lists every keyword with its type, default and meaning. Type checkers see a plain pydantic class.
"""

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cache
from inspect import Parameter, Signature, get_annotations
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, GetCoreSchemaHandler, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, core_schema

from tidepool.engine.config.ceilings import Address
from tidepool.engine.config.endpoints import LOCAL, PRESETS, resolve_model
from tidepool.engine.config.problems import MOST_SHOWN, format_error, problems_of
from tidepool.engine.config.toml_text import NO_LINES, Lines
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
                problems = problems_of(error, cls, write=repr)
                sentences = " ".join(problem.sentence for problem in problems[:MOST_SHOWN])
                raise UsageError(format_error(cls.__name__, sentences), problems[0].where) from None

    class Constructed(BaseModel, metaclass=_RaisesUsageError):
        pass


S = TypeVar("S", bound=BaseModel)


def with_keywords_in_help(section: type[S]) -> type[S]:
    """The class with its keywords listed in its docstring: its own first, then those of what it is made of."""
    fields = {name: section.model_fields[name] for name in _in_order(section) if name != "kind"}
    lines = (_line(name, field) for name, field in fields.items())
    section.__doc__ = "\n".join(((section.__doc__ or "").rstrip(), "", "Keywords:", *lines))
    section.__signature__ = Signature([Parameter(name, Parameter.KEYWORD_ONLY) for name in fields])
    return section


def _in_order(section: type[BaseModel]) -> Iterator[str]:
    for part in section.__mro__:
        yield from (name for name in get_annotations(part) if name in section.model_fields)


def _line(name: str, field: FieldInfo) -> str:
    meaning = re.sub(r"\s+", " ", field.description or "")
    default = ", required" if field.is_required() else f" = {_default(field)}"
    return f"    {name}: {type_in_words(field.annotation)}{default}" + (f"\n        {meaning}" if meaning else "")


def type_in_words(annotation: Any) -> str:
    """As one writes it: `Literal['live', 'auto']`, `list[Agent]`, `float | None`."""
    simple = isinstance(annotation, type) and not hasattr(annotation, "__args__")
    text = annotation.__name__ if simple else str(annotation)
    return re.sub(r"\b(?:[a-z_]\w*\.)+(?=[A-Za-z])", "", re.sub(r"Annotated\[(\w+), .*?\)\]", r"\1", text))


def _default(field: FieldInfo) -> str:
    made = field.default_factory
    return (
        repr(field.default) if made is None else {"list": "[]", "dict": "{}"}.get(made.__name__, f"{made.__name__}()")
    )


Hosts = Annotated[list[Address], BeforeValidator(lambda said: [LOCAL] if said == LOCAL else said)]


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
    beside: tuple[str, ...] = ()
    """names that mean something else than an entry of the registry"""
    like: str = ""
    """a pattern of names that are no entries either, and typed by hand"""

    def options(self) -> Iterator[str]:
        yield from self.registry
        yield from self.beside

    def own_options(self) -> Iterator[str]:
        """Those that need no other package."""
        yield from self.registry.own
        yield from self.beside

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._checked, handler(source))

    def _checked(self, name: str) -> str:
        if self.like and re.fullmatch(self.like, name):
            return name
        if name not in self.beside and name not in self.registry:
            raise ValueError(self.registry.unknown(name, self.beside))
        return name


# -- models that a section names -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NamesModel:
    """Marks a type whose values name models: every such field is found, wherever a section holds it."""


Visit = Callable[[Location, str], str]
"""(place, name of a model) → the name that takes its place"""


def with_full_names(section: S) -> S:
    """The section with what its presets stand for today: a batch keeps the full names."""
    return _visit_section(section, (), lambda _, name: PRESETS.get(name, name))


def models_named(section: BaseModel, but: Collection[str] = ()) -> set[str]:
    """Every PROVIDER:MODEL of the section but those of the fields that are named."""
    return {resolve_model(name) for where, name in models_at(section) if where[0] not in but}


def models_at(section: BaseModel) -> list[tuple[Location, str]]:
    """Every model that the section names, as it is written, with its place."""
    found: list[tuple[Location, str]] = []

    def collect(where: Location, name: str) -> str:
        found.append((where, name))
        return name

    _visit_section(section, (), collect)
    return found


def left_to_default(section: BaseModel, where: Location) -> bool:
    """Whether nobody wrote what stands at this place of the section."""
    written: Any = section
    for part in where:
        if isinstance(written, BaseModel):
            if part not in written.model_fields_set:
                return True
            written = getattr(written, str(part))
        else:
            written = written[part]
    return False


def _visit_section(section: S, where: Location, visit: Visit) -> S:
    """A copy only if something changes, so that what was left to a default stays apart from what was written."""
    update = {}
    for field, annotation in _model_fields(type(section)):
        before = getattr(section, field)
        after = _visit_value(annotation, before, (*where, field), visit)
        if after != before:
            update[field] = after
    return section.model_copy(update=update) if update else section


def _visit_value(annotation: Any, value: Any, where: Location, visit: Visit) -> Any:
    if isinstance(value, BaseModel):
        return _visit_section(value, where, visit)
    if isinstance(value, str):
        return visit(where, value) if any(names for _, names in _arms(annotation)) else value
    if isinstance(value, list):
        inner = _element(annotation, 0)
        return [_visit_value(inner, one, (*where, place), visit) for place, one in enumerate(value)]
    if isinstance(value, dict):
        inner = _element(annotation, 1)
        return {key: _visit_value(inner, one, (*where, key), visit) for key, one in value.items()}
    return value


def _element(annotation: Any, place: int) -> Any:
    """The type of a list's elements or of a dictionary's values, as far as the annotation says."""
    listed = [get_args(arm) for arm, _ in _arms(annotation)]
    found = tuple(arguments[place] for arguments in listed if len(arguments) == place + 1)
    return Union[found] if found else Any  # noqa: UP007


def _arms(annotation: Any) -> Iterator[tuple[Any, bool]]:
    """The plain types that a value may have, each with whether it names a model."""
    origin = get_origin(annotation)
    if origin is Annotated:
        inner, *marks = get_args(annotation)
        marked = any(isinstance(mark, NamesModel) for mark in marks)
        yield from ((arm, names or marked) for arm, names in _arms(inner))
    elif origin in (Union, UnionType):
        for one in get_args(annotation):
            yield from _arms(one)
    else:
        yield annotation, False


@cache
def _model_fields(section: type[BaseModel]) -> tuple[tuple[str, Any], ...]:
    """The fields where a model may be named, each with its whole type: plain texts and numbers are passed over."""
    whole = {
        name: Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation
        for name, field in section.model_fields.items()
    }
    return tuple((name, annotation) for name, annotation in whole.items() if _may_name(annotation))


def _may_name(annotation: Any) -> bool:
    return any(
        names or (isinstance(arm, type) and issubclass(arm, BaseModel)) or any(map(_may_name, get_args(arm)))
        for arm, names in _arms(annotation)
    )
