"""Reads a config from a TOML file or from dictionaries, and the user's own endpoints from `providers.toml`.

A loaded config is unchanged. It may still name files and library entries, which `freezing` adds. `providers.toml` in the
user's config folder has sections [providers.NAME] and [cluster], as in a config. What a study uses of them is copied into
the study when it is frozen, so a batch does not need that file. An untrusted study file never gets any of it.
"""

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from tidepool.engine.config import ceilings
from tidepool.engine.config.cluster import Cluster
from tidepool.engine.config.endpoints import resolve_model, unknown_provider
from tidepool.engine.config.problems import ConfigProblem, config_layout, format_error, not_a_section, validated
from tidepool.engine.config.section import ConfigOrigin, models_at
from tidepool.engine.config.sections import Config, Providers
from tidepool.engine.config.toml_files import NO_LINES, Lines, apply_override, parse_toml, read_text
from tidepool.engine.errors import UsageError
from tidepool.engine.kinds import KINDS, load_kind
from tidepool.engine.registries import custom_names, is_custom, section_of
from tidepool.storage.file import CONFIG_VARIABLE, config_folder, refuse_writable_by_others

FILE_NAME = "providers.toml"
ADDRESSES = ("base_url", "hosts")


def user_file() -> Path:
    """The path of the user's `providers.toml`, which may not exist."""
    return config_folder() / FILE_NAME


def user_providers() -> Providers:
    """The endpoints that the user declares for all studies."""
    return validated(Providers, _sections().get("providers", {}), str(user_file()), ("providers",))


def cluster_for(cluster: Cluster | None) -> Cluster | None:
    """The workers for live requests, from the argument or from the user's file. None: this process sends them."""
    if cluster is None and (section := _sections().get("cluster")) is not None:
        cluster = validated(Cluster, section, str(user_file()), ("cluster",))
    return cluster if cluster is not None and cluster.hands else None


def _sections() -> dict[str, Any]:
    """Stops if others may write the file, since it could send the user's keys to any server."""
    path = user_file()
    try:
        refuse_writable_by_others(path)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        why = error.strerror or error
        raise UsageError(f"{path} cannot be used: {why}. You can name another folder with {CONFIG_VARIABLE}.") from None
    data = parse_toml(read_text(path), str(path))
    if unknown := [name for name in data if name not in ("providers", "cluster")]:
        raise UsageError(
            f"{path}: unknown section [{unknown[0]}]. This file may only have sections [providers.NAME] and [cluster]."
        )
    return data


def declared_model(name: str) -> str:
    """PROVIDER:MODEL of a name outside any study. Its provider must be built in or declared by the user."""
    model = resolve_model(name)
    users = user_providers()
    if users.section_type(model.partition(":")[0]) is None:
        raise UsageError(f"{unknown_provider(model, type(users).model_fields)} Write it to {user_file()}.")
    return model


def merge_user_providers(providers: Providers, names: set[str] | None = None) -> Providers:
    """These sections, completed with the ones that the user declares: for these names, or for all.

    A section with an address of its own is complete, so no key of the user is sent there because of a name.
    """
    sections, users = _written_sections(providers), _written_sections(user_providers())
    declared = {name: keys for name, keys in users.items() if names is None or name in names}
    merged = {
        name: {**declared.get(name, {}), **keys} if not any(map(keys.get, ADDRESSES)) else keys
        for name, keys in sections.items()
    }
    return Providers.model_validate({**declared, **merged}) if declared else providers


def with_users_likes(data: Mapping[str, Any]) -> dict[str, Any]:
    """A config as the user wrote it. Its sections need not repeat the `like` of the user's endpoints with the same names."""
    sections = data.get("providers")
    if not isinstance(sections, Mapping) or all(name in Providers.model_fields for name in sections):
        return dict(data)
    likes = {name: keys["like"] for name, keys in _written_sections(user_providers()).items() if "like" in keys}
    completed = {
        name: {"like": likes[name], **keys} if name in likes and isinstance(keys, Mapping) else keys
        for name, keys in sections.items()
    }
    return {**data, "providers": completed}


def with_users_endpoints(config: Config) -> Config:
    """The config with the user's settings for the providers of its models."""
    names = {model.partition(":")[0] for _, model in models_at(config)}
    providers = merge_user_providers(config.providers, names)
    return config if providers is config.providers else config.model_copy(update={"providers": providers})


def _written_sections(providers: Providers) -> dict[str, dict[str, Any]]:
    names = (name for name in type(providers).model_fields if name in providers.model_fields_set)
    return {name: providers.section(name).model_dump(exclude_unset=True) for name in names}


