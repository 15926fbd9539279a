"""The statistics of a study of several batches, from its file alone: the JSON summary, means of cells, effects of factors.

The hypotheses of the design are confirmatory, with Holm's correction over all of them. All other effects are
exploratory and form one family over all outcomes."""

import json
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.errors import UsageError
from tidepool.engine.inference.contrasts import SIGNIFICANT
from tidepool.engine.inference.effects import (
    CellBatch,
    Effect,
    OutcomeTable,
    cell_mean,
    effect,
    estimand_of,
    in_direction,
    tables_of,
)
from tidepool.engine.inference.hypotheses import Cell, Factors, Hypothesis, exploratory, read_hypotheses, weigh
from tidepool.engine.inference.intervals import scaled
from tidepool.engine.inference.measures import Outcome
from tidepool.engine.inference.significance import corrected, holm
from tidepool.engine.kinds import load_kind
from tidepool.engine.reports.blocks import Report
from tidepool.engine.results.batch_summary import ReportedFigures
from tidepool.engine.results.simulated_roles import merge_roles, simulated_roles
from tidepool.engine.results.summary import MOST_FAILURES, count_batch
from tidepool.engine.runtime.stop_results import stopping_of
from tidepool.engine.studies.results import study_outcomes
from tidepool.storage import studies
from tidepool.storage.batches import progress_of, status_now
from tidepool.storage.file import reading
from tidepool.storage.queries.summary import known_before, merge_failures
from tidepool.storage.states import BatchStatus, study_reason, study_status
from tidepool.storage.studies import cells_of as stored_cells

# -- statistics --------------------------------------------------------------------------------------------------------


FOUND, NOT_FOUND, OPPOSITE = "supported", "not supported", "not supported: opposite direction"


