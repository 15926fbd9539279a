"""Branches: does the interval of one sentence's effect cover the truth?

Conversations differ in how readily a side reveals (a normal spread on the logit scale) and in what the sentence
does to them; the truth is the mean effect over all such conversations, or of one conversation its own. In the hardest world
a tenth of the conversations is susceptible, and nearly always reveals after the sentence: below 40 conversations the report warns.
Conversations also share entities or scenarios that react differently to the sentence, with no effect on average.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy
from scipy.special import expit  # type: ignore[import-untyped]

from benchmarks.inference.judging import ALARMS, LEAST, Judged, per_cent, settled_one
from tidepool.engine.bench import Measurement, at_least, at_most
from tidepool.engine.branching.results import Shared, outcome
from tidepool.engine.inference.intervals import UNIT
from tidepool.engine.inference.measures import PERCENT, Outcome, Talk
from tidepool.engine.studies.branches import Arm, Origin

SHARE = Outcome(name="revealed", words="reveals", unit=PERCENT, bounds=UNIT)
BASES, EFFECTS, SPREAD = (-3.0, 0.0), (0.0, 0.8), 1.2
DESIGNS = ((12, 5), (40, 5), (100, 20), (400, 5), (1, 20))
MANY = 200_000


def true_effect(base: float, effect: float) -> float:
    draw = numpy.random.default_rng(1)
    open_to_it = base + SPREAD * draw.normal(size=MANY)
    moved = effect * (1 + draw.normal(size=MANY))
    return float(100 * (expit(open_to_it + moved) - expit(open_to_it)).mean())


def covered(base: float, effect: float, talks: int, times: int, tables: int, seed: int) -> Judged:
    draw = numpy.random.default_rng((talks, times, round(10 * effect), round(10 - base), seed))
    truth = true_effect(base, effect)
    origin = Origin("0" * 12, tuple(range(talks)), "t2", "…", times)
    hits, found = [], []
    for _ in range(tables):
        open_to_it = base + SPREAD * draw.normal(size=talks)
        moved = effect * (1 + draw.normal(size=talks))
        if talks == 1:
            truth = float(100 * (expit(open_to_it + moved) - expit(open_to_it))[0])
        told = _told(draw, origin, {"control": expit(open_to_it), "altered": expit(open_to_it + moved)})
        hits.append(_holds(told, truth))
        found.append(told["p_value"] is not None and told["p_value"] < 0.05)
    return Judged(coverage=per_cent(hits), alarms=None if effect else per_cent(found), tables=tables)


def _told(draw: numpy.random.Generator, origin: Origin, rates: dict[Arm, numpy.ndarray]) -> dict[str, Any]:
    """By the code of the report."""
    drawn = {arm: draw.random((len(rate), origin.times)) < rate[:, None] for arm, rate in rates.items()}
    talks = range(len(origin.conversations))
    values = {n: {arm: seen[n].astype(float).tolist() for arm, seen in drawn.items()} for n in talks}
    return outcome(SHARE, values, origin, Shared({number: Talk(number) for number in talks}))


def _holds(told: dict[str, Any], truth: float) -> bool:
    bounds = told["difference_ci95"]
    return bounds is not None and bounds[0] - 1e-9 <= truth <= bounds[1] + 1e-9


def coverage(talks: int, times: int) -> Iterator[Measurement]:
    words = f"{talks} conversations × {times} redraws" if talks > 1 else f"one conversation × {times} redraws"
    cells = [settled_one(partial(covered, base, effect, talks, times)) for base in BASES for effect in EFFECTS]
    least = min(one.coverage or 0 for one in cells)
    yield at_least(f"{words}: coverage, least of {len(cells)}", least, "%", LEAST)
    false = max(one.alarms for one in cells if one.alarms is not None)
    yield at_most(f"{words}: found where there is nothing", false, "%", ALARMS)


RARE = ((12, 5), (20, 5), (40, 5), (100, 5))
SUSCEPTIBLE = 0.1


def rare_effect(talks: int, times: int, tables: int, seed: int) -> Judged:
    draw = numpy.random.default_rng((talks, times, seed))
    origin, truth = Origin("0" * 12, tuple(range(talks)), "t2", "…", times), 100 * SUSCEPTIBLE * 0.85
    found = []
    for _ in range(tables):
        altered = numpy.where(draw.random(talks) < SUSCEPTIBLE, 0.95, 0.10)
        found.append(_told(draw, origin, {"control": numpy.full(talks, 0.10), "altered": altered}))
    hits = [_holds(one, truth) for one in found]
    return Judged(coverage=per_cent(hits), warned=all(one["note"] for one in found), tables=tables)


def prove_rare() -> Iterator[Measurement]:
    for talks, times in RARE:
        found = settled_one(partial(rare_effect, talks, times))
        words = f"{talks} conversations × {times} redraws, a tenth susceptible: coverage"
        note = "the report warns" if found.warned else f"{found.tables:,} tables"
        yield at_least(words, found.coverage or 0, "%", 0 if found.warned else LEAST, note)


@dataclass(frozen=True)
class Together:
    """Conversations that share entities or scenarios, each of which reacts to the sentence in its own way."""

    name: str
    reaction: float
    """the standard deviation of these reactions"""
    entities: int = 0
    scenarios: int = 0
    talks: int = 0


TOGETHER = (
    *(Together(f"{n} entities in pairs, reactions {sd:g}", sd, entities=n) for n in (10, 24) for sd in (0, 0.2, 0.4)),
    *(
        Together(f"{n} scenarios, reactions {sd:g}", sd, scenarios=n, talks=240)
        for n in (4, 12, 24)
        for sd in (0, 0.15)
    ),
)
RATING = Outcome(name="rating", words="rating", bounds=(1.0, 5.0))


def of_together(world: Together, tables: int, seed: int) -> Judged:
    draw = numpy.random.default_rng((world.entities, world.scenarios, round(100 * world.reaction), seed))
    pairs = list(combinations(range(world.entities), 2)) if world.entities else [()] * world.talks
    scenario = [number % world.scenarios + 1 if world.scenarios else 0 for number in range(len(pairs))]
    talks = {n: Talk(n, 0, scenario[n], members=tuple(map(str, pair))) for n, pair in enumerate(pairs)}
    shared = Shared(talks, sampled=world.entities > 0)
    origin = Origin("0" * 12, tuple(talks), "t2", "…", 5)
    found = []
    for _ in range(tables):
        reacts = world.reaction * draw.normal(size=max(world.entities, world.scenarios))
        if world.entities:
            own = draw.normal(size=world.entities)
            base = 3 + 0.5 * own[numpy.array(pairs)].mean(axis=1)
            rates: dict[Arm, Any] = {"control": base, "altered": base + reacts[numpy.array(pairs)].mean(axis=1)}
            drawn = {
                arm: (mean[:, None] + 0.5 * draw.normal(size=(len(mean), 5))).clip(1, 5) for arm, mean in rates.items()
            }
        else:
            moved = numpy.clip(0.4 + reacts[numpy.array(scenario) - 1], 0.01, 0.79)
            rates = {"control": numpy.full(len(pairs), 0.4), "altered": moved}
            drawn = {arm: 1.0 * (draw.random((len(rate), 5)) < rate[:, None]) for arm, rate in rates.items()}
        values = {n: {arm: seen[n].tolist() for arm, seen in drawn.items()} for n in talks}
        found.append(outcome(RATING if world.entities else SHARE, values, origin, shared))
    alarms = [one["p_value"] is not None and one["p_value"] < 0.05 for one in found]
    coverage, warned = per_cent([_holds(one, 0.0) for one in found]), all(one["note"] for one in found)
    return Judged(coverage=coverage, alarms=per_cent(alarms), warned=warned, tables=tables)


def prove_together() -> Iterator[Measurement]:
    for world in TOGETHER:
        found = settled_one(partial(of_together, world))
        note = "the report warns" if found.warned else f"{found.tables:,} tables"
        yield at_least(f"{world.name}: coverage", found.coverage or 0, "%", 0 if found.warned else LEAST, note)
        yield at_most(f"{world.name}: found where there is nothing", found.alarms or 0, "%", ALARMS)


def prove() -> Iterator[Measurement]:
    for talks, times in DESIGNS:
        yield from coverage(talks, times)
    yield from prove_rare()
    yield from prove_together()
