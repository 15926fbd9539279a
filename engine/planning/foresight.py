"""Power before a run: the precision of a planned study, with the units that its report counts, and the size that a difference needs.

Formulas give the size that detects a difference. Then the config is frozen, counted and priced with that size, so the
numbers are those of a run of it."""

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
from tidepool.engine.design.statistics import is_shown
from tidepool.engine.errors import TidepoolError, UsageError
from tidepool.engine.inference.hypotheses import (
    FEWEST_REPLICATES,
    Factors,
    Hypothesis,
    Weighing,
    exploratory,
    read_hypotheses,
    weigh,
)
from tidepool.engine.inference.measures import Outcome, PlannedBatch, find_outcome
from tidepool.engine.inference.power import WANTED, Comparison, Layout, Quantity, World, half_width, power, smallest
from tidepool.engine.planning.assumptions import KNOWN, Assumptions
from tidepool.engine.planning.pilot import apply_pilot, read_pilot
from tidepool.engine.runtime.plans import priced
from tidepool.engine.studies.results import study_outcomes
from tidepool.engine.studies.study import study_from

OF_ONE = {"agents": "one agent", "entities": "one entity"}
"""by the section of the config that names them"""
REPLICATES = "design.replicates"


@dataclass(frozen=True, slots=True)
class Forecast:
    """Everything that can be computed beforehand about the estimates of a study."""

    widths: Sequence[Quantity]
    comparisons: Sequence[Comparison]
    sizes: Mapping[str, int]
    """config keys that set the number of conversations, and their current values"""

    @property
    def by_outcome(self) -> dict[str, list[Quantity]]:
        """All quantities by outcome, differences last."""
        quantities: dict[str, list[Quantity]] = {item.outcome.name: [] for item in self.comparisons}
        for item in (*self.widths, *self.comparisons):
            quantities.setdefault(item.outcome.name, []).append(item)
        return quantities


def forecast(planned: FrozenConfig | PlannedStudy) -> Forecast | None:
    """None if the kind does not list what a batch of it will count."""
    return _of_study(planned) if isinstance(planned, PlannedStudy) else _of_batch(planned)


def _shown(outcomes: Sequence[Outcome], batch: PlannedBatch) -> list[Outcome]:
    return [item for item in outcomes if not item.about and not item.asked_only and item.name in batch.outcomes]


def _layout(own: Sequence[PlannedBatch], outcome: Outcome, replicates: int = 0, *, redraws: bool = False) -> Layout:
    """The units of the report: conversations of one batch; in a design, matched conversations over all replicates, or replicates."""
    by_batch = replicates > 0 and (redraws or not outcome.per_talk)
    times = 1 if by_batch else replicates or 1
    fewest = min((batch.outcomes[outcome.name] for batch in own), key=lambda values: values.number)
    return Layout(
        talks=fewest.number * times,
        each=fewest.each,
        games=min(batch.games for batch in own) * times if any(batch.linked for batch in own) else 0,
        scenarios=max(batch.scenarios for batch in own),
        entities=0 if by_batch or outcome.about else min(batch.entities for batch in own),
        replicates=replicates if by_batch else 0,
        called=own[0].counted,
    )


def _of_batch(config: FrozenConfig) -> Forecast | None:
    batch = study_from(config).values_planned()
    if batch is None:
        return None
    outcomes = {item.name: item for item in study_outcomes(config.batch.kind, [config.as_written()])}
    widths = [
        Quantity(words=item.words, outcome=item, layout=_layout([batch], item))
        for item in _shown(list(outcomes.values()), batch)
    ]
    comparisons = [
        Comparison(
            words=item.words,
            outcome=outcomes[item.outcome],
            layout=replace(
                layout := _layout([batch], outcomes[item.outcome]),
                talks=item.number,
                games=item.games,
                scenarios=item.scenarios,
                each=layout.each if item.alike else 1.0,
                entities=0,
            ),
            alike=item.alike,
            tests=item.tests,
        )
        for item in batch.rivals
        if item.outcome in outcomes
    ]
    comparisons += [
        Comparison(words="two batches, each like this one", outcome=item.outcome, layout=item.layout, alike="matched")
        for item in widths
    ]
    about = (item for item in outcomes.values() if item.about and item.name in batch.outcomes)
    fewest_last = sorted(about, key=lambda item: -batch.outcomes[item.name].number)
    for measure, item in {item.name.partition(" of ")[0]: item for item in fewest_last}.items():
        words = f"{measure}, {OF_ONE.get(item.about.partition('.')[0], item.about)}"
        widths.append(Quantity(words=words, outcome=item, layout=_layout([batch], item)))
    return Forecast(widths, comparisons, batch.sizes)


