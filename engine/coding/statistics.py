"""`coding` of a batch's statistics: who coded how much, how well they agree, and what follows for instruments and rates."""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from tidepool.engine.coding.estimates import (
    LEAST_PAIRED,
    Cell,
    Paired,
    RatedTwice,
    RatingDifference,
    Share,
    TwoGroups,
    alpha,
    cell_of,
    corrected,
    kappa,
    otherwise,
    rating_difference,
    sensitivity,
    specificity,
    squared,
    two_groups,
)
from tidepool.engine.coding.sample import (
    NO,
    POSITIVE,
    UNCLEAR,
    YES,
    CodeBook,
    Frame,
    Place,
    Sample,
    Unit,
    Verdicts,
    frame_of,
    sample_of,
)
from tidepool.engine.statistics.intervals import Interval, in_percent, wilson
from tidepool.engine.statistics.typed import Statistics
from tidepool.storage.codes import anybody_coded, codes

# -- instruments against coders ----------------------------------------------------------------------------------------


LEAST_OF_AN_AGENT = 20
"""coded sides from which on an agent has a rate of its own"""


def majority(codes: Iterable[str]) -> str:
    """What most coders say; unclear where they are even."""
    counts = Counter(codes).most_common(2)
    return UNCLEAR if len(counts) > 1 and counts[0][1] == counts[1][1] else counts[0][0]


@dataclass(frozen=True)
class Accuracy(Statistics):
    """How an instrument does against the coders, weighted back to the batch."""

    LEFT_OUT = frozenset({"kappa", "kappa_ci95"})

    positives: int
    """of the batch, by the instrument"""
    negatives: int
    coded_positives: int
    coded_negatives: int
    sensitivity_percentage: float | None
    sensitivity_ci95: Interval | None
    specificity_percentage: float | None
    specificity_ci95: Interval | None
    if_positive_percentage: float | None
    """of what it calls positive, as much is: its predictive value"""
    if_positive_ci95: Interval | None
    if_negative_percentage: float | None
    """of what it does not, as much is all the same"""
    if_negative_ci95: Interval | None
    kappa: float | None = None
    """Cohen's, with the coders; of marks, from ten codes on"""
    kappa_ci95: Interval | None = None


@dataclass(frozen=True)
class CorrectedRate(Statistics):
    """The rate by the instrument's verdicts, and by what the coders say of them."""

    coded: int
    raw_percentage: float
    raw_ci95: Interval | None
    corrected_percentage: float
    corrected_ci95: Interval | None


@dataclass(frozen=True, slots=True)
class Judged:
    """A coded side of the sample that the coders are clear about."""

    place: Place
    stratum: str
    weight: float
    yes: bool


def judged_sides(sample: Sample, codes: Mapping[Place, Sequence[str]]) -> tuple[list[Judged], int]:
    """The sides on which a majority says yes or no; and how many others were coded."""
    said = {one: majority(codes[one.place]) for one in sample.chosen if codes.get(one.place)}
    clear = [Judged(one.place, one.stratum, one.weight, code == YES) for one, code in said.items() if code in (YES, NO)]
    return clear, len(said) - len(clear)


def groups(
    coded: Sequence[Judged], sizes: Mapping[tuple[str, bool], int], positive: Callable[[Place], bool]
) -> TwoGroups | None:
    """By an instrument's verdict: in each group a cell for every stratum of the sample. `sizes` counts the batch so. In a
    cell without a code the share is taken to be that of its group, and may be anything."""
    by_cell: defaultdict[tuple[str, bool], list[tuple[float, bool]]] = defaultdict(list)
    for one in coded:
        by_cell[one.stratum, positive(one.place)].append((one.weight, one.yes))
    found: dict[bool, list[Cell]] = {}
    for verdict in (True, False):
        keys = [key for key in sizes if key[1] is verdict]
        known = cell_of(1, (pair for key in keys for pair in by_cell[key]))
        found[verdict] = [cell_of(sizes[key], by_cell[key], known.share) for key in keys]
    return two_groups(found[True], found[False])


