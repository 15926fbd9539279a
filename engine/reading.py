"""Reading a config: from a TOML file, a frozen batch or a dictionary. Every mistake is told by key, with what to do."""

import json
import tomllib
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from engine.config import Config
from engine.errors import UsageError
from engine.kinds import KINDS, load_kind

MOST_BYTES = 64 * 2**20


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
    from engine.library import with_library

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
    kind_name = _kind_of(sections, source)
    settings_data = sections.pop(kind_name, None)
    if settings_data is None:
        raise UsageError(f"{source}: the section [{kind_name}] is missing. Batches of this kind need it.")
    other = [name for name in KINDS if name in sections]
    if other:
        raise UsageError(f"{source}: [{other[0]}] does not belong to a batch of kind {kind_name!r}. Remove it.")
    kind = load_kind(kind_name)
    settings = validated(kind.SETTINGS, settings_data, source, f"{kind_name}.")
    config = validated(Config, {**sections, "settings": settings}, source, "")
    if not config.batch.name:
        config = config.model_copy(update={"batch": config.batch.model_copy(update={"name": kind_name})})
    return kind.freeze(config, folder or Path.cwd())


def thaw(frozen: str) -> Config:
    """The config of a batch as its file keeps it. A frozen one names no file: it may be a stranger's."""
    try:
        data = json.loads(frozen)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        raise UsageError("The batch's own config cannot be read: its file was changed, or is damaged.")
    section = data.get(_kind_of(data, "the batch's own config"), {})
    if named := [key for key in section if key.endswith("_file") and section[key]]:
        raise UsageError(f"The batch's own config names a file ({named[0]}), as no frozen one does. It is not read.")
    return config_from(data, source="the batch's own config")


def _kind_of(sections: Mapping[str, Any], source: str) -> str:
    batch = sections.get("batch")
    kind = batch.get("kind") if isinstance(batch, Mapping) else None
    if kind is None:
        raise UsageError(f'{source}: [batch] needs kind = "…", one of {", ".join(KINDS)}.')
    if kind not in KINDS:
        near = get_close_matches(str(kind), KINDS, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise UsageError(f"{source}: batch.kind {kind!r} is none of {', '.join(KINDS)}.{hint}")
    return str(kind)


def validated(model: type[Any], data: Any, source: str, prefix: str) -> Any:
    """The data as a section; what does not fit is told by key."""
    if not isinstance(data, Mapping):
        raise UsageError(f"{source}: {prefix.rstrip('.')} must be a section, not {type(data).__name__}.")
    try:
        return model.model_validate(dict(data))
    except ValidationError as error:
        raise UsageError(f"{source}: {_explained(error, model, prefix)}") from None


def _explained(error: ValidationError, model: type[BaseModel], prefix: str) -> str:
    """The first few faults as sentences; an unknown key names the nearest known one."""
    faults = []
    for fault in error.errors(include_url=False)[:5]:
        where = prefix + _path(fault["loc"])
        if fault["type"] == "extra_forbidden":
            faults.append(f"unknown key {where}.{_nearest(model, fault['loc'])}")
        elif fault["type"] == "missing":
            faults.append(f"{where} is missing.")
        else:
            message = fault["msg"].removeprefix("Value error, ")
            faults.append(f"{where} = {_short(fault['input'])}: {message[0].lower()}{message[1:].rstrip('.')}.")
    return " ".join(faults)


def _path(location: tuple[int | str, ...]) -> str:
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text or "the section"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def _nearest(model: type[BaseModel], location: tuple[int | str, ...]) -> str:
    key = str(location[-1])
    if "key" in key.lower() and "api" in key.lower():
        return " Keys are read from the environment only and never written into a config."
    known = _fields_at(model, location[:-1])
    if near := get_close_matches(key, known, n=1, cutoff=0.5):
        return f" Did you mean {near[0]!r}?"
    return f" Known here: {', '.join(sorted(known))}." if known else ""


def _fields_at(model: Any, location: tuple[int | str, ...]) -> list[str]:
    for part in location:
        if isinstance(part, int):
            continue
        annotation = model.model_fields[part].annotation if part in model.model_fields else None
        inner = [a for a in (annotation, *getattr(annotation, "__args__", ())) if isinstance(a, type)]
        models = [a for a in inner if issubclass(a, BaseModel)]
        if not models:
            return []
        model = models[0]
    return list(model.model_fields)
