"""What came out of a study of several batches, from its file alone: the JSON summary, means of cells, effects of factors.

Confirmatory are the hypotheses of the design as the file has them, with Holm's correction over all that it stated. Everything
else is exploratory, corrected outcome by outcome, and called so. Factors that a simulated model does not react to are
foreseen from what it reads of its first requests, and measured from its replies."""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from tidepool.engine.call import Call
from tidepool.engine.config.sections import FrozenConfig
from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.design.contrasts import (
    Cell,
    Factors,
    Hypothesis,
    exploratory,
    read_hypotheses,
    weigh,
)
from tidepool.engine.design.effects import CellBatch, Effect, OutcomeTable, cell_mean, effect, in_direction, tables_of
from tidepool.engine.design.outcomes import Outcome
from tidepool.engine.errors import UsageError
from tidepool.engine.providers.simulated.responders import reading_of
from tidepool.engine.results.blocks import listing
from tidepool.engine.results.simulated_roles import is_simulated, merge_roles, simulated_roles
from tidepool.engine.results.summary import MOST_FAILURES, checked, count_batch
from tidepool.engine.statistics.contrasts import SIGNIFICANT
from tidepool.engine.statistics.intervals import Interval
from tidepool.engine.statistics.significance import holm
from tidepool.engine.stopping.statistics import stopping_of
from tidepool.engine.studies.kinds import load_kind
from tidepool.storage import studies
from tidepool.storage.batches import progress_of, status_now
from tidepool.storage.file import reading
from tidepool.storage.queries.conversations import levels_by_cell
from tidepool.storage.queries.summary import ReplyPairs, compare_replies, merge_failures
from tidepool.storage.states import BatchStatus, study_reason, study_status
from tidepool.storage.studies import StoredCell
from tidepool.storage.studies import cells_of as stored_cells

# -- factors that simulated models ignore ------------------------------------------------------------------------------


Levels = Mapping[str, str]
MOST_COMPARED = 50
"""cells that are held against the first one"""


def foreseen(kind: str, cells: Sequence[tuple[Levels, FrozenConfig]], *, paired: bool) -> list[str]:
    """Warnings for a plan; `cells` are those of one replicate."""
    requests = load_kind(kind).first_requests
    if requests is None or not cells:
        return []
    reference = list(requests(cells[0][1]))
    found = []
    for levels, config in islice(cells[1:], MOST_COMPARED):
        if (changed := _changed(cells[0][0], levels, paired)) and (
            models := _ignoring(reference, list(requests(config)))
        ):
            read, their = ("reads", "its") if len(models) == 1 else ("read", "their")
            found.append(
                f"Contrast {_contrast(changed)}: {listing(models)} {read} the same from the requests of both, so {their} replies "
                "will be identical and no effect can show. Real models may react."
            )
    return found


def _ignoring(reference: Sequence[Call], others: Sequence[Call]) -> list[str]:
    """Simulated models that read the same from different requests; none if any model reads a difference."""
    pairs = [(one, other) for one, other in zip(reference, others, strict=False) if one != other]
    alike = all(
        is_simulated(one.model) and one.model == other.model and reading_of(one) == reading_of(other)
        for one, other in pairs
    )
    return list(dict.fromkeys(one.model for one, _ in pairs)) if alike and len(reference) == len(others) else []


def measured(connection: sqlite3.Connection, cells: Sequence[StoredCell], *, paired: bool) -> Iterator[dict[str, Any]]:
    """Levels at which all replies of simulated models to different requests are the same, with the number of replies."""
    seen: dict[tuple[tuple[str, str, str], ...], list[ReplyPairs]] = {}
    first = {cell.replicate: cell for cell in reversed(cells)}
    for cell in islice(cells, MOST_COMPARED):
        if changed := _changed(first[cell.replicate].levels, cell.levels, paired):
            numbers = first[cell.replicate].batch["number"], cell.batch["number"]
            seen.setdefault(changed, []).append(compare_replies(connection, *numbers))
    for changed, pairs in seen.items():
        replies = sum(one.replies for one in pairs)
        if replies and all(one.identical for one in pairs):
            models = sorted({model for one in pairs for model in one.models})
            yield {"contrast": _contrast(changed), "models": models, "replies": replies}


def measured_words(found: Mapping[str, Any]) -> str:
    return (
        f"Contrast {found['contrast']}: {found['replies']:,} of {found['replies']:,} compared replies of {listing(found['models'])} to requests "
        "that differ are identical. "
        f"The simulated model{'s' * (len(found['models']) > 1)} did not react to this factor, so the study cannot show an effect of it."
    )


def _changed(reference: Levels, levels: Levels, paired: bool) -> tuple[tuple[str, str, str], ...]:
    """(factor, level, level of the reference) of one factor, or of all that go in step; nothing where several differ."""
    was = {name: reference.get(name, "") for name in levels}
    changed = tuple((name, level, was[name]) for name, level in levels.items() if level != was[name])
    return changed if len(changed) == 1 or paired else ()


def _contrast(changed: Sequence[tuple[str, str, str]]) -> str:
    return ", ".join(f"{factor}: {level} - {reference}" for factor, level, reference in changed)


