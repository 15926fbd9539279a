"""The workers of a cluster that a running batch's live calls leave from, as its last heartbeat has them."""

import json
from dataclasses import dataclass

LONGEST_NODE = 200
MOST_HANDS = 1_000
_FIGURES = ("process", "in_flight", "returned", "per_second")


@dataclass(frozen=True, slots=True)
class HandLine:
    node: str
    process: int
    in_flight: int
    returned: int
    per_second: float


def hands_in(limits: str) -> tuple[HandLine, ...]:
    """As far as they are hands: of a file that somebody changed, nothing."""
    found = json.loads(limits).get("hands", [])
    rows = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
    return tuple(
        HandLine(one["node"][:LONGEST_NODE], *(one[name] for name in _FIGURES))
        for one in rows[:MOST_HANDS]
        if isinstance(one.get("node"), str) and all(isinstance(one.get(name), int | float) for name in _FIGURES)
    )
