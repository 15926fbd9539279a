"""`coding` of a batch's statistics: who coded how much, how well they agree, and what follows for instruments and rates."""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from tidepool.engine.coding.estimates import Share, corrected, kappa, two_groups
from tidepool.engine.coding.sample import (
    DETECTORS,
    JUDGE,
    NO,
    UNCLEAR,
    YES,
    CodeBook,
    Frame,
    Sample,
    code_book,
    frame_of,
    sample_of,
)
from tidepool.engine.inference.intervals import Interval, in_percent
from tidepool.engine.inference.typed import Statistics
from tidepool.storage.codes import Place, anybody_coded, codes

LEAST_OF_AN_AGENT = 20
"""coded sides from which on an agent has a rate of its own"""
LEAST_PAIRED = 10
"""sides coded by two from which on their kappa is told: of fewer it says nothing"""


@dataclass(frozen=True)
class Accuracy(Statistics):
    """Of an instrument against the coders, weighted back to the batch; None where too little is coded."""

    positives: int
    """sides of the batch, by the instrument"""
    negatives: int
    coded_positives: int
    coded_negatives: int
    sensitivity_percentage: float | None = None
    specificity_percentage: float | None = None
    if_positive_percentage: float | None = None
    """of what it calls positive, as much is: its predictive value"""
    if_positive_ci95: Interval | None = None
    if_negative_percentage: float | None = None
    """of what it does not, as much is all the same"""
    if_negative_ci95: Interval | None = None


@dataclass(frozen=True)
class CorrectedRate(Statistics):
    """The rate by the instrument's verdicts, and by what the coders say of them."""

    coded: int
    raw_percentage: float
    raw_ci95: Interval | None
    corrected_percentage: float
    corrected_ci95: Interval | None


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


@dataclass(frozen=True)
class CodedSides(Statistics):
    LEFT_OUT = frozenset({"instruments", "corrected", "agents"})

    instrument: str
    """by whose verdicts the sample was drawn"""
    sample: int
    coded: int
    """of the sample, by anybody"""
    without_verdict: int
    """of the batch; they cannot be drawn"""
    outdated: bool
    """the batch has gone on since the sample was drawn"""
    strata: Mapping[str, Stratum]
    coders: Mapping[str, CoderCounts]
    agreement: tuple[TwoCoders, ...]
    """of a simulation also with its judge"""
    unclear: int = 0
    """of the coded sides, left out of rates: nobody can tell, or coders are even"""
    instruments: Mapping[str, Accuracy] | None = None
    corrected: CorrectedRate | None = None
    agents: Mapping[str, CorrectedRate] | None = None


def with_coding(connection: sqlite3.Connection, batch: Mapping[str, Any], statistics: dict[str, Any]) -> dict[str, Any]:
    """The statistics with a key `coding` where somebody has coded."""
    if not anybody_coded(connection, batch["number"]) or not (sample := sample_of(connection, batch["number"])):
        return statistics
    chosen = {entry.place for entry in sample.chosen}
    coders: defaultdict[str, dict[Place, str]] = defaultdict(dict)
    for entry in codes(connection, batch["number"]):
        if entry.place in chosen:
            coders[entry.coder][entry.place] = entry.code
    if not coders:
        return statistics
    coded = coding_of(sample, frame_of(connection, batch), code_book(batch), coders, statistics)
    return {**statistics, "coding": {"sides": coded.as_json()}}


def coding_of(
    sample: Sample,
    frame: Frame,
    codebook: CodeBook,
    coders: Mapping[str, Mapping[Place, str]],
    statistics: Mapping[str, Any],
) -> CodedSides:
    """`coders` holds each coder's codes of the sample."""
    by_place: defaultdict[Place, list[str]] = defaultdict(list)
    for own_codes in coders.values():
        for place, code in own_codes.items():
            by_place[place].append(code)
    compared = dict(sorted(coders.items()))
    if codebook.scale:  # the judge is one more coder
        compared[JUDGE] = {place: f"{rating:g}" for place, rating in frame.ratings.items() if place in by_place}
    strata = {item.place: item.stratum for item in sample.chosen}
    sampled, coded = Counter(strata.values()), Counter(strata[place] for place in by_place)
    return CodedSides(
        instrument=JUDGE if codebook.scale else DETECTORS,
        sample=len(sample.chosen),
        coded=len(by_place),
        without_verdict=frame.missing,
        outdated=frame.strata() != sample.strata,
        strata={name: Stratum(count, sampled[name], coded[name]) for name, count in sample.strata.items()},
        coders={
            name: CoderCounts(len(own_codes), dict(sorted(Counter(own_codes.values()).items())))
            for name, own_codes in sorted(coders.items())
        },
        agreement=tuple(_agreement(codebook, compared)),
        **({} if codebook.scale else _rates(sample, frame, by_place, statistics)),
    )