# -- statistics --------------------------------------------------------------------------------------------------------


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
    planned = design.get("batches")
    return max(0, planned - ended) if isinstance(planned, int) else 0


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
    given = load_kind(rows[0][0]["kind"]).outcomes if rows else None
    if given is None:
        return [], []
    configs = [StoredConfig(batch["config"], checked).sections for batch, _ in rows]
    read = given().read
    return study_outcomes(rows[0][0]["kind"], configs), [
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
    return {
        "mode": factors.mode,
        "factors": {factor.name: list(factor.levels) for factor in factors.factors},
        "replicates": design.get("replicates"),
        "outcomes": {one.name: _outcome(factors, tables[one.name], stated) for one in shown},
        "hypotheses": tested(factors, tables, stated),
        "hypotheses_trouble": trouble,
        "frozen_at": design.get("frozen_at"),
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
    found: list[tuple[Hypothesis, Effect | None]] = []
    for one in stated:
        table = tables[one.outcome.name]
        weighing = weigh(one.asked, factors, table.cells)
        found.append((one, effect(table, weighing) if weighing else None))
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


def _verdict(stated: Hypothesis, seen: Effect | None, p_value: float | None) -> str:
    if seen is None or p_value is None:
        return seen.note if seen else "no verdict: its cells are not there"
    if p_value < SIGNIFICANT:
        return FOUND
    wrong = {"less": 1, "greater": -1, "two-sided": 0}[stated.direction] * (seen.difference or 0) > 0
    return OTHERWISE if wrong else NOT_FOUND


def _outcome(factors: Factors, table: OutcomeTable, stated: Sequence[Hypothesis]) -> dict[str, Any]:
    outcome = table.outcome
    confirmatory: list[dict[Cell, float]] = []
    """weights of what was stated, in either direction"""
    for one in stated:
        if one.outcome.name == outcome.name and (found := weigh(one.asked, factors, table.cells)):
            confirmatory += [found.weights, {cell: -weight for cell, weight in found.weights.items()}]
    effects = [effect(table, each) for each in exploratory(factors, table.cells) if each.weights not in confirmatory]
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


# -- the summary -------------------------------------------------------------------------------------------------------


StudySummary = dict[str, Any]
_SUMMED = ("units", "calls", "tokens", "replies")
_OF_CELLS = ("status", "reason", "seed", "simulated", "simulated_roles", "roles", "units", "calls", "cost_usd")


def read_study(reference: str = "last", database: str | Path = "tidepool.db") -> StudySummary:
    """The summary of a study that is in the file already. `reference` is its id, a unique prefix of one, or "last"."""
    return summarise_study(Path(database), reference)


def summarise_study(path: Path, reference: str, *, with_statistics: bool = True) -> StudySummary:
    with reading(path) as connection:
        study = studies.find_study(connection, reference)
        cells = studies.cells_of(connection, study.id)
        status, reason = status_of(path, [cell.batch for cell in cells])
        of_cells = [count_batch(path, connection, cell.batch) for cell in cells]
        sums: dict[str, Counter[str]] = {name: Counter() for name in _SUMMED}
        for one in of_cells:
            for name in _SUMMED:
                sums[name].update({key: value or 0 for key, value in one[name].items()})
        costs = [one["cost_usd"] for one in of_cells]
        roles = merge_roles(one["roles"] for one in of_cells)
        stops = [stopping_of(connection, cell.batch["number"]) for cell in cells]
        design = {name: value for name, value in study.design.items() if name != "source"}
        return {
            "study_id": study.id,
            "name": study.name,
            "kind": cells[0].batch["kind"],
            "status": status,
            "reason": reason,
            "simulated": any(one["simulated"] for one in of_cells),
            "simulated_roles": simulated_roles(roles),
            "roles": roles,
            "served_models": _served(of_cells),
            "failures": merge_failures(
                ({**failure, "batch_id": one["batch_id"]} for one in of_cells for failure in one["failures"]),
                MOST_FAILURES,
            ),
            "design": design,
            **{name: dict(counted) for name, counted in sums.items()},
            "cost_usd": None if None in costs else sum(costs),
            "calls_saved": sum(stop.calls_saved for stop in stops if stop is not None),
            "seconds": max(one["seconds"] for one in of_cells),
            "cells": [
                {
                    "batch_id": cell.batch["id"],
                    "replicate": cell.replicate,
                    "levels": cell.levels,
                    **{name: one[name] for name in _OF_CELLS},
                }
                for cell, one in zip(cells, of_cells, strict=True)
            ],
            "statistics": study_statistics(connection, {"id": study.id, "design": json.dumps(study.design)})
            if with_statistics
            else {},
        }


def _served(cells: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Which models the providers say have answered, over all cells."""
    served: Counter[tuple[str, str]] = Counter()
    for one in cells:
        served.update({(row["model"], row["served"]): row["replies"] for row in one["served_models"]})
    return [{"model": model, "served": name, "replies": count} for (model, name), count in served.items()]


def status_of(path: Path, batches: Sequence[sqlite3.Row]) -> tuple[BatchStatus, str | None]:
    """Of a study: the gravest of its cells', or how much of them is complete."""
    with reading(path) as connection:
        states = [
            (BatchStatus(status_now(path, batch, progress_of(connection, batch["number"]))), batch["reason"])
            for batch in batches
        ]
    return study_status([status for status, _ in states]), study_reason(states)