def load_config(path: str | Path, overrides: Iterable[str] = ()) -> Config:
    """Reads a config from a TOML file, applies `--set` values, and checks each key.

    Files and library entries that it names are read and checked when a batch of it starts.
    """
    if (python := _PYTHON.fullmatch(str(path))) is not None:
        return _config_of_class(Path(python[1]), python[2], overrides)
    path = Path(path)
    text = read_text(path, ceilings.CONFIG_BYTES, is_config=True)
    data = parse_toml(text, str(path))
    changes = list(overrides)
    for override in changes:
        apply_override(data, override)
    lines = Lines(text, (change.partition("=")[0].strip() for change in changes))
    return config_from(with_users_likes(data), source=str(path), folder=path.parent.absolute(), lines=lines)


_PYTHON = re.compile(r"(.+\.py)(?::(\w+))?")


def _config_of_class(path: Path, name: str | None, overrides: Iterable[str]) -> Config:
    """The config of a class in a Python file. Overrides of its own settings need no section."""
    folder, kind_name = path.parent.absolute(), f"{path.name}:{name or _only_study(path)}"
    load_kind(kind_name).load(folder, {}, chosen=True)
    section = section_of(kind_name)
    data: dict[str, Any] = {"batch": {"kind": kind_name}, section: {}}
    for override in overrides:
        key = override.partition("=")[0].strip()
        apply_override(data, override if "." in key else f"{section}.{override}")
    return config_from(with_users_likes(data), source=str(path), folder=folder)


def classes_in(path: Path) -> list[str]:
    """The names of the studies that a Python file defines, found without running it."""
    return re.findall(r"^class (\w+)\((?:\w+\.)?Study\):", read_text(path), re.MULTILINE)


def _only_study(path: Path) -> str:
    """The name of the study in a file, if it has exactly one."""
    names = classes_in(path)
    if len(names) != 1:
        advice = (
            f"Name one: {', '.join(f'{path}:{name}' for name in names)}."
            if names
            else "Write a subclass of tidepool.Study."
        )
        raise UsageError(f"{path} has {len(names)} studies. {advice}")
    return names[0]


def config_from(
    data: Mapping[str, Any],
    *,
    source: str = "the config",
    folder: Path | None = None,
    lines: Lines = NO_LINES,
    stored: bool = False,
) -> Config:
    """Checks a config given as nested dictionaries. `folder` is where relative paths start, `lines` has the lines of keys.
    `stored`: it comes from a study file, so the gate decides whether its code runs."""
    sections = dict(data)
    for problem in outline_problems(sections):
        raise UsageError(format_error(source, problem.sentence, lines.of(problem.where)), problem.where)
    kind_name = str(sections["batch"]["kind"])
    section = section_of(kind_name)
    written = sections.pop(section, {})
    kind = load_kind(kind_name)
    if folder is not None and not stored:
        kind.load(folder, written)
    kind_section = kind.settings_for(written)
    layout = config_layout(Config, section, kind_section, lines)
    settings = validated(kind_section, written, source, (section,), layout)
    config = validated(Config, {**sections, "settings": settings}, source, layout=layout)
    if not config.batch.name:
        name = custom_names(kind_name)[1] if is_custom(kind_name) else kind_name
        config = config.model_copy(update={"batch": config.batch.model_copy(update={"name": name})})
    return config.written_in(ConfigOrigin(source, folder, lines))


def outline_problems(sections: Mapping[str, Any]) -> list[ConfigProblem]:
    """Problems of the sections as a whole: the kind must be known, and only its own section may be present."""
    batch = sections.get("batch")
    if isinstance(batch, list):
        return [ConfigProblem(("batch",), not_a_section(("batch",), batch))]
    kind = batch.get("kind") if isinstance(batch, Mapping) else None
    extra = [name for name, table in sections.items() if name not in Config.model_fields and isinstance(table, Mapping)]
    if kind is None:
        return [
            ConfigProblem(
                ("batch", "kind"), f'kind is missing in [batch]. Write kind = "…" with one of {", ".join(KINDS)}.'
            )
        ]
    if kind not in KINDS:
        near = get_close_matches(str(kind), KINDS, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        return [ConfigProblem(("batch", "kind"), f"unknown batch.kind {kind!r}. Use one of {', '.join(KINDS)}.{hint}")]
    section = section_of(kind)
    if sections.get(section) is None and not is_custom(kind):
        return [ConfigProblem((kind,), f"the section [{kind}] is missing. A batch of this kind needs it.")]
    foreign = [name for name in extra if name != section and name in KINDS]
    return [
        ConfigProblem((name,), f"[{name}] does not belong to a batch of kind {kind!r}. Remove it.") for name in foreign
    ]
