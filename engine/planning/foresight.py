"""Power before purchase, as one JSON object: half-widths, smallest differences, and what a difference would take."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidepool.engine.config.sections import Config
from tidepool.engine.design.outcomes import Outcome, find_outcome
from tidepool.engine.errors import UsageError
from tidepool.engine.planning.comparisons import Foreseen, Sizing, Width, chosen
from tidepool.engine.planning.pilot import Pilot, read_pilot, seen
from tidepool.engine.planning.power import KNOWN, WANTED, Assumptions, Comparison, World, half_width, power, smallest

NOTHING = "Nothing can be said of power: a study of this kind does not say what its batches will have to compare."
NO_OUTCOME = "Nothing can be said of power: nothing of this study is measured. A simulation needs a judge."
Values = list[float | None]
"""in three worlds, from least spread to most"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    assume: Sequence[str] = ()
    pilot: str | None = None
    detect: float | None = None
    outcome: str | None = None


def power_of(told: Foreseen | None, asked: Asked, config: Config | None, database: Path) -> dict[str, Any]:
    """The `power` of a plan. The config is needed where a difference is to be detected."""
    assumptions = Assumptions.read(asked.assume)
    if told is None or not told.outcomes:
        return {"note": NOTHING if told is None else NO_OUTCOME, "half_widths": [], "differences": []}
    pilot = read_pilot(database, asked.pilot) if asked.pilot else None
    if pilot and config and pilot.kind != config.batch.kind:
        raise UsageError(f"The pilot {pilot.name} is of kind {pilot.kind}, and this study of kind {config.batch.kind}.")
    worlds = _Worlds(told, assumptions, pilot)
    return {
        "level": 0.95,
        "power": WANTED,
        "pilot": worlds.pilot_name,
        "assumptions": worlds.assumed(),
        "seen": worlds.told,
        "half_widths": [_width(one, worlds.of(one.outcome)) for one in told.widths],
        "differences": [_difference(one, worlds.of(one.outcome)) for one in told.comparisons],
        "detect": None if asked.detect is None or config is None else _detect(told, asked, config, database, worlds),
        "notes": worlds.notes,
    }


class _Worlds:
    """What may be so, outcome by outcome."""

    def __init__(self, told: Foreseen, assumptions: Assumptions, pilot: Pilot | None) -> None:
        self._foreseen, self._assumptions = told, assumptions
        self.notes: list[str] = []
        self.told: list[dict[str, Any]] = []
        self.pilot_name = pilot.name if pilot else None
        self._known: dict[str, tuple[World, ...] | None] = {}
        for name, outcome in told.outcomes.items():
            worlds = assumptions.worlds(outcome)
            if pilot is not None and worlds is not None:
                found = seen(pilot, outcome, told.layouts[name], worlds)
                worlds = found.worlds
                if found.refused:
                    self.notes.append(f"The pilot is not asked about {name}: {found.refused}")
                ranges = found.told.items()
                self.told += [{"outcome": name, "what": what, "range": list(values)} for what, values in ranges]
            elif worlds is None:
                self.notes.append(f"Of {name} nothing is assumed: it has no scale. --assume sd=… states its spread.")
            self._known[name] = worlds

    def of(self, outcome: Outcome) -> tuple[World, ...] | None:
        return self._known[outcome.name]

    def assumed(self) -> list[dict[str, Any]]:
        """Those that count for this study, and that no pilot told of for all of its outcomes."""
        rows = []
        for name in KNOWN:
            touched = [one for one in self._foreseen.outcomes.values() if self._counts(name, one)]
            left = [
                one for one in touched if not any(t["outcome"] == one.name and t["what"] == name for t in self.told)
            ]
            for values in dict.fromkeys(self._assumptions.values(name, one) for one in left):
                if values is not None:
                    names = [one.name for one in left if self._assumptions.values(name, one) == values]
                    row = {"name": name, "values": list(values), "stated": name in self._assumptions.stated}
                    rows.append({**row, "of": names, "words": KNOWN[name].words})
        return rows

    def _counts(self, name: str, outcome: Outcome) -> bool:
        worlds = self._known[outcome.name]
        if worlds is None:
            return False
        own = [one for one in self._foreseen.comparisons if one.outcome.name == outcome.name]
        layouts = [one.layout for one in own]
        layouts += [one.layout for one in self._foreseen.widths if one.outcome.name == outcome.name]
        match name:
            case "rate":
                return worlds[0].rate is not None
            case "sd":
                return worlds[0].rate is None and not (worlds[0].talk or worlds[0].batch)
            case "correlation":
                within = worlds[0].talk is None and any(one.each > 1 for one in layouts)
                return within or any(one.alike == name for one in own)
            case "matched":
                return any(one.alike == name for one in own)
            case "between":
                return any(one.replicates for one in layouts) and not outcome.per_talk and worlds[0].batch is None
        return any(
            getattr(one, {"game": "games", "scenario": "scenarios", "entity": "entities"}[name]) for one in layouts
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


def _detect(told: Foreseen, asked: Asked, config: Config, database: Path, worlds: _Worlds) -> dict[str, Any]:
    difference = asked.detect or 0.0
    outcome = find_outcome(list(told.outcomes.values()), asked.outcome) if asked.outcome else None
    if asked.outcome and outcome is None:
        raise UsageError(f"{asked.outcome!r} is no outcome of this study; known are {', '.join(told.outcomes)}.")
    picked = [one for one in chosen(told.comparisons, outcome.name if outcome else None) if worlds.of(one.outcome)]
    for one in picked:
        low, high = one.outcome.bounds
        if not 0 < difference < one.rise * (high - low) or not math.isfinite(difference):
            raise UsageError(
                f"--detect {difference:g}: a difference in {one.outcome.name} is above 0 and below {one.rise * (high - low):g}."
                " Shares are written from 0 to 1: 0.1 is ten percentage points."
            )
    sizing = Sizing(config, database, told)
    return {
        "difference": difference,
        "rows": [_needed(sizing, one, worlds.of(one.outcome) or (), difference) for one in picked],
    }


def _needed(sizing: Sizing, one: Comparison, worlds: Sequence[World], difference: float) -> dict[str, Any]:
    needed = []
    for world in worlds:
        found = sizing.needed(one, world, difference)
        plan = {name: (found.plan or {}).get(name) for name in ("units", "calls", "cost_usd", "seconds_live")}
        needed.append({"set": None if found.sizes is None else dict(found.sizes), **plan, "note": found.note})
    chances = [power(world, one, difference) for world in worlds]
    return {**_compared(one), "power_as_planned": chances, "needed": needed}
