"""A config becomes what a batch keeps: here, once, when the batch is made; and again out of the batch's file.

`freeze` takes in what the config names: entries of the library, files, the models behind presets. `load_frozen` takes in
nothing, since the file may be a stranger's; a config in it that would have a file read is refused.
"""

import json
from collections.abc import Iterable
from pathlib import Path

from tidepool.engine.config import ceilings
from tidepool.engine.config.frozen import FrozenConfig, sealed
from tidepool.engine.config.loading import config_from
from tidepool.engine.config.mistakes.lines import Lines
from tidepool.engine.config.model_fields import left_to_default, models_at, with_full_names
from tidepool.engine.config.presets import unknown_provider
from tidepool.engine.config.problems import path_in_words, placed, told, validated
from tidepool.engine.config.sections import Config
from tidepool.engine.config.study import Study
from tidepool.engine.config.toml_files import apply_override
from tidepool.engine.config.user_endpoints import with_users_endpoints
from tidepool.engine.errors import UsageError
from tidepool.engine.library.contents import names_library, with_library
from tidepool.engine.runtime.cluster_section import said_in
from tidepool.engine.studies.kinds import KINDS, load_kind
from tidepool.storage.key_mask import variables_in

CHANGEABLE = ("service.", "providers.")
"""sections that say how a batch is asked, not what"""
BEFORE = {"batch_from": 0, "outage_patience": 0.0}
"""what [service] meant before it had these keys: a batch that was frozen without them goes on as it began"""


def freeze(study: Config | Study, database: Path) -> FrozenConfig:
    """The study with everything inside that it names, checked as a whole. `database` is the file with the library.

    Relative paths start where the config was written. Nothing is called and nothing is written.
    """
    if isinstance(study, str | Path):  # what a program that no type checker reads may well hand over
        raise UsageError(f'A study is wanted, not the name of a file: load_config("{study}") reads it.')
    config = study.as_config() if isinstance(study, Study) else study
    with placed(config.origin.source, config.origin.lines):
        return _checked_as_a_whole(config, database)


def _checked_as_a_whole(config: Config, database: Path) -> FrozenConfig:
    origin = config.origin
    if config.design is not None:
        words = "it has a [design], and is a study of several batches: run_study runs it, as `tidepool --run` does."
        raise UsageError(told(origin.source, words), ("design",))
    whole = with_users_endpoints(with_library(config, database))
    frozen = _frozen(whole, origin.source, origin.folder or Path.cwd())
    _refuse_silent_simulation(frozen, origin.source)
    return _not_too_large(frozen, origin.source)


def _refuse_silent_simulation(config: FrozenConfig, source: str) -> None:
    """Beside a real model nobody is simulated unless it is written: whoever left a helper's key out would not know."""
    kind, asked = config.batch.kind, sorted(load_kind(config.batch.kind).models(config))
    real = [model for model in asked if not model.startswith("simulated:")]
    for where, model in models_at(config.settings) if real else ():
        if model in asked and model not in real and left_to_default(config.settings, where):
            path = path_in_words((kind, *where))
            words = (
                f"{path} is not written, and would be {model}, a simulated model beside {real[0]}. Write which model it is to be, "
                f'such as {where[-1]} = "{real[0]}"; or {where[-1]} = "{model}", if a simulated one is meant.'
            )
            raise UsageError(told(source, words), (kind, *where))


def _not_too_large(config: FrozenConfig, source: str) -> FrozenConfig:
    """What was taken in out of files and the library is held to the ceilings of what is written."""
    for name, most in (("entities", ceilings.ENTITIES), ("agents", ceilings.AGENTS)):
        if (count := len(getattr(config, name))) > most:
            raise UsageError(told(source, f"it has {count:,} {name}, and {most:,} are the most."), (name,))
    validated(type(config.settings), config.settings.model_dump(), source, (config.batch.kind,))
    text = config.to_json()
    if exposed := variables_in(text):
        words = (
            f"it contains the value of {exposed[0]}, and would be stored with it. Keys belong in the environment only."
        )
        raise UsageError(told(source, words))
    if (size := len(text)) > ceilings.FILE_BYTES:
        raise UsageError(
            told(source, f"with all it names the batch has {size:,} letters, and {ceilings.FILE_BYTES:,} are the most.")
        )
    return config


