"""`coding` of a batch's statistics: who coded how much, how well they agree, and what follows for instruments and rates."""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from tidepool.engine.coding.agreement import LEAST_PAIRED, Paired, alpha, kappa, otherwise, squared
from tidepool.engine.coding.code_book import UNCLEAR, CodeBook
from tidepool.engine.coding.drawing import sample_of
from tidepool.engine.coding.estimates import wilson
from tidepool.engine.coding.frame import Frame, frame_of
from tidepool.engine.coding.ratings import RatedTwice, RatingDifference, rating_difference
from tidepool.engine.coding.sample import POSITIVE, Place, Sample, Unit
from tidepool.engine.coding.verdicts import (
    Accuracy,
    CorrectedRate,
    accuracy,
    corrected_rate,
    hundredfold,
    judged_sides,
    with_kappa,
)
from tidepool.engine.statistics.intervals import Interval
from tidepool.engine.statistics.typed import Statistics
from tidepool.storage.codes import anybody_coded, codes

UNITS: tuple[Unit, ...] = ("sides", "messages")


@dataclass(frozen=True)
class Stratum(Statistics):
    batch: int
    sampled: int
    coded: int


@dataclass(frozen=True)
class CoderCounts(Statistics):
    coded: int
    codes: Mapping[str, int]


@dataclass(frozen=True)
class TwoCoders(Statistics):
    coders: tuple[str, ...]
    both: int
    """sides that both have coded"""
    agree_percentage: float
    kappa: float | None
    """None: both said the same of everything, or have coded too few"""
    kappa_ci95: Interval | None


@dataclass(frozen=True)
class CodingAgreement(Statistics):
    level: str
    """nominal: codes agree or not, and kappa is Cohen's; interval: by squared differences, in alpha and kappa"""
    pairs: tuple[TwoCoders, ...]
    alpha: float | None
    """Krippendorff's, over all coders; None: nothing was coded twice, or all is one code"""


@dataclass(frozen=True)
class CodedUnits(Statistics):
    """What is coded of sides, or of messages."""

    LEFT_OUT = frozenset({"instruments", "corrected", "agents", "ratings"})

    instrument: str
    """by whose verdicts the sample was drawn"""
    sample: int
    coded: int
    """of the sample, by anybody"""
    unclear: int
    """of those, left out: nobody can tell, or coders are even"""
    without_verdict: int
    """of the batch; they cannot be drawn"""
    outdated: bool
    """the batch has gone on since the sample was drawn"""
    strata: Mapping[str, Stratum]
    coders: Mapping[str, CoderCounts]
    agreement: CodingAgreement
    instruments: Mapping[str, Accuracy] | None = None
    corrected: CorrectedRate | None = None
    agents: Mapping[str, CorrectedRate] | None = None
    ratings: RatingDifference | None = None


Raw = Callable[[str | None], Interval | None]
"""the interval, in percent, of the share that the instrument calls positive: of an agent, or of all"""


def with_coding(connection: sqlite3.Connection, batch: Mapping[str, Any], statistics: dict[str, Any]) -> dict[str, Any]:
    """The statistics with a key `coding` where somebody has coded."""
    if not anybody_coded(connection, batch["number"]):
        return statistics
    found = {unit: told.as_json() for unit in UNITS if (told := coded_units(connection, batch, unit, statistics))}
    return {**statistics, "coding": found} if found else statistics


def coded_units(
    connection: sqlite3.Connection, batch: Mapping[str, Any], unit: Unit, statistics: Mapping[str, Any]
) -> CodedUnits | None:
    """None where nothing of a sample is coded."""
    sample = sample_of(connection, batch["number"], unit)
    if sample is None:
        return None
    chosen = {one.place for one in sample.chosen}
    said: defaultdict[str, dict[Place, str]] = defaultdict(dict)
    for one in codes(connection, batch["number"]):
        if one.place in chosen:
            said[one.coder][one.place] = one.code
    if not said:
        return None
    return coding_of(sample, frame_of(connection, batch, unit, sample.instrument), said, statistics)


def coding_of(
    sample: Sample, frame: Frame, said: Mapping[str, Mapping[Place, str]], statistics: Mapping[str, Any]
) -> CodedUnits:
    """`said` holds each coder's codes of the sample."""
    by_place: defaultdict[Place, list[str]] = defaultdict(list)
    for given in said.values():
        for place, code in given.items():
            by_place[place].append(code)
    scale = frame.book.scale
    told = _ratings(sample, frame, by_place, statistics) if scale else _rates(sample, frame, by_place, statistics)
    strata = {one.place: one.stratum for one in sample.chosen}
    sampled, coded = Counter(strata.values()), Counter(strata[place] for place in by_place)
    return CodedUnits(
        instrument=sample.instrument,
        sample=len(sample.chosen),
        coded=len(by_place),
        without_verdict=frame.missing,
        outdated=dict(Counter(one.stratum for one in frame.candidates)) != dict(sample.strata),
        strata={name: Stratum(count, sampled[name], coded[name]) for name, count in sample.strata.items()},
        coders={
            name: CoderCounts(len(given), dict(sorted(Counter(given.values()).items())))
            for name, given in sorted(said.items())
        },
        agreement=_agreement(sample, frame.book, said, by_place),
        **told,
    )