def _of_study(study: PlannedStudy) -> Forecast | None:
    factors, replicates = Factors.of(study.design), int(study.design["replicates"])
    first = [cell for cell in study.cells if cell.replicate == 1]
    batches = {
        tuple(cell.levels[name] for name in factors.names): batch
        for cell in first
        if (batch := study_from(cell.config).values_planned()) is not None
    }
    if not batches:
        return None
    outcomes = study_outcomes(study.config.batch.kind, [cell.config.as_written() for cell in first])
    example = next(iter(batches.values()))
    shown = _shown(outcomes, example)

    def compared(outcome: Outcome, weighing: Weighing | None, **stated: Any) -> Iterator[Comparison]:
        own = [batches[cell] for cell in weighing.weights] if weighing else []
        if weighing and all(outcome.name in batch.outcomes for batch in own):
            yield Comparison(
                words=weighing.name,
                outcome=outcome,
                layout=_layout(own, outcome, replicates, redraws=weighing.redraws),
                weights=tuple(weighing.weights.values()),
                alike="" if weighing.redraws else "matched",
                **stated,
            )

    widths = [
        Quantity(
            words=f"{item.words}, one cell", outcome=item, layout=_layout(list(batches.values()), item, replicates)
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
    family = list(_exploratory(factors, outcomes, hypotheses))
    effects = [(weighing.kind, item) for outcome, weighing in family for item in compared(outcome, weighing)]
    tests = sum(not item.layout.too_few for _, item in effects)
    if replicates >= FEWEST_REPLICATES:  # the report also tests batch values that no plan predicts, such as requests
        tests += sum(not outcome.per_talk and outcome.name not in example.outcomes for outcome, _ in family)
    comparisons += [
        replace(item, tests=max(1, tests)) for kind, item in effects if kind != "interaction" and item.outcome in shown
    ]
    return Forecast(widths, comparisons, example.sizes)


def _exploratory(
    factors: Factors, outcomes: Sequence[Outcome], hypotheses: Sequence[Hypothesis]
) -> Iterator[tuple[Outcome, Weighing]]:
    """The effects that a design's report tests besides its hypotheses: one family over all outcomes that it shows."""
    for outcome in (one for one in outcomes if not one.described_only):
        own = [weigh(item.contrast, factors, factors.cells) for item in hypotheses if item.outcome == outcome]
        stated = [{cell: sign * value for cell, value in one.weights.items()} for one in own if one for sign in (1, -1)]
        if stated or is_shown(outcome, factors):
            yield from ((outcome, item) for item in exploratory(factors, factors.cells) if item.weights not in stated)


# -- the size that a difference takes ----------------------------------------------------------------------------------


_NEAR = 0.002
"""how far the power may be below the wanted one, since games and rounds are whole numbers"""
_TRIES = 8


def planned(config: Config, database: Path) -> FrozenConfig | PlannedStudy:
    return freeze(config, database) if config.design is None else plan_study(config, database)


def price_of(study: FrozenConfig | PlannedStudy) -> dict[str, Any]:
    return priced_cells(study) if isinstance(study, PlannedStudy) else priced(study_from(study).plan(), study)


class Sizing:
    """Prices each size of one config once."""

    def __init__(self, config: Config, database: Path, base: Forecast) -> None:
        self._config, self._database, self._base = config, database, base
        self._planned_sizes: dict[tuple[int, ...], tuple[Forecast, dict[str, Any]]] = {}

    def needed(self, comparison: Comparison, world: World, difference: float) -> dict[str, Any]:
        """The values to `set`, and the plan of such a study; a `note` if no size is enough."""
        layout, nothing = comparison.layout, replace(comparison, layout=Layout(talks=0))
        sizes = {REPLICATES: layout.replicates} if layout.replicates else self._base.sizes
        if not sizes:
            return _answer("no config key makes the study larger")
        first = next(iter(sizes.values()))
        fewest, most = (FEWEST_REPLICATES, ceilings.CELLS) if layout.replicates else (1, ceilings.UNITS)
        size = bisect_left(
            range(most + 1),
            True,
            lo=fewest,
            key=lambda size: power(world, _resized(comparison, size / first), difference) >= WANTED,
        )
        if size > most:
            few = f"{layout.clusters:,.0f} {layout.units} are too few, and more of them are needed"
            never = f"no number of conversations is enough: {few}" if layout.scenarios or layout.entities else ""
            return _answer(never or "no size is enough")
        try:
            for _ in range(_TRIES):  # whole games and rounds may take a little more than the formula
                grown = {key: max(1, math.ceil(value * size / first)) for key, value in sizes.items()}
                larger, plan = self._planned(grown)
                alike = (
                    one for one in larger.comparisons if replace(comparison, layout=one.layout, tests=one.tests) == one
                )
                found = next(alike, nothing)
                if power(world, found, difference) >= WANTED - _NEAR:
                    return _answer("", grown, plan)
                size += max(1, size // 100)
        except TidepoolError as error:
            return _answer(f"a study of that size cannot be run: {error}", grown)
        return _answer(found.layout.too_few or f"the data contain too few {layout.called}")

    def _planned(self, sizes: Mapping[str, int]) -> tuple[Forecast, dict[str, Any]]:
        key = tuple(sizes.values())
        if key not in self._planned_sizes:
            data = deepcopy(self._config.as_given())
            for path, value in sizes.items():
                put_at(data, path, value)
            origin = self._config.origin
            study = planned(config_from(data, source=origin.source, folder=origin.folder), self._database)
            self._planned_sizes[key] = forecast(study) or self._base, price_of(study)
        return self._planned_sizes[key]


def _answer(note: str, sizes: Mapping[str, int] | None = None, plan: Mapping[str, Any] | None = None) -> dict[str, Any]:
    priced_as = {name: (plan or {}).get(name) for name in ("units", "calls", "cost_usd", "seconds_live")}
    return {"set": sizes, **priced_as, "note": note}


def _resized(comparison: Comparison, by: float) -> Comparison:
    layout = comparison.layout
    if layout.replicates:
        return replace(comparison, layout=replace(layout, replicates=round(layout.replicates * by)))
    # as long as each conversation has its own scenario, more conversations bring more scenarios
    scenarios = round(layout.scenarios * by) if layout.scenarios > layout.talks - 1 else layout.scenarios
    grown = replace(layout, talks=layout.talks * by, games=layout.games * by, scenarios=scenarios)
    return replace(comparison, layout=grown)


# -- as JSON ----------------------------------------------------------------------------------------------------------


NOTHING = "Power cannot be computed: this kind of study does not list what its batches compare."
NO_OUTCOME = "Power cannot be computed: this study has no measures. A simulation needs a judge."
Worlds = Mapping[str, tuple[World, ...]]
"""by outcome, three from low to high variance; empty if nothing is assumed"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerQuery:
    assume: Sequence[str] = ()
    pilot: str | None = None
    detect: float | None = None
    outcome: str | None = None


def power_of(base: Forecast | None, query: PowerQuery, config: Config | None, database: Path) -> dict[str, Any]:
    """The `power` of a plan. The config is required if a difference is to be detected."""
    assumptions = Assumptions.read(query.assume)
    if base is None or not base.by_outcome:
        return {"note": NOTHING if base is None else NO_OUTCOME, "half_widths": [], "differences": []}
    pilot = read_pilot(database, query.pilot) if query.pilot else None
    if pilot and config and pilot.kind != config.batch.kind:
        raise UsageError(
            f"The pilot {pilot.name} is of kind {pilot.kind}, but this study is of kind {config.batch.kind}. Choose a pilot of the same kind."
        )
    worlds: dict[str, tuple[World, ...]] = {}
    seen: list[dict[str, Any]] = []
    notes: list[str] = []
    for name, (first, *_) in base.by_outcome.items():
        assumed = assumptions.worlds(first.outcome)
        if assumed is None:
            notes.append(f"No assumption for {name}, since it has no scale. State its spread with --assume sd=…")
        elif pilot:
            assumed, ranges, refusal = apply_pilot(pilot, first.outcome, first.layout, assumed)
            notes += [f"The pilot is not used for {name}: {refusal}"] if refusal else []
            seen += [{"outcome": name, "what": what, "range": list(values)} for what, values in ranges.items()]
        worlds[name] = assumed or ()
    return {
        "level": 0.95,
        "power": WANTED,
        "pilot": pilot.name if pilot else None,
        "assumptions": list(_assumed(base, assumptions, worlds, seen)),
        "seen": seen,
        "half_widths": [_width(item, worlds[item.outcome.name]) for item in base.widths],
        "differences": [_difference(item, worlds[item.outcome.name]) for item in base.comparisons],
        "detect": None if query.detect is None or config is None else _detect(base, query, config, database, worlds),
        "notes": notes,
    }


OF_UNITS = {
    "games": ("game",),
    "scenarios": ("scenario",),
    "entities": ("entity", "reaction"),
    "replicates": ("between",),
}
"""which assumptions matter, by the unit that is counted"""

INSTEAD = {"sd of a conversation": ("sd", "correlation"), "sd between entities": ("entity",)}
"""which assumptions the pilot's values replace"""


def _assumed(
    base: Forecast, assumptions: Assumptions, worlds: Worlds, seen: Sequence[Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """The assumptions that matter for this study and that no pilot has estimated."""
    by_values: dict[tuple[str, tuple[float, float, float]], list[str]] = {}
    for outcome, quantities in base.by_outcome.items():
        estimated = {entry["what"] for entry in seen if entry["outcome"] == outcome}
        estimated |= {name for what in estimated for name in INSTEAD.get(what, ())}
        matter = {
            "rate",
            "sd",
            *(name for item in quantities for unit in item.layout.counted for name in OF_UNITS[unit]),
        }
        matter |= {item.alike for item in quantities if isinstance(item, Comparison)}
        matter |= {"correlation"} if any(item.layout.each > 1 for item in quantities) else set()
        for name, values in assumptions.values(quantities[0].outcome).items():
            if name in matter - estimated and worlds[outcome]:
                by_values.setdefault((name, values), []).append(outcome)
    for (name, values), outcomes in sorted(by_values.items(), key=lambda item: list(KNOWN).index(item[0][0])):
        stated = name in assumptions.stated
        yield {"name": name, "values": list(values), "stated": stated, "of": outcomes, "words": KNOWN[name].words}


def _described(one: Quantity) -> dict[str, Any]:
    outcome, layout = one.outcome, one.layout
    entry = {"outcome": outcome.name, "unit": outcome.unit, "digits": outcome.digits}
    entry |= {"units": layout.units, "number": round(layout.clusters)}
    if not isinstance(one, Comparison):
        return {"of": one.words, **entry}
    return {"between": one.words, **entry, "stated": one.stated, "direction": one.direction, "tests": one.tests}


def _scaled(values: Sequence[float | None], outcome: Outcome) -> list[float | None]:
    return [None if value is None else value * outcome.scale for value in values]


def _width(one: Quantity, worlds: Sequence[World]) -> dict[str, Any]:
    values = [half_width(world, one.layout, one.outcome.bounds) for world in worlds]
    return {**_described(one), "half_width": _scaled(values, one.outcome)}


def _difference(one: Comparison, worlds: Sequence[World]) -> dict[str, Any]:
    values = [smallest(world, one) for world in worlds]
    note = one.layout.too_few or (
        "" if None not in values else "blank: even the largest possible difference is not detected"
    )
    return {**_described(one), "smallest": _scaled(values, one.outcome), "note": note}


# -- size for a difference -----------------------------------------------------------------------------------------


def _detect(base: Forecast, query: PowerQuery, config: Config, database: Path, worlds: Worlds) -> dict[str, Any]:
    """For the requested outcome; else for the stated hypotheses; else for the first outcome."""
    difference = query.detect or 0.0
    outcomes = {name: first.outcome for name, (first, *_) in base.by_outcome.items()}
    outcome = find_outcome(list(outcomes.values()), query.outcome) if query.outcome else None
    if query.outcome and outcome is None:
        raise UsageError(f"{query.outcome!r} is not a measure of this study. Its measures are {', '.join(outcomes)}.")
    stated = [item for item in base.comparisons if item.stated and outcome is None]
    name = outcome.name if outcome else next(iter(outcomes))
    picked = stated or [item for item in base.comparisons if item.outcome.name == name]
    sizing, rows = Sizing(config, database, base), []
    for item in (item for item in picked if worlds[item.outcome.name]):
        low, high = item.outcome.bounds
        if not 0 < difference < item.rise * (high - low) or not math.isfinite(difference):
            raise UsageError(
                f"--detect {difference:g}: a difference in {item.outcome.name} must be above 0 and below {item.rise * (high - low):g}."
                " Shares are written from 0 to 1: 0.1 is ten percentage points."
            )
        own = worlds[item.outcome.name]
        chances = [power(world, item, difference) for world in own]
        needed = [sizing.needed(item, world, difference) for world in own]
        rows.append({**_described(item), "power_as_planned": chances, "needed": needed})
    return {"difference": difference, "rows": rows}
