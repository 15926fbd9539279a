"""The statistics of a batch from its file: what the file and its config say, and the contract's fields.

What the statistics of a secret game need of its config, from the plain values that the file keeps.

What the file says of a secret game: all that its statistics are made of.

The statistics of a batch from its file: the contract's fields and all that is worth publishing beside them.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, cast

from tidepool.engine.coding.statistics import with_coding
from tidepool.engine.config.endpoints import resolve_model
from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.studies.secret_game.analysis import (
    Played,
    SecretGameStatistics,
    SideTruth,
    Sighting,
    agreement,
    analysed_sides,
    detectors_that_fire,
)
from tidepool.engine.studies.secret_game.detectors.detection import JUDGE, wording_detectors
from tidepool.engine.studies.secret_game.pairing import PlannedConversation
from tidepool.engine.studies.secret_game.scoring import KEEPING_MODES, SCORING
from tidepool.engine.studies.secret_game.sides import Sides
from tidepool.storage.queries import conversations as game_rows
from tidepool.storage.queries.units import last_unit


@dataclass(frozen=True, slots=True)
class PlayedWith:
    models: Mapping[str, str]
    """by the agent's name"""
    secrets: Mapping[str, str]
    scenarios: tuple[tuple[str, str], ...]
    """the secrets of opener and partner that everybody plays with, instead of their own"""
    detectors: tuple[str, ...]
    judged: bool
    fuzzy_threshold: float
    messages_per_interaction: int
    linked: bool
    """memory or kept secrets link the talks of a game"""
    scoring: Mapping[str, float]

    @classmethod
    def of(cls, config: StoredConfig) -> "PlayedWith":
        agents, settings = config.sections["agents"], config.sections["secret_game"]
        return cls(
            models={agent["name"]: resolve_model(agent["model"]) for agent in agents},
            secrets={agent["name"]: agent["secret"] for agent in agents},
            scenarios=tuple((pair["opener_secret"], pair["partner_secret"]) for pair in settings["scenarios"]),
            detectors=wording_detectors(settings["detection"]),
            judged=JUDGE in settings["detection"],
            fuzzy_threshold=float(settings["fuzzy_threshold"]),
            messages_per_interaction=int(settings["messages_per_interaction"]),
            linked=settings["mode"] in KEEPING_MODES or any(agent["memory"] == "long" for agent in agents),
            scoring={**SCORING, **settings["scoring"]},
        )

    def secret(self, meeting: PlannedConversation, side: int) -> str:
        """Of the opener (0) or the partner (1)."""
        scenario = meeting.scenario_of(len(self.scenarios))
        if scenario is not None:
            return self.scenarios[scenario][side]
        return self.secrets[meeting.partner if side else meeting.opener]

    def for_statistics(self, seed: int = 0) -> Played:
        return Played(
            models=self.models,
            linked=self.linked,
            scoring=self.scoring,
            judged=self.judged,
            messages=self.messages_per_interaction,
            seed=seed,
            scenarios=self.scenarios,
        )


MOST_SIGHTED = 5_000
"""messages on which detectors are held against the planted truth; of more, an even sample"""

WAYS = {"plain": "exact", "misspelt": "fuzzy"}
"""the simulated provider's words for a detector's own case, where they differ"""


def sides_of(connection: sqlite3.Connection, batch_number: int) -> Sides:
    return Sides.read(game_rows.outcomes(connection, batch_number))


def failed_pairs(connection: sqlite3.Connection, batch_id: str) -> Counter[tuple[str, str]]:
    """Conversations that failed, by opener and partner."""
    rows = game_rows.failures_by_pair(connection, batch_id)
    return Counter({cast(tuple[str, str], tuple(json.loads(names))): count for names, count in rows})


def sat_out(connection: sqlite3.Connection, batch_id: str) -> dict[str, int]:
    """How many rounds each agent had no conversation in."""
    return game_rows.sit_outs(connection, batch_id)


def planted(
    connection: sqlite3.Connection, batch_number: int, played_with: PlayedWith
) -> tuple[list[Sighting], list[SideTruth], bool]:
    """Messages with known truth as the detectors see them, sides as the judge saw them; and whether it is a sample."""
    last = last_unit(connection, batch_number)
    every = max(1, -(-last * played_with.messages_per_interaction // MOST_SIGHTED))
    sightings: list[Sighting] = []
    judged: list[SideTruth] = []
    fired = lru_cache(MOST_SIGHTED)(partial(detectors_that_fire, fuzzy_threshold=played_with.fuzzy_threshold))
    for meeting, side, verdict, said in _sides(connection, batch_number, every, last):
        secret = played_with.secret(meeting, side)
        number = meeting.sequence_number
        seen = [Sighting(truth, fired(text, secret), number) for text, truth in said]
        sightings += seen
        if played_with.judged:
            judged.append(SideTruth(any(s.truth is not None for s in seen), verdict, number))
    return sightings, judged, every > 1


Said = list[tuple[str, str | None]]
"""the messages of a side, each with how it truly gave the secret"""


def _sides(
    connection: sqlite3.Connection, batch_number: int, every: int, last: int
) -> Iterator[tuple[PlannedConversation, int, bool | None, Said]]:
    rows = game_rows.planted_messages(connection, batch_number, every, last)
    present: tuple[int, int] | None = None
    found: tuple[PlannedConversation, int, bool | None, Said] | None = None
    for number, game, round_number, side, agent, opponent, verdict, text, truth in rows:
        if present != (number, side):
            if found:
                yield found
            present = (number, side)
            names = (agent, opponent) if side == 0 else (opponent, agent)
            judged = None if verdict is None else bool(verdict)
            found = (PlannedConversation(number, game, round_number, *names), side, judged, [])
        assert found is not None
        found[3].append((text, way_of(truth)))
    if found:
        yield found


def way_of(truth: str) -> str | None:
    """The planted way as a detector's name, or another such as a hint; None where nothing was given."""
    try:
        way = json.loads(truth)["way"]
    except (ValueError, TypeError, KeyError):
        return None
    return None if way == "none" else WAYS.get(way, str(way))


def statistics(connection: sqlite3.Connection, batch: Mapping[str, Any], config: StoredConfig) -> dict[str, Any]:
    return with_coding(connection, batch, secret_game_statistics(connection, batch, config).as_json())


def secret_game_statistics(
    connection: sqlite3.Connection, batch: Mapping[str, Any], config: StoredConfig
) -> SecretGameStatistics:
    played_with = PlayedWith.of(config)
    found = analysed_sides(
        sides_of(connection, batch["number"]),
        failed_pairs(connection, batch["id"]),
        played_with.for_statistics(batch["seed"] % 2**32),
    )
    agreed = None
    if batch["simulated"]:
        sightings, judged, sampled = planted(connection, batch["number"], played_with)
        if sightings:
            agreed = agreement(sightings, in_use=played_with.detectors, judged=judged, sampled=sampled)
    return replace(found, sat_out=sat_out(connection, batch["id"]), agreement=agreed)
