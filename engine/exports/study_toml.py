"""The config of a study of several batches: as it was written, with its [design], and with what its cells have taken in.

Contexts, entities, queries and policies are written into it. Problems that every replicate drew anew from a file are not
in the study as that file had them: there the config names the file still, and `missing_files` tells it.
"""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from tidepool.engine.errors import UsageError
from tidepool.engine.exports.toml import as_toml, without_paths
from tidepool.engine.studies.kinds import load_kind
from tidepool.engine.trust.file_values import foreign_keys, without_foreign
from tidepool.engine.trust.gate import design_text
from tidepool.engine.trust.record import trust_record
from tidepool.storage.studies import StoredStudy
from tidepool.storage.text import one_line

BESIDE = ("context", "labels")
"""keys that freezing may complete, beside those that nobody writes"""


def study_toml(study: StoredStudy, batches: Sequence[sqlite3.Row]) -> str:
    head = f"# The config of study {one_line(study.id)}, made by Tidepool {one_line(batches[0]['version'] or '?')}."
    return f"{head}\n\n{as_toml(study_config(study, batches))}"


def study_config(study: StoredStudy, batches: Sequence[sqlite3.Row]) -> dict[str, Any]:
    source = study.design.get("source")
    if not isinstance(source, Mapping) or not isinstance(source.get("batch"), Mapping):
        raise UsageError(
            f"Study {study.id} does not hold the config it was written with: export its batches one by one."
        )
    configs = [json.loads(batch["config"]) for batch in batches]
    known = trust_record().knows(study.id, design_text(study.design)) and all(
        trust_record().knows(batch["id"], batch["config"]) for batch in batches
    )
    data = deepcopy(dict(source))
    if known:
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
    """Files that the config still names, and that must lie beside it."""
    data = study_config(study, batches)
    kind = load_kind(data["batch"]["kind"])
    section = data.get(kind.name, {})
    named = [section[key] for key in kind.files if section.get(key)]
    there = any(section.get(key) for key in kind.filled_in) or not kind.filled_in
    return [] if there else [name for name in named if "." in name]


def _completed(data: dict[str, Any], configs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the cells have taken in alike takes the place of the file that it came from."""
    kind = load_kind(data["batch"]["kind"])
    section = dict(data.get(kind.name, {}))
    if not any(section.get(key) for key in kind.files):
        return data
    for key in (*kind.filled_in, *BESIDE):
        if (value := _alike(configs, kind.name, key)) is not None:
            section[key] = value
    if section.get("context"):
        section.pop("context_file", None)
    if section.get("entity_file") and (entities := _alike(configs, "entities")) is not None:
        data["entities"] = entities
        section.pop("entity_file")
    return {**data, kind.name: section}


def _alike(configs: Sequence[Any], *path: str) -> Any:
    """What all of them have there; None: they differ, or have nothing."""
    found = list(configs)
    for key in path:
        found = [one.get(key) if isinstance(one, Mapping) else None for one in found]
    return found[0] if found[0] and all(one == found[0] for one in found) else None
