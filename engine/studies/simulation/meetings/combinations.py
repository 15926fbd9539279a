"""Which entities meet: a lazy stream of combinations that never holds C(n,k) of them.

Up to C(n,k) simulations are a seeded sample without repetition in which appearances differ by at most one;
more are every combination once, then again as numbered replicates. Whole passes walk the ranks of all
combinations in a seeded order. A sample is drawn in one of three ways:

- there is plenty of choice: deal the entities like cards, pass after pass, and trade cards within a pass
  where a hand was dealt before. Every prefix is balanced too: an interrupted batch is as fair as can be;
- few combinations exist, so that dealing might get stuck: draw at random, then trade members until all appear
  equally often. As long as x appears at least twice more than y, some combination can trade x for y and still
  be new, so this always ends;
- more than half of many are wanted: deal those to leave out, and walk the rest.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import comb
from random import Random

from tidepool.engine.call import stream
from tidepool.engine.errors import UsageError, located
from tidepool.engine.studies.simulation.meetings.dealing import Marks, deal, trade_until_balanced, unrank, walk

_TINY = 1_000
_FEW = 100_000
"""of so many combinations a sample may be held"""
MOST = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Combination:
    sequence_number: int
    """from 1, in the order of the batch"""
    members: tuple[int, ...]
    """positions in the list of chosen entities, rising"""
    replicate: int
    """1 when this combination meets for the first time, 2 for the second, …"""


def combinations(entities: int, size: int, count: int, seed: int) -> Iterator[Combination]:
    """`count` combinations of `size` out of `entities`; wrong numbers raise here, before any is drawn."""
    check_sizes(entities, size, count)
    return _combinations(entities, size, count, seed)


def check_sizes(entities: int, size: int, count: int) -> None:
    """Raises where so many entities cannot meet in this way, or where a batch could not hold it."""
    with located("simulation", "interaction_size"):
        if size < 1:
            raise UsageError(
                f"interaction_size is {size}, but at least one entity must take part: set it to 1 or more."
            )
        if size > entities:
            have = "1 entity was" if entities == 1 else f"{entities} entities were"
            raise UsageError(f"interaction_size is {size}, but only {have} chosen: add entities or make it smaller.")
    with located("simulation", "num_simulations"):
        if count < 1:
            raise UsageError(f"num_simulations is {count}: set it to 1 or more.")
        if count > MOST:
            raise UsageError(f"num_simulations is {count:,}, and a batch holds at most {MOST:,}: make it smaller.")


def combinations_possible(entities: int, size: int) -> int:
    return comb(entities, size)


def _combinations(entities: int, size: int, count: int, seed: int) -> Iterator[Combination]:
    # Choosing who takes part is choosing who stays away: the smaller side is the easier one to deal.
    folded = min(size, entities - size)
    total = comb(entities, size)
    number = 0
    for replicate in range(1, -(-count // total) + 1):
        rng = stream(seed, "combinations", entities, size, replicate)
        for members in _one_replicate(entities, folded, min(count - number, total), rng):
            number += 1
            yield Combination(number, members if folded == size else others(members, entities), replicate)


def others(members: tuple[int, ...], entities: int) -> tuple[int, ...]:
    away = set(members)
    return tuple(position for position in range(entities) if position not in away)


def _one_replicate(n: int, k: int, count: int, rng: Random) -> Iterator[tuple[int, ...]]:
    total = comb(n, k)
    if count == total:
        return (unrank(rank, k) for rank in walk(total, rng))
    if _plenty_of_choice(total, count):
        return deal(n, k, count, Marks.roomy(total, count), rng)
    if total <= _FEW:
        return iter(trade_until_balanced([unrank(r, k) for r in rng.sample(range(total), count)], n, rng))
    return _all_but(n, k, total - count, rng)


def _plenty_of_choice(total: int, count: int) -> bool:
    return count <= total // 2 if total > _FEW else total > _TINY and count <= total // 8


def _all_but(n: int, k: int, left_out: int, rng: Random) -> Iterator[tuple[int, ...]]:
    total = comb(n, k)
    order = walk(total, rng)
    out = Marks.exact(total)
    for members in deal(n, k, left_out, Marks.roomy(total, left_out), rng):
        out.add(members)
    return (unrank(rank, k) for rank in order if not out.has_rank(rank))
