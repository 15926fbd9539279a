"""Balanced samples of combinations: dealing entities like cards, and trading members between combinations."""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import comb, gcd
from random import Random

from tidepool.engine.errors import RunError

Members = tuple[int, ...]

_TRADES = 500
_SHUFFLES = 200


class Marks:
    """Which combinations were dealt, in a fixed number of bits.

    With fewer bits than combinations two of them may share one; then a new one is taken for dealt, and the
    dealer just finds another. It never happens the other way round.
    """

    def __init__(self, bits: int) -> None:
        self._bits = bits
        self._bytes = bytearray(bits // 8 + 1)

    @classmethod
    def exact(cls, total: int) -> "Marks":
        return cls(total)

    @classmethod
    def roomy(cls, total: int, count: int) -> "Marks":
        """Four bytes a combination at most, however many there are."""
        return cls(min(total, 32 * count + 1024))

    def add(self, members: Members) -> None:
        bit = rank_of(members) % self._bits
        self._bytes[bit >> 3] |= 1 << (bit & 7)

    def has(self, members: Members) -> bool:
        return self.has_rank(rank_of(members))

    def has_rank(self, rank: int) -> bool:
        bit = rank % self._bits
        return bool(self._bytes[bit >> 3] & 1 << (bit & 7))


def deal(n: int, k: int, count: int, dealt: Marks, rng: Random) -> Iterator[Members]:
    """`count` hands of k, none twice, each entity once per pass through the deck.

    A hand may straddle two passes, so appearances never differ by more than one, whether or not k divides n.
    """
    while count:
        decks = min(k // gcd(n, k), -(-count * k // n))
        for hand in _DealTable(n, k, decks, dealt, rng).new_hands():
            dealt.add(hand)
            yield hand
            count -= 1
            if not count:
                return


class _DealTable:
    """A few passes through the deck, cut into hands of k, none of them shown before all of them are new."""

    def __init__(self, n: int, k: int, decks: int, dealt: Marks, rng: Random) -> None:
        self._n = n
        self._k = k
        self._decks = decks
        self._dealt = dealt
        self._rng = rng
        self._cards: list[int] = []
        self._fresh: set[Members] = set()

    def new_hands(self) -> list[Members]:
        for _ in range(_SHUFFLES):
            self._shuffle()
            if all(self._place(number) for number in range(len(self._cards) // self._k)):
                return [self._hand(number) for number in range(len(self._cards) // self._k)]
        raise RunError(
            f"No further new combinations of {self._k} out of {self._n} entities were found that keep their "
            "appearances equal. Choose another seed, or fewer simulations."
        )

    def _shuffle(self) -> None:
        self._cards = []
        self._fresh.clear()
        for _ in range(self._decks):
            deck = list(range(self._n))
            self._rng.shuffle(deck)
            self._cards += deck

    def _hand(self, number: int) -> Members:
        return tuple(sorted(self._cards[number * self._k : number * self._k + self._k]))

    def _is_new(self, hand: Members) -> bool:
        return len(set(hand)) == self._k and hand not in self._fresh and not self._dealt.has(hand)

    def _place(self, number: int) -> bool:
        hand = self._hand(number)
        if not self._is_new(hand) and not self._trade(number):
            return False
        self._fresh.add(self._hand(number))
        return True

    def _trade(self, number: int) -> bool:
        """Swap a card with another of the same pass, so that this hand is new and those before it stay so."""
        cards = self._cards
        for _ in range(_TRADES):
            mine = self._rng.randrange(number * self._k, number * self._k + self._k)
            deck = mine // self._n * self._n
            theirs = self._rng.randrange(deck, deck + self._n)
            other = theirs // self._k
            if other == number:
                continue
            before = self._hand(other)
            cards[mine], cards[theirs] = cards[theirs], cards[mine]
            hand, after = self._hand(number), self._hand(other)
            if self._is_new(hand) and (other > number or self._is_new(after)) and hand != after:
                if other < number:
                    self._fresh.remove(before)
                    self._fresh.add(after)
                return True
            cards[mine], cards[theirs] = cards[theirs], cards[mine]
        return False


def trade_until_balanced(sample: Sequence[Members], n: int, rng: Random) -> list[Members]:
    """The sample with as few members traded as it takes to make appearances differ by at most one."""
    chosen = list(sample)
    held = set(chosen)
    seen = Counter(dict.fromkeys(range(n), 0))
    seen.update(member for members in chosen for member in members)
    while True:
        often = max(range(n), key=seen.__getitem__)
        seldom = min(range(n), key=seen.__getitem__)
        if seen[often] - seen[seldom] <= 1:
            return chosen
        place, members = _tradable(chosen, held, often, seldom, rng)
        held.remove(chosen[place])
        held.add(members)
        chosen[place] = members
        seen[often] -= 1
        seen[seldom] += 1


def _tradable(chosen: list[Members], held: set[Members], often: int, seldom: int, rng: Random) -> tuple[int, Members]:
    start = rng.randrange(len(chosen))
    for step in range(len(chosen)):
        place = (start + step) % len(chosen)
        members = chosen[place]
        if often in members and seldom not in members:
            traded = tuple(sorted(seldom if member == often else member for member in members))
            if traded not in held:
                return place, traded
    raise AssertionError("an entity that appears twice more than another can always be traded for it")


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
