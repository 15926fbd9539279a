"""Do hypotheses keep their word? 2,000 simulated studies of each shape, handed to the very code that reports them.

Where nothing is planted any confirmatory finding is false, with Holm's correction over all that a study states. Where an
effect is planted it is found as often as the formula says that plans use. `python -m benchmarks.designs.confirming 300
games` tells of the worlds whose name has that word, with so many studies each.
"""

import math
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy
from scipy.special import nctdtr, ndtr, stdtrit  # type: ignore[import-untyped]

from benchmarks.designs.worlds import ACCURACY, PROBLEMS, SCORE, SIDES, World, drawn, shift
from tidepool.engine.bench import Measurement, at_least, at_most
from tidepool.engine.design.contrasts import weigh
from tidepool.engine.design.factors import Cell, Factors
from tidepool.engine.design.hypotheses import read_hypotheses
from tidepool.engine.design.study_statistics import FOUND, tested

STUDIES = 2_000
MOST_FALSE, WITHIN, LEAST, LEAST_OF_FIVE = 6.5, 5.0, 93.0, 90.0
LARGE = (3, 2, 2)
ASKED = (
    ("a: 1 - 0", "two-sided"),
    ("a: 2 - 0", "less"),
    ("b: 1 - 0", "greater"),
    ("a: 1 - 0 × b: 1 - 0", "two-sided"),
)

NOTHING = [
    World("two levels, 1 × 40 talks"),
    World("two levels, 1 × 15 talks, 5 % reveal", talks=15, rate=0.05),
    World("two levels, 1 × 40 talks, one-sided", hypotheses=(("a: 1 - 0", "less"),)),
    World("two levels, 5 × 40 talks, 3 % reveal, cells alike", replicates=5, rate=0.03, common=0.9),
    World("two levels, 8 × 20 talks, cells unlike", replicates=8, talks=20, common=0.0),
    World("3 × 2 × 2, 1 × 40 talks", LARGE, hypotheses=ASKED),
    World("3 × 2 × 2, 5 × 40 talks", LARGE, 5, hypotheses=ASKED),
    World("3 × 2 × 2, 5 × 40 talks, c matters", LARGE, 5, shifts=shift(LARGE, 0.3, {2: "1"}), hypotheses=ASKED),
    World("3 × 2 × 2, 8 × 10 talks, 10 % lost", LARGE, 8, 10, hypotheses=ASKED, lost=0.1),
    World("3 × 2 × 2, 1 × 30 talks, 2 % reveal", LARGE, talks=30, rate=0.02, hypotheses=ASKED),
    World("points, 3 × 2 × 2, 1 × 40 talks", LARGE, hypotheses=ASKED, outcome=SCORE),
    World("linked games, two levels, 1 × 10 games of 8", talks=80, games=10),
    World("linked games, 3 × 2 × 2, 5 × 2 games of 10", LARGE, 5, 20, hypotheses=ASKED, games=2),
    World("linked games, two levels, 5 × 1 game of 20", replicates=5, talks=20, games=1),
    World("linked games, 5 % reveal, 8 × 1 game of 12", replicates=8, talks=12, games=1, rate=0.05),
    World("linked games, 5 % reveal, cells alike, 5 × 1 game of 20", replicates=5, talks=20, games=1, rate=0.05, common=0.9),
    World("12 scenarios that repeat and differ", replicates=5, talks=48, scenarios=12, in_scenario=0.1),
    World("linked games over scenarios", replicates=8, talks=20, games=2, scenarios=10, in_scenario=0.1),
    World("a level draws anew, 8 replicates", replicates=8, sets="secret_game.num_interactions"),
    World("accuracy, two levels, 6 replicates", replicates=6, rate=0.6, outcome=ACCURACY, run_spread=0.05),
    World("accuracy, 3 × 2 × 2, 8 replicates", LARGE, 8, rate=0.6, hypotheses=ASKED, outcome=ACCURACY, run_spread=0.05),
    World("in step, three steps, 5 × 20 talks", (3, 3), 5, 20, mode="paired", hypotheses=(("a: 1 - 0", "two-sided"), ("b: 2 - 0", "two-sided"))),
]  # fmt: skip


