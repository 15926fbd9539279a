"""Models of a config by type: every field that is annotated `ModelName` is found, wherever it is nested.

Nobody lists such fields. A section that gets a new one has it frozen, checked and opened like all others.
"""

from collections.abc import Callable, Collection, Iterator
from functools import cache
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel

from tidepool.engine.config.endpoints import PRESETS, resolve_model
from tidepool.engine.config.sections import NamesModel
from tidepool.engine.errors import Location

Section = TypeVar("Section", bound=BaseModel)
Change = Callable[[str], str]


def with_full_names(section: Section) -> Section:
    """The section with what its presets stand for today: a batch goes on with it when they mean something else."""
    return _changed(section, lambda name: PRESETS.get(name, name))


def models_named(section: BaseModel, but: Collection[str] = ()) -> set[str]:
    """Every PROVIDER:MODEL of the section but those of the fields that are named."""
    return {resolve_model(name) for where, name in models_at(section) if where[0] not in but}


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


def models_at(section: BaseModel, where: Location = ()) -> Iterator[tuple[Location, str]]:
    """Every model that the section names, as it is written, with its place."""
    for field, annotation in _fields(type(section)):
        yield from _names_in(annotation, getattr(section, field), (*where, field))


def _names_in(annotation: Any, value: Any, where: Location) -> Iterator[tuple[Location, str]]:
    if isinstance(value, BaseModel):
        yield from models_at(value, where)
    elif isinstance(value, str):
        if any(names for _, names in _arms(annotation)):
            yield where, value
    elif isinstance(value, list):
        for place, one in enumerate(value):
            yield from _names_in(_element(annotation, 0), one, (*where, place))
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from _names_in(_element(annotation, 1), one, (*where, key))


def _changed(section: Section, change: Change) -> Section:
    """A copy only where something changes: what was left to a default stays told apart from what was written."""
    update = {}
    for field, annotation in _fields(type(section)):
        before = getattr(section, field)
        after = _value(annotation, before, change)
        if after != before:
            update[field] = after
    return section.model_copy(update=update) if update else section


def _value(annotation: Any, value: Any, change: Change) -> Any:
    if isinstance(value, BaseModel):
        return _changed(value, change)
    if isinstance(value, str):
        return change(value) if any(names for _, names in _arms(annotation)) else value
    if isinstance(value, list):
        return [_value(_element(annotation, 0), one, change) for one in value]
    if isinstance(value, dict):
        return {key: _value(_element(annotation, 1), one, change) for key, one in value.items()}
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
def _fields(section: type[BaseModel]) -> tuple[tuple[str, Any], ...]:
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
