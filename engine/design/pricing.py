"""What a study of several batches will take, before anything is called: of all its cells together."""

from pathlib import Path
from typing import Any

from tidepool.engine.config.sections import Config
from tidepool.engine.design.cells import plan_study
from tidepool.engine.studies.kinds import load_kind
from tidepool.engine.studies.plan import priced
from tidepool.engine.studies.planned_calls import together


def priced_study(config: Config, database: Path) -> dict[str, Any]:
    """As a batch's plan, with its cells and what each of them takes."""
    study = plan_study(config, database)
    kind = load_kind(config.batch.kind)
    plans = [kind.plan(cell.config) for cell in study.cells]
    whole = priced(together(plans), study.config, several=True)
    cells = [
        {"levels": dict(cell.levels), "replicate": cell.replicate, "units": plan.units, "calls": plan.calls_expected}
        for cell, plan in zip(study.cells, plans, strict=True)
    ]
    return {**whole, "name": study.name, "cells": cells}