# -- a game's verdicts ---------------------------------------------------------------------------------------


def _rates(
    sample: Sample, frame: Frame, codes: Mapping[Place, Sequence[str]], statistics: Mapping[str, Any]
) -> dict[str, Any]:
    coded, unclear = judged_sides(sample, codes)
    raw = raw_intervals(sample, statistics)
    names = sorted(set(frame.agents.values()))
    instruments = {name: accuracy(frame, coded, verdicts) for name, verdicts in frame.verdicts.items()}
    if sample.instrument == "marks":
        instruments = {name: with_kappa(one, coded, frame.verdicts[name]) for name, one in instruments.items()}
    agents = {name: rate for name in names if (rate := corrected_rate(frame, coded, raw(name), name))}
    return {
        "unclear": unclear,
        "instruments": instruments,
        "corrected": corrected_rate(frame, coded, raw(None)),
        "agents": agents if sample.unit == "sides" else None,
    }


def raw_intervals(sample: Sample, statistics: Mapping[str, Any]) -> Raw:
    """As the statistics have them; of messages and answers, which they do not count, Wilson's with the talks as trials."""
    if sample.unit == "messages" or sample.instrument == "marks":
        share = sample.strata.get(POSITIVE, 0) / max(1, sample.population)
        return lambda agent: None if agent else hundredfold(wilson(share, sample.talks))
    if sample.instrument == "judge":
        verdicts = statistics.get("verdicts") or {}
        return lambda agent: _interval(verdicts, ("agents", agent) if agent else ("overall",), "revealed_ci95")

    def of_detectors(agent: str | None) -> Interval | None:
        where = ("agents", agent, "times_revealed_secret_ci95") if agent else ("overall", "secrets_revealed_ci95")
        return _interval(statistics, where[:-1], where[-1])

    return of_detectors


def _interval(statistics: Mapping[str, Any], where: Sequence[str], name: str) -> Interval | None:
    found: Any = statistics
    for key in where:
        found = found.get(key) or {}
    limits = found.get(name)
    return (float(limits[0]), float(limits[1])) if limits else None


# -- ratings -------------------------------------------------------------------------------------------------


def _ratings(
    sample: Sample, frame: Frame, codes: Mapping[Place, Sequence[str]], statistics: Mapping[str, Any]
) -> dict[str, Any]:
    """Several coders' ratings of a side count as their mean."""
    coded: list[RatedTwice] = []
    unclear = 0
    for one in sample.chosen:
        given = [rating for code in codes.get(one.place, ()) if (rating := _rating(frame.book, code)) is not None]
        if given and one.place in frame.ratings:
            coded.append(RatedTwice(one.stratum, one.weight, frame.ratings[one.place], sum(given) / len(given)))
        elif codes.get(one.place):
            unclear += 1
    judged = statistics.get("judgements") or {}
    mean = sum(frame.ratings.values()) / len(frame.ratings) if frame.ratings else 0.0
    interval = _interval(statistics, ("judgements",), "ci95") if judged.get("mean") is not None else None
    scale = frame.book.scale or (0.0, 1.0)
    return {"unclear": unclear, "ratings": rating_difference(coded, sample.strata, mean, interval, scale)}


def _rating(book: CodeBook, code: str) -> float | None:
    """None: unclear, or in a stranger's file no code at all."""
    known = book.read(code)
    return None if known in (None, UNCLEAR) else float(str(known))


# -- agreement -----------------------------------------------------------------------------------------------


def _agreement(
    sample: Sample, book: CodeBook, said: Mapping[str, Mapping[Place, str]], by_place: Mapping[Place, Sequence[str]]
) -> CodingAgreement:
    """Ratings are compared where both gave one; of codes, unclear is one of them."""
    apart: Callable[[Any, Any], float] = squared if book.scale else otherwise

    def read(code: str) -> Any:
        return _rating(book, code) if book.scale else code

    units = [(one.weight, [read(code) for code in by_place.get(one.place, ())]) for one in sample.chosen]
    clear = [(weight, [code for code in given if code is not None]) for weight, given in units]
    pairs = tuple(_pairs(sample, said, read, apart))
    return CodingAgreement("interval" if book.scale else "nominal", pairs, alpha(clear, apart))


def _pairs(
    sample: Sample,
    said: Mapping[str, Mapping[Place, str]],
    read: Callable[[str], Any],
    apart: Callable[[Any, Any], float],
) -> Iterator[TwoCoders]:
    for first, second in combinations(sorted(said), 2):
        both = [
            Paired(one.stratum, one.weight, codes)
            for one in sample.chosen
            if one.place in said[first]
            and one.place in said[second]
            and None not in (codes := (read(said[first][one.place]), read(said[second][one.place])))
        ]
        if not both:
            continue
        found = kappa(both, apart) if len(both) >= LEAST_PAIRED else None
        agree = sum(one.weight for one in both if one.codes[0] == one.codes[1]) / sum(one.weight for one in both)
        names = (first, second)
        value, interval = (found.value, found.interval) if found else (None, None)
        yield TwoCoders(names, len(both), 100 * agree, value, interval)
