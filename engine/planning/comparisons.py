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
from tidepool.engine.studies.plan import priced
from tidepool.engine.studies.study import study_from

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
class Forecast:
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
        outcomes = [*(item.outcome for item in self.comparisons), *(item.outcome for item in self.widths)]
        return {outcome.name: outcome for outcome in outcomes}

    @property
    def layouts(self) -> dict[str, Layout]:
        """By outcome, how its values are laid out in a batch."""
        layouts = {item.outcome.name: item.layout for item in self.comparisons}
        return layouts | {item.outcome.name: item.layout for item in self.widths}


def forecast(planned: FrozenConfig | PlannedStudy) -> Forecast | None:
    """None where the kind does not say what a batch of it will have to count."""
    if isinstance(planned, PlannedStudy):
        return _of_study(planned)
    return _of_batch(planned)


def _planned(config: FrozenConfig) -> PlannedBatch | None:
    return study_from(config).values_planned()


# -- one batch -------------------------------------------------------------------------------------------------


def _of_batch(config: FrozenConfig) -> Forecast | None:
    batch = _planned(config)
    outcomes = study_outcomes(config.batch.kind, [config.as_written()]) if batch else []
    if batch is None:
        return None
    by_name = {item.name: item for item in outcomes}
    widths = [
        Width(item.words, item, _alone(batch, batch.outcomes[item.name], whole=True))
        for item in outcomes
        if not item.about and not item.asked_only and item.name in batch.outcomes
    ]
    widths += _of_one(batch, outcomes)
    comparisons = [
        Comparison(
            words=item.words,
            outcome=by_name[item.outcome],
            layout=_alone(batch, PlannedValues(item.number, batch.outcomes[item.outcome].each if item.alike else 1.0)),
            alike=item.alike,
        )
        for item in batch.rivals
        if item.outcome in by_name
    ]
    comparisons += [
        Comparison(words="two batches, each like this one", outcome=item.outcome, layout=item.layout)
        for item in widths
        if not item.outcome.about
    ]
    return Forecast(batch.counted, widths, comparisons, batch.sizes)


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
    for outcome in outcomes:
        measure = outcome.name.partition(" of ")[0]
        if outcome.about and outcome.name in batch.outcomes:
            smallest = by_measure.setdefault(measure, outcome)
            if batch.outcomes[outcome.name].number < batch.outcomes[smallest.name].number:
                by_measure[measure] = outcome
    for measure, outcome in by_measure.items():
        owner = OF_ONE.get(outcome.about.partition(".")[0], outcome.about)
        yield Width(f"{measure}, {owner}", outcome, _alone(batch, batch.outcomes[outcome.name]))


# -- a design --------------------------------------------------------------------------------------------------


def _of_study(study: PlannedStudy) -> Forecast | None:
    factors = Factors.of(study.design)
    first = [cell for cell in study.cells if cell.replicate == 1]
    batches = {tuple(cell.levels[name] for name in factors.names): _planned(cell.config) for cell in first}
    planned = {cell: batch for cell, batch in batches.items() if batch is not None}
    if not planned:
        return None
    outcomes = study_outcomes(study.config.batch.kind, [cell.config.as_written() for cell in first])
    return _Study(study, factors, planned, outcomes).forecast()


