"""What a planned study will tell, counted in the same units as its report; and how large it must be to find a difference.

The size is found by the formulas, then the config is written with it, frozen, counted and priced anew: the figures are
those of a run of it."""

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
from tidepool.engine.design.cells import PlannedStudy, plan_study, priced_cells
from tidepool.engine.design.contrasts import (
    FEWEST_REPLICATES,
    Cell,
    Factors,
    Weighing,
    exploratory,
    read_hypotheses,
    weigh,
)
from tidepool.engine.design.outcomes import Outcome, PlannedBatch, PlannedValues
from tidepool.engine.design.statistics import study_outcomes
from tidepool.engine.errors import TidepoolError
from tidepool.engine.planning.power import WANTED, Comparison, Layout, World, power
from tidepool.engine.studies.kinds import load_kind
from tidepool.engine.studies.plan import priced

# -- what can be foreseen ----------------------------------------------------------------------------------------------


OF_ONE = {"agents": "one agent", "entities": "one entity"}
"""by the section of the config that names them"""
REPLICATES = "design.replicates"


@dataclass(frozen=True, slots=True)
class Width:
    words: str
    outcome: Outcome
    layout: Layout


@dataclass(frozen=True, slots=True)
class Foreseen:
    """All that can be said beforehand of what a study will tell."""

    counted: str
    widths: Sequence[Width]
    comparisons: Sequence[Comparison]
    sizes: Mapping[str, int]
    """keys of the config that more talks take, and what they are now"""
    replicates: int = 0
    """of a design"""

    @property
    def outcomes(self) -> dict[str, Outcome]:
        parts = [*(one.outcome for one in self.comparisons), *(one.outcome for one in self.widths)]
        return {outcome.name: outcome for outcome in parts}

    @property
    def layouts(self) -> dict[str, Layout]:
        """By outcome, how its values are laid out in a batch."""
        of_comparisons = {one.outcome.name: one.layout for one in self.comparisons}
        return of_comparisons | {one.outcome.name: one.layout for one in self.widths}


def foreseen(planned: FrozenConfig | PlannedStudy) -> Foreseen | None:
    """None where the kind does not say what a batch of it will have to count."""
    if isinstance(planned, PlannedStudy):
        return _of_study(planned)
    return _of_batch(planned)


def _planned(config: FrozenConfig) -> PlannedBatch | None:
    given = load_kind(config.batch.kind).outcomes
    planned = given().planned if given else None
    return planned(config) if planned else None


# -- one batch -------------------------------------------------------------------------------------------------


def _of_batch(config: FrozenConfig) -> Foreseen | None:
    batch = _planned(config)
    outcomes = study_outcomes(config.batch.kind, [config.as_written()]) if batch else []
    if batch is None:
        return None
    known = {one.name: one for one in outcomes}
    widths = [
        Width(one.words, one, _alone(batch, batch.outcomes[one.name], whole=True))
        for one in outcomes
        if not one.about and not one.asked_only and one.name in batch.outcomes
    ]
    widths += _of_one(batch, outcomes)
    comparisons = [
        Comparison(
            words=one.words,
            outcome=known[one.outcome],
            layout=_alone(batch, PlannedValues(one.number, batch.outcomes[one.outcome].each if one.alike else 1.0)),
            alike=one.alike,
        )
        for one in batch.rivals
        if one.outcome in known
    ]
    comparisons += [
        Comparison(words="two batches, each like this one", outcome=one.outcome, layout=one.layout)
        for one in widths
        if not one.outcome.about
    ]
    return Foreseen(batch.counted, widths, comparisons, batch.sizes)


def _alone(batch: PlannedBatch, values: PlannedValues, *, whole: bool = False) -> Layout:
    return Layout(
        talks=values.number,
        each=values.each,
        games=batch.games if batch.linked else 0,
        scenarios=batch.scenarios,
        entities=batch.entities if whole else 0,
        called=batch.counted,
    )


