"""Branches: does the interval of one sentence's effect cover the truth?

Conversations differ in how readily a side reveals (a normal spread on the logit scale) and in what the sentence
does to them; the truth is the mean effect over all such conversations, or of one conversation its own. In the hardest world
a tenth of the conversations is susceptible, and nearly always reveals after the sentence: below 40 conversations the report warns.
"""

from collections.abc import Iterator

import numpy
from scipy.special import expit  # type: ignore[import-untyped]

from tidepool.engine.bench import Measurement, at_least, at_most
from tidepool.engine.branching.results import outcome
from tidepool.engine.inference.intervals import UNIT
from tidepool.engine.inference.measures import PERCENT, Outcome
from tidepool.engine.studies.branches import Arm, Origin

SHARE = Outcome(name="revealed", words="reveals", unit=PERCENT, bounds=UNIT)
BASES, EFFECTS, SPREAD = (-3.0, 0.0), (0.0, 0.8), 1.2
DESIGNS = ((12, 5), (40, 5), (100, 20), (400, 5), (1, 20))
TABLES = 2_000
MANY = 200_000


def true_effect(base: float, effect: float) -> float:
    draw = numpy.random.default_rng(1)
    open_to_it = base + SPREAD * draw.normal(size=MANY)
    moved = effect * (1 + draw.normal(size=MANY))
    return float(100 * (expit(open_to_it + moved) - expit(open_to_it)).mean())


def covered(base: float, effect: float, talks: int, times: int, tables: int) -> tuple[float, float]:
    """The share of intervals that hold the truth, and of tests that find something."""
    draw = numpy.random.default_rng((talks, times, round(10 * effect), round(10 - base)))
    truth = true_effect(base, effect)
    origin = Origin("0" * 12, tuple(range(talks)), "t2", "…", times)
    hit = found = 0
    for _ in range(tables):
        open_to_it = base + SPREAD * draw.normal(size=talks)
        moved = effect * (1 + draw.normal(size=talks))
        if talks == 1:
            truth = float(100 * (expit(open_to_it + moved) - expit(open_to_it))[0])
        rates: dict[Arm, numpy.ndarray] = {"control": expit(open_to_it), "altered": expit(open_to_it + moved)}
        drawn = {arm: draw.random((talks, times)) < rate[:, None] for arm, rate in rates.items()}
        values = {n: {arm: seen[n].astype(float).tolist() for arm, seen in drawn.items()} for n in range(talks)}
        told = outcome(SHARE, values, origin, {})
        bounds = told["difference_ci95"]
        hit += bounds is not None and bounds[0] - 1e-9 <= truth <= bounds[1] + 1e-9
        found += told["p_value"] is not None and told["p_value"] < 0.05
    return hit / tables, found / tables


def coverage(talks: int, times: int, tables: int) -> Iterator[Measurement]:
    words = f"{talks} conversations × {times} redraws" if talks > 1 else f"one conversation × {times} redraws"
    cells = {(base, effect): covered(base, effect, talks, times, tables) for base in BASES for effect in EFFECTS}
    yield at_least(f"{words}: coverage, least of {len(cells)}", min(hit for hit, _ in cells.values()), "", 0.93)
    false = max(found for (_, effect), (_, found) in cells.items() if not effect)
    yield at_most(f"{words}: found where there is nothing", false, "", 0.06)


RARE = ((12, 5), (20, 5), (40, 5), (100, 5))
SUSCEPTIBLE = 0.1


def rare_effect(talks: int, times: int, tables: int) -> tuple[float, int]:
    """The share of intervals that hold the truth, and how many reports warn."""
    draw = numpy.random.default_rng((talks, times))
    origin, hit, warned = Origin("0" * 12, tuple(range(talks)), "t2", "…", times), 0, 0
    truth = 100 * SUSCEPTIBLE * 0.85
    for _ in range(tables):
        altered = numpy.where(draw.random(talks) < SUSCEPTIBLE, 0.95, 0.10)
        rates: dict[Arm, numpy.ndarray] = {"control": numpy.full(talks, 0.10), "altered": altered}
        drawn = {arm: draw.random((talks, times)) < rate[:, None] for arm, rate in rates.items()}
        values = {n: {arm: seen[n].astype(float).tolist() for arm, seen in drawn.items()} for n in range(talks)}
        found = outcome(SHARE, values, origin, {})
        bounds = found["difference_ci95"]
        hit += bounds is not None and bounds[0] - 1e-9 <= truth <= bounds[1] + 1e-9
        warned += bool(found["note"])
    return hit / tables, warned


def prove_rare(tables: int = TABLES) -> Iterator[Measurement]:
    for talks, times in RARE:
        covered, warned = rare_effect(talks, times, tables)
        words = f"{talks} conversations × {times} redraws, a tenth susceptible: coverage"
        least = 0.0 if warned == tables else 0.93
        yield at_least(words, covered, "", least, "the report warns" if warned == tables else "")


def prove() -> Iterator[Measurement]:
    for talks, times in DESIGNS:
        yield from coverage(talks, times, TABLES)
    yield from prove_rare()
