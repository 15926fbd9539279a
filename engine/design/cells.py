"""Turns a config with a [design] into the batches of a study, one for each cell and replicate, planned and priced.

A design crosses factors. Each level of a factor is a set of settings. All cells of a replicate have one seed. From it they
draw the same pairings, scenarios and problems as far as their settings allow. So differences between cells are differences
within matched conversations."""

import json
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from tidepool.engine.branching.replay import BranchStudy
from tidepool.engine.call import seed_of
from tidepool.engine.config import ceilings
from tidepool.engine.config.freezing import freeze
from tidepool.engine.config.library import with_library
from tidepool.engine.config.loading import config_from
from tidepool.engine.config.problems import adding_line, format_error, validated
from tidepool.engine.config.section import Section
from tidepool.engine.config.sections import Config, Design, FrozenConfig
from tidepool.engine.config.toml_files import put_at, section_of
from tidepool.engine.errors import UsageError
from tidepool.engine.inference.hypotheses import check_hypotheses
from tidepool.engine.runtime.plans import merge_plans, priced
from tidepool.engine.studies.results import study_outcomes
from tidepool.engine.studies.study import study_from

# -- factors and levels ------------------------------------------------------------------------------------------------


FIXED = ("service", "providers", "design", "batch", "stop", "cluster")
"""sections that a study has only once, since they apply to all its requests or name it"""
LONGEST_LEVEL = 200
WRITTEN = (
    'Write a level as { level = "…", set = { KEY = VALUE } }; set = {} changes nothing. A factor that is a config key, '
    "such as agents.Ada.model, may list its values."
)


@dataclass(frozen=True, slots=True)
class Level:
    name: str
    set: Mapping[str, Any]
    """values by path"""


@dataclass(frozen=True, slots=True)
class Factor:
    name: str
    levels: tuple[Level, ...]


Cell = tuple[tuple[str, Level], ...]
"""a level of each factor, in the order of the factors"""


class _Bundle(Section):
    level: str
    set: dict[str, Any]


def factors_of(design: Design) -> list[Factor]:
    """Returns the factors, checked as far as possible without the rest of the config."""
    # Multiplies the lengths of the lists as given, since building the cells to count them can exhaust the memory.
    sizes = [max(1, len(levels)) for levels in design.factors.values()]
    cells = max(sizes, default=1) if design.mode == "paired" else prod(sizes)
    if (count := cells * design.replicates) > ceilings.CELLS:
        raise _wrong(
            f"this makes {count:,} batches, but a study can have at most {ceilings.CELLS:,}. Remove factors or levels, or "
            "lower design.replicates.",
            "factors",
        )
    factors = [_factor(name, levels) for name, levels in design.factors.items()]
    if design.mode == "paired" and len({len(factor.levels) for factor in factors}) > 1:
        counts = ", ".join(f"{factor.name} {len(factor.levels)}" for factor in factors)
        raise _wrong(f'mode = "paired" needs lists of equal length, but they have: {counts}.', "mode")
    return factors


def cells_of(mode: str, factors: Sequence[Factor]) -> Iterator[Cell]:
    """Yields every combination of levels. The last factor changes fastest. Without factors there is one cell."""
    levels = [factor.levels for factor in factors]
    combined = zip(*levels, strict=True) if mode == "paired" and levels else product(*levels)
    names = [factor.name for factor in factors]
    return (tuple(zip(names, chosen, strict=True)) for chosen in combined)


def _factor(name: str, values: Sequence[Any]) -> Factor:
    levels = tuple(_level(name, value, position) for position, value in enumerate(values))
    names = [level.name for level in levels]
    if len(levels) < 2:
        raise _wrong(
            f"{name!r} has {len(levels)} level{'s' * (len(levels) != 1)}, but a factor needs at least two.",
            "factors",
            name,
        )
    if duplicate := next((level_name for level_name in names if names.count(level_name) > 1), None):
        raise _wrong(f"{name!r} has the level {duplicate!r} twice.", "factors", name)
    return Factor(name, levels)


def _level(factor: str, value: Any, position: int) -> Level:
    if isinstance(value, Mapping) and "level" in value and "set" in value:
        where = ("design", "factors", factor, position)
        bundle = validated(_Bundle, value, "", where)
        level = Level(bundle.level.strip(), bundle.set)
    elif "." in factor:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        level = Level(" ".join(text.split()), {factor: value})
    else:
        raise _wrong(f"level {position + 1} of {factor!r} cannot be read. {WRITTEN}", "factors", factor)
    if not level.name:
        words = f'the empty level of {factor!r} has no name. Write {{ level = "none", set = {{ "{factor}" = "" }} }}.'
        raise _wrong(words, "factors", factor)
    if len(level.name) > LONGEST_LEVEL:
        raise _wrong(
            f"a level of {factor!r} needs a name of at most {LONGEST_LEVEL} characters. Write it as "
            '{ level = "short name", set = { KEY = VALUE } }.',
            "factors",
            factor,
        )
    for path in level.set:
        if section_of(path) in FIXED:
            raise _wrong(
                f"{path} cannot vary between cells: a study has one name, one budget and one set of limits.",
                "factors",
                factor,
            )
    return level


def _wrong(words: str, *where: str) -> UsageError:
    return UsageError(f"[design]: {words}", ("design", *where))


# -- cells -------------------------------------------------------------------------------------------------------------


MOST_IN_NAME = 160
"""how many characters of its levels a cell's name shows"""