def _of_one(batch: PlannedBatch, outcomes: Sequence[Outcome]) -> Iterator[Width]:
    """Of each figure that there is for everybody: theirs of whom there is least."""
    by_measure: dict[str, Outcome] = {}
    for one in outcomes:
        measure = one.name.partition(" of ")[0]
        if one.about and one.name in batch.outcomes:
            before = by_measure.setdefault(measure, one)
            if batch.outcomes[one.name].number < batch.outcomes[before.name].number:
                by_measure[measure] = one
    for measure, one in by_measure.items():
        who = OF_ONE.get(one.about.partition(".")[0], one.about)
        yield Width(f"{measure}, {who}", one, _alone(batch, batch.outcomes[one.name]))


# -- a design --------------------------------------------------------------------------------------------------


def _of_study(study: PlannedStudy) -> Foreseen | None:
    factors = Factors.of(study.design)
    first = [cell for cell in study.cells if cell.replicate == 1]
    batches = {tuple(cell.levels[name] for name in factors.names): _planned(cell.config) for cell in first}
    known = {cell: batch for cell, batch in batches.items() if batch is not None}
    if not known:
        return None
    outcomes = study_outcomes(study.config.batch.kind, [cell.config.as_written() for cell in first])
    return _Study(study, factors, known, outcomes).foreseen()


@dataclass(frozen=True)
class _Study:
    study: PlannedStudy
    factors: Factors
    batches: Mapping[Cell, PlannedBatch]
    outcomes: Sequence[Outcome]

    @property
    def replicates(self) -> int:
        return int(self.study.design["replicates"])

    def foreseen(self) -> Foreseen:
        some = next(iter(self.batches.values()))
        shown = [one for one in self.outcomes if not one.about and not one.asked_only and one.name in some.outcomes]
        widths = [
            Width(f"{one.words}, one cell", one, self._layout(one, list(self.batches), redraws=False)) for one in shown
        ]
        stated = list(self._stated())
        comparisons = [*stated, *(one for outcome in shown for one in self._mains(outcome, stated))]
        return Foreseen(some.counted, widths, comparisons, some.sizes, self.replicates)

    def _stated(self) -> Iterator[Comparison]:
        hypotheses = read_hypotheses(self.study.design, self.outcomes)
        for one in hypotheses:
            weighing = weigh(one.contrast, self.factors, self.factors.cells)
            if weighing and self._counted(one.outcome, weighing):
                found = self._comparison(one.outcome, weighing)
                yield replace(found, tests=len(hypotheses), direction=one.direction, stated=True)

    def _mains(self, outcome: Outcome, stated: Sequence[Comparison]) -> Iterator[Comparison]:
        result = {one.words for one in stated if one.outcome.name == outcome.name}
        for weighing in exploratory(self.factors, self.factors.cells):
            if weighing.kind != "interaction" and weighing.name not in result and self._counted(outcome, weighing):
                yield self._comparison(outcome, weighing)

    def _counted(self, outcome: Outcome, weighing: Weighing) -> bool:
        return all(outcome.name in self.batches[cell].outcomes for cell in weighing.weights)

    def _comparison(self, outcome: Outcome, weighing: Weighing) -> Comparison:
        layout = self._layout(outcome, list(weighing.weights), redraws=weighing.redraws)
        weights = tuple(weighing.weights.values())
        alike = "" if weighing.redraws else "matched"
        return Comparison(words=weighing.name, outcome=outcome, layout=layout, weights=weights, alike=alike)

    def _layout(self, outcome: Outcome, cells: Sequence[Cell], *, redraws: bool) -> Layout:
        """By matched talks over all replicates, or by replicates; as the effects of the study are counted."""
        batches = [self.batches[cell] for cell in cells]
        fewest = min((batch.outcomes[outcome.name] for batch in batches), key=lambda one: one.number)
        games = min(batch.games for batch in batches) if any(batch.linked for batch in batches) else 0
        scenarios = max(batch.scenarios for batch in batches)
        layout = Layout(talks=fewest.number, each=fewest.each, games=games, scenarios=scenarios)
        if redraws or not outcome.per_talk:
            return replace(layout, replicates=self.replicates)
        return replace(layout, talks=layout.talks * self.replicates, games=layout.games * self.replicates)


# -- the size that a difference takes ----------------------------------------------------------------------------------


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
            item, plan = self._planned(grown)
            same = next((one for one in item.comparisons if _same(one, comparison)), None) if item else None
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
