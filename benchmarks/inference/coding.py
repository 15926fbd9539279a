"""Do the intervals of hand coding hold? Planted truth, a planted instrument, coders who see the truth: how often is it covered?

Sides of a talk are alike, sides of a linked game too. Tables are drawn by numpy; what is worked out of them is what the
report works out. One row goes all the way: drawn and counted as a batch's are.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy

from tidepool.engine.bench import Measurement, at_least, at_most
from tidepool.engine.coding.sample import DETECTORS, CodeBook, Frame, draw_sample
from tidepool.engine.coding.statistics import coding_of
from tidepool.engine.inference.corrected import Share, TwoGroups, corrected, two_groups
from tidepool.engine.inference.distributions import student_quantile
from tidepool.engine.inference.intervals import Interval, wilson

TABLES = 2_000
SENSITIVITY, SPECIFICITY = 0.8, 0.9
RATES = (0.05, 0.2, 0.5)
Array = numpy.ndarray[Any, Any]


def prove() -> Iterator[Measurement]:
    random = numpy.random.default_rng(14)
    for rate in RATES:
        yield from _rates(random, rate)
    yield from _linked_games(random)
    yield from _as_a_batch(random)


def _covered(name: str, hits: list[bool], note: str = "") -> Measurement:
    return at_least(f"{name}: covered", _percent(hits), "%", 93, note=note)


def _percent(hits: Sequence[bool]) -> float:
    return 100 * float(sum(hits)) / len(hits)


# -- tables ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tables:
    """Truth and verdict of both sides of each talk."""

    truth: Array
    verdict: Array
    games: int = 0
    """0: the talks are not linked"""

    def __len__(self) -> int:
        return len(self.truth)

    @property
    def sides(self) -> int:
        return int(self.truth.shape[1] * 2)


def tables(random: numpy.random.Generator, rate: float, likeness: float, talks: int = 500) -> Tables:
    """The second side is the first's likeness that often, else drawn by itself."""
    truth = random.random((TABLES, talks, 2)) < rate
    truth[..., 1] = numpy.where(random.random((TABLES, talks)) < likeness, truth[..., 0], truth[..., 1])
    return Tables(truth, _verdicts(random, truth))


def linked(random: numpy.random.Generator, rate: float, likeness: float, games: int, talks: int) -> Tables:
    """Games differ in how much is revealed in them."""
    scale = (1 - likeness) / likeness
    of_game = random.beta(rate * scale, (1 - rate) * scale, (TABLES, games, 1, 1))
    truth = (random.random((TABLES, games, talks, 2)) < of_game).reshape(TABLES, games * talks, 2)
    return Tables(truth, _verdicts(random, truth), games)


def _verdicts(random: numpy.random.Generator, truth: Array) -> Array:
    drawn = random.random(truth.shape)
    return numpy.where(truth, drawn < SENSITIVITY, drawn < 1 - SPECIFICITY)


def raw(found: Tables) -> list[Interval]:
    """Wilson's interval with the effective number of sides, by talks or by games, and Student's quantile."""
    share = found.verdict.mean(axis=(1, 2))
    clusters = found.games or found.truth.shape[1]
    sums = (found.verdict - share[:, None, None]).reshape(len(found), clusters, -1).sum(axis=2)
    variance = clusters / (clusters - 1) * (sums**2).sum(axis=1) / found.sides**2
    z = student_quantile(clusters - 1, 0.975)
    return [
        wilson(float(q), float(q * (1 - q) / v) if v and 0 < q < 1 else clusters, z)
        for q, v in zip(share, variance, strict=True)
    ]


