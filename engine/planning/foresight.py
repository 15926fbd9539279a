"""Power before purchase, as one JSON object: half-widths, smallest differences, and what a difference would take."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidepool.engine.config.sections import Config
from tidepool.engine.design.outcomes import Outcome, find_outcome
from tidepool.engine.errors import UsageError
from tidepool.engine.planning.comparisons import Forecast, Sizing
from tidepool.engine.planning.pilot import apply_pilot, read_pilot
from tidepool.engine.planning.power import (
    KNOWN,
    WANTED,
    Assumptions,
    Comparison,
    Quantity,
    World,
    half_width,
    power,
    smallest,
)

NOTHING = "Nothing can be said of power: a study of this kind does not say what its batches will have to compare."
NO_OUTCOME = "Nothing can be said of power: nothing of this study is measured. A simulation needs a judge."
Worlds = Mapping[str, tuple[World, ...]]
"""by outcome, three from the least spread to the most; none where nothing is assumed"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerQuery:
    assume: Sequence[str] = ()
    pilot: str | None = None
    detect: float | None = None
    outcome: str | None = None


def power_of(base: Forecast | None, query: PowerQuery, config: Config | None, database: Path) -> dict[str, Any]:
    """The `power` of a plan. The config is needed where a difference is to be detected."""
    assumptions = Assumptions.read(query.assume)
    if base is None or not base.by_outcome:
        return {"note": NOTHING if base is None else NO_OUTCOME, "half_widths": [], "differences": []}
    pilot = read_pilot(database, query.pilot) if query.pilot else None
    if pilot and config and pilot.kind != config.batch.kind:
        raise UsageError(f"The pilot {pilot.name} is of kind {pilot.kind}, and this study of kind {config.batch.kind}.")
    worlds: dict[str, tuple[World, ...]] = {}
    seen: list[dict[str, Any]] = []
    notes: list[str] = []
    for name, (first, *_) in base.by_outcome.items():
        assumed = assumptions.worlds(first.outcome)
        if assumed is None:
            notes.append(f"Of {name} nothing is assumed: it has no scale. --assume sd=… states its spread.")
        elif pilot:
            assumed, ranges, refusal = apply_pilot(pilot, first.outcome, first.layout, assumed)
            notes += [f"The pilot is not asked about {name}: {refusal}"] if refusal else []
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


OF_UNITS = {"games": "game", "scenarios": "scenario", "entities": "entity", "replicates": "between"}
"""which assumption tells how alike what is counted is"""
INSTEAD = {"sd": ("sd of a talk", "sd of a batch"), "between": ("sd of a batch",)}
"""what a pilot tells in place of an assumption"""


def _assumed(
    base: Forecast, assumptions: Assumptions, worlds: Worlds, seen: Sequence[Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Those that count for this study, and that no pilot told of for all of its outcomes."""
    told = {(entry["outcome"], entry["what"]) for entry in seen}
    by_values: dict[tuple[str, tuple[float, float, float]], list[str]] = {}
    for outcome, quantities in base.by_outcome.items():
        counts = {"rate", "sd", *(OF_UNITS[units] for item in quantities for units in item.layout.counted)}
        counts |= {item.alike for item in quantities if isinstance(item, Comparison)}
        if any(item.layout.each > 1 for item in quantities) and (outcome, "sd of a talk") not in told:
            counts.add("correlation")
        for name, values in assumptions.values(quantities[0].outcome).items():
            if (
                name in counts
                and worlds[outcome]
                and told.isdisjoint((outcome, what) for what in (name, *INSTEAD.get(name, ())))
            ):
                by_values.setdefault((name, values), []).append(outcome)
    for (name, values), outcomes in sorted(by_values.items(), key=lambda item: list(KNOWN).index(item[0][0])):
        stated = name in assumptions.stated
        yield {"name": name, "values": list(values), "stated": stated, "of": outcomes, "words": KNOWN[name].words}


def _shared(one: Quantity) -> dict[str, Any]:
    return {"outcome": one.outcome.name, "unit": one.outcome.unit, "digits": one.outcome.digits}


def _counted(one: Quantity) -> dict[str, Any]:
    return {"units": one.layout.units, "number": round(one.layout.clusters)}


def _scaled(values: Sequence[float | None], outcome: Outcome) -> list[float | None]:
    return [None if value is None else value * outcome.scale for value in values]


def _width(one: Quantity, worlds: Sequence[World]) -> dict[str, Any]:
    values = [half_width(world, one.layout, one.outcome.bounds) for world in worlds]
    return {"of": one.words, **_shared(one), **_counted(one), "half_width": _scaled(values, one.outcome)}


def _difference(one: Comparison, worlds: Sequence[World]) -> dict[str, Any]:
    values = [smallest(world, one) for world in worlds]
    note = one.layout.too_few or ("" if None not in values else "a blank: not even the largest possible is found")
    return {**_compared(one), "smallest": _scaled(values, one.outcome), "note": note}


def _compared(one: Comparison) -> dict[str, Any]:
    stated = {"stated": one.stated, "direction": one.direction, "tests": one.tests}
    return {"between": one.words, **_shared(one), **stated, **_counted(one)}


# -- the other way round -----------------------------------------------------------------------------------------


def _detect(base: Forecast, query: PowerQuery, config: Config, database: Path, worlds: Worlds) -> dict[str, Any]:
    """Of the outcome asked for; else of what is stated as a hypothesis; else of the first outcome."""
    difference = query.detect or 0.0
    outcomes = {name: first.outcome for name, (first, *_) in base.by_outcome.items()}
    outcome = find_outcome(list(outcomes.values()), query.outcome) if query.outcome else None
    if query.outcome and outcome is None:
        raise UsageError(f"{query.outcome!r} is no outcome of this study; known are {', '.join(outcomes)}.")
    stated = [item for item in base.comparisons if item.stated and outcome is None]
    name = outcome.name if outcome else next(iter(outcomes))
    picked = stated or [item for item in base.comparisons if item.outcome.name == name]
    sizing, rows = Sizing(config, database, base), []
    for item in (item for item in picked if worlds[item.outcome.name]):
        low, high = item.outcome.bounds
        if not 0 < difference < item.rise * (high - low) or not math.isfinite(difference):
            raise UsageError(
                f"--detect {difference:g}: a difference in {item.outcome.name} is above 0 and below {item.rise * (high - low):g}."
                " Shares are written from 0 to 1: 0.1 is ten percentage points."
            )
        own = worlds[item.outcome.name]
        chances = [power(world, item, difference) for world in own]
        needed = [sizing.needed(item, world, difference) for world in own]
        rows.append({**_compared(item), "power_as_planned": chances, "needed": needed})
    return {"difference": difference, "rows": rows}
