"""`tidepool import`: another study file's batches, entities, types and agents in, each once.

A batch that came along is read and resumed like any other, but never serves as cache. Its config is checked like
every config. One that is known here, with this very config, keeps it; any other loses the addresses of servers: keys of
this machine go to no address out of a stranger's file.
"""

import dataclasses
import json
from contextlib import closing
from pathlib import Path

from tidepool.engine.config.freezing import load_frozen
from tidepool.engine.errors import FileError, UsageError
from tidepool.engine.library.contents import agent_of, entity_of
from tidepool.engine.library.type_files import entity_type_from
from tidepool.engine.trust.file_values import foreign_provider_keys, without_foreign
from tidepool.engine.trust.gate import shown
from tidepool.engine.trust.record import trust_record
from tidepool.storage import library
from tidepool.storage.file import connect
from tidepool.storage.transfer.study_files import Imported, OtherBatch, merge, opened_other, other_batches


def import_file(database: Path, other: Path, *, replace: bool = False) -> Imported:
    with opened_other(other) as path:
        found = other_batches(path)
        configs = {batch.id: _kept_config(other, batch) for batch in found}
        _check_library(other, path)
        imported = merge(
            database, path, {batch_id: config for batch_id, (config, _) in configs.items()}, replace=replace
        )
    return dataclasses.replace(imported, left_out={one: lost for one in imported.batches if (lost := configs[one][1])})


def _kept_config(other: Path, batch: OtherBatch) -> tuple[str, list[str]]:
    """The config as it is stored here, and the keys that it loses."""
    try:
        config = load_frozen(batch.config)
    except UsageError as error:
        raise FileError(f"{other}: the config of batch {batch.id} cannot be used. {error}") from None
    if config.batch.kind != batch.kind:
        raise FileError(f"{other}: batch {batch.id} is of another kind than its config. It is not imported.")
    if trust_record().knows(batch.id, batch.config):
        return batch.config, []
    data = json.loads(batch.config)
    lost = list(foreign_provider_keys(data))
    stored = without_foreign(data, ((path, None) for path in lost))
    return json.dumps(stored, ensure_ascii=False), [shown(".".join(map(str, path))) for path in lost]


def _check_library(other: Path, path: Path) -> None:
    """What would break a screen or a study later is refused now."""
    try:
        with closing(connect(path, read_only=True)) as connection:
            for entity in library.list_entities(connection):
                _refuse_damage(entity)
                entity_of(entity)
            for agent in library.list_agents(connection):
                _refuse_damage(agent)
                agent_of(agent)
            for kind in library.list_types(connection):
                if entity_type_from(kind.definition, f"type {kind.name}").name != kind.name:
                    raise UsageError(f"type {kind.name}: its definition has another name.")
    except (UsageError, ValueError, TypeError, RecursionError) as error:
        raise FileError(f"{other}: its library cannot be used. {error}") from None


def _refuse_damage(one: library.StoredEntity | library.StoredAgent) -> None:
    if one.damaged:
        raise UsageError(f"{one.id!r} in it is damaged.")
