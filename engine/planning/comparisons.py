"""What a planned study will tell, counted in the same units as its report; and how large it must be to find a difference.

The size is found by the formulas, then the config is written with it, frozen, counted and priced anew: the figures are
those of a run of it."""

import math
from bisect import bisect_left
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
from tidepool.engine.design.contrasts import FEWEST_REPLICATES, Factors, Weighing, exploratory, read_hypotheses, weigh
from tidepool.engine.design.outcomes import Outcome, PlannedBatch, PlannedValues
from tidepool.engine.design.statistics import study_outcomes
from tidepool.engine.errors import TidepoolError
from tidepool.engine.planning.power import WANTED, Comparison, Layout, Quantity, World, power
from tidepool.engine.studies.kinds import load_kind
from tidepool.engine.studies.plan import priced

# -- what can be foreseen ----------------------------------------------------------------------------------------------


OF_ONE = {"agents": "one agent", "entities": "one entity"}
"""by the section of the config that names them"""
REPLICATES = "design.replicates"


@dataclass(frozen=True, slots=True)
class Forecast:
    """All that can be said beforehand of what a study will tell."""

    counted: str
    widths: Sequence[Quantity]
    comparisons: Sequence[Comparison]
    sizes: Mapping[str, int]
    """keys of the config that more talks take, and what they are now"""
    replicates: int = 0
    """of a design"""

    @property
    def by_outcome(self) -> dict[str, list[Quantity]]:
        """All that is told of an outcome, what differs last."""
        quantities: dict[str, list[Quantity]] = {item.outcome.name: [] for item in self.comparisons}
        for item in (*self.widths, *self.comparisons):
            quantities.setdefault(item.outcome.name, []).append(item)
        return quantities


def forecast(planned: FrozenConfig | PlannedStudy) -> Forecast | None:
    """None where the kind does not say what a batch of it will have to count."""
    return _of_study(planned) if isinstance(planned, PlannedStudy) else _of_batch(planned)


def _planned(config: FrozenConfig) -> PlannedBatch | None:
    load_outcomes = load_kind(config.batch.kind).outcomes
    planned = load_outcomes().planned if load_outcomes else None
    return planned(config) if planned else None


def _shown(outcomes: Sequence[Outcome], batch: PlannedBatch) -> list[Outcome]:
    return [item for item in outcomes if not item.about and not item.asked_only and item.name in batch.outcomes]


def _of_batch(config: FrozenConfig) -> Forecast | None:
    batch = _planned(config)
    if batch is None:
        return None
    outcomes = {item.name: item for item in study_outcomes(config.batch.kind, [config.as_written()])}

    def layout(values: PlannedValues, entities: int = 0) -> Layout:
        games = batch.games if batch.linked else 0
        shared = {"games": games, "scenarios": batch.scenarios, "entities": entities, "called": batch.counted}
        return Layout(talks=values.number, each=values.each, **shared)

    widths = [
        Quantity(words=item.words, outcome=item, layout=layout(batch.outcomes[item.name], batch.entities))
        for item in _shown(list(outcomes.values()), batch)
    ]
    comparisons = [
        Comparison(
            words=item.words,
            outcome=outcomes[item.outcome],
            layout=layout(PlannedValues(item.number, batch.outcomes[item.outcome].each if item.alike else 1.0)),
            alike=item.alike,
        )
        for item in batch.rivals
        if item.outcome in outcomes
    ]
    comparisons += [
        Comparison(words="two batches, each like this one", outcome=item.outcome, layout=item.layout) for item in widths
    ]
    widths += [
        Quantity(words=words, outcome=outcome, layout=layout(batch.outcomes[outcome.name]))
        for words, outcome in _of_one(batch, list(outcomes.values()))
    ]
    return Forecast(batch.counted, widths, comparisons, batch.sizes)


def _of_one(batch: PlannedBatch, outcomes: Sequence[Outcome]) -> Iterator[tuple[str, Outcome]]:
    """Of each figure that there is for everybody: theirs of whom there is least."""
    by_measure: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.about and outcome.name in batch.outcomes:
            by_measure.setdefault(outcome.name.partition(" of ")[0], []).append(outcome)
    for measure, own in by_measure.items():
        outcome = min(own, key=lambda one: batch.outcomes[one.name].number)
        yield f"{measure}, {OF_ONE.get(outcome.about.partition('.')[0], outcome.about)}", outcome


