"""What came out of a study, from its file alone: means of cells, effects of factors, and what was asked beforehand.

Confirmatory are the hypotheses of the design as the file has them, with Holm's correction over all that it stated. Everything
else is exploratory, corrected outcome by outcome, and called so.
"""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.design.contrasts import Weighing, exploratory, weigh
from tidepool.engine.design.effects import Effect, cell_mean, effect, in_direction
from tidepool.engine.design.factors import Cell, Factors
from tidepool.engine.design.hypotheses import Hypothesis, hypotheses_hash, read_hypotheses
from tidepool.engine.design.ignored_factors import measured
from tidepool.engine.design.outcome_tables import CellBatch, OutcomeTable, tables_of
from tidepool.engine.design.outcomes import Outcome
from tidepool.engine.errors import UsageError
from tidepool.engine.results.summary import checked
from tidepool.engine.statistics.comparisons import holm
from tidepool.engine.statistics.intervals import Interval
from tidepool.engine.statistics.paired import SIGNIFICANT
from tidepool.engine.studies.kinds import load_kind
from tidepool.storage.queries.conversations import levels_by_cell
from tidepool.storage.states import BatchStatus
from tidepool.storage.studies import cells_of as stored_cells

FOUND, NOT_FOUND, OTHERWISE = "found", "not found", "not found: it points the other way"


def study_statistics(connection: sqlite3.Connection, study: Mapping[str, Any]) -> dict[str, Any]:
    """Of a row of `study`; also while it runs, as far as it has come."""
    try:
        design = json.loads(study["design"])
    except (TypeError, ValueError, RecursionError):
        design = None
    factors = Factors.of(design)
    outcomes, batches = _read(connection, study["id"], factors)
    there = {batch.cell for batch in batches}
    planned = [cell for cell in factors.cells if cell in there]
    cells = [*planned, *sorted(there.difference(planned))]
    return {
        **design_statistics(design, tables_of(outcomes, cells, batches)),
        "batches_lacking": _lacking(connection, study["id"], design),
        "ignored_by_simulation": list(
            measured(connection, stored_cells(connection, study["id"]), paired=factors.mode == "paired")
        ),
    }


def _lacking(connection: sqlite3.Connection, study_id: str, design: Mapping[str, Any]) -> int:
    """Batches of the study that did not come to their end, or are not in the file: deleted, or never exported."""
    ended: int = sum(batch["status"] == BatchStatus.COMPLETED for batch, _ in levels_by_cell(connection, study_id))
    return max(0, _count(design.get("batches")) - ended)


def _count(told: Any) -> int:
    """Of a design that may be a stranger's."""
    return told if isinstance(told, int) else 0


def study_outcomes(kind: str, configs: Sequence[Mapping[str, Any]]) -> list[Outcome]:
    """What batches of these configs come to, and between which bounds in any of them; none where the kind names none."""
    given = load_kind(kind).outcomes
    if given is None:
        return []
    found: dict[str, Outcome] = {}
    for sections in configs:
        for one in given().listed(sections):
            low, high = found.get(one.name, one).bounds
            found[one.name] = replace(one, bounds=(min(low, one.bounds[0]), max(high, one.bounds[1])))
    return list(found.values())


def _read(connection: sqlite3.Connection, study_id: str, factors: Factors) -> tuple[list[Outcome], list[CellBatch]]:
    rows = [
        (dict(row), tuple(levels[name] for name in factors.names))
        for row, levels in levels_by_cell(connection, study_id)
        if set(factors.names) <= levels.keys()
    ]
    if not rows:
        return [], []
    kind = rows[0][0]["kind"]
    configs = [StoredConfig(batch["config"], checked).sections for batch, _ in rows]
    outcomes = study_outcomes(kind, configs)
    given = load_kind(kind).outcomes
    if given is None:
        return [], []
    read = given().read
    return outcomes, [
        CellBatch(cell, batch["replicate"] or 1, read(connection, batch, sections))
        for (batch, cell), sections in zip(rows, configs, strict=True)
    ]


def design_statistics(design: Mapping[str, Any], tables: Mapping[str, OutcomeTable]) -> dict[str, Any]:
    """The same from tables of outcomes, wherever they come from."""
    factors = Factors.of(design)
    outcomes = [table.outcome for table in tables.values()]
    stated, trouble = _stated(design, outcomes)
    asked = {one.outcome.name for one in stated}
    shown = [one for one in outcomes if one.name in asked or _shown(one, factors)]
    hypotheses = design.get("hypotheses") or []
    return {
        "mode": factors.mode,
        "factors": {factor.name: list(factor.levels) for factor in factors.factors},
        "replicates": design.get("replicates"),
        "outcomes": {one.name: _outcome(factors, tables[one.name], stated) for one in shown},
        "hypotheses": tested(factors, tables, stated),
        "hypotheses_hash": design.get("hypotheses_hash"),
        "hypotheses_unchanged": hypotheses_hash(hypotheses) == design.get("hypotheses_hash"),
        "hypotheses_trouble": trouble,
        "frozen_at": design.get("frozen_at"),
        "batches_added": _count(design.get("added")),
        "added_at": design.get("added_at"),
    }