# -- verdicts of a game --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Judged:
    """A coded side of the sample that the coders are clear about."""

    place: Place
    weight: float
    yes: bool


def majority(codes: Iterable[str]) -> str:
    """What most coders say; unclear where they are even."""
    counts = Counter(codes).most_common(2)
    return UNCLEAR if len(counts) > 1 and counts[0][1] == counts[1][1] else counts[0][0]


def _rates(
    sample: Sample, frame: Frame, codes: Mapping[Place, Sequence[str]], statistics: Mapping[str, Any]
) -> dict[str, Any]:
    votes = {one: majority(codes[one.place]) for one in sample.chosen if one.place in codes}
    clear = {one: vote == YES for one, vote in votes.items() if vote in (YES, NO)}
    # The clear ones of a stratum stand for all of it.
    total: defaultdict[str, float] = defaultdict(float)
    for one in clear:
        total[one.stratum] += one.weight
    judged = [
        Judged(one.place, one.weight * sample.strata[one.stratum] / total[one.stratum], yes)
        for one, yes in clear.items()
        if one.place in frame.agents
    ]
    agents = {
        name: _corrected_rate(frame, judged, _interval(statistics, "agents", name, "times_revealed_secret_ci95"), name)
        for name in sorted(set(frame.agents.values()))
    }
    return {
        "unclear": len(votes) - len(clear),
        "instruments": {name: _accuracy(judged, verdicts) for name, verdicts in frame.verdicts.items()},
        "corrected": _corrected_rate(frame, judged, _interval(statistics, "overall", "secrets_revealed_ci95")),
        "agents": {name: rate for name, rate in agents.items() if rate and rate.coded >= LEAST_OF_AN_AGENT},
    }


def _interval(node: Any, *keys: str) -> Interval | None:
    for key in keys:
        node = node.get(key) or {}
    return (float(node[0]), float(node[1])) if node else None


def _accuracy(coded: Sequence[Judged], verdicts: Mapping[Place, bool]) -> Accuracy:
    rows = [(side.weight, verdicts[side.place], side.yes) for side in coded if side.place in verdicts]
    positives, hits = sum(verdicts.values()), sum(positive for _, positive, _ in rows)
    counts = positives, len(verdicts) - positives, hits, len(rows) - hits
    groups = two_groups(counts[0], counts[1], rows)
    if groups is None:
        return Accuracy(*counts)
    sensitivity, specificity = groups.sensitivity, groups.specificity
    return Accuracy(
        *counts,
        None if sensitivity is None else 100 * sensitivity,
        None if specificity is None else 100 * specificity,
        *(_percent(groups.if_positive) if counts[0] else (None, None)),
        *(_percent(groups.if_negative) if counts[1] else (None, None)),
    )


def _percent(share: Share) -> tuple[float, Interval | None]:
    return 100 * share.value, in_percent((share.low, share.high))


def _corrected_rate(
    frame: Frame, coded: Sequence[Judged], raw: Interval | None, agent: str | None = None
) -> CorrectedRate | None:
    """Of the batch, or of one agent; None where a group of its sides is not coded at all. `raw` is the interval, in
    percent, of the share that the detectors call positive."""
    verdicts = {
        place: said for place, said in frame.verdicts[DETECTORS].items() if agent in (None, frame.agents[place])
    }
    rows = [(side.weight, verdicts[side.place], side.yes) for side in coded if side.place in verdicts]
    positives = sum(verdicts.values())
    if (groups := two_groups(positives, len(verdicts) - positives, rows)) is None:
        return None
    limits = None if raw is None else _percent(corrected(groups, (raw[0] / 100, raw[1] / 100)))[1]
    return CorrectedRate(len(rows), 100 * groups.called, raw, 100 * groups.rate, limits)


# -- agreement -----------------------------------------------------------------------------------------------


def _agreement(codebook: CodeBook, coders: Mapping[str, Mapping[Place, str]]) -> Iterator[TwoCoders]:
    """Ratings are compared where both gave one; of codes, unclear is one of them."""
    for first, second in combinations(coders, 2):
        common = [place for place in coders[first] if place in coders[second]]
        codes = [(_read(codebook, coders[first][place]), _read(codebook, coders[second][place])) for place in common]
        both = [(a, b) for a, b in codes if a is not None and b is not None]
        if both:
            agree = 100 * sum(a == b for a, b in both) / len(both)
            yield TwoCoders((first, second), len(both), agree, kappa(both) if len(both) >= LEAST_PAIRED else None)


def _read(codebook: CodeBook, code: str) -> str | float | None:
    """A rating as a number; None: unclear, or in a stranger's file no rating at all."""
    if codebook.scale is None:
        return code
    parsed = codebook.read(code)
    return None if parsed in (None, UNCLEAR) else float(str(parsed))