@dataclass(frozen=True)
class _Study:
    study: PlannedStudy
    factors: Factors
    batches: Mapping[Cell, PlannedBatch]
    outcomes: Sequence[Outcome]

    @property
    def replicates(self) -> int:
        return int(self.study.design["replicates"])

    def forecast(self) -> Forecast:
        batch = next(iter(self.batches.values()))
        shown = [one for one in self.outcomes if not one.about and not one.asked_only and one.name in batch.outcomes]
        widths = [
            Width(f"{one.words}, one cell", one, self._layout(one, list(self.batches), redraws=False)) for one in shown
        ]
        stated = list(self._stated())
        comparisons = [*stated, *(one for outcome in shown for one in self._mains(outcome, stated))]
        return Forecast(batch.counted, widths, comparisons, batch.sizes, self.replicates)

    def _stated(self) -> Iterator[Comparison]:
        hypotheses = read_hypotheses(self.study.design, self.outcomes)
        for hypothesis in hypotheses:
            weighing = weigh(hypothesis.contrast, self.factors, self.factors.cells)
            if weighing and self._counted(hypothesis.outcome, weighing):
                comparison = self._comparison(hypothesis.outcome, weighing)
                yield replace(comparison, tests=len(hypotheses), direction=hypothesis.direction, stated=True)

    def _mains(self, outcome: Outcome, stated: Sequence[Comparison]) -> Iterator[Comparison]:
        names = {item.words for item in stated if item.outcome.name == outcome.name}
        for weighing in exploratory(self.factors, self.factors.cells):
            if weighing.kind != "interaction" and weighing.name not in names and self._counted(outcome, weighing):
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
        fewest = min((batch.outcomes[outcome.name] for batch in batches), key=lambda values: values.number)
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
class MinSize:
    sizes: Sizes | None
    """None: no size is enough"""
    plan: Mapping[str, Any] | None = None
    note: str = ""


def planned(config: Config, database: Path) -> FrozenConfig | PlannedStudy:
    return freeze(config, database) if config.design is None else plan_study(config, database)


def price_of(study: FrozenConfig | PlannedStudy) -> dict[str, Any]:
    if isinstance(study, PlannedStudy):
        return priced_cells(study)
    return priced(study_from(study).plan(), study)


class Sizing:
    """Sizes of one config, each priced once."""

    def __init__(self, config: Config, database: Path, base: Forecast) -> None:
        self._config, self._database, self._base = config, database, base
        self._planned_sizes: dict[tuple[tuple[str, int], ...], tuple[Forecast | None, dict[str, Any]]] = {}

    def min_size(self, comparison: Comparison, world: World, difference: float) -> MinSize:
        sizes = self._sizes(comparison)
        if not sizes:
            return MinSize(None, note="no key of the config makes it larger")
        size = self._smallest(comparison, world, difference, sizes)
        if size is None:
            return MinSize(None, note=_not_enough(comparison))
        try:
            return self._checked(comparison, world, difference, sizes, size)
        except TidepoolError as error:
            return MinSize(_grown(sizes, size), note=f"a study of that size cannot be run: {error}")

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

    def _checked(self, comparison: Comparison, world: World, difference: float, sizes: Sizes, size: int) -> MinSize:
        """Whole games and rounds may take a little more than the formula."""
        for _ in range(_TRIES):
            grown = _grown(sizes, size)
            larger, plan = self._planned(grown)
            same = next((one for one in larger.comparisons if _same(one, comparison)), None) if larger else None
            if same is None or power(world, same, difference) >= WANTED - _NEAR:
                break
            size += max(1, size // 100)
        else:
            return MinSize(None, note=f"the data have too few {self._base.counted}")
        return MinSize(grown, plan)

    def _planned(self, sizes: Sizes) -> tuple[Forecast | None, dict[str, Any]]:
        key = tuple(sizes.items())
        if key not in self._planned_sizes:
            data = deepcopy(self._config.as_given())
            for path, value in sizes.items():
                put_at(data, path, value)
            origin = self._config.origin
            study = planned(config_from(data, source=origin.source, folder=origin.folder), self._database)
            self._planned_sizes[key] = forecast(study), price_of(study)
        return self._planned_sizes[key]


def _same(first: Comparison, second: Comparison) -> bool:
    return (first.words, first.outcome.name, first.stated) == (second.words, second.outcome.name, second.stated)


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


def select(comparisons: Sequence[Comparison], outcome: str | None) -> Iterator[Comparison]:
    """Those of the outcome asked for; else what is stated as a hypothesis; else those of the first outcome."""
    stated = [item for item in comparisons if item.stated]
    first = comparisons[0].outcome.name if comparisons else None
    for item in comparisons:
        if item.outcome.name == outcome if outcome else item in stated if stated else item.outcome.name == first:
            yield item
