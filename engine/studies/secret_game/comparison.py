"""Is one batch more talkative than another? Secrets revealed in a conversation (0, 1 or 2), batch against batch.

Where two batches played the same schedule, conversation by conversation the same two agents met, and the
difference is taken within each meeting; otherwise the batches are two samples.
"""

import sqlite3
from collections import Counter
from collections.abc import Sequence
from typing import Any

from tidepool.engine.statistics.comparisons import compare_paired, compare_samples, pairwise
from tidepool.storage.study_rows.secret_game import reveals_by_meeting

Meetings = dict[tuple[int, str, str], int]
"""(sequence number, opener, partner) → secrets revealed"""

COMMON = 0.9
"""share of the conversations of both batches that must be the same meeting"""


def differences(connection: sqlite3.Connection, batches: Sequence[sqlite3.Row]) -> list[dict[str, Any]]:
    seed = batches[0]["seed"] % 2**32
    played = [_meetings(connection, batch["id"]) for batch in batches]
    ids = [batch["id"] for batch in batches]
    return pairwise(
        ids, played, lambda ours, theirs: _compared(ours, theirs, seed), "secrets revealed in a conversation"
    )


def _meetings(connection: sqlite3.Connection, batch_id: str) -> Meetings:
    rows = reveals_by_meeting(connection, batch_id)
    return {(number, opener, partner): revealed for number, opener, partner, revealed in rows}


def _compared(first: Meetings, second: Meetings, seed: int) -> dict[str, Any] | None:
    common = [meeting for meeting in first if meeting in second]
    paired = bool(common) and len(common) >= COMMON * max(len(first), len(second))
    if paired:
        found = compare_paired([first[m] for m in common], [second[m] for m in common], seed)
    else:
        found = compare_samples(Counter(first.values()), Counter(second.values()), seed)
    if found is None:
        return None
    return {
        "paired": paired,
        "conversations": found.pairs if paired else [len(first), len(second)],
        "difference": found.difference,
        "difference_ci95": list(found.interval),
        "effect_size": found.effect_size,
        "p_value": found.p_value,
    }
