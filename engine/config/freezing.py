"""Freezes a config when its batch is created, and reads the frozen config back from the batch's file.

`freeze` adds everything that the config refers to: library entries, files, and the models behind presets. `load_frozen`
adds nothing, since the file may be untrusted. It rejects a config that names a file to read. A run stops at the first
problem. `validate_all` returns all problems at once for a form, and `remarks_on` returns warnings about likely mistakes.
"""

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from tidepool.engine.config import ceilings
from tidepool.engine.config.cluster import split_cluster_overrides
from tidepool.engine.config.endpoints import unknown_provider
from tidepool.engine.config.entities import entity_from
from tidepool.engine.config.library import names_library, with_library
from tidepool.engine.config.loading import config_from, outline_problems, with_users_endpoints, with_users_likes
from tidepool.engine.config.problems import (
    ConfigProblem,
    adding_line,
    config_layout,
    format_error,
    path_in_words,
    problems_in,
    validated,
)
from tidepool.engine.config.section import Section, left_to_default, models_at, with_full_names
from tidepool.engine.config.sections import Config, FrozenConfig, Study, as_frozen
from tidepool.engine.config.stored import stored_sections
from tidepool.engine.config.toml_files import Lines, apply_override
from tidepool.engine.errors import TidepoolError, UsageError
from tidepool.engine.kinds import KINDS, load_kind
from tidepool.engine.registries import SIMULATED_MODELS, section_of
from tidepool.storage.text import variables_in

CHANGEABLE = ("service.", "providers.")
"""sections that decide how requests are sent, not what they ask"""


def freeze(study: Config | Study, database: Path) -> FrozenConfig:
    """The study with everything that it refers to, checked as a whole. `database` is the file with the library.

    Relative paths start at the folder of the config. Sends no request and writes nothing.
    """
    if isinstance(study, str | Path):  # a common mistake in programs without a type checker
        raise UsageError(f'Expected a study, not a file name. Read the file with load_config("{study}").')
    config = study.as_config() if isinstance(study, Study) else study
    with adding_line(config.origin.source, config.origin.lines):
        return _freeze_checked(config, database)


def _freeze_checked(config: Config, database: Path) -> FrozenConfig:
    origin = config.origin
    if config.design is not None:
        words = "it has a [design], so it is a study of several batches. Run it with run_study or `tidepool run`."
        raise UsageError(format_error(origin.source, words), ("design",))
    complete = with_users_endpoints(with_library(config, database))
    frozen = _frozen(complete, origin.source, origin.folder or Path.cwd())
    _refuse_silent_simulation(frozen, origin.source)
    return _not_too_large(frozen, origin.source)


def _refuse_silent_simulation(config: FrozenConfig, source: str) -> None:
    """Requires an explicit model for each role next to a real model. Otherwise a missing key would silently give a simulated one."""
    kind, models = section_of(config.batch.kind), sorted(config.models())
    real = [model for model in models if not model.startswith("simulated:")]
    for where, model in models_at(config.settings) if real else ():
        if model in models and model not in real and left_to_default(config.settings, where):
            path = path_in_words((kind, *where))
            words = (
                f"{path} is not set, so it would use {model}, a simulated model, together with {real[0]}. Choose a model, "
                f'such as {where[-1]} = "{real[0]}", or {where[-1]} = "{model}" if you want a simulated one.'
            )
            raise UsageError(format_error(source, words), (kind, *where))


def _not_too_large(config: FrozenConfig, source: str) -> FrozenConfig:
    """Applies the size limits of a config to the content from files and the library."""
    for name, most in (("entities", ceilings.ENTITIES), ("agents", ceilings.AGENTS)):
        if (count := len(getattr(config, name))) > most:
            raise UsageError(format_error(source, f"it has {count:,} {name}. The maximum is {most:,}."), (name,))
    validated(type(config.settings), config.settings.model_dump(), source, (section_of(config.batch.kind),))
    text = config.to_json()
    if exposed := variables_in(text):
        words = f"this config contains the value of your environment variable {exposed[0]}. It would be stored with the study. Remove it, and keep keys in the environment only."
        raise UsageError(format_error(source, words))
    if (size := len(text)) > ceilings.FILE_BYTES:
        raise UsageError(
            format_error(
                source,
                f"with all files and library entries, the batch has {size:,} characters. The maximum is {ceilings.FILE_BYTES:,}.",
            )
        )
    return config


def load_frozen(text: str) -> FrozenConfig:
    """The config of a batch from its file. A key that did not exist at that time gets its default, which is the old behavior."""
    if len(text) > ceilings.FILE_BYTES:
        raise UsageError(
            f"The stored config is larger than {ceilings.FILE_BYTES >> 20} MiB, the maximum, so the file is damaged."
        )
    data = stored_sections(text)
    sections = [data[name] for name in data if name not in Config.model_fields and isinstance(data[name], dict)]
    if files := [key for section in sections for key in section if key.endswith("_file") and section[key]]:
        raise UsageError(
            f"The batch's stored config names a file ({files[0]}). The study file was changed, and the named file is not read."
        )
    batch = data.get("batch")
    kind = batch.get("kind") if isinstance(batch, dict) else None
    if isinstance(kind, str) and kind not in KINDS:
        raise UsageError(
            f"The batch has the kind {kind[:100]!r}, which needs a package that is not installed here. Known kinds are "
            f"{', '.join(KINDS)}."
        )
    source = "the batch's stored config"
    config = config_from(data, source=source)
    if names_library(config):
        raise UsageError(
            "The batch's stored config names library entries. The study file was changed, and the entries are not read."
        )
    return _frozen(config, source, None)