def _stated(design: Mapping[str, Any], outcomes: Sequence[Outcome]) -> tuple[list[Hypothesis], str | None]:
    """They were checked before the first call; in a file that somebody changed they may be anything."""
    if not outcomes:
        return [], None
    try:
        return read_hypotheses(design, outcomes), None
    except (UsageError, AttributeError, TypeError) as error:
        return [], str(error)


def _shown(outcome: Outcome, factors: Factors) -> bool:
    keys = [f"{key}." for factor in factors.factors for key in factor.keys]
    return not outcome.asked_only and (not outcome.about or any(key.startswith(f"{outcome.about}.") for key in keys))


def tested(factors: Factors, tables: Mapping[str, OutcomeTable], stated: Sequence[Hypothesis]) -> list[dict[str, Any]]:
    """Confirmatory: Holm's correction is over all that was stated, also what could not be tested."""
    found = [(one, _effect_of(factors, tables[one.outcome.name], one)) for one in stated]
    p_values = [in_direction(seen.p_value, seen.difference, one.direction) if seen else None for one, seen in found]
    adjusted = holm([1.0 if value is None else value for value in p_values])
    return [
        {
            "outcome": one.outcome.name,
            "contrast": str(one.asked),
            "direction": one.direction,
            **_told(seen, one.outcome),
            "p_value": p_value,
            "p_value_holm": None if p_value is None else corrected,
            "verdict": _verdict(one, seen, None if p_value is None else corrected),
        }
        for (one, seen), p_value, corrected in zip(found, p_values, adjusted, strict=True)
    ]


def _effect_of(factors: Factors, table: OutcomeTable, stated: Hypothesis) -> Effect | None:
    weighing = weigh(stated.asked, factors, table.cells)
    return effect(table, weighing) if weighing else None


def _verdict(stated: Hypothesis, seen: Effect | None, p_value: float | None) -> str:
    if seen is None or p_value is None:
        return seen.note if seen else "no verdict: its cells are not there"
    if p_value < SIGNIFICANT:
        return FOUND
    wrong = {"less": 1, "greater": -1, "two-sided": 0}[stated.direction] * (seen.difference or 0) > 0
    return OTHERWISE if wrong else NOT_FOUND


def _outcome(factors: Factors, table: OutcomeTable, stated: Sequence[Hypothesis]) -> dict[str, Any]:
    outcome = table.outcome
    confirmatory = [
        _both_ways(found)
        for one in stated
        if one.outcome.name == outcome.name and (found := weigh(one.asked, factors, table.cells))
    ]
    effects = [
        effect(table, one)
        for one in exploratory(factors, table.cells)
        if not any(one.weights in c for c in confirmatory)
    ]
    adjusted = iter(holm([one.p_value for one in effects if one.p_value is not None]))
    return {
        "words": outcome.words,
        "unit": outcome.unit,
        "digits": outcome.digits,
        "per_talk": outcome.per_talk,
        "cells": [_cell(factors, table, cell) for cell in table.cells],
        "effects": [
            {
                "contrast": one.name,
                "kind": one.kind,
                **_told(one, outcome),
                "p_value": one.p_value,
                "p_value_holm": None if one.p_value is None else next(adjusted),
            }
            for one in effects
        ],
    }


def _both_ways(weighing: Weighing) -> list[dict[Cell, float]]:
    return [weighing.weights, {cell: -weight for cell, weight in weighing.weights.items()}]


def _cell(factors: Factors, table: OutcomeTable, cell: Cell) -> dict[str, Any]:
    found, scale = cell_mean(table, cell), table.outcome.scale
    return {
        "levels": dict(zip(factors.names, cell, strict=True)),
        "talks" if table.outcome.per_talk else "batches": found.talks,
        "missing": found.missing,
        "mean": None if found.mean is None else found.mean * scale,
        "ci95": _scaled(found.interval, scale),
    }


def _told(found: Effect | None, outcome: Outcome) -> dict[str, Any]:
    if found is None:
        return {"difference": None, "difference_ci95": None, "units": None, "number": 0, "left_out": 0}
    return {
        "difference": None if found.difference is None else found.difference * outcome.scale,
        "difference_ci95": _scaled(found.interval, outcome.scale),
        "units": found.units,
        "number": found.number,
        "left_out": found.left_out,
        "method": found.method,
        "note": found.note,
    }


def _scaled(interval: Interval | None, scale: float) -> list[float] | None:
    return interval and [interval[0] * scale, interval[1] * scale]
