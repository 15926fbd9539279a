"""What a study of several batches will take, before anything is called: of all its cells together."""

from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

from tidepool.engine.config.sections import Config
from tidepool.engine.design.cells import PlannedStudy, plan_study
from tidepool.engine.studies.kinds import load_kind
from tidepool.engine.studies.plan import priced
from tidepool.engine.studies.planned_calls import together


def priced_study(config: Config, database: Path) -> dict[str, Any]:
    """As a batch's plan, with its cells and what each of them takes."""
    return priced_cells(plan_study(config, database))


def priced_cells(study: PlannedStudy) -> dict[str, Any]:
    kind = load_kind(study.config.batch.kind)
    plans = [kind.plan(cell.config) for cell in study.cells]
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
    replicates = max(cell["replicate"] for cell in cells)
    levels = [len({cell["levels"][name] for cell in cells}) for name in cells[0]["levels"]]
    combined = len(cells) // replicates
    told = f"{' × '.join(map(str, levels))} =" if combined == prod(levels) else "lists in step:"
    times = f"{replicates:,} replicate{'s' * (replicates > 1)}"
    return f"{told} {combined:,} cells × {times} = {len(cells):,} batches, side by side"
