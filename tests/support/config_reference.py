"""The reference of every config key, made from the sections themselves: `python -m tests.support.config_reference > docs/config.md`."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from tidepool.engine.config import ceilings
from tidepool.engine.config.cluster import Cluster
from tidepool.engine.config.section import OneOf, Section
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
from tidepool.engine.kinds import KINDS, load_kind

INTRODUCTION = f"""# The config file

Every key, its type, its default and what it does. This page is made from the code (`python -m tests.support.config_reference`); a test
fails when they differ. API keys are read from the environment only (`OPENAI_API_KEY`, `ANTHROPIC_API_KEY`).

An error names the line and the cure: an unknown key names the nearest known one or the section it belongs to, a value of the wrong
type what to write instead, and YAML, JSON, text without quotes or `[agents]` for `[[agents]]` what TOML has for them. A mark of UTF-8
and line ends of Windows are fine. What is written and read by nobody, such as `targeted_secret` in another mode or a simulated persona
misspelt, is a warning: of `--dry-run`, of `tidepool plan`, of the plan in Compose, and on stderr of a run.

Nothing may be larger than a study needs, whether it comes from a file, the app, the API or Python: a batch has at most
{ceilings.UNITS:,} units of {ceilings.WAVES:,} messages each ({ceilings.GENERATIONS:,} generations), {ceilings.ENTITIES:,} entities or {ceilings.AGENTS:,} agents; a name
{ceilings.NAME:,} letters, a context {ceilings.CONTEXT:,}, any other text {ceilings.TEXT:,}; metadata {ceilings.METADATA:,} bytes; a config file
{ceilings.CONFIG_BYTES >> 20} MiB, a file that it names {ceilings.FILE_BYTES >> 20} MiB, a file of problems
{ceilings.DATA_BYTES >> 20} MiB and {ceilings.ROWS:,} rows, also unpacked; a table {ceilings.COLUMNS:,} columns; a TOML file {ceilings.TABLES:,} tables
and keys of {ceilings.KEY_PARTS} parts. Devices and pipes are not read.
"""


def reference() -> str:
    """The whole page, ready to be written."""
    return "\n".join((INTRODUCTION, *_sections()))


def _sections() -> Iterator[str]:
    yield from _table("[batch]", Batch)
    yield from _table("[service]", Service)
    yield "`[providers.NAME]` takes every key of `[service]` but `name`; what is written there wins. Beside them:\n"
    yield from _table("[providers.NAME]", ProviderSettings, beyond=Service)
    yield from _table("prices", ModelPrice)
    yield from _table("[providers.simulated]", SimulatedSettings, beyond=ProviderSettings)
    yield from _table("[[agents]]", Agent)
    yield from _table("[design]", Design)
    yield from _table("[[design.hypotheses]]", Hypothesis)
    yield from _table("[stop]", StopWhenSure)
    yield from _table("[cluster]", Cluster)
    for name in KINDS.builtin:
        yield from _table(f"[{name}]", load_kind(name).settings)


def _table(title: str, section: type[BaseModel], beyond: type[BaseModel] | None = None) -> Iterator[str]:
    known = beyond.model_fields if beyond else {}
    yield f"## `{title}`\n"
    yield "| key | type | default | |"
    yield "| --- | --- | --- | --- |"
    for name, field in section.model_fields.items():
        if name not in known:
            text = re.sub(r"\s+", " ", field.description or "").replace("|", "\\|")
            yield f"| `{name}` | {_type(field.annotation, field.metadata)} | {_default(field)} | {text} |"
    yield ""


def _type(annotation: Any, remarks: Sequence[Any] = ()) -> str:
    for remark in remarks:
        if isinstance(remark, OneOf):
            return "one of " + ", ".join(f"`{name}`" for name in (*remark.registry.builtin, *remark.extra_names))
    literals = [one for one in (annotation, *get_args(annotation)) if get_origin(one) is Literal]
    if literals:
        return "one of " + ", ".join(f"`{value}`" for value in get_args(literals[0]))
    simple = isinstance(annotation, type) and not hasattr(annotation, "__args__")
    text = annotation.__name__ if simple else re.sub(r"Annotated\[(\w+), .*?\)\]", r"\1", str(annotation))
    return re.sub(r"\b(?:[a-z_]\w*\.)+(?=[A-Za-z])", "", text).replace("|", "\\|").replace("[", "\\[")


def _default(field: Any) -> str:
    if field.is_required():
        return "required"
    value = field.default if field.default is not PydanticUndefined else field.default_factory()
    if isinstance(value, Section):
        value = value.model_dump()
    return f"`{value!r}`".replace("|", "\\|")


if __name__ == "__main__":
    print(reference(), end="")
