"""Combinations as numbers: each k-subset has a rank, so all of them can be walked without being listed."""

from collections.abc import Iterator
from math import comb, gcd
from random import Random


def walk(total: int, rng: Random) -> Iterator[int]:
    """Every number below `total` once, in a seeded order that needs no memory."""
    start, step = rng.randrange(total), _stride(total, rng)
    return ((start + index * step) % total for index in range(total))


def _stride(total: int, rng: Random) -> int:
    while True:
        step = rng.randrange(total // 3, total)
        if gcd(step, total) == 1:
            return step


def rank_of(members: tuple[int, ...]) -> int:
    """The place of a rising tuple in colexicographic order, the same whatever n is."""
    return sum(comb(member, place) for place, member in enumerate(members, 1))


def unrank(rank: int, k: int) -> tuple[int, ...]:
    members = [0] * k
    for place in range(k, 0, -1):
        member = _largest(rank, place)
        rank -= comb(member, place)
        members[place - 1] = member
    return tuple(members)


def _largest(rank: int, place: int) -> int:
    """The largest member with comb(member, place) <= rank."""
    if place == 1:
        return rank
    low, high = place - 1, place
    while comb(high, place) <= rank:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if comb(middle, place) <= rank:
            low = middle
        else:
            high = middle
    return low
