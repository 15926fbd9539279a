"""What a study of several batches will take, before anything is called: of all its cells together."""

from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

from tidepool.engine.config.sections import Config
from tidepool.engine.design.cells import PlannedStudy, plan_study
from tidepool.engine.design.stopping import rules_of
from tidepool.engine.studies.kinds import load_kind
from tidepool.engine.studies.plan import priced
from tidepool.engine.studies.planned_calls import together


def priced_study(config: Config, database: Path, into: str | None = None) -> dict[str, Any]:
    """As a batch's plan, with its cells and what each of them takes; `into` a study, of those that it has not got yet."""
    planned = plan_study(config, database)
    if into is not None:
        from tidepool.engine.design.running import only_new

        planned = only_new(planned, database, into)[1]
    return priced_cells(planned)


def priced_cells(study: PlannedStudy) -> dict[str, Any]:
    kind = load_kind(study.config.batch.kind)
    plans = [kind.plan(cell.config) for cell in study.cells]
    rules_of(kind, [(cell.config, cell.levels, cell.replicate) for cell in study.cells])
    whole = priced(together(plans), study.config, several=True)
    cells = [
        {"levels": dict(cell.levels), "replicate": cell.replicate, "units": plan.units, "calls": plan.calls_expected}
        for cell, plan in zip(study.cells, plans, strict=True)
    ]
    models = sorted(set().union(*(kind.models(cell.config) for cell in study.cells)))
    warnings = [*study.warnings, *whole["warnings"]]
    return {**whole, "name": study.name, "cells": cells, "models": models, "warnings": warnings}


def shape_of(cells: Sequence[Mapping[str, Any]]) -> str:
    """The arithmetic behind the number of batches, in words."""
    replicates = len({cell["replicate"] for cell in cells})
    levels = [len({cell["levels"][name] for cell in cells}) for name in cells[0]["levels"]]
    combined = len({tuple(cell["levels"].values()) for cell in cells})
    if combined * replicates != len(cells):
        return f"{len(cells):,} batches, side by side"
    told = f"{' × '.join(map(str, levels))} = " if combined == prod(levels) else "lists in step: "
    told = told if len(levels) > 1 else ""
    times = f"{replicates:,} replicate{'s' * (replicates > 1)}"
    return f"{told}{combined:,} cells × {times} = {len(cells):,} batches, side by side"
