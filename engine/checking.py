"""A config checked for a form: every fault at once, each with its key, where a run would stop at the first."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.config import Config, Section
from engine.errors import TidepoolError, UsageError
from engine.faults import Fault, faults_in
from engine.kinds import load_kind
from engine.reading import complete, config_from, outline_faults
from engine.simulation.entities import entity_from


def checked(data: Mapping[str, Any], folder: Path, database: Path) -> tuple[Config | None, list[Fault]]:
    """The complete config, or what keeps it from being one. A fault of no key in particular has an empty place."""
    if faults := outline_faults(data) or key_faults(data):
        return None, faults
    try:
        return complete(config_from(data, folder=folder), database), []
    except TidepoolError as error:
        return None, [Fault((), str(error).removeprefix("the config: "))]


def key_faults(data: Mapping[str, Any]) -> list[Fault]:
    kind = data["batch"]["kind"]
    settings = load_kind(kind).SETTINGS
    rest = {name: section for name, section in data.items() if name != kind}
    return [
        *faults_in(Config, {**rest, "settings": Section()}),
        *faults_in(settings, data[kind], (kind,)),
        *entity_faults(data.get("entities")),
    ]


def entity_faults(records: object) -> list[Fault]:
    """Entities are no section of pydantic's; their own words name the key."""
    faults = []
    for place, record in enumerate(records if isinstance(records, list) else ()):
        try:
            entity_from(record, f"entities[{place}]")
        except UsageError as error:
            sentence = str(error)
            said = sentence.partition(":")[0]
            key = next((key for key in ("attribute", "description", "name") if key in said), "")
            where = ("entities", place, f"{key}s" if key == "attribute" else key) if key else ("entities", place)
            faults.append(Fault(where, sentence))
    return faults
