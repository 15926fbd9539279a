"""The statistics of a batch from its file: the contract's fields and all that is worth publishing beside them."""

import sqlite3
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tidepool.engine.config.frozen import FrozenConfig
from tidepool.engine.config.presets import resolve_model
from tidepool.engine.studies.secret_game import records
from tidepool.engine.studies.secret_game.agreement import agreement
from tidepool.engine.studies.secret_game.analysis import SecretGameStatistics, statistics
from tidepool.engine.studies.secret_game.casting import settings_of
from tidepool.engine.studies.secret_game.verdicts import verdict_statistics


def recorded_statistics(
    connection: sqlite3.Connection, batch: Mapping[str, Any], config: FrozenConfig
) -> SecretGameStatistics:
    settings = settings_of(config)
    found = statistics(
        records.outcome_rows(connection, batch["id"]),
        records.failed_pairs(connection, batch["id"]),
        {agent.name: resolve_model(agent.model) for agent in config.agents},
        seed=config.batch.seed % 2**32,
    )
    verdicts = verdict_statistics(records.verdicts(connection, batch["id"])) if settings.judged else None
    planted = None
    if batch["simulated"]:
        sightings, judged, sampled = records.planted(connection, batch["number"], config)
        if sightings:
            planted = agreement(sightings, in_use=settings.wording_detectors, judged=judged, sampled=sampled)
    return replace(found, sat_out=records.sat_out(connection, batch["id"]), verdicts=verdicts, agreement=planted)
