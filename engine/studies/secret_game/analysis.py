"""The statistics of a secret game: computed from the outcomes in its file and from the plain values of its config."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tidepool.engine.coding.statistics import with_coding
from tidepool.engine.config.endpoints import resolve_model
from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.inference.grouped import Array, numpy
from tidepool.engine.inference.intervals import Interval
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


@dataclass(frozen=True, kw_only=True)
class SecretGameStatistics(Statistics):
    LEFT_OUT = frozenset({"models", "scenarios", "sat_out", "uncertain", "verdicts"})

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
    sat_out: Mapping[str, int] | None = None
    verdicts: Verdicts | None = None


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
    analysis = replace(analysis, sat_out=game_rows.sit_outs(connection, batch["id"]))
    return with_coding(connection, batch, analysis.as_json())


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
    best_first = sorted((-round(row.score_mean, 9), name) for name, row in agents.items() if row.score_mean is not None)
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
