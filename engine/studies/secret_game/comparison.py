"""Is one batch more talkative than another? Secrets revealed in a conversation (0, 1 or 2), batch against batch.

Where two batches played the same schedule, conversation by conversation the same two agents met, and the
difference is taken within each meeting; otherwise the batches are two samples, each with its own clusters.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.results.summary import checked
from tidepool.engine.statistics.comparisons import pairwise
from tidepool.engine.statistics.contrasts import FEWEST_TESTED, Contrast, within
from tidepool.engine.statistics.rates import Rate, gap_interval, p_value_of
from tidepool.engine.studies.secret_game.findings import records
from tidepool.engine.studies.secret_game.findings.clustering import Clustering
from tidepool.engine.studies.secret_game.findings.played_with import PlayedWith
from tidepool.engine.studies.secret_game.findings.shares import overall_rate
from tidepool.storage.queries.conversations import reveals_by_meeting

COMMON = 0.9
"""share of the conversations of both batches that must be the same meeting"""
METHODS = {
    "t": "Student's test of the differences of matched talks",
    "Bonett–Price": "Bonett and Price's interval of matched talks",
    "bounded": "Wilson's interval of the mean difference of matched talks",
    "MOVER": "the two rates' own intervals, joined (MOVER)",
}


@dataclass(frozen=True, slots=True)
class _Batch:
    linked: bool
    clustering: Clustering
    meetings: dict[tuple[int, str, str], tuple[int, int | None, int]]
    """(sequence number, opener, partner) → game, scenario, secrets revealed"""


def differences(connection: sqlite3.Connection, batches: Sequence[sqlite3.Row]) -> list[dict[str, Any]]:
    played = [_batch(connection, batch) for batch in batches]
    return pairwise([batch["id"] for batch in batches], played, _told, "secrets revealed in a conversation")


def _batch(connection: sqlite3.Connection, batch: sqlite3.Row) -> _Batch:
    played = PlayedWith.of(StoredConfig(batch["config"], checked))
    sides = records.sides_of(connection, batch["number"])
    meetings = {tuple(row[:3]): tuple(row[3:]) for row in reveals_by_meeting(connection, batch["id"])}
    return _Batch(played.linked, Clustering(sides, linked=played.linked), meetings)  # type: ignore[arg-type]


def _told(first: _Batch, second: _Batch) -> dict[str, Any] | None:
    common = [meeting for meeting in first.meetings if meeting in second.meetings]
    paired = bool(common) and len(common) >= COMMON * max(len(first.meetings), len(second.meetings))
    found = _matched(first, second, common) if paired else _apart(first, second)
    if found is None:
        return None
    return {
        "paired": paired,
        "conversations": len(common) if paired else [len(first.meetings), len(second.meetings)],
        "clusters": found.clusters,
        "difference": found.difference,
        "difference_ci95": found.interval and list(found.interval),
        "method": METHODS[found.method],
        "p_value": found.p_value,
    }


def _matched(first: _Batch, second: _Batch, common: Sequence[tuple[int, str, str]]) -> Contrast | None:
    import numpy

    ours, theirs = ([batch.meetings[meeting] for meeting in common] for batch in (first, second))
    gaps = numpy.array([one[2] - other[2] for one, other in zip(ours, theirs, strict=True)])
    ways = [
        numpy.array([one[0] for one in played]) for batch, played in ((first, ours), (second, theirs)) if batch.linked
    ]
    ways = sorted(ways, key=lambda games: len(set(games.tolist())))[:1]
    for batch, played in ((first, ours), (second, theirs)):
        if batch.clustering.by_scenario and len(ways) < 2:
            ways.append(numpy.array([one[1] or 0 for one in played]))
            break
    return within(gaps, numpy.zeros(len(gaps), dtype=int), ways, most=2.0)


def _apart(first: _Batch, second: _Batch) -> Contrast | None:
    one, other = _rate(first), _rate(second)
    if one is None or other is None:
        return None
    interval = gap_interval(one, other)
    fewest = min(batch.clustering.fewest for batch in (first, second))
    by_talk = first.clustering.by_talk and second.clustering.by_talk
    tested = interval is not None and (by_talk or fewest >= FEWEST_TESTED)
    p_value = p_value_of(partial(gap_interval, one, other)) if tested else None
    return Contrast(one.mean - other.mean, interval, p_value, "MOVER", fewest)


def _rate(batch: _Batch) -> Rate | None:
    """Secrets in a conversation: twice the share of sides that revealed."""
    rate = overall_rate(batch.clustering)
    return rate and Rate(2 * rate.mean, rate.effective, rate.freedom, rate.count, (0.0, 2.0))
