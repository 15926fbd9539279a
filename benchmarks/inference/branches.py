"""Branches: does the interval of one sentence's effect cover the truth?

Conversations differ in how readily a side reveals (a normal spread on the logit scale) and in what the sentence
does to them; the truth is the mean effect over all such conversations, or of one conversation its own. In the hardest world
a tenth of the conversations is susceptible, and nearly always reveals after the sentence: below 40 conversations the report warns.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy
from scipy.special import expit  # type: ignore[import-untyped]

from benchmarks.inference.judging import ALARMS, LEAST, Judged, per_cent, settled_one
from tidepool.engine.bench import Measurement, at_least, at_most
from tidepool.engine.branching.results import outcome
from tidepool.engine.inference.intervals import UNIT
from tidepool.engine.inference.measures import PERCENT, Outcome
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
    return outcome(SHARE, values, origin, {})


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


def prove() -> Iterator[Measurement]:
    for talks, times in DESIGNS:
        yield from coverage(talks, times)
    yield from prove_rare()
