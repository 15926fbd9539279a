"""The other way round: how large a study must be to find a difference, and what one of that size takes.

The size is found by the formulas, then the config is written with it, frozen, counted and priced anew: what is told is
what a run of it would take.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tidepool.engine.config import ceilings
from tidepool.engine.config.freezing import freeze
from tidepool.engine.config.loading import config_from
from tidepool.engine.config.sections import Config, FrozenConfig
from tidepool.engine.config.toml_files import put_at
from tidepool.engine.design.cells import PlannedStudy, plan_study
from tidepool.engine.design.hypotheses import FEWEST_REPLICATES
from tidepool.engine.design.pricing import priced_cells
from tidepool.engine.errors import TidepoolError
from tidepool.engine.planning.comparisons import REPLICATES, Foreseen, foreseen
from tidepool.engine.planning.power import WANTED, Comparison, power
from tidepool.engine.planning.worlds import World
from tidepool.engine.studies.kinds import load_kind
from tidepool.engine.studies.plan import priced

Sizes = Mapping[str, int]
"""values by key of the config"""
_NEAR = 0.002
"""of the power wanted: what whole games and rounds may lack"""
_TRIES = 8


@dataclass(frozen=True, slots=True)
class Needed:
    sizes: Sizes | None
    """None: no size is enough"""
    plan: Mapping[str, Any] | None = None
    note: str = ""


def planned(config: Config, database: Path) -> FrozenConfig | PlannedStudy:
    return freeze(config, database) if config.design is None else plan_study(config, database)


def price_of(made: FrozenConfig | PlannedStudy) -> dict[str, Any]:
    if isinstance(made, PlannedStudy):
        return priced_cells(made)
    return priced(load_kind(made.batch.kind).plan(made), made)


class Sizing:
    """Sizes of one config, each priced once."""

    def __init__(self, config: Config, database: Path, base: Foreseen) -> None:
        self._config, self._database, self._base = config, database, base
        self._made: dict[tuple[tuple[str, int], ...], tuple[Foreseen | None, dict[str, Any]]] = {}

    def needed(self, comparison: Comparison, world: World, difference: float) -> Needed:
        sizes = self._sizes(comparison)
        if not sizes:
            return Needed(None, note="no key of the config makes it larger")
        found = self._smallest(comparison, world, difference, sizes)
        if found is None:
            return Needed(None, note=_not_enough(comparison))
        try:
            return self._checked(comparison, world, difference, sizes, found)
        except TidepoolError as error:
            return Needed(_grown(sizes, found), note=f"a study of that size cannot be run: {error}")

    def _sizes(self, comparison: Comparison) -> Sizes:
        return {REPLICATES: self._base.replicates} if comparison.layout.replicates else self._base.sizes

    def _smallest(self, comparison: Comparison, world: World, difference: float, sizes: Sizes) -> int | None:
        """In units of the first key."""
        first = next(iter(sizes.values()))

        def enough(size: int) -> bool:
            return power(world, _scaled(comparison, size / first), difference) >= WANTED

        low, high = 0, FEWEST_REPLICATES if REPLICATES in sizes else 1
        most = ceilings.CELLS if REPLICATES in sizes else ceilings.UNITS
        while not enough(high):
            if high >= most:
                return None
            low, high = high, min(most, 2 * high)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if enough(middle) else (middle, high)
        return high

    def _checked(self, comparison: Comparison, world: World, difference: float, sizes: Sizes, size: int) -> Needed:
        """Whole games and rounds may take a little more than the formula."""
        for _ in range(_TRIES):
            grown = _grown(sizes, size)
            told, plan = self._planned(grown)
            same = next((one for one in told.comparisons if _same(one, comparison)), None) if told else None
            if same is None or power(world, same, difference) >= WANTED - _NEAR:
                break
            size += max(1, size // 100)
        else:
            return Needed(None, note=f"the data have too few {self._base.counted}")
        return Needed(grown, plan)

    def _planned(self, sizes: Sizes) -> tuple[Foreseen | None, dict[str, Any]]:
        key = tuple(sizes.items())
        if key not in self._made:
            data = deepcopy(self._config.as_given())
            for path, value in sizes.items():
                put_at(data, path, value)
            origin = self._config.origin
            made = planned(config_from(data, source=origin.source, folder=origin.folder), self._database)
            self._made[key] = foreseen(made), price_of(made)
        return self._made[key]


def _same(one: Comparison, other: Comparison) -> bool:
    return (one.words, one.outcome.name, one.stated) == (other.words, other.outcome.name, other.stated)


def _grown(sizes: Sizes, first: int) -> dict[str, int]:
    """All keys in proportion to the first."""
    now = next(iter(sizes.values()))
    return {key: max(1, math.ceil(value * first / now)) for key, value in sizes.items()}


def _scaled(comparison: Comparison, by: float) -> Comparison:
    layout = comparison.layout
    if layout.replicates:
        return replace(comparison, layout=replace(layout, replicates=round(layout.replicates * by)))
    return replace(comparison, layout=replace(layout, talks=layout.talks * by, games=layout.games * by))


def _not_enough(comparison: Comparison) -> str:
    layout = comparison.layout
    if layout.scenarios or layout.entities:
        units = "scenarios" if layout.scenarios else "entities"
        number = layout.scenarios or layout.entities
        return f"no number of talks is enough: {number:,} {units} are too few, and more of those are needed"
    return "no size is enough"


def chosen(comparisons: Sequence[Comparison], outcome: str | None) -> Iterator[Comparison]:
    """Those of the outcome asked for; else what is stated as a hypothesis; else those of the first outcome."""
    stated = [one for one in comparisons if one.stated]
    first = comparisons[0].outcome.name if comparisons else None
    for one in comparisons:
        if one.outcome.name == outcome if outcome else one in stated if stated else one.outcome.name == first:
            yield one
