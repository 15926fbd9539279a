"""A config with a [design] becomes the batches of a study: one for each cell and replicate.

All cells of a replicate have one seed, and draw the same pairings, scenarios and problems from it as far as their
settings let them: so differences between cells are differences within matched talks.
"""

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tidepool.engine.call import seed_of
from tidepool.engine.config import ceilings
from tidepool.engine.config.freezing import freeze
from tidepool.engine.config.loading import config_from
from tidepool.engine.config.problems import format_error, placed
from tidepool.engine.config.sections import Config, Design, FrozenConfig
from tidepool.engine.config.toml_files import put_at
from tidepool.engine.design.crossing import Cell, Factor, as_json, cells_of, factors_of
from tidepool.engine.design.hypotheses import check_hypotheses, hypotheses_hash
from tidepool.engine.design.ignored_factors import foreseen
from tidepool.engine.design.study_statistics import study_outcomes
from tidepool.engine.errors import UsageError
from tidepool.engine.library.contents import with_library

MOST_IN_NAME = 160
"""letters of its levels that a cell's name tells"""


@dataclass(frozen=True, slots=True)
class PlannedCell:
    """One batch of a study, before it is made."""

    levels: Mapping[str, str]
    """by factor"""
    replicate: int
    config: FrozenConfig


@dataclass(frozen=True, slots=True)
class PlannedStudy:
    name: str
    design: Mapping[str, Any]
    """as the file keeps it"""
    cells: Sequence[PlannedCell]
    folder: Path | None
    warnings: tuple[str, ...] = ()
    """what it cannot answer, told before it is run"""

    @property
    def config(self) -> FrozenConfig:
        """Of its first cell: what they all have in common stands there."""
        return self.cells[0].config


def plan_study(config: Config, database: Path) -> PlannedStudy:
    """Every cell frozen and checked. Nothing is called and nothing is written."""
    with placed(config.origin.source, config.origin.lines):
        return _plan_study(config, database)


def _plan_study(config: Config, database: Path) -> PlannedStudy:
    design = config.design
    if design is None:
        raise UsageError(
            format_error(config.origin.source, "it has no [design], so it is one batch: run_batch runs it.")
        )
    try:
        factors = factors_of(design)
    except UsageError as error:
        raise UsageError(format_error(config.origin.source, str(error)), error.where) from None
    whole = with_library(config, database).written_in(config.origin)
    cells = [
        _planned(whole, cell, replicate, design, database)
        for replicate in range(1, design.replicates + 1)
        for cell in cells_of(design.mode, factors)
    ]
    _refuse_equal_cells(cells, config.origin.source)
    kept = _as_kept(whole, design, factors)
    try:
        outcomes = study_outcomes(config.batch.kind, [cell.config.as_written() for cell in cells])
        warnings = [*check_hypotheses(kept, outcomes), *_ignored(cells, design)]
    except UsageError as error:
        raise UsageError(format_error(config.origin.source, str(error)), error.where) from None
    return PlannedStudy(config.batch.name, kept, cells, config.origin.folder, tuple(warnings))


def _ignored(cells: Sequence[PlannedCell], design: Design) -> list[str]:
    own = [(cell.levels, cell.config) for cell in cells if cell.replicate == 1]
    return foreseen(cells[0].config.batch.kind, own, paired=design.mode == "paired")


def replicate_seed(seed: int, replicate: int) -> int:
    """The first replicate is the config as it stands; the others are as many further draws."""
    return seed if replicate == 1 else seed_of(seed, "replicate", replicate)


def _planned(config: Config, cell: Cell, replicate: int, design: Design, database: Path) -> PlannedCell:
    data = deepcopy(config.as_given())
    data.pop("design", None)
    for name, level in cell:
        for path, value in level.set.items():
            try:
                put_at(data, path, deepcopy(value))
            except UsageError as error:
                words = format_error(config.origin.source, f"[design]: {error}")
                raise UsageError(words, ("design", "factors", name)) from None
    levels = {name: level.name for name, level in cell}
    data["batch"]["seed"] = replicate_seed(config.batch.seed, replicate)
    data["batch"]["name"] = _name(config.batch.name, levels, replicate if design.replicates > 1 else None)
    words = ", ".join(f"{name} = {level}" for name, level in levels.items())
    source = format_error(config.origin.source, f"[design] with {words}") if words else config.origin.source
    return PlannedCell(
        levels, replicate, freeze(config_from(data, source=source, folder=config.origin.folder), database)
    )


def _name(study: str, levels: Mapping[str, str], replicate: int | None) -> str:
    told_levels = ", ".join(levels.values())
    shown = told_levels if len(told_levels) <= MOST_IN_NAME else f"{told_levels[: MOST_IN_NAME - 1]}…"
    parts = (study, shown, f"replicate {replicate}" if replicate else "")
    return " · ".join(filter(None, parts))[: ceilings.NAME]


def _refuse_equal_cells(cells: Sequence[PlannedCell], source: str) -> None:
    seen: dict[str, PlannedCell] = {}
    for cell in cells:
        if cell.replicate > 1:
            return
        written = cell.config.as_written()
        key = json.dumps({name: section for name, section in written.items() if name != "batch"}, sort_keys=True)
        if (twin := seen.setdefault(key, cell)) is not cell:
            one, other = (", ".join(each.levels.values()) for each in (twin, cell))
            raise UsageError(
                format_error(
                    source,
                    f"[design]: the cells {one!r} and {other!r} are the same study: nothing that they set differs.",
                ),
                ("design", "factors"),
            )


def _as_kept(config: Config, design: Design, factors: Sequence[Factor]) -> dict[str, Any]:
    hypotheses = [one.model_dump(mode="json") for one in design.hypotheses]
    return {
        "kind": config.batch.kind,
        "mode": design.mode,
        "replicates": design.replicates,
        "seed": config.batch.seed,
        "factors": as_json(factors),
        "batches": len(list(cells_of(design.mode, factors))) * design.replicates,
        "hypotheses": hypotheses,
        "hypotheses_hash": hypotheses_hash(hypotheses),
        "frozen_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "source": config.as_given(),
    }
