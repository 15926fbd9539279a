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
    nominal_distance,
    rating_difference,
    sensitivity,
    specificity,
    squared_distance,
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
from tidepool.engine.inference.intervals import Interval, in_percent, wilson
from tidepool.engine.inference.typed import Statistics
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
    vote = {one: majority(codes[one.place]) for one in sample.chosen if codes.get(one.place)}
    clear = [Judged(one.place, one.stratum, one.weight, code == YES) for one, code in vote.items() if code in (YES, NO)]
    return clear, len(vote) - len(clear)


def groups(
    coded: Sequence[Judged], sizes: Mapping[tuple[str, bool], int], positive: Callable[[Place], bool]
) -> TwoGroups | None:
    """By an instrument's verdict: in each group a cell for every stratum of the sample. `sizes` counts the batch so. In a
    cell without a code the share is taken to be that of its group, and may be anything."""
    by_cell: defaultdict[tuple[str, bool], list[tuple[float, bool]]] = defaultdict(list)
    for side in coded:
        by_cell[side.stratum, positive(side.place)].append((side.weight, side.yes))
    cells: dict[bool, list[Cell]] = {}
    for verdict in (True, False):
        keys = [key for key in sizes if key[1] is verdict]
        all_coded = cell_of(1, (pair for key in keys for pair in by_cell[key]))
        cells[verdict] = [cell_of(sizes[key], by_cell[key], all_coded.share) for key in keys]
    return two_groups(cells[True], cells[False])


def accuracy(frame: Frame, coded: Sequence[Judged], verdicts: Verdicts) -> Accuracy:
    strata = {side.place: side.stratum for side in frame.candidates if side.place in verdicts.places}
    sizes = Counter((stratum, place in verdicts.positive) for place, stratum in strata.items())
    judged = [side for side in coded if side.place in strata]
    hits = sum(side.place in verdicts.positive for side in judged)
    positives = sum(count for (_, positive), count in sizes.items() if positive)
    split = groups(judged, sizes, verdicts.positive.__contains__)
    shares: dict[str, Share | None] = {
        "sensitivity": sensitivity(split) if split else None,
        "specificity": specificity(split) if split else None,
        "if_positive": split.if_positive if split and positives else None,
        "if_negative": split.if_negative if split and positives < len(strata) else None,
    }
    return Accuracy(positives, len(strata) - positives, hits, len(judged) - hits, **_percent(shares))


def with_kappa(accuracy: Accuracy, coded: Sequence[Judged], verdicts: Verdicts) -> Accuracy:
    pairs = [
        Paired(side.stratum, side.weight, (side.yes, side.place in verdicts.positive))
        for side in coded
        if side.place in verdicts.places
    ]
    agreement = kappa(pairs) if len(pairs) >= LEAST_PAIRED else None
    return replace(accuracy, kappa=agreement.value, kappa_ci95=agreement.interval) if agreement else accuracy


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
    strata = {side.place: side.stratum for side in frame.candidates if agent in (None, frame.agents[side.place])}
    judged = [side for side in coded if side.place in strata]
    sizes = Counter((stratum, stratum == POSITIVE) for stratum in strata.values())
    split = groups(judged, sizes, lambda place: strata[place] == POSITIVE)
    if split is None or (agent is not None and len(judged) < LEAST_OF_AN_AGENT):
        return None
    share = None if raw is None else corrected(split, (raw[0] / 100, raw[1] / 100))
    limits = None if share is None else in_percent(share.limits)
    return CorrectedRate(len(judged), 100 * split.called, raw, 100 * split.value, limits)


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
    coding = {unit: units.as_json() for unit in UNITS if (units := coded_units(connection, batch, unit, statistics))}
    return {**statistics, "coding": coding} if coding else statistics


def coded_units(
    connection: sqlite3.Connection, batch: Mapping[str, Any], unit: Unit, statistics: Mapping[str, Any]
) -> CodedUnits | None:
    """None where nothing of a sample is coded."""
    sample = sample_of(connection, batch["number"], unit)
    if sample is None:
        return None
    chosen = {entry.place for entry in sample.chosen}
    coders: defaultdict[str, dict[Place, str]] = defaultdict(dict)
    for entry in codes(connection, batch["number"]):
        if entry.place in chosen:
            coders[entry.coder][entry.place] = entry.code
    if not coders:
        return None
    return coding_of(sample, frame_of(connection, batch, unit, sample.instrument), coders, statistics)