def accuracy(frame: Frame, coded: Sequence[Judged], verdicts: Verdicts) -> Accuracy:
    strata = {one.place: one.stratum for one in frame.candidates if one.place in verdicts.said}
    sizes = Counter((stratum, place in verdicts.positive) for place, stratum in strata.items())
    here = [one for one in coded if one.place in strata]
    called = sum(one.place in verdicts.positive for one in here)
    positives = sum(count for (_, positive), count in sizes.items() if positive)
    found = groups(here, sizes, verdicts.positive.__contains__)
    shares: dict[str, Share | None] = {
        "sensitivity": sensitivity(found) if found else None,
        "specificity": specificity(found) if found else None,
        "if_positive": found.if_positive if found and positives else None,
        "if_negative": found.if_negative if found and positives < len(strata) else None,
    }
    return Accuracy(positives, len(strata) - positives, called, len(here) - called, **_percent(shares))


def with_kappa(found: Accuracy, coded: Sequence[Judged], verdicts: Verdicts) -> Accuracy:
    pairs = [
        Paired(one.stratum, one.weight, (one.yes, one.place in verdicts.positive))
        for one in coded
        if one.place in verdicts.said
    ]
    agreed = kappa(pairs) if len(pairs) >= LEAST_PAIRED else None
    return replace(found, kappa=agreed.value, kappa_ci95=agreed.interval) if agreed else found


def _percent(shares: Mapping[str, Share | None]) -> dict[str, Any]:
    """By their names in the JSON."""
    data: dict[str, Any] = {}
    for name, share in shares.items():
        data[f"{name}_percentage"] = None if share is None else 100 * share.value
        data[f"{name}_ci95"] = None if share is None else in_percent(share.limits)
    return data


def corrected_rate(
    frame: Frame, coded: Sequence[Judged], raw: Interval | None, agent: str | None = None
) -> CorrectedRate | None:
    """Of the batch, or of one agent; None where a group of its sides is not coded at all. `raw` is the interval, in
    percent, of the share that the instrument calls positive."""
    strata = {one.place: one.stratum for one in frame.candidates if agent in (None, frame.agents[one.place])}
    here = [one for one in coded if one.place in strata]
    sizes = Counter((stratum, stratum == POSITIVE) for stratum in strata.values())
    found = groups(here, sizes, lambda place: strata[place] == POSITIVE)
    if found is None or (agent is not None and len(here) < LEAST_OF_AN_AGENT):
        return None
    share = None if raw is None else corrected(found, (raw[0] / 100, raw[1] / 100))
    limits = None if share is None else in_percent(share.limits)
    return CorrectedRate(len(here), 100 * found.called, raw, 100 * found.value, limits)


# -- statistics --------------------------------------------------------------------------------------------------------


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
    found = {unit: result.as_json() for unit in UNITS if (result := coded_units(connection, batch, unit, statistics))}
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
    result = _ratings(sample, frame, by_place, statistics) if scale else _rates(sample, frame, by_place, statistics)
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
        **result,
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
        return lambda agent: None if agent else in_percent(wilson(share, sample.talks))
    if sample.instrument == "judge":
        verdicts = statistics.get("verdicts") or {}
        return lambda agent: _interval(verdicts, *(("agents", agent) if agent else ("overall",)), "revealed_ci95")
    return lambda agent: (
        _interval(statistics, "agents", agent, "times_revealed_secret_ci95")
        if agent
        else _interval(statistics, "overall", "secrets_revealed_ci95")
    )


def _interval(found: Any, *where: str) -> Interval | None:
    for key in where:
        found = found.get(key) or {}
    return (float(found[0]), float(found[1])) if found else None


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
    interval = _interval(statistics, "judgements", "ci95") if judged.get("mean") is not None else None
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
        yield TwoCoders((first, second), len(both), 100 * agree, *(found or (None, None)))
