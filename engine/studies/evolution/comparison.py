"""Whose champion is better? Held-out accuracy, batch against batch.

Batches of one seed and one problem set have the same held-out problems, so they are compared problem by problem;
others are two samples. Either way the champions were chosen on training problems only.
"""

import sqlite3
from collections import Counter
from collections.abc import Sequence
from typing import Any

from tidepool.engine.statistics.comparisons import compare_samples, pairwise
from tidepool.engine.statistics.intervals import mean_interval
from tidepool.engine.statistics.permutations import mean_difference_p_value
from tidepool.engine.studies.evolution.evaluation.validation import paired_p_value
from tidepool.engine.studies.evolution.over_seeds import RUNS
from tidepool.engine.studies.evolution.records.finding_names import VALIDATION
from tidepool.engine.studies.several_seeds import groups_of, seed_differences
from tidepool.storage.queries.summary import finding

Scores = Sequence[float | None]
"""by held-out problem; None: not answered"""


def differences(connection: sqlite3.Connection, batches: Sequence[sqlite3.Row]) -> list[dict[str, Any]]:
    """Of batches that came to their end; where a config was run with several seeds, of whole runs."""
    groups = groups_of(connection, batches, RUNS)
    if len(groups) < len(batches):
        return seed_differences(groups, RUNS)
    seed = batches[0]["seed"] % 2**32
    judged = [_judged(connection, batch["number"]) for batch in batches]
    ids = [batch["id"] for batch in batches]
    return pairwise(
        ids, judged, lambda ours, theirs: _compared(ours, theirs, seed), "held-out accuracy of the champion"
    )


def _judged(connection: sqlite3.Connection, batch_number: int) -> dict[str, Any] | None:
    return finding(connection, batch_number, VALIDATION)


def _compared(first: dict[str, Any] | None, second: dict[str, Any] | None, seed: int) -> dict[str, Any] | None:
    if first is None or second is None:
        return None
    paired = first["problems"] == second["problems"]
    scores = (first["champion"], second["champion"])
    found = _paired(*scores, seed) if paired else _samples(*scores, seed)
    return {"paired": paired, **found} if found else None


def _paired(first: Scores, second: Scores, seed: int) -> dict[str, Any] | None:
    """A problem that one of them was not answered says nothing."""
    both = zip(first, second, strict=True)
    gaps = [ours - theirs for ours, theirs in both if ours is not None and theirs is not None]
    if not gaps:
        return None
    return {
        "problems": len(gaps),
        "difference": sum(gaps) / len(gaps),
        "difference_ci95": mean_interval(gaps, seed),
        "p_value": paired_p_value(gaps, seed),
    }


def _samples(first: Scores, second: Scores, seed: int) -> dict[str, Any] | None:
    ours, theirs = ([one for one in scores if one is not None] for scores in (first, second))
    found = compare_samples(Counter(ours), Counter(theirs), seed)
    if found is None:
        return None
    return {
        "problems": [len(ours), len(theirs)],
        "difference": found.difference,
        "difference_ci95": found.interval,
        "p_value": _p_of_means(ours, theirs, seed),
    }


def _p_of_means(ours: Sequence[float], theirs: Sequence[float], seed: int) -> float:
    """A permutation test of the means. A test of ranks would tell one model's rights and wrongs from the shares that
    several models have right, though both are as good."""
    if len({*ours, *theirs}) == 1:
        return 1.0
    return mean_difference_p_value(ours, theirs, seed)