def _of_study(study: PlannedStudy) -> Forecast | None:
    factors, replicates = Factors.of(study.design), int(study.design["replicates"])
    first = [cell for cell in study.cells if cell.replicate == 1]
    planned = {tuple(cell.levels[name] for name in factors.names): _planned(cell.config) for cell in first}
    batches = {cell: batch for cell, batch in planned.items() if batch is not None}
    if not batches:
        return None
    outcomes = study_outcomes(study.config.batch.kind, [cell.config.as_written() for cell in first])
    example = next(iter(batches.values()))
    shown = _shown(outcomes, example)

    def layout(outcome: Outcome, own: Sequence[PlannedBatch], *, redraws: bool) -> Layout:
        """By matched talks over all replicates, or by replicates; as the effects of the study are counted."""
        by_batch = redraws or not outcome.per_talk
        times = 1 if by_batch else replicates
        fewest = min((batch.outcomes[outcome.name] for batch in own), key=lambda values: values.number)
        games = min(batch.games for batch in own) if any(batch.linked for batch in own) else 0
        return Layout(
            talks=fewest.number * times,
            each=fewest.each,
            games=games * times,
            scenarios=max(batch.scenarios for batch in own),
            replicates=replicates if by_batch else 0,
        )

    def compared(outcome: Outcome, weighing: Weighing | None, **stated: Any) -> Iterator[Comparison]:
        own = [batches[cell] for cell in weighing.weights] if weighing else []
        if weighing and all(outcome.name in batch.outcomes for batch in own):
            yield Comparison(
                words=weighing.name,
                outcome=outcome,
                layout=layout(outcome, own, redraws=weighing.redraws),
                weights=tuple(weighing.weights.values()),
                alike="" if weighing.redraws else "matched",
                **stated,
            )

    widths = [
        Quantity(
            words=f"{item.words}, one cell", outcome=item, layout=layout(item, list(batches.values()), redraws=False)
        )
        for item in shown
    ]
    hypotheses = read_hypotheses(study.design, outcomes)
    comparisons = [
        comparison
        for item in hypotheses
        for comparison in compared(
            item.outcome,
            weigh(item.contrast, factors, factors.cells),
            tests=len(hypotheses),
            direction=item.direction,
            stated=True,
        )
    ]
    stated = {(item.outcome.name, item.words) for item in comparisons}
    for outcome in shown:
        for weighing in exploratory(factors, factors.cells):
            if weighing.kind != "interaction" and (outcome.name, weighing.name) not in stated:
                comparisons += compared(outcome, weighing)
    return Forecast(example.counted, widths, comparisons, example.sizes, replicates)


# -- the size that a difference takes ----------------------------------------------------------------------------------


Sizes = Mapping[str, int]
"""values by key of the config"""
_NEAR = 0.002
"""of the power wanted: what whole games and rounds may lack"""
_TRIES = 8
_PRICED = ("units", "calls", "cost_usd", "seconds_live")


def planned(config: Config, database: Path) -> FrozenConfig | PlannedStudy:
    return freeze(config, database) if config.design is None else plan_study(config, database)


def price_of(study: FrozenConfig | PlannedStudy) -> dict[str, Any]:
    if isinstance(study, PlannedStudy):
        return priced_cells(study)
    return priced(load_kind(study.batch.kind).plan(study), study)


class Sizing:
    """Sizes of one config, each priced once."""

    def __init__(self, config: Config, database: Path, base: Forecast) -> None:
        self._config, self._database, self._base = config, database, base
        self._planned_sizes: dict[tuple[int, ...], tuple[Forecast | None, dict[str, Any]]] = {}

    def needed(self, comparison: Comparison, world: World, difference: float) -> dict[str, Any]:
        """The values to `set` and what such a study takes; a `note` where none is enough."""
        sizes, plan, note = self._min_size(comparison, world, difference)
        return {"set": sizes, **{name: plan.get(name) for name in _PRICED}, "note": note}

    def _min_size(
        self, comparison: Comparison, world: World, difference: float
    ) -> tuple[dict[str, int] | None, Mapping[str, Any], str]:
        layout = comparison.layout
        sizes = {REPLICATES: self._base.replicates} if layout.replicates else self._base.sizes
        if not sizes:
            return None, {}, "no key of the config makes it larger"
        first = next(iter(sizes.values()))
        fewest, most = (FEWEST_REPLICATES, ceilings.CELLS) if layout.replicates else (1, ceilings.UNITS)
        size = bisect_left(
            range(most + 1),
            True,
            lo=fewest,
            key=lambda size: power(world, _scaled(comparison, size / first), difference) >= WANTED,
        )
        if size > most:
            return None, {}, _not_enough(layout)
        try:
            for _ in range(_TRIES):  # whole games and rounds may take a little more than the formula
                grown = {key: max(1, math.ceil(value * size / first)) for key, value in sizes.items()}
                larger, plan = self._planned(grown)
                same = next((one for one in larger.comparisons if _same(one, comparison)), None) if larger else None
                if same is None or power(world, same, difference) >= WANTED - _NEAR:
                    return grown, plan, ""
                size += max(1, size // 100)
        except TidepoolError as error:
            return grown, {}, f"a study of that size cannot be run: {error}"
        return None, {}, f"the data have too few {self._base.counted}"

    def _planned(self, sizes: Sizes) -> tuple[Forecast | None, dict[str, Any]]:
        key = tuple(sizes.values())
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


def _scaled(comparison: Comparison, by: float) -> Comparison:
    layout = comparison.layout
    if layout.replicates:
        return replace(comparison, layout=replace(layout, replicates=round(layout.replicates * by)))
    return replace(comparison, layout=replace(layout, talks=layout.talks * by, games=layout.games * by))


def _not_enough(layout: Layout) -> str:
    for units, number in (("scenarios", layout.scenarios), ("entities", layout.entities)):
        if number:
            return f"no number of talks is enough: {number:,} {units} are too few, and more of those are needed"
    return "no size is enough"