def coding_of(
    sample: Sample, frame: Frame, coders: Mapping[str, Mapping[Place, str]], statistics: Mapping[str, Any]
) -> CodedUnits:
    """`coders` holds each coder's codes of the sample."""
    by_place: defaultdict[Place, list[str]] = defaultdict(list)
    for own_codes in coders.values():
        for place, code in own_codes.items():
            by_place[place].append(code)
    scale = frame.codebook.scale
    measures = _ratings(sample, frame, by_place, statistics) if scale else _rates(sample, frame, by_place, statistics)
    strata = {item.place: item.stratum for item in sample.chosen}
    sampled, coded = Counter(strata.values()), Counter(strata[place] for place in by_place)
    return CodedUnits(
        instrument=sample.instrument,
        sample=len(sample.chosen),
        coded=len(by_place),
        without_verdict=frame.missing,
        outdated=dict(Counter(item.stratum for item in frame.candidates)) != dict(sample.strata),
        strata={name: Stratum(count, sampled[name], coded[name]) for name, count in sample.strata.items()},
        coders={
            name: CoderCounts(len(own_codes), dict(sorted(Counter(own_codes.values()).items())))
            for name, own_codes in sorted(coders.items())
        },
        agreement=_agreement(sample, frame.codebook, coders, by_place),
        **measures,
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
        instruments = {name: with_kappa(entry, coded, frame.verdicts[name]) for name, entry in instruments.items()}
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


def _interval(node: Any, *keys: str) -> Interval | None:
    for key in keys:
        node = node.get(key) or {}
    return (float(node[0]), float(node[1])) if node else None


# -- ratings -------------------------------------------------------------------------------------------------


def _ratings(
    sample: Sample, frame: Frame, codes: Mapping[Place, Sequence[str]], statistics: Mapping[str, Any]
) -> dict[str, Any]:
    """Several coders' ratings of a side count as their mean."""
    coded: list[RatedTwice] = []
    unclear = 0
    for item in sample.chosen:
        values = [rating for code in codes.get(item.place, ()) if (rating := _rating(frame.codebook, code)) is not None]
        if values and item.place in frame.ratings:
            coded.append(RatedTwice(item.stratum, item.weight, frame.ratings[item.place], sum(values) / len(values)))
        elif codes.get(item.place):
            unclear += 1
    judged = statistics.get("judgements") or {}
    mean = sum(frame.ratings.values()) / len(frame.ratings) if frame.ratings else 0.0
    interval = _interval(statistics, "judgements", "ci95") if judged.get("mean") is not None else None
    scale = frame.codebook.scale or (0.0, 1.0)
    return {"unclear": unclear, "ratings": rating_difference(coded, sample.strata, mean, interval, scale)}


def _rating(codebook: CodeBook, code: str) -> float | None:
    """None: unclear, or in a stranger's file no code at all."""
    parsed = codebook.read(code)
    return None if parsed in (None, UNCLEAR) else float(str(parsed))


# -- agreement -----------------------------------------------------------------------------------------------


def _agreement(
    sample: Sample, codebook: CodeBook, coders: Mapping[str, Mapping[Place, str]], places: Mapping[Place, Sequence[str]]
) -> CodingAgreement:
    """Ratings are compared where both gave one; of codes, unclear is one of them."""
    distance: Callable[[Any, Any], float] = squared_distance if codebook.scale else nominal_distance

    def read(code: str) -> Any:
        return _rating(codebook, code) if codebook.scale else code

    units = [(item.weight, [read(code) for code in places.get(item.place, ())]) for item in sample.chosen]
    clear = [(weight, [code for code in codes if code is not None]) for weight, codes in units]
    pairs = tuple(_pairs(sample, coders, read, distance))
    return CodingAgreement("interval" if codebook.scale else "nominal", pairs, alpha(clear, distance))


def _pairs(
    sample: Sample,
    coders: Mapping[str, Mapping[Place, str]],
    read: Callable[[str], Any],
    distance: Callable[[Any, Any], float],
) -> Iterator[TwoCoders]:
    for first, second in combinations(sorted(coders), 2):
        both = [
            Paired(item.stratum, item.weight, codes)
            for item in sample.chosen
            if item.place in coders[first]
            and item.place in coders[second]
            and None not in (codes := (read(coders[first][item.place]), read(coders[second][item.place])))
        ]
        if not both:
            continue
        agreement = kappa(both, distance) if len(both) >= LEAST_PAIRED else None
        agree = sum(item.weight for item in both if item.codes[0] == item.codes[1]) / sum(item.weight for item in both)
        yield TwoCoders((first, second), len(both), 100 * agree, *(agreement or (None, None)))
