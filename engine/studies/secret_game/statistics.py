"""The statistics of a batch from its file: the contract's fields and all that is worth publishing beside them."""

import sqlite3
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tidepool.engine.coding.statistics import with_coding
from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.studies.secret_game.findings import records
from tidepool.engine.studies.secret_game.findings.agreement import agreement
from tidepool.engine.studies.secret_game.findings.analysis import SecretGameStatistics, analysed_sides
from tidepool.engine.studies.secret_game.findings.played_with import PlayedWith


def statistics(connection: sqlite3.Connection, batch: Mapping[str, Any], config: StoredConfig) -> dict[str, Any]:
    return with_coding(connection, batch, secret_game_statistics(connection, batch, config).as_json())


def secret_game_statistics(
    connection: sqlite3.Connection, batch: Mapping[str, Any], config: StoredConfig
) -> SecretGameStatistics:
    played_with = PlayedWith.of(config)
    found = analysed_sides(
        records.sides_of(connection, batch["number"]),
        records.failed_pairs(connection, batch["id"]),
        played_with.for_statistics(batch["seed"] % 2**32),
    )
    planted = None
    if batch["simulated"]:
        sightings, judged, sampled = records.planted(connection, batch["number"], played_with)
        if sightings:
            planted = agreement(sightings, in_use=played_with.detectors, judged=judged, sampled=sampled)
    return replace(found, sat_out=records.sat_out(connection, batch["id"]), agreement=planted)
