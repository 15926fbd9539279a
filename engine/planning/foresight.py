"""Power before purchase, as one JSON object: half-widths, smallest differences, and what a difference would take."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidepool.engine.config.sections import Config
from tidepool.engine.design.outcomes import Outcome, find_outcome
from tidepool.engine.errors import UsageError
from tidepool.engine.planning.comparisons import Forecast, Sizing, Width, select
from tidepool.engine.planning.pilot import Pilot, apply_pilot, read_pilot
from tidepool.engine.planning.power import KNOWN, WANTED, Assumptions, Comparison, World, half_width, power, smallest

NOTHING = "Nothing can be said of power: a study of this kind does not say what its batches will have to compare."
NO_OUTCOME = "Nothing can be said of power: nothing of this study is measured. A simulation needs a judge."
Values = list[float | None]
"""in three worlds, from least spread to most"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerQuery:
    assume: Sequence[str] = ()
    pilot: str | None = None
    detect: float | None = None
    outcome: str | None = None


def power_of(base: Forecast | None, query: PowerQuery, config: Config | None, database: Path) -> dict[str, Any]:
    """The `power` of a plan. The config is needed where a difference is to be detected."""
    assumptions = Assumptions.read(query.assume)
    if base is None or not base.outcomes:
        return {"note": NOTHING if base is None else NO_OUTCOME, "half_widths": [], "differences": []}
    pilot = read_pilot(database, query.pilot) if query.pilot else None
    if pilot and config and pilot.kind != config.batch.kind:
        raise UsageError(f"The pilot {pilot.name} is of kind {pilot.kind}, and this study of kind {config.batch.kind}.")
    worlds = _Worlds(base, assumptions, pilot)
    return {
        "level": 0.95,
        "power": WANTED,
        "pilot": worlds.pilot_name,
        "assumptions": worlds.assumed(),
        "seen": worlds.seen,
        "half_widths": [_width(item, worlds.of(item.outcome)) for item in base.widths],
        "differences": [_difference(item, worlds.of(item.outcome)) for item in base.comparisons],
        "detect": None if query.detect is None or config is None else _detect(base, query, config, database, worlds),
        "notes": worlds.notes,
    }


class _Worlds:
    """What may be so, outcome by outcome."""

    def __init__(self, base: Forecast, assumptions: Assumptions, pilot: Pilot | None) -> None:
        self._forecast, self._assumptions = base, assumptions
        self.notes: list[str] = []
        self.seen: list[dict[str, Any]] = []
        self.pilot_name = pilot.name if pilot else None
        self._by_outcome: dict[str, tuple[World, ...] | None] = {}
        for name, outcome in base.outcomes.items():
            worlds = assumptions.worlds(outcome)
            if pilot is not None and worlds is not None:
                update = apply_pilot(pilot, outcome, base.layouts[name], worlds)
                worlds = update.worlds
                if update.refusal:
                    self.notes.append(f"The pilot is not asked about {name}: {update.refusal}")
                ranges = update.ranges.items()
                self.seen += [{"outcome": name, "what": what, "range": list(values)} for what, values in ranges]
            elif worlds is None:
                self.notes.append(f"Of {name} nothing is assumed: it has no scale. --assume sd=… states its spread.")
            self._by_outcome[name] = worlds

    def of(self, outcome: Outcome) -> tuple[World, ...] | None:
        return self._by_outcome[outcome.name]

    def assumed(self) -> list[dict[str, Any]]:
        """Those that count for this study, and that no pilot told of for all of its outcomes."""
        rows = []
        for name in KNOWN:
            touched = [one for one in self._forecast.outcomes.values() if self._counts(name, one)]
            left = [
                one for one in touched if not any(t["outcome"] == one.name and t["what"] == name for t in self.seen)
            ]
            for values in dict.fromkeys(self._assumptions.values(name, one) for one in left):
                if values is not None:
                    names = [one.name for one in left if self._assumptions.values(name, one) == values]
                    row = {"name": name, "values": list(values), "stated": name in self._assumptions.stated}
                    rows.append({**row, "of": names, "words": KNOWN[name].words})
        return rows

    def _counts(self, name: str, outcome: Outcome) -> bool:
        worlds = self._by_outcome[outcome.name]
        if worlds is None:
            return False
        comparisons = [item for item in self._forecast.comparisons if item.outcome.name == outcome.name]
        layouts = [item.layout for item in comparisons]
        layouts += [item.layout for item in self._forecast.widths if item.outcome.name == outcome.name]
        match name:
            case "rate":
                return worlds[0].rate is not None
            case "sd":
                return worlds[0].rate is None and not (worlds[0].talk or worlds[0].batch)
            case "correlation":
                in_talks = worlds[0].talk is None and any(item.each > 1 for item in layouts)
                return in_talks or any(item.alike == name for item in comparisons)
            case "matched":
                return any(item.alike == name for item in comparisons)
            case "between":
                return any(item.replicates for item in layouts) and not outcome.per_talk and worlds[0].batch is None
        return any(
            getattr(item, {"game": "games", "scenario": "scenarios", "entity": "entities"}[name]) for item in layouts
        )