def study_statistics(connection: sqlite3.Connection, study: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the statistics of a row of `study`, which may still be running."""
    try:
        design = json.loads(study["design"])
    except (TypeError, ValueError, RecursionError):
        design = None
    factors = Factors.of(design)
    outcomes, batches = read_cells(connection, cell_rows(connection, study["id"], factors))
    present = {batch.cell for batch in batches}
    planned = [cell for cell in factors.cells if cell in present]
    cells = [*planned, *sorted(present.difference(planned))]
    return {
        **design_statistics(design, tables_of(outcomes, cells, batches)),
        "missing_batches": _missing_batches(connection, study["id"], design),
        "known_before": bool(design.get("hypotheses")) and known_before(connection, study["id"]),
    }


def _missing_batches(connection: sqlite3.Connection, study_id: str, design: Mapping[str, Any]) -> dict[str, int]:
    """Counts incomplete planned batches by reason. Batches that are not in the file were deleted or never exported."""
    states = Counter(cell.batch["status"] for cell in stored_cells(connection, study_id))
    planned, failures = design.get("batches"), states[BatchStatus.PARTIAL] + states[BatchStatus.FAILED]
    return {
        "ended_with_failures": failures,
        "not_ended": states.total() - states[BatchStatus.COMPLETED] - failures,
        "not_in_file": max(0, planned - states.total()) if isinstance(planned, int) else 0,
    }


Rows = Sequence[tuple[Mapping[str, Any], Cell]]
"""batches of a study, each with its cell"""


def cell_rows(connection: sqlite3.Connection, study_id: str, factors: Factors) -> Rows:
    return [
        (dict(cell.batch), tuple(cell.levels[name] for name in factors.names))
        for cell in stored_cells(connection, study_id)
        if set(factors.names) <= cell.levels.keys()
    ]


def read_cells(connection: sqlite3.Connection, rows: Rows) -> tuple[list[Outcome], list[CellBatch]]:
    if not rows:
        return [], []
    configs = [StoredConfig(batch["config"]).sections for batch, _ in rows]
    read = load_kind(rows[0][0]["kind"]).results.values
    return study_outcomes(rows[0][0]["kind"], configs), [
        CellBatch(cell, batch["replicate"] or 1, read(connection, batch, sections))
        for (batch, cell), sections in zip(rows, configs, strict=True)
    ]


def design_statistics(design: Mapping[str, Any], tables: Mapping[str, OutcomeTable]) -> dict[str, Any]:
    """The statistics from tables of outcomes, whatever their source. Holm's correction is over the exploratory effects on all
    outcomes."""
    factors = Factors.of(design)
    outcomes = [table.outcome for table in tables.values()]
    stated, trouble = _stated(design, outcomes)
    named = {outcome.outcome.name for outcome in stated}
    shown = [outcome for outcome in outcomes if outcome.name in named or is_shown(outcome, factors)]
    found = {one.name: _outcome(factors, tables[one.name], stated) for one in shown}
    effects = [entry for one in found.values() for entry in one["effects"]]
    for entry, p_value in zip(effects, corrected([entry["p_value"] for entry in effects]), strict=True):
        entry["p_value_holm"] = p_value
    return {
        "mode": factors.mode,
        "factors": {factor.name: list(factor.levels) for factor in factors.factors},
        "replicates": design.get("replicates"),
        "outcomes": found,
        "hypotheses": tested(factors, tables, stated),
        "hypotheses_trouble": trouble,
        "frozen_at": design.get("frozen_at"),
    }


def _stated(design: Mapping[str, Any], outcomes: Sequence[Outcome]) -> tuple[list[Hypothesis], str | None]:
    """Returns the hypotheses, or an error if they are invalid, which is only possible in a changed file."""
    if not outcomes:
        return [], None
    try:
        return read_hypotheses(design, outcomes), None
    except (UsageError, AttributeError, TypeError) as error:
        return [], str(error)


def is_shown(outcome: Outcome, factors: Factors) -> bool:
    """Whether a report shows an outcome that no hypothesis names."""
    keys = [f"{key}." for factor in factors.factors for key in factor.keys]
    return not outcome.asked_only and (not outcome.about or any(key.startswith(f"{outcome.about}.") for key in keys))


def tested(factors: Factors, tables: Mapping[str, OutcomeTable], stated: Sequence[Hypothesis]) -> list[dict[str, Any]]:
    """Returns the confirmatory effects. Holm's correction covers all hypotheses, including untestable ones."""
    pairs: list[tuple[Hypothesis, Effect | None]] = []
    for item in stated:
        table = tables[item.outcome.name]
        weighing = weigh(item.contrast, factors, table.cells)
        pairs.append((item, effect(table, weighing) if weighing else None))
    p_values = [in_direction(seen.p_value, seen.difference, item.direction) if seen else None for item, seen in pairs]
    adjusted = holm([1.0 if value is None else value for value in p_values])
    return [
        {
            "outcome": item.outcome.name,
            "contrast": str(item.contrast),
            "direction": item.direction,
            **_effect_fields(seen, tables[item.outcome.name]),
            "p_value": p_value,
            "p_value_holm": None if p_value is None else corrected,
            "verdict": _verdict(item, seen, None if p_value is None else corrected),
        }
        for (item, seen), p_value, corrected in zip(pairs, p_values, adjusted, strict=True)
    ]


def _verdict(hypothesis: Hypothesis, seen: Effect | None, p_value: float | None) -> str:
    if seen is None or p_value is None:
        return seen.note if seen else "no verdict: its cells are missing"
    if p_value < SIGNIFICANT:
        return FOUND
    opposite = {"less": 1, "greater": -1, "two-sided": 0}[hypothesis.direction] * (seen.difference or 0) > 0
    return OPPOSITE if opposite else NOT_FOUND


def _outcome(factors: Factors, table: OutcomeTable, stated: Sequence[Hypothesis]) -> dict[str, Any]:
    outcome = table.outcome
    confirmatory: list[dict[Cell, float]] = []
    """weights of the stated contrasts, in both directions"""
    for item in stated:
        if item.outcome.name == outcome.name and (weighing := weigh(item.contrast, factors, table.cells)):
            confirmatory += [weighing.weights, {cell: -weight for cell, weight in weighing.weights.items()}]
    others = [] if outcome.described_only else exploratory(factors, table.cells)
    effects = [effect(table, each) for each in others if each.weights not in confirmatory]
    return {
        "words": outcome.words,
        "unit": outcome.unit,
        "digits": outcome.digits,
        "per_talk": outcome.per_talk,
        "cells": [_cell(factors, table, cell) for cell in table.cells],
        "effects": [
            {
                "contrast": item.name,
                "kind": item.kind,
                **_effect_fields(item, table),
                "p_value": item.p_value,
            }
            for item in effects
        ],
    }


def _cell(factors: Factors, table: OutcomeTable, cell: Cell) -> dict[str, Any]:
    mean, scale = cell_mean(table, cell), table.outcome.scale
    return {
        "levels": dict(zip(factors.names, cell, strict=True)),
        "talks" if table.outcome.per_talk else "batches": mean.talks,
        "missing": mean.missing,
        "mean": None if mean.mean is None else mean.mean * scale,
        "ci95": scaled(mean.interval, scale),
        "estimand": mean.estimand,
        "note": mean.note,
    }


def _effect_fields(measured: Effect | None, table: OutcomeTable) -> dict[str, Any]:
    outcome = table.outcome
    if measured is None:
        nothing = {"difference": None, "difference_ci95": None, "units": None, "number": 0, "left_out": 0}
        return {**nothing, "estimand": estimand_of(table)}
    return {
        "difference": None if measured.difference is None else measured.difference * outcome.scale,
        "difference_ci95": scaled(measured.interval, outcome.scale),
        "units": measured.units,
        "number": measured.number,
        "left_out": measured.left_out,
        "method": measured.method,
        "estimand": measured.estimand,
        "note": measured.note,
    }


# -- the summary -------------------------------------------------------------------------------------------------------


class StudySummary(ReportedFigures):
    """The summary of a study with a design, as `tidepool show STUDY --json` prints it."""

    def report(self) -> Report:
        from tidepool.engine.design.report import study_report

        return study_report(self.database, self, methods=False)


_SUMMED = ("units", "calls", "tokens", "replies")
_OF_CELLS = ("status", "reason", "seed", "simulated", "simulated_roles", "roles", "units", "calls", "cost_usd")


def read_study(reference: str = "last", database: str | Path = "tidepool.db") -> StudySummary:
    """The summary of a study that is already in the file. `reference` is its id, a unique prefix of one, or "last"."""
    return summarise_study(Path(database), reference)


def summarise_study(path: Path, reference: str) -> StudySummary:
    with reading(path) as connection:
        study = studies.find_study(connection, reference)
        cells = studies.cells_of(connection, study.id)
        status, reason = status_of(path, [cell.batch for cell in cells])
        counts = [count_batch(path, connection, cell.batch) for cell in cells]
        sums: dict[str, Counter[str]] = {name: Counter() for name in _SUMMED}
        for row in counts:
            for name in _SUMMED:
                sums[name].update({key: value or 0 for key, value in row[name].items()})
        costs = [row["cost_usd"] for row in counts]
        roles = merge_roles(row["roles"] for row in counts)
        stops = [stopping_of(connection, cell.batch["number"]) for cell in cells]
        design = {name: value for name, value in study.design.items() if name != "source"}
        content = {
            "study_id": study.id,
            "name": study.name,
            "kind": cells[0].batch["kind"],
            "status": status,
            "reason": reason,
            "simulated": any(row["simulated"] for row in counts),
            "simulated_roles": simulated_roles(roles),
            "roles": roles,
            "served_models": _served(counts),
            "failures": merge_failures(
                ({**failure, "batch_id": row["batch_id"]} for row in counts for failure in row["failures"]),
                MOST_FAILURES,
            ),
            "design": design,
            **{name: dict(sum_of) for name, sum_of in sums.items()},
            "cost_usd": None if None in costs else sum(costs),
            "calls_saved": sum(stop.calls_saved for stop in stops if stop is not None),
            "seconds": max(row["seconds"] for row in counts),
            "cells": [
                {
                    "batch_id": cell.batch["id"],
                    "replicate": cell.replicate,
                    "levels": cell.levels,
                    **{name: row[name] for name in _OF_CELLS},
                }
                for cell, row in zip(cells, counts, strict=True)
            ],
            "statistics": study_statistics(connection, {"id": study.id, "design": json.dumps(study.design)}),
        }
        return StudySummary(content, path)


def _served(cells: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Returns the served models that providers reported, over all cells."""
    served: Counter[tuple[str, str]] = Counter()
    for cell in cells:
        served.update({(row["model"], row["served"]): row["replies"] for row in cell["served_models"]})
    return [{"model": model, "served": name, "replies": count} for (model, name), count in served.items()]


def status_of(path: Path, batches: Sequence[sqlite3.Row]) -> tuple[BatchStatus, str | None]:
    """Returns the status of a study, which is the most serious one of its cells, and the reason."""
    with reading(path) as connection:
        states = [
            (BatchStatus(status_now(path, batch, progress_of(connection, batch["number"]))), batch["reason"])
            for batch in batches
        ]
    return study_status([status for status, _ in states]), study_reason(states)
