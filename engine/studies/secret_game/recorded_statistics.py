"""The statistics of a batch from its file: the contract's fields and all that is worth publishing beside them."""

import sqlite3
from collections import Counter
from collections.abc import Mapping
from typing import Any

from tidepool.engine.config.frozen import FrozenConfig
from tidepool.engine.config.presets import resolve_model
from tidepool.engine.statistics.intervals import share_interval
from tidepool.engine.studies.secret_game import records
from tidepool.engine.studies.secret_game.agreement import agreement, judge_agreement
from tidepool.engine.studies.secret_game.analysis import statistics
from tidepool.engine.studies.secret_game.casting import settings_of
from tidepool.engine.studies.secret_game.statistics import percentage


def recorded_statistics(
    connection: sqlite3.Connection, batch: Mapping[str, Any], config: FrozenConfig
) -> dict[str, Any]:
    settings = settings_of(config)
    found = statistics(
        records.outcome_rows(connection, batch["id"]),
        records.failed_pairs(connection, batch["id"]),
        {agent.name: resolve_model(agent.model) for agent in config.agents},
        seed=config.batch.seed % 2**32,
    )
    found["sat_out"] = records.sat_out(connection, batch["id"])
    if settings.judged:
        found["verdicts"] = verdict_statistics(records.verdicts(connection, batch["id"]))
    if batch["simulated"]:
        sightings, judged, sampled = records.planted(connection, batch["number"], config)
        if sightings:
            found["agreement"] = {"sampled": sampled, **agreement(sightings, in_use=settings.wording_detectors)}
            if judged:
                found["agreement"]["judge"] = judge_agreement(judged)
    return found


def verdict_statistics(counts: Counter[tuple[str, bool, bool | None]]) -> dict[str, Any]:
    """The judge's view, by agent and in all: kept apart from what the wording shows."""
    agents: dict[str, Counter[tuple[bool, bool | None]]] = {}
    for (agent, revealed, verdict), count in counts.items():
        agents.setdefault(agent, Counter())[revealed, verdict] += count
    whole: Counter[tuple[bool, bool | None]] = sum(agents.values(), Counter())
    return {"overall": _verdicts(whole), "agents": {name: _verdicts(agents[name]) for name in sorted(agents)}}


def _verdicts(counts: Counter[tuple[bool, bool | None]]) -> dict[str, Any]:
    yes = counts[True, True] + counts[False, True]
    no = counts[True, False] + counts[False, False]
    low, high = share_interval(yes, yes + no)
    return {
        "sides": counts.total(),
        "revealed": yes,
        "revealed_percentage": percentage(yes, yes + no),
        "revealed_ci95": [100 * low, 100 * high],
        "only_judge": counts[False, True],
        "only_wording": counts[True, False],
        "missing": counts[True, None] + counts[False, None],
    }
