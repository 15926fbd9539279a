"""Endpoints that belong to the user and to no study: `providers.toml` in the user's config folder.

Its sections [providers.NAME] are those of a config, and so is [cluster], if the user's live calls leave from one. What a study names of them is written into it when it is frozen, so
that a batch needs no such file; a study file of somebody else never gets any of it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tidepool.engine.config.model_fields import models_at
from tidepool.engine.config.presets import resolve_model, unknown_provider
from tidepool.engine.config.problems import validated
from tidepool.engine.config.sections import Config, Providers
from tidepool.engine.config.toml_files import parse_toml, read_text
from tidepool.engine.errors import UsageError
from tidepool.engine.runtime.cluster_section import Cluster
from tidepool.storage.scratch.state_folder import CONFIG_VARIABLE, config_folder, refuse_what_others_wrote

FILE_NAME = "providers.toml"
ADDRESSES = ("base_url", "hosts")


def user_file() -> Path:
    """It need not exist."""
    return config_folder() / FILE_NAME


def user_providers() -> Providers:
    """What the user has declared for all studies."""
    return validated(Providers, _sections().get("providers", {}), str(user_file()), ("providers",))


def hands_of(said: Cluster | None) -> Cluster | None:
    """Who makes the live calls: as somebody said just now, else as the user has it in all studies. None: this process."""
    if said is None and (written := _sections().get("cluster")) is not None:
        said = validated(Cluster, written, str(user_file()), ("cluster",))
    return said if said is not None and said.hands else None


def _sections() -> dict[str, Any]:
    """A file that others may have written could send the user's keys to any server, so it stops the study."""
    path = user_file()
    try:
        refuse_what_others_wrote(path)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        why = error.strerror or error
        raise UsageError(f"{path} is not used: {why}. {CONFIG_VARIABLE} can name another folder.") from None
    data = parse_toml(read_text(path), str(path))
    if strange := [name for name in data if name not in ("providers", "cluster")]:
        raise UsageError(
            f"{path}: [{strange[0]}] does not belong there: it holds sections [providers.NAME], and [cluster], alone."
        )
    return data


def declared_names() -> tuple[str, ...]:
    """The user's endpoints, for lists of names; a file that cannot be read is told where a model is asked."""
    try:
        return tuple(_written(user_providers()))
    except UsageError:
        return ()


def declared_model(name: str) -> str:
    """PROVIDER:MODEL of a name that stands outside every study; its provider is known, or declared by the user."""
    model = resolve_model(name)
    users = user_providers()
    if users.section_type(model.partition(":")[0]) is None:
        raise UsageError(f"{unknown_provider(model, type(users).model_fields)} It goes into {user_file()}.")
    return model


def above_the_users(providers: Providers, names: set[str] | None = None) -> Providers:
    """These sections, and beneath them those that the user has declared: of these names, or all.

    A section that names an address of its own is complete: no key of the user's goes there because of a name.
    """
    own, users = _written(providers), _written(user_providers())
    kept = {name: keys for name, keys in users.items() if names is None or name in names}
    both = {name: {**kept.get(name, {}), **keys} if _is_open(keys) else keys for name, keys in own.items()}
    return Providers.model_validate({**kept, **both}) if kept else providers


def with_users_likes(data: Mapping[str, Any]) -> dict[str, Any]:
    """A config as the user wrote it, whose sections need not repeat what the user's endpoints of their names are like."""
    sections = data.get("providers")
    if not isinstance(sections, Mapping) or all(name in Providers.model_fields for name in sections):
        return dict(data)
    likes = {name: keys["like"] for name, keys in _written(user_providers()).items() if "like" in keys}
    told = {
        name: {"like": likes[name], **keys} if name in likes and isinstance(keys, Mapping) else keys
        for name, keys in sections.items()
    }
    return {**data, "providers": told}


def with_users_endpoints(config: Config) -> Config:
    """The config with what the user has declared of the providers that its models name."""
    names = {model.partition(":")[0] for _, model in models_at(config)}
    providers = above_the_users(config.providers, names)
    return config if providers is config.providers else config.model_copy(update={"providers": providers})


def _is_open(keys: dict[str, Any]) -> bool:
    return not any(keys.get(key) for key in ADDRESSES)


def _written(providers: Providers) -> dict[str, dict[str, Any]]:
    named = (name for name in type(providers).model_fields if name in providers.model_fields_set)
    return {name: providers.section(name).model_dump(exclude_unset=True) for name in named}
