"""The `coding` statistics of a batch: progress and agreement of coders, accuracy of instruments, and corrected rates."""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from tidepool.engine.coding.sample import (
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
from tidepool.engine.inference.corrected import Share, corrected, kappa, two_groups
from tidepool.engine.inference.intervals import Interval
from tidepool.storage.codes import Place, anybody_coded, codes

LEAST_OF_AN_AGENT = 20
"""number of coded sides from which an agent has its own rate"""
LEAST_PAIRED = 10
"""number of sides coded by two coders from which their kappa is shown"""


def with_coding(connection: sqlite3.Connection, batch: Mapping[str, Any], statistics: dict[str, Any]) -> dict[str, Any]:
    """The statistics, with a key `coding` if the batch has codes."""
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
    return {**statistics, "coding": {"sides": coded}}


def coding_of(
    sample: Sample,
    frame: Frame,
    codebook: CodeBook,
    coders: Mapping[str, Mapping[Place, str]],
    statistics: Mapping[str, Any],
) -> dict[str, Any]:
    """`coders` holds each coder's codes of the sample. `outdated`: the batch has grown since the sample was drawn."""
    by_place: defaultdict[Place, list[str]] = defaultdict(list)
    for own_codes in coders.values():
        for place, code in own_codes.items():
            by_place[place].append(code)
    compared = dict(sorted(coders.items()))
    if codebook.scale:  # treat the judge as another coder
        compared[JUDGE] = {place: f"{rating:g}" for place, rating in frame.ratings.items() if place in by_place}
    strata = {item.place: item.stratum for item in sample.chosen}
    sampled, coded = Counter(strata.values()), Counter(strata[place] for place in by_place)
    return {
        "instrument": frame.instrument,
        "sample": len(sample.chosen),
        "coded": len(by_place),
        "without_verdict": frame.missing,
        "outdated": frame.strata() != sample.strata,
        "strata": {
            name: {"batch": count, "sampled": sampled[name], "coded": coded[name]}
            for name, count in sample.strata.items()
        },
        "coders": {
            name: {"coded": len(own_codes), "codes": dict(sorted(Counter(own_codes.values()).items()))}
            for name, own_codes in sorted(coders.items())
        },
        "agreement": list(_agreement(codebook, compared)),
        "unclear": 0,
        **({} if codebook.scale else _rates(sample, frame, by_place, statistics)),
    }


Judged = tuple[Place, float, bool]
"""a side of the sample with a clear code: its weight, and whether the code is yes"""


def majority(codes: Iterable[str]) -> str:
    """The code of most coders; unclear on a tie."""
    counts = Counter(codes).most_common(2)
    return UNCLEAR if len(counts) > 1 and counts[0][1] == counts[1][1] else counts[0][0]


def _rates(
    sample: Sample, frame: Frame, codes: Mapping[Place, Sequence[str]], statistics: Mapping[str, Any]
) -> dict[str, Any]:
    """`unclear` sides are left out: the coders chose unclear, or there is a tie."""
    votes = {one: majority(codes[one.place]) for one in sample.chosen if one.place in codes}
    clear = {one: vote == YES for one, vote in votes.items() if vote in (YES, NO)}
    # The clear sides of a stratum represent all of it.
    total: defaultdict[str, float] = defaultdict(float)
    for one in clear:
        total[one.stratum] += one.weight
    judged = [
        (one.place, one.weight * sample.strata[one.stratum] / total[one.stratum], yes)
        for one, yes in clear.items()
        if one.place in frame.agents
    ]
    agents = {
        name: _corrected_rate(frame, judged, _interval(statistics, "agents", name, "times_revealed_secret_ci95"), name)
        for name in sorted(set(frame.agents.values()))
    }
    rates = {
        "unclear": len(votes) - len(clear),
        "instruments": {name: _accuracy(judged, verdicts) for name, verdicts in frame.verdicts.items()},
        "agents": {name: rate for name, rate in agents.items() if rate and rate["coded"] >= LEAST_OF_AN_AGENT},
    }
    overall = _corrected_rate(frame, judged, _interval(statistics, "overall", "secrets_revealed_ci95"))
    return rates | ({"corrected": overall} if overall else {})


def _interval(node: Any, *keys: str) -> Interval | None:
    for key in keys:
        node = node.get(key) or {}
    return (float(node[0]), float(node[1])) if node else None


def _accuracy(coded: Sequence[Judged], verdicts: Mapping[Place, bool]) -> dict[str, Any]:
    """Of an instrument against the coders, weighted back to the batch; None if there are too few codes. `if_positive`: the share
    of truly positive sides among those that it calls positive; `if_negative`: the share among the others."""
    rows = [(weight, verdicts[place], yes) for place, weight, yes in coded if place in verdicts]
    positives, hits = sum(verdicts.values()), sum(positive for _, positive, _ in rows)
    negatives = len(verdicts) - positives
    groups = two_groups(positives, negatives, rows)
    return {
        "positives": positives,
        "negatives": negatives,
        "coded_positives": hits,
        "coded_negatives": len(rows) - hits,
        "sensitivity_percentage": _percent(groups.sensitivity if groups else None),
        "specificity_percentage": _percent(groups.specificity if groups else None),
        **_share("if_positive", groups.if_positive if groups and positives else None),
        **_share("if_negative", groups.if_negative if groups and negatives else None),
    }


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value


def _share(name: str, share: Share | None) -> dict[str, Any]:
    if share is None:
        return {f"{name}_percentage": None, f"{name}_ci95": None}
    return {f"{name}_percentage": 100 * share.value, f"{name}_ci95": [100 * share.low, 100 * share.high]}


def _corrected_rate(
    frame: Frame, coded: Sequence[Judged], raw: Interval | None, agent: str | None = None
) -> dict[str, Any] | None:
    """Of the batch, or of one agent; None if a group of its sides has no codes. `raw` is the interval, in percent, of the
    share that the detectors call positive."""
    verdicts = {
        place: verdict
        for place, verdict in frame.verdicts[frame.instrument].items()
        if agent in (None, frame.agents[place])
    }
    rows = [(weight, verdicts[place], yes) for place, weight, yes in coded if place in verdicts]
    positives = sum(verdicts.values())
    if (groups := two_groups(positives, len(verdicts) - positives, rows)) is None:
        return None
    share = None if raw is None else corrected(groups, (raw[0] / 100, raw[1] / 100))
    return {
        "coded": len(rows),
        "raw_percentage": 100 * groups.called,
        "raw_ci95": raw and list(raw),
        **_share("corrected", share),
        "corrected_percentage": 100 * groups.rate,
    }


def _agreement(codebook: CodeBook, coders: Mapping[str, Mapping[Place, str]]) -> Iterator[dict[str, Any]]:
    """Compares ratings that both coders gave. Of other codes, unclear is one of them."""
    for first, second in combinations(coders, 2):
        common = [place for place in coders[first] if place in coders[second]]
        codes = [(_read(codebook, coders[first][place]), _read(codebook, coders[second][place])) for place in common]
        both = [(a, b) for a, b in codes if a is not None and b is not None]
        if both:
            yield {
                "coders": [first, second],
                "both": len(both),
                "agree_percentage": 100 * sum(a == b for a, b in both) / len(both),
                "kappa": kappa(both) if len(both) >= LEAST_PAIRED else None,
            }


def _read(codebook: CodeBook, code: str) -> str | float | None:
    """A rating as a number; None: unclear, or invalid in an untrusted file."""
    if codebook.scale is None:
        return code
    parsed = codebook.read(code)
    return None if parsed in (None, UNCLEAR) else float(str(parsed))