def _planted(name: str, world: World, gain: float) -> World:
    """The first level of the first factor gains; talks are as many as the formula asks for 80 %."""
    return World(**{**vars(world), "name": name, "shifts": shift(world.shape, gain, {0: "1"})})


PLANTED = [
    _planted("+10 points on 30 %, 1 × 229 talks", World("", talks=229, common=0.0), 0.10),
    _planted("+15 points on 30 %, 5 × 21 talks", World("", replicates=5, talks=21, common=0.0), 0.15),
    _planted("+8 points on 10 %, one-sided, 5 × 30 talks", World("", replicates=5, talks=30, rate=0.1, common=0.0, hypotheses=(("a: 1 - 0", "greater"),)), 0.08),
    _planted("+8 points, 3 × 2 × 2, 5 × 18 talks", World("", LARGE, 5, 18, common=0.0), 0.08),
    World("interaction of 15 points, 2 × 2, 5 × 40 talks", (2, 2), 5, 40, shifts=shift((2, 2), 0.15, {0: "1", 1: "1"}), common=0.0, hypotheses=(("a: 1 - 0 × b: 1 - 0", "two-sided"),)),
    _planted("accuracy, +11 points, 8 replicates", World("", replicates=8, rate=0.6, outcome=ACCURACY, run_spread=0.05, common=0.0), 0.11),
    _planted("accuracy, +14 points, 6 replicates", World("", replicates=6, rate=0.6, outcome=ACCURACY, run_spread=0.05, common=0.0), 0.14),
]  # fmt: skip
SPARSE = [
    _planted(
        "+8 points on 2 %, 3 × 2 × 2, cells alike, 1 × 60 talks",
        World("", LARGE, talks=60, rate=0.02, common=0.9),
        0.08,
    ),
    _planted(
        "+3 points on 2 %, 3 × 2 × 2, cells alike, 1 × 60 talks",
        World("", LARGE, talks=60, rate=0.02, common=0.9),
        0.03,
    ),
    _planted("+3 points on 2 %, cells alike, 1 × 100 talks", World("", talks=100, rate=0.02, common=0.9), 0.03),
    _planted("+5 points on 2 %, 1 × 15 talks", World("", talks=15, rate=0.02), 0.05),
    _planted("+3 points on 2 %, 3 × 2 × 2, 1 × 30 talks", World("", LARGE, talks=30, rate=0.02, common=0.9), 0.03),
    _planted("+10 points on 5 %, 8 × 1 linked game of 12", World("", replicates=8, talks=12, games=1, rate=0.05), 0.10),
    _planted("+20 points on 30 %, 5 × 2 linked games of 10", World("", replicates=5, talks=20, games=2), 0.20),
]
FEWEST = _planted(
    "+10 points on 2 %, 5 × 1 linked game of 20", World("", replicates=5, talks=20, games=1, rate=0.02), 0.10
)
PAIRED = _planted("+10 points on 30 %, cells alike, 1 × 229 talks", World("", talks=229, common=0.7), 0.10)


@dataclass(frozen=True)
class Counted:
    any: float
    """share of the studies with any finding, in per cent"""
    first: float
    """with the first hypothesis found"""
    covered: float
    """whose interval of its difference holds the truth"""


def counted(world: World, studies: int = STUDIES, seed: int = 1) -> Counted:
    random = numpy.random.default_rng(seed)
    factors = Factors.of(world.design)
    stated = read_hypotheses(world.design, [world.outcome])
    some = first = covered = 0
    truth = world.outcome.scale * gap_of(world)
    for _ in range(studies):
        found = tested(factors, {world.outcome.name: drawn(world, random)}, stated)
        some += any(one["verdict"] == FOUND for one in found)
        first += found[0]["verdict"] == FOUND
        low, high = found[0]["difference_ci95"]
        covered += low - 1e-9 <= truth <= high + 1e-9
    return Counted(*(100 * times / studies for times in (some, first, covered)))