@dataclass(frozen=True, slots=True)
class PlannedCell:
    """A batch of a study before it is created."""

    levels: Mapping[str, str]
    """by factor"""
    replicate: int
    config: FrozenConfig


@dataclass(frozen=True, slots=True)
class PlannedStudy:
    """The cells of a run before they are created."""

    name: str
    design: Mapping[str, Any]
    """as stored in the file; empty: a single batch, without a row in `studies`"""
    cells: Sequence[PlannedCell]
    folder: Path | None
    warnings: tuple[str, ...] = ()
    """limits of what the study can answer, shown before it runs"""
    branch: BranchStudy | None = None
    """the branch that its only cell runs"""

    @property
    def config(self) -> FrozenConfig:
        """The config of the first cell, which contains the settings that all cells share."""
        return self.cells[0].config


def plan_study(config: Config, database: Path) -> PlannedStudy:
    """Freezes and checks every cell. Sends no request and writes nothing."""
    with adding_line(config.origin.source, config.origin.lines):
        return _plan_study(config, database)


def _plan_study(config: Config, database: Path) -> PlannedStudy:
    design = config.design
    if design is None:
        raise UsageError(
            format_error(config.origin.source, "it has no [design], so it is a single batch. Run it with run_batch.")
        )
    try:
        factors = factors_of(design)
    except UsageError as error:
        raise UsageError(format_error(config.origin.source, str(error)), error.where) from None
    complete = with_library(config, database).written_in(config.origin)
    cells = [
        _planned(complete, cell, replicate, design, database)
        for replicate in range(1, design.replicates + 1)
        for cell in cells_of(design.mode, factors)
    ]
    _refuse_equal_cells(cells, config.origin.source)
    record = _design_record(complete, design, factors)
    try:
        outcomes = study_outcomes(config.batch.kind, [cell.config.as_written() for cell in cells])
        warnings = check_hypotheses(record, outcomes)
    except UsageError as error:
        raise UsageError(format_error(config.origin.source, str(error)), error.where) from None
    return PlannedStudy(config.batch.name, record, cells, config.origin.folder, tuple(warnings))


def replicate_seed(seed: int, replicate: int) -> int:
    """The first replicate uses the config's seed; the others derive their own."""
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
    level_names = ", ".join(levels.values())
    shown = level_names if len(level_names) <= MOST_IN_NAME else f"{level_names[: MOST_IN_NAME - 1]}…"
    parts = (study, shown, f"replicate {replicate}" if replicate else "")
    return " · ".join(filter(None, parts))[: ceilings.NAME]


def _refuse_equal_cells(cells: Sequence[PlannedCell], source: str) -> None:
    seen: dict[str, PlannedCell] = {}
    for cell in cells:
        if cell.replicate > 1:
            return
        sections = cell.config.as_written()
        key = json.dumps({name: section for name, section in sections.items() if name != "batch"}, sort_keys=True)
        if (duplicate := seen.setdefault(key, cell)) is not cell:
            first, second = (", ".join(same.levels.values()) for same in (duplicate, cell))
            raise UsageError(
                format_error(
                    source,
                    f"[design]: the cells {first!r} and {second!r} have the same settings. Make their levels differ.",
                ),
                ("design", "factors"),
            )


def _design_record(config: Config, design: Design, factors: Sequence[Factor]) -> dict[str, Any]:
    return {
        "kind": config.batch.kind,
        "mode": design.mode,
        "replicates": design.replicates,
        "seed": config.batch.seed,
        "factors": [
            {"name": factor.name, "levels": [{"level": item.name, "set": dict(item.set)} for item in factor.levels]}
            for factor in factors
        ],
        "batches": len(list(cells_of(design.mode, factors))) * design.replicates,
        "hypotheses": [item.model_dump(mode="json") for item in design.hypotheses],
        "frozen_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "source": config.as_given(),
    }


# -- prices ------------------------------------------------------------------------------------------------------------


def priced_cells(study: PlannedStudy) -> dict[str, Any]:
    """Returns a plan like that of a batch, with the requests and cost of each cell."""
    studies = [study_from(cell.config) for cell in study.cells]
    plans = [one.plan() for one in studies]
    for one in studies:
        one.stop_rule()
    total = priced(merge_plans(plans), study.config, several=True)
    cells = [
        {"levels": dict(cell.levels), "replicate": cell.replicate, "units": plan.units, "calls": plan.calls_expected}
        for cell, plan in zip(study.cells, plans, strict=True)
    ]
    models = sorted(set().union(*(cell.config.models() for cell in study.cells)))
    warnings = [*study.warnings, *total["warnings"]]
    return {**total, "name": study.name, "cells": cells, "models": models, "warnings": warnings}


def shape_of(cells: Sequence[Mapping[str, Any]]) -> str:
    """Describes the calculation of the number of batches."""
    replicates = len({cell["replicate"] for cell in cells})
    levels = [len({cell["levels"][name] for cell in cells}) for name in cells[0]["levels"]]
    combined = len({tuple(cell["levels"].values()) for cell in cells})
    if combined * replicates != len(cells):
        return f"{len(cells):,} batches, side by side"
    sizes = f"{' × '.join(map(str, levels))} = " if combined == prod(levels) else "paired lists: "
    sizes = sizes if len(levels) > 1 else ""
    times = f"{replicates:,} replicate{'s' * (replicates > 1)}"
    return f"{sizes}{combined:,} cells × {times} = {len(cells):,} batches, side by side"
