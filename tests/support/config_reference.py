"""The reference of every config key, made from the sections themselves: `python -m tests.support.config_reference > docs/config.md`."""

import re
from collections.abc import Collection, Iterator, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from tidepool.engine.config import ceilings
from tidepool.engine.config.cluster import Cluster
from tidepool.engine.config.section import OneOf
from tidepool.engine.config.sections import (
    Agent,
    Batch,
    Design,
    Hypothesis,
    ModelPrice,
    ProviderSettings,
    Service,
    SimulatedSettings,
    StopWhenSure,
)
from tidepool.engine.config.toml_files import format_value
from tidepool.engine.kinds import KINDS, load_kind

INTRODUCTION = f"""# The config file

You describe a study in a TOML file. This page lists all keys. `tidepool new` writes a config to start from.

```sh
tidepool new secret_game
tidepool plan secret_game.toml
```

Set API keys in the environment only (`OPENAI_API_KEY`, `ANTHROPIC_API_KEY`). Defaults are in TOML. A dash means that the key is not set.
`agents` and `agent_ids` (agents from the library, above the first section) are for secret games. [Entities](entities.md) are for simulations.

An error names the line and says how to correct it, for example with the nearest known key or the right type. It also explains the TOML for YAML, JSON, text without quotes, or `[agents]` instead of `[[agents]]`.
UTF-8 byte order marks and Windows line ends are fine. Keys without effect, such as `targeted_secret` in another mode, cause a warning. So does a possibly misspelt simulated persona.
You see warnings in `plan`, in Compose, and on stderr of a run.

These limits apply to files, the app, the API and Python.

| what | maximum |
| --- | --- |
| units of a batch | {ceilings.UNITS:,} |
| messages of a unit | {ceilings.WAVES:,} |
| generations | {ceilings.GENERATIONS:,} |
| entities, agents | {ceilings.ENTITIES:,}, {ceilings.AGENTS:,} |
| characters of a name, a context, another text | {ceilings.NAME:,}, {ceilings.CONTEXT:,}, {ceilings.TEXT:,} |
| metadata | {ceilings.METADATA:,} bytes |
| a config file | {ceilings.CONFIG_BYTES >> 20} MiB |
| a file that it names | {ceilings.FILE_BYTES >> 20} MiB |
| a file of problems, also unpacked | {ceilings.DATA_BYTES >> 20} MiB, {ceilings.ROWS:,} rows |
| columns of a table | {ceilings.COLUMNS:,} |
| tables of a TOML file | {ceilings.TABLES:,} |
| parts of a key | {ceilings.KEY_PARTS} |

Devices and pipes are not read. The page is generated (`python -m tests.support.config_reference > docs/config.md`), and a test compares it with the code.
"""


def reference() -> str:
    """The whole page, ready to be written."""
    return "\n".join((INTRODUCTION, *_sections()))


def _sections() -> Iterator[str]:
    yield from _table("[batch]", Batch)
    yield from _table("[service]", Service)
    words = "All keys of `[service]` except `name`, which take precedence over `[service]`, and these:"
    yield from _table("[providers.NAME]", ProviderSettings, without=Service.model_fields, introduction=words)
    yield from _table("[providers.NAME.prices.MODEL]", ModelPrice)
    yield from _table("[providers.simulated]", SimulatedSettings, without=set(ProviderSettings.model_fields) - CHANGED)
    yield from _table("[[agents]]", Agent)
    yield from _table("[design]", Design)
    yield from _table("[[design.hypotheses]]", Hypothesis)
    yield from _table("[stop]", StopWhenSure)
    yield from _table("[cluster]", Cluster)
    for name in KINDS.builtin:
        kind = load_kind(name)
        yield from _table(f"[{name}]", kind.settings)
        for key, field in kind.settings.model_fields.items():
            if (section := _section_in(field.annotation)) and key not in kind.filled_in:
                several = get_origin(field.annotation) is list
                yield from _table(f"[[{name}.{key}]]" if several else f"[{name}.{key}]", section)


CHANGED = {"batch_api"}
"""keys with another default than in the other sections of providers"""


def _table(
    title: str, section: type[BaseModel], without: Collection[str] = (), introduction: str = ""
) -> Iterator[str]:
    yield f"## `{title}`\n"
    if introduction:
        yield f"{introduction}\n"
    yield "| key | type | default | meaning |"
    yield "| --- | --- | --- | --- |"
    for name, field in section.model_fields.items():
        if name not in without:
            cells = (f"`{name}`", _type(field.annotation, field.metadata), _default(field), _meaning(field))
            yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
    yield ""


def _meaning(field: FieldInfo) -> str:
    return re.sub(r"\s+", " ", field.description or "")


ONE = {str: "text", int: "whole number", float: "number", bool: "yes or no"}
MANY = {str: "text", int: "whole numbers", float: "numbers", bool: "yes or no"}


def _type(annotation: Any, remarks: Sequence[Any] = (), *, many: bool = False) -> str:
    """In plain words, such as: text, whole number, list of text, one of a, b."""
    for remark in remarks:
        if isinstance(remark, OneOf):
            names = (*remark.registry.builtin, *remark.extra_names)
            return _one_of(names, "any" if many else "one", or_other=bool(remark.like))
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _type(arguments[0], arguments[1:], many=many)
    if origin in (Union, UnionType):
        return " or ".join(_type(one, many=many) for one in arguments if one is not NoneType)
    if origin is Literal:
        return _one_of(arguments, "any" if many else "one")
    if origin is list:
        return f"{'lists' if many else 'list'} of {_type(arguments[0], many=True)}"
    if origin is dict and arguments[1] is not Any and _section_in(arguments[1]) is None:
        return f"table of {_type(arguments[1], many=True)}"
    return (MANY if many else ONE).get(annotation, "values" if annotation is Any else "tables" if many else "table")


def _one_of(names: Sequence[str], which: str, *, or_other: bool = False) -> str:
    listed = ", ".join(f"`{name}`" for name in names if name)
    return f"{which} of {listed}" + ", or other text" * or_other + ", or empty" * ("" in names)


def _section_in(annotation: Any) -> type[BaseModel] | None:
    """The section that is the value, or its items."""
    inside = [annotation, *get_args(annotation)]
    return next((one for one in inside if isinstance(one, type) and issubclass(one, BaseModel)), None)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if isinstance(value, BaseModel):
        value = value.model_dump()
    return "–" if value is None else f"`{format_value(value)}`"


if __name__ == "__main__":
    print(reference(), end="")