def _shared(outcome: Outcome) -> dict[str, Any]:
    return {"outcome": outcome.name, "unit": outcome.unit, "digits": outcome.digits}


def _scaled(values: Sequence[float | None], outcome: Outcome) -> Values:
    return [None if value is None else value * outcome.scale for value in values]


def _width(one: Width, worlds: tuple[World, ...] | None) -> dict[str, Any]:
    values = [half_width(world, one.layout, one.outcome.bounds) for world in worlds] if worlds else []
    return {
        "of": one.words,
        **_shared(one.outcome),
        "units": one.layout.units,
        "number": round(one.layout.clusters),
        "half_width": _scaled(values, one.outcome),
    }


def _difference(one: Comparison, worlds: tuple[World, ...] | None) -> dict[str, Any]:
    values = [smallest(world, one) for world in worlds] if worlds else []
    return {
        **_compared(one),
        "smallest": _scaled(values, one.outcome),
        "note": one.layout.too_few or ("" if None not in values else "a blank: not even the largest possible is found"),
    }


def _compared(one: Comparison) -> dict[str, Any]:
    return {
        "between": one.words,
        **_shared(one.outcome),
        "stated": one.stated,
        "direction": one.direction,
        "tests": one.tests,
        "units": one.layout.units,
        "number": round(one.layout.clusters),
    }


# -- the other way round -----------------------------------------------------------------------------------------


def _detect(base: Forecast, query: PowerQuery, config: Config, database: Path, worlds: _Worlds) -> dict[str, Any]:
    difference = query.detect or 0.0
    outcome = find_outcome(list(base.outcomes.values()), query.outcome) if query.outcome else None
    if query.outcome and outcome is None:
        raise UsageError(f"{query.outcome!r} is no outcome of this study; known are {', '.join(base.outcomes)}.")
    picked = [item for item in select(base.comparisons, outcome.name if outcome else None) if worlds.of(item.outcome)]
    for item in picked:
        low, high = item.outcome.bounds
        if not 0 < difference < item.rise * (high - low) or not math.isfinite(difference):
            raise UsageError(
                f"--detect {difference:g}: a difference in {item.outcome.name} is above 0 and below {item.rise * (high - low):g}."
                " Shares are written from 0 to 1: 0.1 is ten percentage points."
            )
    sizing = Sizing(config, database, base)
    return {
        "difference": difference,
        "rows": [_needed(sizing, item, worlds.of(item.outcome) or (), difference) for item in picked],
    }


def _needed(sizing: Sizing, comparison: Comparison, worlds: Sequence[World], difference: float) -> dict[str, Any]:
    needed = []
    for world in worlds:
        required = sizing.min_size(comparison, world, difference)
        plan = {name: (required.plan or {}).get(name) for name in ("units", "calls", "cost_usd", "seconds_live")}
        needed.append({"set": None if required.sizes is None else dict(required.sizes), **plan, "note": required.note})
    chances = [power(world, comparison, difference) for world in worlds]
    return {**_compared(comparison), "power_as_planned": chances, "needed": needed}
