"""Reading a config: from a TOML file, a frozen batch or a dictionary. Every mistake is told by key, with what to do."""

import json
import tomllib
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tidepool.engine.config.problems import ConfigProblem, not_a_section, problems_of
from tidepool.engine.config.sections import Config
from tidepool.engine.errors import UsageError
from tidepool.engine.studies.kinds import KINDS, load_kind

MOST_BYTES = 64 * 2**20
MOST_FAULTS = 5


def load_config(path: str | Path, overrides: Iterable[str] = (), database: str | Path | None = None) -> Config:
    """A config from a TOML file, with `--set` values over it, checked and with every file it names taken in.

    What it names by id is taken in from the library of `database`; without one, when the batch starts.
    """
    path = Path(path)
    data = parse_toml(read_text(path), str(path))
    for override in overrides:
        apply_override(data, override)
    config = config_from(data, source=str(path), folder=path.parent)
    return config if database is None else complete(config, Path(database))


def complete(config: Config, database: Path) -> Config:
    """The config with what it names in the file's library inside, and checked again."""
    from tidepool.engine.library.contents import with_library

    return load_kind(config.batch.kind).freeze(with_library(config, database), Path.cwd())


def read_text(path: Path) -> str:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise UsageError(
                f"{path} is larger than {MOST_BYTES >> 20} MiB: this is no config or data file of a study."
            )
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UsageError(f"There is no file {path}. Check the path, or start from one in examples/.") from None
    except IsADirectoryError:
        raise UsageError(f"{path} is a folder, not a file.") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not text in UTF-8 (byte {error.start}).") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from None


def parse_toml(text: str, source: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise UsageError(f"{source} is not valid TOML: {error}.") from None


def apply_override(data: dict[str, Any], override: str) -> None:
    """`service.max_concurrent=50`: the value is read as TOML, or as text where it is none."""
    path, equals, text = override.partition("=")
    keys = [key.strip() for key in path.split(".")]
    if not equals or not all(keys):
        raise UsageError(
            f"--set {override!r} does not read KEY=VALUE; write for example --set service.max_concurrent=50."
        )
    value = read_value(text.strip())
    section: Any = data
    for key in keys[:-1]:
        section = section.setdefault(key, {}) if isinstance(section, dict) else None
        if not isinstance(section, dict):
            raise UsageError(f"--set {override!r}: {key!r} is not a section of the config.")
    section[keys[-1]] = value


def read_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, ValueError, RecursionError):
        return text


def config_from(data: Mapping[str, Any], *, source: str = "the config", folder: Path | None = None) -> Config:
    """Checks a config given as nested dictionaries; `folder` is where relative paths start."""
    sections = dict(data)
    for fault in outline_problems(sections):
        raise UsageError(f"{source}: {fault.sentence}")
    kind_name = str(sections["batch"]["kind"])
    kind = load_kind(kind_name)
    settings = validated(kind.SETTINGS, sections.pop(kind_name), source, f"{kind_name}.")
    config = validated(Config, {**sections, "settings": settings}, source, "")
    if not config.batch.name:
        config = config.model_copy(update={"batch": config.batch.model_copy(update={"name": kind_name})})
    try:
        return kind.freeze(config, folder or Path.cwd())
    except UsageError as error:
        raise UsageError(f"{source}: {error}") from None


def load_frozen(frozen: str) -> Config:
    """The config of a batch as its file keeps it. A frozen one names no file: it may be a stranger's."""
    try:
        data = json.loads(frozen)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        raise UsageError("The batch's own config cannot be read: its file was changed, or is damaged.")
    sections = [data[name] for name in KINDS if isinstance(data.get(name), dict)]
    if named := [key for section in sections for key in section if key.endswith("_file") and section[key]]:
        raise UsageError(f"The batch's own config names a file ({named[0]}), as no frozen one does. It is not read.")
    return config_from(data, source="the batch's own config")


def outline_problems(sections: Mapping[str, Any]) -> list[ConfigProblem]:
    """What is wrong with the sections as such: the kind must be known, and its own section there, and no other's."""
    batch = sections.get("batch")
    kind = batch.get("kind") if isinstance(batch, Mapping) else None
    if kind is None:
        return [ConfigProblem(("batch", "kind"), f'[batch] needs kind = "…", one of {", ".join(KINDS)}.')]
    if kind not in KINDS:
        near = get_close_matches(str(kind), KINDS, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        return [ConfigProblem(("batch", "kind"), f"batch.kind {kind!r} is none of {', '.join(KINDS)}.{hint}")]
    if sections.get(kind) is None:
        return [ConfigProblem((kind,), f"the section [{kind}] is missing. Batches of this kind need it.")]
    strange = [name for name in KINDS if name in sections and name != kind]
    return [
        ConfigProblem((name,), f"[{name}] does not belong to a batch of kind {kind!r}. Remove it.") for name in strange
    ]


def validated(model: type[Any], data: Any, source: str, prefix: str) -> Any:
    """The data as a section; what does not fit is told by key."""
    where = tuple(prefix.rstrip(".").split(".")) if prefix else ()
    if not isinstance(data, Mapping):
        raise UsageError(f"{source}: {not_a_section(where, data)}")
    try:
        return model.model_validate(dict(data))
    except ValidationError as error:
        faults = problems_of(error, model, where)
        raise UsageError(f"{source}: {' '.join(fault.sentence for fault in faults[:MOST_FAULTS])}") from None
