"""Sections made in code: `Agent(name="Ada", model="gpt4o_mini")`.

A mistake is told in the words of the command line, with the nearest known key, instead of in pydantic's; and `help()`
lists every keyword with its type, its default and what it means. Type checkers see a plain pydantic class, whose
keywords they know; sections inside others are validated by pydantic as ever, so that each fault keeps its place.
"""

import re
from collections.abc import Iterator
from inspect import Parameter, Signature, get_annotations
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from tidepool.engine.config.problems import MOST_TOLD, problems_of, told
from tidepool.engine.errors import UsageError

if TYPE_CHECKING:
    Constructed = BaseModel
else:

    class _TellsMistakes(type(BaseModel)):
        def __call__(cls, *values, **keywords):
            try:
                return super().__call__(*values, **keywords)
            except ValidationError as error:
                problems = problems_of(error, cls, write=repr)
                sentences = " ".join(problem.sentence for problem in problems[:MOST_TOLD])
                raise UsageError(told(cls.__name__, sentences), problems[0].where) from None

    class Constructed(BaseModel, metaclass=_TellsMistakes):
        pass


class _Shown:
    """A type or default in `help()`, without the module names and validators that Python would print."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


S = TypeVar("S", bound=BaseModel)


def with_keywords_in_help(section: type[S]) -> type[S]:
    """The class with its keywords listed in its docstring: its own first, then those of what it is made of."""
    fields = {name: section.model_fields[name] for name in _in_order(section) if name != "kind"}
    lines = (_line(name, field) for name, field in fields.items())
    section.__doc__ = "\n".join(((section.__doc__ or "").rstrip(), "", "Keywords:", *lines))
    section.__signature__ = Signature([_parameter(name, field) for name, field in fields.items()])
    return section


def _in_order(section: type[BaseModel]) -> Iterator[str]:
    for part in section.__mro__:
        yield from (name for name in get_annotations(part) if name in section.model_fields)


def _line(name: str, field: FieldInfo) -> str:
    meaning = re.sub(r"\s+", " ", field.description or "")
    default = ", required" if field.is_required() else f" = {_default(field)}"
    return f"    {name}: {_type(field.annotation)}{default}" + (f"\n        {meaning}" if meaning else "")


def _parameter(name: str, field: FieldInfo) -> Parameter:
    default = Parameter.empty if field.is_required() else _Shown(_default(field))
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=_Shown(_type(field.annotation)))


def _type(annotation: Any) -> str:
    """As one writes it: `Literal['live', 'auto']`, `list[Agent]`, `float | None`."""
    simple = isinstance(annotation, type) and not hasattr(annotation, "__args__")
    text = annotation.__name__ if simple else str(annotation)
    return re.sub(r"\b(?:[a-z_]\w*\.)+(?=[A-Za-z])", "", re.sub(r"Annotated\[(\w+), .*?\)\]", r"\1", text))


def _default(field: FieldInfo) -> str:
    made = field.default_factory
    return (
        repr(field.default) if made is None else {"list": "[]", "dict": "{}"}.get(made.__name__, f"{made.__name__}()")
    )
