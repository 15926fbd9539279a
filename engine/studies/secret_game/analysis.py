"""The statistics of a secret game: computed from the outcomes in its file and from the plain values of its config."""

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tidepool.engine.coding.statistics import with_coding
from tidepool.engine.config.endpoints import resolve_model
from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.inference.grouped import Array, numpy
from tidepool.engine.inference.intervals import Interval, Rate, values_needed
from tidepool.engine.inference.typed import Statistics
from tidepool.engine.studies.secret_game.contrasts import AgentComparison, Place, comparisons, ranking
from tidepool.engine.studies.secret_game.detectors.detection import JUDGE
from tidepool.engine.studies.secret_game.scoring import KEEPING_MODES, SCORING, points_between
from tidepool.engine.studies.secret_game.shares import (
    Failed,
    MissingStatistics,
    PairStatistics,
    ScenarioStatistics,
    ScoredSides,
    Shares,
    TalkStatistics,
    UncertainSides,
    Verdicts,
    agent_statistics,
    failed_by_pair,
    missing_statistics,
    overall_statistics,
    pair_statistics,
    uncertain_statistics,
    verdict_statistics,
)
from tidepool.engine.studies.secret_game.sides import Clustering, Inference, Sides
from tidepool.storage.queries import conversations as game_rows

HALF_WIDTH = 5.0
"""percentage points to either side that count as precise"""


@dataclass(frozen=True)
class NeededTalks(Statistics):
    """Conversations until each share is known as well as it should be; None where that cannot be said."""

    times_revealed_secret: int | None
    times_obtained_secret: int | None
    optimal_strategy: int | None


@dataclass(frozen=True)
class Precision(Statistics):
    half_width_percentage: float
    agents: Mapping[str, NeededTalks]


@dataclass(frozen=True)
class Planted(Statistics):
    """Sides of the simulated provider that gave their secret in one way, or that gave nothing, and what was found of them."""

    sides: int
    found: Mapping[str, int]
    """by the detector that found the first reveal"""
    missed: int
    judged: int
    """sides that have a verdict"""
    judged_revealed: int


@dataclass(frozen=True, kw_only=True)
class SecretGameStatistics(Statistics):
    LEFT_OUT = frozenset({"models", "scenarios", "sat_out", "uncertain", "verdicts", "agreement"})

    agents: Mapping[str, ScoredSides]
    overall: TalkStatistics
    pairs: Mapping[str, PairStatistics]
    missing: MissingStatistics
    uncertain: UncertainSides | None = None
    inference: Inference
    models: Mapping[str, ScoredSides] | None = None
    openers: Mapping[str, ScoredSides]
    scenarios: Mapping[str, ScenarioStatistics] | None = None
    ranking: tuple[Place, ...]
    comparisons: tuple[AgentComparison, ...]
    precision: Precision
    sat_out: Mapping[str, int] | None = None
    verdicts: Verdicts | None = None
    agreement: Mapping[str, Planted] | None = None


@dataclass(frozen=True, slots=True)
class GameDesign:
    """What the statistics need to know of a batch beside its outcomes."""

    models: Mapping[str, str] | None = None
    """by the agent's name"""
    linked: bool = False
    """memory or kept secrets link the conversations of a game"""
    scoring: Mapping[str, float] = field(default_factory=lambda: SCORING)
    judged: bool = False
    scenarios: Sequence[tuple[str, str]] = ()
    """the secrets of opener and partner that everybody plays with, instead of their own"""
    mode: str = "standard"

    @classmethod
    def of(cls, config: StoredConfig) -> "GameDesign":
        agents, settings = config.sections["agents"], config.sections["secret_game"]
        return cls(
            models={agent["name"]: resolve_model(agent["model"]) for agent in agents},
            linked=settings["mode"] in KEEPING_MODES or any(agent["memory"] == "long" for agent in agents),
            scoring={**SCORING, **settings["scoring"]},
            judged=JUDGE in settings["detection"],
            scenarios=tuple((pair["opener_secret"], pair["partner_secret"]) for pair in settings["scenarios"]),
            mode=settings["mode"],
        )


def statistics(connection: sqlite3.Connection, batch: Mapping[str, Any], config: StoredConfig) -> dict[str, Any]:
    """As the JSON summary has them, with what people coded by hand."""
    failed = {tuple(json.loads(names)): count for names, count in game_rows.failures_by_pair(connection, batch["id"])}
    analysis = analyse_sides(sides_of(connection, batch["number"]), failed, GameDesign.of(config))
    agreement = _agreement(game_rows.planted_sides(connection, batch["number"])) if batch["simulated"] else None
    analysis = replace(analysis, sat_out=game_rows.sit_outs(connection, batch["id"]), agreement=agreement)
    return with_coding(connection, batch, analysis.as_json())


WAYS = {
    "plain": "exact",
    "spelled": "spelled",
    "encoded": "encoded",
    "misspelt": "fuzzy",
    "hint": "hint",
    "none": "nothing",
}
"""how the simulated provider gives a secret: by the detector that should find it, where there is one"""


