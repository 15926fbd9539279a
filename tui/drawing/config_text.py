"""The frozen config of a batch as the TOML a person would write."""

import sqlite3
from collections.abc import Mapping
from typing import Any

import tomlkit

from tidepool.engine.trust.servers import without_strange_addresses
from tidepool.storage.batches import batch_numbered


def config_of(connection: sqlite3.Connection, batch_number: int) -> str:
    """To run anew: without the addresses of servers that only the file names."""
    row = batch_numbered(connection, batch_number)
    return as_toml(without_strange_addresses(row["id"], row["config"]))


def as_toml(config: Mapping[str, Any]) -> str:
    """TOML knows no null, and an empty section says nothing: both are left out."""
    return tomlkit.dumps(_cleaned(config))


def _cleaned(value: Any) -> Any:
    if isinstance(value, Mapping):
        inner = {key: _cleaned(item) for key, item in value.items() if item is not None}
        return {key: item for key, item in inner.items() if item != {} and item != []}
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    return value
