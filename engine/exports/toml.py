"""--format toml: the config of a batch or a study as a file that runs to an equal one.

A frozen config has everything that its batch needs, and a config file can have the same keys: it contains problems, queries
and entities. Servers and code that only an untrusted file names are left out, and paths are reduced to the last name. If
every replicate of a study drew its own problems from a file, the study does not have them. Then the config still names the
file, and missing_files lists it."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import PureWindowsPath
from typing import Any

from tidepool.engine.config import ceilings
from tidepool.engine.errors import UsageError
from tidepool.engine.gate import copied_config, design_text, omitted_keys
from tidepool.engine.kinds import KINDS, load_kind
from tidepool.engine.studies.branches import read_origin
from tidepool.engine.trust.foreign_keys import foreign_keys, without_foreign
from tidepool.engine.trust.record import trust_record
from tidepool.storage.studies import StoredStudy
from tidepool.storage.text import one_line

NOTHING = {"temperature": "none"}
"""keys whose null has a meaning of its own, with their value in TOML"""


def toml_of(batch: sqlite3.Row) -> str:
    """The config of the batch with all defaults, since a later version may have others."""
    refuse_branch(batch)
    if (size := len(batch["config"])) > ceilings.CONFIG_BYTES:
        raise UsageError(
            f"With all its content, the config of batch {batch['id']} has {size >> 20} MiB. The maximum for a config file is "
            f"{ceilings.CONFIG_BYTES >> 20} MiB. Run it again from its study file: tidepool run FILE.db#{batch['id']}."
        )
    config = without_paths(copied_config(batch["id"], batch["config"]))
    left_out = omitted_keys(batch["id"], batch["config"])
    head = f"# The config of batch {one_line(batch['id'])}, made by Tidepool {one_line(batch['version'] or '?')}."
    if left_out:
        head += f"\n# Left out, since the batch was not created here: {one_line(', '.join(left_out))}."
    return f"{head}\n\n{as_toml(config)}"


def refuse_branch(batch: sqlite3.Row) -> None:
    """A config cannot express the origin of a branch."""
    if (origin := read_origin(batch["origin"])) is not None:
        raise UsageError(
            f"Batch {batch['id']} is a branch of batch {one_line(origin.batch_id)}, which a config cannot express. "
            f"To make the branch again, run `tidepool branch "
            f"{one_line(origin.batch_id)} --at {one_line(origin.at)}`."
        )


def without_paths(config: Mapping[str, Any]) -> dict[str, Any]:
    """The config has the content of its files, so their last names are enough."""
    cleaned = dict(config)
    for name in cleaned.keys() & set(KINDS):
        if isinstance(section := cleaned[name], Mapping):
            files = {key: section[key] for key in load_kind(name).files if isinstance(section.get(key), str)}
            cleaned[name] = {**section, **{key: PureWindowsPath(value).name for key, value in files.items()}}
    return cleaned


def as_toml(config: Mapping[str, Any]) -> str:
    """Leaves out nulls, which TOML does not have, and empty sections. Invisible characters are escaped."""
    import tomlkit

    sections = {name: _without_nulls(section) for name, section in config.items()}
    if isinstance(providers := sections.get("providers"), dict):
        sections["providers"] = {name: keys for name, keys in providers.items() if keys}
    text = tomlkit.dumps(_ordered({name: section for name, section in sections.items() if section not in ({}, [])}))
    return "\n".join(line if line.isprintable() else "".join(map(_visible, line)) for line in text.split("\n"))


def _visible(character: str) -> str:
    return character if character.isprintable() else f"\\U{ord(character):08x}"


def _without_nulls(value: Any) -> Any:
    if isinstance(value, Mapping):
        values = {key: NOTHING.get(key) if item is None else _without_nulls(item) for key, item in value.items()}
        return {key: item for key, item in values.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def _ordered(section: dict[str, Any]) -> dict[str, Any]:
    """Puts single values first, since after a table they would belong to it."""
    inner = {key: _ordered(value) if isinstance(value, dict) else value for key, value in section.items()}
    return dict(sorted(inner.items(), key=lambda item: _place(item[1])))


def _place(value: Any) -> int:
    if isinstance(value, dict):
        return 1
    return 2 if isinstance(value, list) and value and all(isinstance(item, dict) for item in value) else 0


COMPLETED_KEYS = ("context", "labels")
"""keys that freezing may complete, in addition to those that users never write"""


def study_toml(study: StoredStudy, batches: Sequence[sqlite3.Row]) -> str:
    head = f"# The config of study {one_line(study.id)}, made by Tidepool {one_line(batches[0]['version'] or '?')}."
    return f"{head}\n\n{as_toml(study_config(study, batches))}"


def study_config(study: StoredStudy, batches: Sequence[sqlite3.Row]) -> dict[str, Any]:
    source = study.design.get("source")
    if not isinstance(source, Mapping) or not isinstance(source.get("batch"), Mapping):
        raise UsageError(f"Study {study.id} does not contain its original config. Export its batches one by one.")
    configs = [json.loads(batch["config"]) for batch in batches]
    trusted = trust_record().knows(study.id, design_text(study.design)) and all(
        trust_record().knows(batch["id"], batch["config"]) for batch in batches
    )
    data = deepcopy(dict(source))
    if trusted:
        data |= {"providers": configs[0].get("providers", {})}
        data.pop("cluster", None)
    elif any(path == ("design",) for path, _ in foreign_keys(data)):
        raise UsageError(
            f"The design of study {study.id} runs code that only its file names. Export its batches one by one."
        )
    else:
        data = without_foreign(data)
    return without_paths(_completed(data, configs))


def missing_files(study: StoredStudy, batches: Sequence[sqlite3.Row]) -> list[str]:
    """Files that the config still names, and that must be in its folder."""
    data = study_config(study, batches)
    kind = load_kind(data["batch"]["kind"])
    section = data.get(kind.name, {})
    names = [section[key] for key in kind.files if section.get(key)]
    filled = any(section.get(key) for key in kind.filled_in) or not kind.filled_in
    return [] if filled else [name for name in names if "." in name]


def _completed(data: dict[str, Any], configs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Replaces a file by its content, if that is the same in all cells."""
    kind = load_kind(data["batch"]["kind"])
    section = dict(data.get(kind.name, {}))
    if not any(section.get(key) for key in kind.files):
        return data
    for key in (*kind.filled_in, *COMPLETED_KEYS):
        if (value := _common_value(configs, kind.name, key)) is not None:
            section[key] = value
    if section.get("context"):
        section.pop("context_file", None)
    if section.get("entity_file") and (entities := _common_value(configs, "entities")) is not None:
        data["entities"] = entities
        section.pop("entity_file")
    return {**data, kind.name: section}


def _common_value(configs: Sequence[Any], *path: str) -> Any:
    """The value that all of them have there; None: they differ, or have nothing."""
    values = list(configs)
    for key in path:
        values = [value.get(key) if isinstance(value, Mapping) else None for value in values]
    return values[0] if values[0] and all(value == values[0] for value in values) else None
