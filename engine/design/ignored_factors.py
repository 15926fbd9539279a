"""Factors that a simulated model does not react to: foreseen from what it reads of its first requests, and measured from its
replies. A study of them finds no effect, whatever a real model would do."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from tidepool.engine.call import Call
from tidepool.engine.config.frozen import FrozenConfig
from tidepool.engine.providers.simulated.responders import reading_of
from tidepool.engine.results.method_words import listing
from tidepool.engine.results.simulated_roles import is_simulated
from tidepool.engine.studies.kinds import load_kind
from tidepool.storage.exporting.provenance import ReplyPairs, compare_replies
from tidepool.storage.study_rows.studies import StoredCell

Levels = Mapping[str, str]
MOST_COMPARED = 50
"""cells that are held against the first one"""


def foreseen(kind: str, cells: Sequence[tuple[Levels, FrozenConfig]], *, paired: bool) -> list[str]:
    """Warnings for a plan; `cells` are those of one replicate."""
    requests = load_kind(kind).first_requests
    if requests is None or not cells:
        return []
    reference = list(requests(cells[0][1]))
    found = []
    for levels, config in islice(cells[1:], MOST_COMPARED):
        if (changed := _changed(cells[0][0], levels, paired)) and (
            models := _ignoring(reference, list(requests(config)))
        ):
            read, their = ("reads", "its") if len(models) == 1 else ("read", "their")
            found.append(
                f"Contrast {_contrast(changed)}: {listing(models)} {read} the same from the requests of both, so {their} replies "
                "will be identical and no effect can show. Real models may react."
            )
    return found


def _ignoring(reference: Sequence[Call], others: Sequence[Call]) -> list[str]:
    """Simulated models that read the same from different requests; none if any model reads a difference."""
    pairs = [(one, other) for one, other in zip(reference, others, strict=False) if one != other]
    alike = all(
        is_simulated(one.model) and one.model == other.model and reading_of(one) == reading_of(other)
        for one, other in pairs
    )
    return list(dict.fromkeys(one.model for one, _ in pairs)) if alike and len(reference) == len(others) else []


def measured(connection: sqlite3.Connection, cells: Sequence[StoredCell], *, paired: bool) -> Iterator[dict[str, Any]]:
    """Levels at which all replies of simulated models to different requests are the same, with the number of replies."""
    seen: dict[tuple[tuple[str, str, str], ...], list[ReplyPairs]] = {}
    first = {cell.replicate: cell for cell in reversed(cells)}
    for cell in islice(cells, MOST_COMPARED):
        if changed := _changed(first[cell.replicate].levels, cell.levels, paired):
            numbers = first[cell.replicate].batch["number"], cell.batch["number"]
            seen.setdefault(changed, []).append(compare_replies(connection, *numbers))
    for changed, pairs in seen.items():
        replies = sum(one.replies for one in pairs)
        if replies and all(one.identical for one in pairs):
            models = sorted({model for one in pairs for model in one.models})
            yield {"contrast": _contrast(changed), "models": models, "replies": replies}


def measured_words(found: Mapping[str, Any]) -> str:
    return (
        f"Contrast {found['contrast']}: {found['replies']:,} of {found['replies']:,} compared replies of {listing(found['models'])} to requests "
        "that differ are identical. "
        f"The simulated model{'s' * (len(found['models']) > 1)} did not react to this factor, so the study cannot show an effect of it."
    )


def _changed(reference: Levels, levels: Levels, paired: bool) -> tuple[tuple[str, str, str], ...]:
    """(factor, level, level of the reference) of one factor, or of all that go in step; nothing where several differ."""
    was = {name: reference.get(name, "") for name in levels}
    changed = tuple((name, level, was[name]) for name, level in levels.items() if level != was[name])
    return changed if len(changed) == 1 or paired else ()


def _contrast(changed: Sequence[tuple[str, str, str]]) -> str:
    return ", ".join(f"{factor}: {level} - {reference}" for factor, level, reference in changed)