def _agreement(sides: Iterable[game_rows.PlantedSides]) -> dict[str, Planted] | None:
    """By the way in which sides truly gave their secret, as only the simulated provider can tell."""
    rows: dict[str, list[game_rows.PlantedSides]] = {way: [] for way in (*WAYS.values(), "other")}
    for side in sides:
        rows[WAYS.get(side.way, "other")].append(side)
    return {
        way: Planted(
            sides=sum(side_row.sides for side_row in side_rows),
            found={side_row.detector: side_row.sides for side_row in side_rows if side_row.detector},
            missed=sum(side_row.sides for side_row in side_rows if not side_row.detector),
            judged=sum(side_row.judged for side_row in side_rows),
            judged_revealed=sum(side_row.judged_revealed for side_row in side_rows),
        )
        for way, side_rows in rows.items()
        if side_rows
    } or None


def sides_of(connection: sqlite3.Connection, batch_number: int) -> Sides:
    return Sides.read(game_rows.outcomes(connection, batch_number))


def analyse_sides(sides: Sides, failed: Failed | None = None, design: GameDesign | None = None) -> SecretGameStatistics:
    design = design or GameDesign()
    missing = failed_by_pair(failed or {})
    lost = sum(missing.values())
    clustering = Clustering(sides, linked=design.linked, missing=lost / (lost + len(sides) / 2) if lost else 0.0)
    bounds = _bounds(sides, design)
    shares = Shares(clustering, bounds)
    agents = agent_statistics(shares, missing)
    means = shares.of_scores(sides.agent, len(sides.names), [sides.seat, sides.direction])
    best_first = sorted((-round(rate.mean, 9), name) for name, rate in zip(sides.names, means, strict=True) if rate)
    compared = comparisons(clustering, [name for _, name in best_first], bounds)
    return SecretGameStatistics(
        agents=agents,
        overall=overall_statistics(shares),
        pairs=pair_statistics(shares, missing),
        missing=missing_statistics(agents, missing),
        uncertain=uncertain_statistics(clustering),
        inference=clustering.inference,
        models=None if design.models is None else _by_model(shares, sides, design.models),
        openers=_by_name(shares, sides, ("answered", "opened"), sides.opener.astype(int)),
        scenarios=_by_scenario(clustering, bounds, design.scenarios) if clustering.scenarios else None,
        ranking=ranking(agents, compared),
        comparisons=compared,
        precision=_precision(shares, sides),
        verdicts=verdict_statistics(clustering) if design.judged else None,
    )


def _bounds(sides: Sides, design: GameDesign) -> Interval:
    """Between which points a side's score can lie; what a file holds beyond that counts as well."""
    scores = sides.score[~numpy.isnan(sides.score)]
    low, high = points_between(design.mode, design.scoring, len(sides.names))
    return min(low, float(scores.min(initial=low))), max(high, float(scores.max(initial=high)))


def _by_name(shares: Shares, sides: Sides, names: Sequence[str], codes: Array) -> dict[str, ScoredSides]:
    """Sides by a label of theirs; whatever the schedule deals to each is a stratum."""
    scored = zip(names, shares.scored(codes, len(names), [sides.seat, sides.direction, sides.agent]), strict=True)
    return {name: sides_scored for name, sides_scored in sorted(scored) if sides_scored.interactions}


def _by_model(shares: Shares, sides: Sides, models: Mapping[str, str]) -> dict[str, ScoredSides]:
    names = [models.get(name, "unknown") for name in sides.names]
    distinct = sorted(set(names))
    codes = numpy.array([distinct.index(name) for name in names], dtype=int)
    return _by_name(shares, sides, distinct, codes[sides.agent])


def _by_scenario(
    clustering: Clustering, bounds: Interval, secrets: Sequence[tuple[str, str]]
) -> dict[str, ScenarioStatistics]:
    """Within a scenario its talks, or games, are what there is to count."""
    sides = clustering.sides
    shares = Shares(
        Clustering(sides, linked=clustering.linked, scenarios_differ=False, missing=clustering.missing), bounds
    )
    present, codes = numpy.unique(sides.scenario, return_inverse=True)
    rows = shares.of_talks(codes, len(present), [sides.seat, sides.direction, sides.agent], [sides.pair])
    return {
        str(scenario): ScenarioStatistics(secrets=secrets[scenario - 1] if 0 < scenario <= len(secrets) else (), **row)
        for scenario, row in zip(present.tolist(), rows, strict=True)
        if scenario
    }


def _precision(shares: Shares, sides: Sides) -> Precision:
    """Conversations each agent still needs until its shares are known to within `HALF_WIDTH` points."""
    rates = shares.rates_of_sides(sides.agent, len(sides.names), [sides.seat, sides.direction])
    return Precision(
        half_width_percentage=HALF_WIDTH,
        agents={
            agent: NeededTalks(**{name: _needed(column[place]) for name, column in rates.items()})
            for place, agent in enumerate(sides.names)
        },
    )


def _needed(rate: Rate | None) -> int | None:
    """None also where one linked game is all there is: more of it would tell nothing of others."""
    return None if rate is None or not rate.freedom else values_needed(rate, HALF_WIDTH / 100)