def _weights(world: World) -> Mapping[Cell, float]:
    factors = Factors.of(world.design)
    weighing = weigh(read_hypotheses(world.design, [world.outcome])[0].asked, factors, factors.cells)
    assert weighing is not None
    return weighing.weights


def gap_of(world: World) -> float:
    """The difference that was planted."""
    rates = dict(zip(Factors.of(world.design).cells, world.rates.tolist(), strict=True))
    return math.fsum(weight * rates[cell] for cell, weight in _weights(world).items())


def planned(world: World) -> float:
    """Power in per cent, before anything is bought: of a rate's difference by the normal formula, of runs by Student's."""
    (hypothesis,) = read_hypotheses(world.design, [world.outcome])
    rates = dict(zip(Factors.of(world.design).cells, world.rates.tolist(), strict=True))
    gap, weights = abs(gap_of(world)), _weights(world)
    tail = 0.05 if hypothesis.direction != "two-sided" else 0.025
    if not world.outcome.per_talk:
        own = {cell: rate * (1 - rate) / PROBLEMS + world.run_spread**2 for cell, rate in rates.items()}
        variance = sum(weight**2 * own[cell] for cell, weight in weights.items()) / world.replicates
        freedom = world.replicates - 1
        line = float(stdtrit(freedom, 1 - tail))
        return 100 * (1 - float(nctdtr(freedom, gap / math.sqrt(variance), line)))
    own = {cell: rate * (1 - rate) * (1 + SIDES) / 2 for cell, rate in rates.items()}
    talks = world.replicates * world.talks
    variance = sum(weight**2 * own[cell] for cell, weight in weights.items()) / talks
    line = 1.6449 if tail == 0.05 else 1.96
    return 100 * float(ndtr(gap / math.sqrt(variance) - line))


def prove() -> Iterator[Measurement]:
    covered: dict[str, float] = {}
    for world in NOTHING:
        found = counted(world)
        covered[world.name] = found.covered
        told = f"studies with any confirmatory finding where nothing is planted: {world.name}"
        yield at_most(told, found.any, "%", MOST_FALSE)
    for world in PLANTED:
        found, expected = counted(world), planned(world)
        covered[world.name] = found.covered
        told = f"planned {expected:.1f} %, found in {found.first:.1f} % of {STUDIES:,} studies"
        yield at_most(f"power off its plan: {world.name}", abs(found.first - expected), "points", WITHIN, told)
    found, expected = counted(PAIRED), planned(PAIRED)
    told = f"planned {expected:.1f} % as if cells were unlike: common random numbers only gain"
    yield at_least(f"power by common random numbers: {PAIRED.name}", found.first, "%", expected - WITHIN, told)
    covered |= {PAIRED.name: found.covered} | {world.name: counted(world).covered for world in SPARSE}
    worst = min(covered, key=covered.__getitem__)
    yield at_least(
        f"coverage of effects: worst of {len(covered)} worlds of {STUDIES:,} studies ({worst})",
        covered[worst],
        "%",
        LEAST,
    )
    told = "five values that lean to one side, the fewest that have a verdict"
    yield at_least(f"coverage of effects: {FEWEST.name}", counted(FEWEST).covered, "%", LEAST_OF_FIVE, told)


if __name__ == "__main__":
    number, words = int(sys.argv[1]), sys.argv[2:]
    for one in (*NOTHING, *PLANTED, *SPARSE, FEWEST, PAIRED):
        if not words or any(word in one.name for word in words):
            share = counted(one, number)
            plan = f", planned {planned(one):.1f}" if one in (*PLANTED, PAIRED) else ""
            print(
                f"{one.name:60} any {share.any:5.1f} first {share.first:5.1f} covered {share.covered:5.1f}{plan}",
                flush=True,
            )