@dataclass(frozen=True)
class Coded:
    """One side of a talk by lot; of these half positive, half negative."""

    truth: Array
    positive: Array
    negative: Array
    """places of the coded ones in each table"""

    def __init__(self, random: numpy.random.Generator, found: Tables, size: int) -> None:
        lot = random.integers(0, 2, found.truth.shape[:2])[..., None]
        truth, verdict = (numpy.take_along_axis(side, lot, 2)[..., 0] for side in (found.truth, found.verdict))
        talks = truth.shape[1]
        positives = verdict.sum(axis=1)
        first = numpy.minimum(positives, numpy.maximum(size // 2, size - (talks - positives)))
        object.__setattr__(self, "truth", truth)
        object.__setattr__(self, "positive", _first(random, verdict, first))
        object.__setattr__(self, "negative", _first(random, ~verdict, numpy.minimum(talks - positives, size - first)))


def _first(random: numpy.random.Generator, of: Array, counts: Array) -> Array:
    """So many of them by lot."""
    order = numpy.where(of, random.random(of.shape), 2).argsort(axis=1).argsort(axis=1)
    chosen: Array = (order < counts[:, None]) & of
    return chosen


def groups(found: Tables, coded: Coded) -> list[TwoGroups | None]:
    told = []
    for table, positives in enumerate(found.verdict.sum(axis=(1, 2)).tolist()):
        rows = [
            (1.0, verdict, bool(code))
            for verdict, chosen in ((True, coded.positive), (False, coded.negative))
            for code in coded.truth[table][chosen[table]]
        ]
        told.append(two_groups(positives, found.sides - positives, rows))
    return told


def _in(truth: float, share: Share | None) -> bool:
    return share is not None and share.low <= truth <= share.high


# -- figures -----------------------------------------------------------------------------------------------------


def _rates(random: numpy.random.Generator, rate: float) -> Iterator[Measurement]:
    hits: list[bool] = []
    for likeness in (0.3, 0.6):
        found = tables(random, rate, likeness)
        told = groups(found, Coded(random, found, 100))
        hits += [_in(rate, corrected(one, called)) for one, called in zip(told, raw(found), strict=True) if one]
    where = f"corrected rate, true rate {100 * rate:g} %, 100 coded of 1,000 sides"
    note = f"{len(hits):,} tables, sides of a talk alike by 0.3 and 0.6; judge of 80 % and 90 %"
    yield _covered(where, hits, note)
    yield at_most(f"{where}: covered", _percent(hits), "%", 98)


def _linked_games(random: numpy.random.Generator) -> Iterator[Measurement]:
    for games, talks in ((10, 50), (30, 17)):
        found = linked(random, 0.2, 0.2, games, talks)
        told = groups(found, Coded(random, found, 100))
        hits = [_in(0.2, corrected(one, called)) for one, called in zip(told, raw(found), strict=True) if one]
        yield _covered(f"corrected rate, true rate 20 %, {games} linked games", hits)


def _as_a_batch(random: numpy.random.Generator) -> Iterator[Measurement]:
    """Drawn and counted by the very functions that a batch goes through; agents of whom twenty are coded, too."""
    found = tables(random, 0.2, 0.4, talks=250)
    overall: list[bool] = []
    agents: list[bool] = []
    for table, called in enumerate(raw(found)):
        verdict, truth = found.verdict[table], found.truth[table]
        verdicts = {(talk, side): bool(verdict[talk, side]) for talk in range(len(truth)) for side in (0, 1)}
        frame = Frame({place: f"{sum(place) % 3}" for place in verdicts}, {DETECTORS: verdicts}, {})
        sample = draw_sample(frame, 100, Random(table))
        codes = {one.place: "yes" if truth[one.place] else "no" for one in sample.chosen}
        statistics = {
            "overall": {"secrets_revealed_ci95": (100 * called[0], 100 * called[1])},
            "agents": {name: _alone(frame, name) for name in ("0", "1", "2")},
        }
        told = coding_of(sample, frame, CodeBook(""), {"coder": codes}, statistics)
        for hits, rates in ((overall, [told["corrected"]]), (agents, told["agents"].values())):
            hits += [rate["corrected_ci95"][0] <= 20 <= rate["corrected_ci95"][1] for rate in rates]
    yield _covered("corrected rate, drawn and counted as a batch's", overall)
    yield _covered("corrected rate of an agent, some 33 coded", agents)


def _alone(frame: Frame, name: str) -> dict[str, Interval]:
    own = [frame.verdicts[DETECTORS][place] for place, agent in frame.agents.items() if agent == name]
    low, high = wilson(sum(own) / len(own), len(own))
    return {"times_revealed_secret_ci95": (100 * low, 100 * high)}
