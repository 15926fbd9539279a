"""The fields of a form, derived from the sections of a config: one field for each key, with help and default.

The TOML is the only source. A field shows the value in the TOML, and an empty field is a key that is not set. A value that
does not fit the field's type is written as text, so that nothing typed is lost, and the engine reports the error.
"""

import math
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from pydantic import AfterValidator, BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from tidepool.engine.config.endpoints import known_model
from tidepool.engine.config.section import OneOf
from tidepool.engine.config.toml_files import format_key, format_value, read_value

KeyPath = tuple[str | int, ...]
"""the keys and list positions of a value in the TOML"""


class Unset(Enum):
    UNSET = "not set"


UNSET: Final = Unset.UNSET


class Form(Enum):
    """How a value is entered."""

    WORD = "one line of text"
    LONG = "text, several lines"
    MODEL = "a model name"
    WHOLE = "a whole number"
    NUMBER = "a number"
    FLAG = "yes or no"
    CHOICE = "choose one"
    CHOICES = "choose any"
    NUMBERS = "numbers separated by commas"
    LINES = "one text per line"
    MODELS = "one model name per line"
    TABLE = "one key = value per line"
    RECORDS = "one table per line"


SIMPLE_FORMS = {bool: Form.FLAG, int: Form.WHOLE, float: Form.NUMBER}
LONG_TEXTS = {"description", "context", "instructions", "question", "question_template"}
"""keys with long texts"""


@dataclass(frozen=True, slots=True)
class Field:
    path: KeyPath
    form: Form
    help: str = ""
    default: Any = UNSET
    options: tuple[str, ...] = ()
    required: bool = False
    title: str = ""
    """the title from its section"""

    @property
    def key(self) -> str:
        return str(self.path[-1])

    @property
    def name(self) -> str:
        """The title, or the key as words."""
        words = self.key.replace("_", " ")
        return self.title or words[:1].upper() + words[1:]


def fields_of(section: type[BaseModel], prefix: KeyPath = (), without: Collection[str] = ()) -> Iterator[Field]:
    """Yields the fields of a section and of its subsections in order, except some."""
    for name, info in section.model_fields.items():
        if name in without:
            continue
        path = (*prefix, name)
        kind = _core(info.annotation)
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from fields_of(kind, path)
        else:
            form, options = _form(name, info)
            description = " ".join((info.description or "").split())
            default = info.get_default(call_default_factory=True)
            default = UNSET if default is PydanticUndefined or default is None else default
            yield Field(path, form, description, default, options, info.is_required(), info.title or "")


def _form(name: str, info: FieldInfo) -> tuple[Form, tuple[str, ...]]:
    kind = _core(info.annotation)
    if options := _options(info.metadata):
        return Form.CHOICE, options
    if get_origin(kind) is Literal:
        return Form.CHOICE, tuple(str(option) for option in get_args(kind))
    if get_origin(kind) is list:
        return _list_form(get_args(kind)[0])
    if kind in SIMPLE_FORMS:
        return SIMPLE_FORMS[kind], ()
    if kind is dict or get_origin(kind) is dict:
        return Form.TABLE, ()
    if _names_model(info.metadata):
        return Form.MODEL, ()
    return (Form.LONG if name in LONG_TEXTS else Form.WORD), ()


def _list_form(item: Any) -> tuple[Form, tuple[str, ...]]:
    if get_origin(item) is Literal:
        return Form.CHOICES, tuple(str(option) for option in get_args(item))
    if get_origin(item) is Annotated and (options := _options(get_args(item)[1:])):
        return Form.CHOICES, options
    if get_origin(item) is Annotated and _names_model(get_args(item)[1:]):
        return Form.MODELS, ()
    if get_origin(item) is dict or (isinstance(item, type) and issubclass(item, BaseModel)):
        return Form.RECORDS, ()
    return (Form.NUMBERS if item in (int, float) else Form.LINES), ()


def _core(annotation: Any) -> Any:
    """Returns the type without `| None` and annotations."""
    if get_origin(annotation) is Annotated:
        return _core(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        kinds = [kind for kind in get_args(annotation) if kind is not NoneType]
        return _core(kinds[0])
    return annotation


def _options(remarks: Sequence[Any]) -> tuple[str, ...]:
    """Returns the names of a registry, including those of installed packages."""
    return next((tuple(remark.options()) for remark in remarks if isinstance(remark, OneOf) and not remark.like), ())


def _names_model(metadata: Sequence[Any]) -> bool:
    return any(isinstance(remark, AfterValidator) and remark.func is known_model for remark in metadata)


def shown(form: Form, value: Any) -> str:
    """Formats a value for its field. A value that does not fit the form is shown as TOML."""
    if value is UNSET:
        return ""
    if isinstance(value, str):
        return value
    match form:
        case Form.NUMBERS if isinstance(value, list):
            return ", ".join(shown(Form.WORD, element) for element in value)
        case Form.LINES | Form.MODELS if isinstance(value, list):
            return "\n".join(shown(Form.WORD, element) for element in value)
        case Form.RECORDS if isinstance(value, list):
            return "\n".join(map(format_value, value))
        case Form.TABLE if isinstance(value, Mapping):
            return "\n".join(f"{format_key(name)} = {format_value(element)}" for name, element in value.items())
    return format_value(value)


def read(form: Form, text: str) -> Any:
    """Parses the text of a field. Returns UNSET for an empty text."""
    if not text.strip():
        return UNSET
    match form:
        case Form.WHOLE | Form.NUMBER:
            return _number(text.strip())
        case Form.NUMBERS:
            return [_number(part.strip()) for part in text.split(",") if part.strip()]
        case Form.MODEL:
            return text.strip()
        case Form.LINES | Form.MODELS:
            return [line.strip() for line in text.splitlines() if line.strip()]
        case Form.RECORDS:
            return [read_value(line.strip()) for line in text.splitlines() if line.strip()]
        case Form.TABLE:
            return _table(text)
    return text


def _number(text: str) -> Any:
    value = read_value(text)
    if isinstance(value, int | float) and not isinstance(value, bool) and (type(value) is int or math.isfinite(value)):
        return value
    return text


def _table(text: str) -> Any:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return text