def load_frozen(text: str) -> FrozenConfig:
    """The config of a batch as its file keeps it. A key that was not there yet has its default: the old behaviour."""
    if len(text) > ceilings.FILE_BYTES:
        raise UsageError(
            f"The batch's own config is larger than {ceilings.FILE_BYTES >> 20} MiB: no study has such a one."
        )
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        raise UsageError("The batch's own config cannot be read: its file was changed, or is damaged.")
    sections = [data[name] for name in data if name not in Config.model_fields and isinstance(data[name], dict)]
    if named := [key for section in sections for key in section if key.endswith("_file") and section[key]]:
        raise UsageError(f"The batch's own config names a file ({named[0]}), as no frozen one does. It is not read.")
    _refuse_missing_package(data.get("batch"))
    if isinstance(service := data.get("service"), dict):
        data["service"] = {**BEFORE, **service}
    source = "the batch's own config"
    config = config_from(data, source=source)
    if names_library(config):
        raise UsageError("The batch's own config names entries of a library, as no frozen one does. They are not read.")
    return _frozen(config, source, None)


def _refuse_missing_package(batch: object) -> None:
    kind = batch.get("kind") if isinstance(batch, dict) else None
    if isinstance(kind, str) and kind not in KINDS:
        raise UsageError(
            f"The batch is a study of the kind {kind[:100]!r}, which needs a package that is not installed here; known are "
            f"{', '.join(KINDS)}."
        )


def with_overrides(config: FrozenConfig, overrides: Iterable[str]) -> FrozenConfig:
    """`--set` on resume: what is asked is frozen, only how it is asked may change. Who asks stands in no batch."""
    _, changes = said_in(overrides)
    if not changes:
        return config
    data = config.as_written()
    for override in changes:
        if not override.startswith(CHANGEABLE):
            raise UsageError(
                f"--set {override}: with --resume only service.*, providers.* and cluster.* may change, the study may not."
            )
        apply_override(data, override)
    lines = Lines("", (one.partition("=")[0].strip() for one in changes))
    return _frozen(config_from(data, source="--set", lines=lines), "--set", None)


def _refuse_unknown_providers(config: Config, source: str) -> None:
    """A provider is known, declared by a section of the config, or of an installed package."""
    for where, name in models_at(config):
        provider, colon, _ = name.partition(":")
        if colon and config.providers.section_type(provider) is None:
            path = (config.batch.kind, *where[1:]) if where[0] == "settings" else where
            words = unknown_provider(name, type(config.providers).model_fields)
            raise UsageError(told(source, f"{path_in_words(path)}: {words}"), path)


def _frozen(config: Config, source: str, folder: Path | None) -> FrozenConfig:
    """`folder` is where relative paths start; None: no file may be read."""
    _refuse_unknown_providers(config, source)
    try:
        whole = load_kind(config.batch.kind).freeze(config, folder)
    except UsageError as error:
        raise UsageError(told(source, str(error)), error.where) from None
    frozen = sealed(with_full_names(whole))
    _check_stop(frozen, source)
    return frozen


def _check_stop(config: FrozenConfig, source: str) -> None:
    """Raises where [stop] could not be kept."""
    if config.stop is None:
        return
    watched = load_kind(config.batch.kind).stopping
    if watched is None:
        able = [name for name in KINDS.own if load_kind(name).stopping]
        words = (
            f"[stop] is for {' and '.join(able)}: a study of kind {config.batch.kind} ends by rules of its own section."
        )
        raise UsageError(told(source, words), ("stop",))
    try:
        watched(config)
    except UsageError as error:
        raise UsageError(told(source, str(error)), error.where) from None
