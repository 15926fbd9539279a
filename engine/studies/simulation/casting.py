"""Chooses who takes part in each simulation, as a stream that never holds all C(n,k) combinations in memory.

Entities come from the config, a file and the library, and are frozen once. Up to C(n,k) simulations are a seeded sample without
repetition, in which appearances differ by at most one. With more simulations, every combination occurs once, then again as a
numbered replicate. Whole passes visit the ranks of all combinations in a seeded order. A sample is drawn in one of three ways:

- If there are many combinations: deal the entities like cards, pass after pass, and swap cards within a pass if a hand was dealt
  before. Every prefix is balanced too, so an interrupted batch is balanced.
- If there are few combinations: draw at random, then swap members until all appear equally often. As long as x appears at least
  twice more than y, some combination can swap x for y and still be new, so this always ends.
- If more than half of many combinations are wanted: deal those to leave out, and visit the rest.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import comb, gcd
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, cast

from tidepool.engine.call import stream
from tidepool.engine.config.entities import Entity, checked_name, entity_from, read_entities, refuse_duplicates
from tidepool.engine.config.toml_files import named_file, read_text
from tidepool.engine.errors import RunError, UsageError, located

if TYPE_CHECKING:
    from tidepool.engine.config.sections import Config, ConfigSections
    from tidepool.engine.studies.simulation.config import SimulationSettings


Members = tuple[int, ...]

_SWAPS = 500
_SHUFFLES = 200


class Marks:
    """A set of dealt combinations, in a fixed number of bits.

    With fewer bits than combinations, two of them may share a bit. Then a new combination appears as dealt, and the dealer
    finds another one. A dealt combination never appears as new.
    """

    def __init__(self, bits: int) -> None:
        self._bits = bits
        self._bytes = bytearray(bits // 8 + 1)

    @classmethod
    def sized_for(cls, total: int, count: int) -> "Marks":
        """At most four bytes per combination, regardless of their number."""
        return cls(min(total, 32 * count + 1024))

    def add(self, members: Members) -> None:
        bit = rank_of(members) % self._bits
        self._bytes[bit >> 3] |= 1 << (bit & 7)

    def has(self, members: Members) -> bool:
        return self.has_rank(rank_of(members))

    def has_rank(self, rank: int) -> bool:
        bit = rank % self._bits
        return bool(self._bytes[bit >> 3] & 1 << (bit & 7))


def draw_groups(n: int, k: int, count: int, drawn: Marks, rng: Random) -> Iterator[Members]:
    """`count` distinct hands of k, each entity once per pass through the deck.

    A hand may span two passes, so appearances never differ by more than one, whether or not k divides n.
    """
    while count:
        decks = min(k // gcd(n, k), -(-count * k // n))
        for members in _GroupSampler(n, k, decks, drawn, rng).new_groups():
            drawn.add(members)
            yield members
            count -= 1
            if not count:
                return


class _GroupSampler:
    """A few passes through the deck, cut into hands of k. Returns the hands only when all of them are new."""

    def __init__(self, n: int, k: int, decks: int, drawn: Marks, rng: Random) -> None:
        self._n = n
        self._k = k
        self._decks = decks
        self._drawn = drawn
        self._rng = rng
        self._cards: list[int] = []
        self._fresh: set[Members] = set()

    def new_groups(self) -> list[Members]:
        for _ in range(_SHUFFLES):
            self._shuffle()
            if all(self._place(number) for number in range(len(self._cards) // self._k)):
                return [self._group(number) for number in range(len(self._cards) // self._k)]
        raise RunError(
            f"Tidepool found no more new combinations of {self._k} of the {self._n} entities in which all appear equally often. "
            "Choose another seed, or fewer simulations."
        )

    def _shuffle(self) -> None:
        self._cards = []
        self._fresh.clear()
        for _ in range(self._decks):
            deck = list(range(self._n))
            self._rng.shuffle(deck)
            self._cards += deck

    def _group(self, number: int) -> Members:
        return tuple(sorted(self._cards[number * self._k : number * self._k + self._k]))

    def _is_new(self, members: Members) -> bool:
        return len(set(members)) == self._k and members not in self._fresh and not self._drawn.has(members)

    def _place(self, number: int) -> bool:
        if not self._is_new(self._group(number)) and not self._swap(number):
            return False
        self._fresh.add(self._group(number))
        return True

    def _swap(self, number: int) -> bool:
        """Swaps a card with another of the same pass, so that this hand becomes new and earlier ones stay new."""
        cards = self._cards
        for _ in range(_SWAPS):
            own = self._rng.randrange(number * self._k, number * self._k + self._k)
            deck = own // self._n * self._n
            swapped = self._rng.randrange(deck, deck + self._n)
            other = swapped // self._k
            if other == number:
                continue
            before = self._group(other)
            cards[own], cards[swapped] = cards[swapped], cards[own]
            members, after = self._group(number), self._group(other)
            if self._is_new(members) and (other > number or self._is_new(after)) and members != after:
                if other < number:
                    self._fresh.remove(before)
                    self._fresh.add(after)
                return True
            cards[own], cards[swapped] = cards[swapped], cards[own]
        return False


def swap_until_balanced(sample: Sequence[Members], n: int, rng: Random) -> list[Members]:
    """The sample with the fewest swaps that make appearances differ by at most one."""
    chosen = list(sample)
    used = set(chosen)
    seen = Counter(dict.fromkeys(range(n), 0))
    seen.update(member for members in chosen for member in members)
    while True:
        often = max(range(n), key=seen.__getitem__)
        seldom = min(range(n), key=seen.__getitem__)
        if seen[often] - seen[seldom] <= 1:
            return chosen
        place, members = _find_swap(chosen, used, often, seldom, rng)
        used.remove(chosen[place])
        used.add(members)
        chosen[place] = members
        seen[often] -= 1
        seen[seldom] += 1


def _find_swap(chosen: list[Members], used: set[Members], often: int, seldom: int, rng: Random) -> tuple[int, Members]:
    start = rng.randrange(len(chosen))
    for step in range(len(chosen)):
        place = (start + step) % len(chosen)
        members = chosen[place]
        if often in members and seldom not in members:
            swapped = tuple(sorted(seldom if member == often else member for member in members))
            if swapped not in used:
                return place, swapped
    raise AssertionError("an entity that appears twice more than another can always be swapped for it")


# -- combinations as numbers: each k-subset has a rank, so all of them can be walked without being listed -------


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
    """The index of an ascending tuple in colexicographic order, independent of n."""
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
    high = place
    while comb(high, place) <= rank:
        high *= 2
    return bisect_right(range(high), rank, key=lambda member: comb(member, place)) - 1


_TINY = 1_000
_FEW = 100_000
"""a sample of at most this many combinations may be held in memory"""


@dataclass(frozen=True, slots=True)
class Combination:
    sequence_number: int
    """from 1, in the order of the batch"""
    members: tuple[int, ...]
    """positions in the list of chosen entities, ascending"""
    replicate: int
    """1 when this combination meets for the first time, 2 for the second, …"""


def combinations(entities: int, size: int, count: int, seed: int) -> Iterator[Combination]:
    """`count` combinations of `size` out of `entities`."""
    # Choosing participants equals choosing those left out. The smaller group is easier to deal.
    folded = min(size, entities - size)
    total = comb(entities, size)
    number = 0
    for replicate in range(1, -(-count // total) + 1):
        rng = stream(seed, "combinations", entities, size, replicate)
        for members in _one_replicate(entities, folded, min(count - number, total), rng):
            number += 1
            if folded < size:
                away = set(members)
                members = tuple(position for position in range(entities) if position not in away)
            yield Combination(number, members, replicate)


def _one_replicate(n: int, k: int, count: int, rng: Random) -> Iterator[tuple[int, ...]]:
    total = comb(n, k)
    if count == total:
        return (unrank(rank, k) for rank in walk(total, rng))
    plenty_of_choice = count <= total // 2 if total > _FEW else total > _TINY and count <= total // 8
    if plenty_of_choice:
        return draw_groups(n, k, count, Marks.sized_for(total, count), rng)
    if total <= _FEW:
        return iter(swap_until_balanced([unrank(r, k) for r in rng.sample(range(total), count)], n, rng))
    return _all_but(n, k, total - count, rng)


def _all_but(n: int, k: int, left_out: int, rng: Random) -> Iterator[tuple[int, ...]]:
    total = comb(n, k)
    order = walk(total, rng)
    out = Marks(total)
    for members in draw_groups(n, k, left_out, Marks.sized_for(total, left_out), rng):
        out.add(members)
    return (unrank(rank, k) for rank in order if not out.has_rank(rank))


@dataclass(frozen=True, slots=True)
class CastMember:
    id: str
    """its id in the library, or its name if it was never in one"""
    entity: Entity

    def as_record(self) -> dict[str, Any]:
        return {"id": self.id, **self.entity.as_record()}


def settings_of(config: "ConfigSections") -> "SimulationSettings":
    return cast("SimulationSettings", config.settings)


def cast_of(config: "ConfigSections") -> list[CastMember]:
    """All entities that may meet, in the order of the config."""
    with located("entities"):
        members = [_member(record, place) for place, record in enumerate(config.entities)]
        refuse_duplicates((member.entity for member in members), "The batch")
        seen: set[str] = set()
        for place, member in enumerate(members):
            if member.id in seen:
                message = f"The batch lists the entity id {member.id!r} twice. List each entity once."
                raise UsageError(message, (place,))
            seen.add(member.id)
    return members


def freeze(config: "Config", folder: Path | None) -> "Config":
    """The config with its context and the entities of its file included."""
    settings = settings_of(config)
    records: list[Mapping[str, Any]] = list(config.entities)
    if settings.entity_file:
        path = named_file(settings.entity_file, folder, "simulation", "entity_file")
        with located("simulation", "entity_file"):
            records += [entity.as_record() for entity in read_entities(path)]
    update: dict[str, Any] = {"context": _context(settings, folder), "context_file": None, "entity_file": None}
    frozen = config.model_copy(update={"settings": settings.model_copy(update=update), "entities": records})
    members = cast_of(frozen)
    _check(len(members), settings.interaction_size)
    return frozen.model_copy(update={"entities": [member.as_record() for member in members]})


def _check(entities: int, size: int) -> None:
    if not entities:
        raise UsageError(
            "The simulation has no entities. List them under [[entities]], or set entity_file, or set entity_ids from "
            "the library (`tidepool entities list`).",
            ("entities",),
        )
    if size > entities:
        have = "1 entity was" if entities == 1 else f"{entities} entities were"
        raise UsageError(
            f"interaction_size is {size}, but only {have} chosen. Add entities or lower interaction_size.",
            ("simulation", "interaction_size"),
        )


def _context(settings: "SimulationSettings", folder: Path | None) -> str:
    context = settings.context
    if settings.context_file:
        path = named_file(settings.context_file, folder, "simulation", "context_file")
        with located("simulation", "context_file"):
            context = read_text(path)
    if not context.strip():
        message = "simulation.context is empty. Describe the situation of the entities, or set context_file."
        raise UsageError(message, ("simulation", "context"))
    return context.strip()


def _member(record: Mapping[str, Any], place: int) -> CastMember:
    where = f"entity {place + 1}"
    with located(place):
        entity = entity_from(record, where)
        with located("id"):
            return CastMember(checked_name(record.get("id") or entity.name, f"{where}, id"), entity)