def with_overrides(config: FrozenConfig, overrides: Iterable[str]) -> FrozenConfig:
    """Applies `--set` on resume. The questions are frozen. Only how requests are sent may change, and [cluster] is never stored."""
    _, changes = split_cluster_overrides(overrides)
    if not changes:
        return config
    data = config.as_written()
    for override in changes:
        if not override.startswith(CHANGEABLE):
            raise UsageError(
                f"--set {override}: only service.*, providers.* and cluster.* can change when you resume a batch."
            )
        apply_override(data, override)
    lines = Lines("", (change.partition("=")[0].strip() for change in changes))
    return _frozen(config_from(data, source="--set", lines=lines), "--set", None)


def _refuse_unknown_providers(config: Config, source: str) -> None:
    """Checks that each provider is built in, declared by a section of the config, or added by an installed package."""
    for where, name in models_at(config):
        provider, colon, _ = name.partition(":")
        if colon and config.providers.section_type(provider) is None:
            path = (section_of(config.batch.kind), *where[1:]) if where[0] == "settings" else where
            words = unknown_provider(name, type(config.providers).model_fields)
            raise UsageError(format_error(source, f"{path_in_words(path)}: {words}"), path)


def _frozen(config: Config, source: str, folder: Path | None) -> FrozenConfig:
    """`folder` is where relative paths start; None: no file may be read."""
    _refuse_unknown_providers(config, source)
    try:
        frozen = as_frozen(with_full_names(load_kind(config.batch.kind).study.freeze(config, folder)))
        if frozen.stop is not None:
            load_kind(frozen.batch.kind).study(frozen).stop_target()  # raises if [stop] cannot work with this study
    except UsageError as error:
        raise UsageError(format_error(source, str(error)), error.where) from None
    return frozen


def validate_all(
    data: Mapping[str, Any], folder: Path, database: Path
) -> tuple[FrozenConfig | None, list[ConfigProblem]]:
    """The config as a batch would store it, or the problems that prevent it. For a [design], only the keys are checked.

    A problem that belongs to no key has an empty place.
    """
    try:
        data = with_users_likes(data)
    except UsageError as error:
        return None, [ConfigProblem((), str(error))]
    if problems := outline_problems(data) or key_problems(data):
        return None, problems
    try:
        sections = {name: section for name, section in data.items() if name != "design"}
        return freeze(config_from(sections, source="", folder=folder), database), []
    except UsageError as error:
        return None, [ConfigProblem(error.where, str(error))]
    except TidepoolError as error:
        return None, [ConfigProblem((), str(error))]


def key_problems(data: Mapping[str, Any]) -> list[ConfigProblem]:
    """Problems of single keys, in all sections."""
    kind = section_of(data["batch"]["kind"])
    settings = load_kind(data["batch"]["kind"]).settings_for(data.get(kind, {}))
    others = {name: section for name, section in data.items() if name != kind}
    problems = problems_in(Config, {**others, "settings": Section()}, layout=config_layout(Config, kind, settings))
    problems += problems_in(settings, data.get(kind, {}), (kind,))
    entities = data.get("entities")
    for position, record in enumerate(entities if isinstance(entities, list) else ()):
        try:
            entity_from(record, f"entities[{position}]")
        except UsageError as error:
            problems.append(ConfigProblem(("entities", position, *error.where), str(error)))
    return problems


def remarks_on(config: Config) -> list[str]:
    """A warning for each simulated model that may be misspelled, with its line if it is known."""
    origin, kind = config.origin, load_kind(config.batch.kind)
    problems = list(_misspelt_models(config, section_of(config.batch.kind)))
    problems += (
        ConfigProblem((name,), f"[[{name}]] has no effect in a study of kind {kind.name}.")
        for name in ("agents", "entities")
        if getattr(config, name) and kind.people != name
    )
    return [format_error(origin.source, problem.sentence, origin.lines.of(problem.where)) for problem in problems]


def _misspelt_models(config: Config, kind: str) -> Iterator[ConfigProblem]:
    known = SIMULATED_MODELS
    for where, name in models_at(config):
        provider, _, model = name.partition(":")
        near = (
            get_close_matches(model, known, n=1, cutoff=0.8) if provider == "simulated" and model not in known else []
        )
        if near:
            path = (kind, *where[1:]) if where[0] == "settings" else where
            words = f"no simulated persona is named {model!r}, so a new one is made up from this name."
            yield ConfigProblem(path, f"{path_in_words(path)}: {words} Did you mean 'simulated:{near[0]}'?")
