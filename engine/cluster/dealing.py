"""How a bunch of calls is dealt to hands: even, and in pieces that are worth a message."""

import heapq
from collections.abc import Mapping
from typing import TypeVar

PIECE = 20
"""calls that are worth a message of their own"""

H = TypeVar("H")


def dealt(count: int, loads: Mapping[H, int], piece: int = PIECE) -> list[tuple[H, int]]:
    """How many of so many calls each hand gets, by what each has in flight already.

    Few calls go to one hand, the least busy: each hand more would be a message more. Many are dealt so that all have
    about as much to do in the end.
    """
    if not count or not loads:
        return []
    taking = max(1, min(len(loads), count // piece))
    places = {hand: place for place, hand in enumerate(loads)}
    chosen = heapq.nsmallest(taking, loads, key=lambda hand: (loads[hand], places[hand]))
    heap = [(loads[hand], place) for place, hand in enumerate(chosen)]
    heapq.heapify(heap)
    shares = [0] * taking
    for _ in range(count):
        load, place = heap[0]
        shares[place] += 1
        heapq.heapreplace(heap, (load + 1, place))
    return [(hand, share) for hand, share in zip(chosen, shares, strict=True) if share]
