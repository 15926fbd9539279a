"""The schedule of a batch: who meets whom, in which order, and how often.

Rounds are counted through all games of a batch, so that short games do not repeat the same few pairs. For example, with four
agents and games of one round, game 2 continues the round robin after game 1. A schedule is generated as it is read, and only
the current round is in memory. Games, rounds and sequence numbers count from 1.


- round_robin: the circle method. The two agents of a pair take turns to open. Within one cycle every agent opens as often as
  it answers, plus or minus one.
- random: a seeded shuffle of each round. A pair that met before swaps sides. Otherwise the agent that opened less often opens.
- ordered: a round contains every ordered pair, including each agent with itself, so both sides are covered by design.

Planning a million conversations must not take longer than planning a hundred. So a plan uses a sample and counts the first ones.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import count, islice

from tidepool.engine.call import stream

GOLDEN_RATIO = 0.618034
Pair = tuple[int, int]
"""positions of the opener and of its partner in the list of agents"""


@dataclass(frozen=True, slots=True)
class PlannedConversation:
    sequence_number: int
    game: int
    round: int
    opener: str
    partner: str

    def scenario_of(self, scenarios: int) -> int | None:
        """The index of the scenario, out of `scenarios`: scenarios change by round, for all pairs alike."""
        return (self.round - 1) % scenarios if scenarios else None


@dataclass(frozen=True, slots=True)
class Round:
    game: int
    number: int
    meetings: tuple[PlannedConversation, ...]
    sits_out: tuple[str, ...]
    """agents without a conversation in this round: the odd one, or those left out because the last round is cut short"""


@dataclass(frozen=True, slots=True)
class Schedule:
    """`games` × `rounds`, or exactly `num_interactions` conversations.

    With `num_interactions` the batch plays whole rounds, and the last one is cut short. The rounds are distributed over `games`
    games as evenly as possible. If `rounds` is also given, they form as many games of that length as necessary.
    """

    agents: tuple[str, ...]
    pairing: str = "round_robin"
    seed: int = 0
    games: int = 1
    rounds: int | None = None
    num_interactions: int | None = None

    @property
    def conversations_per_round(self) -> int:
        size = len(self.agents)
        return size * size if self.pairing == "ordered" else size // 2

    @property
    def total_rounds(self) -> int:
        if self.num_interactions is None:
            return self.games * (self.rounds or 1)
        return -(-self.num_interactions // self.conversations_per_round)

    @property
    def total(self) -> int:
        """conversations in total"""
        if self.num_interactions is None:
            return self.total_rounds * self.conversations_per_round
        return self.num_interactions

    def conversations_in_game(self, game: int) -> int:
        """The number of conversations of a game, including the cut of the last round."""
        first, rounds = self.rounds_of_game(game)
        size = self.conversations_per_round
        return max(0, min(self.total, (first + rounds) * size) - first * size)

    def play(self) -> Iterator[Round]:
        agents, done = self.agents, 0
        pairs_of_rounds = _PAIRS[self.pairing](len(agents), self.seed)
        for (game, number), pairs in zip(map(self._number, range(self.total_rounds)), pairs_of_rounds, strict=False):
            pairs = pairs[: self.total - done]
            meetings = tuple(
                PlannedConversation(position, game, number, agents[opener], agents[partner])
                for position, (opener, partner) in enumerate(pairs, done + 1)
            )
            idle: tuple[str, ...] = ()
            if 2 * len(pairs) != len(agents) or self.pairing == "ordered":
                busy = {index for pair in pairs for index in pair}
                idle = tuple(name for index, name in enumerate(agents) if index not in busy)
            yield Round(game, number, meetings, idle)
            done += len(pairs)

    def ends_of_rounds(self) -> Iterator[tuple[int, int]]:
        """The game of each whole round, and the number of conversations up to its end. Costs one step per round."""
        size = self.conversations_per_round
        for place in range(self.total // size):
            yield self._number(place)[0], (place + 1) * size

    def meetings(self) -> Iterator[PlannedConversation]:
        for a_round in self.play():
            yield from a_round.meetings

    def sample(self, count: int) -> Iterator[PlannedConversation]:
        """`count` conversations spread over the plan. For part of the random pairs, either agent may open."""
        if count >= self.total:
            yield from self.meetings()
            return
        for place in range(count):
            position = int(
                (place + place * GOLDEN_RATIO % 1) * self.total / count
            )  # a fixed step could hit a single round only
            index, within = divmod(position, self.conversations_per_round)
            drawn = 0 if self.pairing == "ordered" else index
            pairs = _pairs_of_round(self.pairing, len(self.agents), self.seed, drawn)
            (game, number), opener, partner = self._number(index), *pairs[within]
            yield PlannedConversation(position + 1, game, number, self.agents[opener], self.agents[partner])

    def _number(self, index: int) -> tuple[int, int]:
        """The game of a round of the batch, and the round's number in the game."""
        if self.rounds or self.num_interactions is None:
            game, number = divmod(index, self.rounds or 1)
        else:
            share, longer = divmod(self.total_rounds, self.games)
            if index < longer * (share + 1):
                game, number = divmod(index, share + 1)
            else:
                game, number = divmod(index - longer, share)
        return game + 1, number + 1

    def rounds_of_game(self, game: int) -> tuple[int, int]:
        """The number of rounds before a game, and in it."""
        total, earlier = self.total_rounds, game - 1
        if self.rounds or self.num_interactions is None:
            length = self.rounds or 1
            first = earlier * length
            return first, max(0, min(length, total - first))
        share, longer = divmod(total, self.games)
        if earlier >= self.games:
            return total, 0
        return earlier * share + min(earlier, longer), share + (earlier < longer)


def _round_robin(size: int, seed: int, first: int = 0) -> Iterator[list[Pair]]:
    seats = size + size % 2
    for index in count(first):
        cycle, turned = divmod(index, seats - 1)
        ring = [seats - 1, *((turned + step) % (seats - 1) for step in range(seats - 1))]
        facing = ((ring[k], ring[seats - 1 - k]) for k in range(seats // 2))
        yield [_by_turns(a, b, size, cycle) for a, b in facing if a < size and b < size]


def _by_turns(a: int, b: int, size: int, cycle: int) -> Pair:
    """Each agent opens against the half of the circle after it; every cycle swaps all sides."""
    distance = (b - a) % size
    a_opens = 2 * distance < size or (2 * distance == size and a < b)
    return (a, b) if a_opens == (cycle % 2 == 0) else (b, a)


def _random(size: int, seed: int, first: int = 0) -> Iterator[list[Pair]]:
    last_opener: dict[tuple[int, int], int] = {}
    opened: defaultdict[int, int] = defaultdict(int)

    def sides(a: int, b: int) -> Pair:
        pair_met = (a, b) if a < b else (b, a)
        before = last_opener.get(pair_met)
        if before == a or (before is None and opened[a] > opened[b]):
            a, b = b, a
        last_opener[pair_met] = a
        opened[a] += 1
        opened[b] -= 1
        return a, b

    for index in count(first):
        order = list(range(size))
        stream(seed, "pairing", index).shuffle(order)
        yield [sides(a, b) for a, b in zip(order[::2], order[1::2], strict=False)]


def _ordered(size: int, seed: int, first: int = 0) -> Iterator[list[Pair]]:
    """By distance around the circle, so that in a partial round all agents occur about equally often."""
    shifts = [*range(1, size), 0]
    pairs = [(opener, (opener + shift) % size) for shift in shifts for opener in range(size)]
    while True:
        yield pairs


_PAIRS = {"round_robin": _round_robin, "random": _random, "ordered": _ordered}


@lru_cache(maxsize=8)
def _pairs_of_round(pairing: str, size: int, seed: int, index: int) -> list[Pair]:
    return next(_PAIRS[pairing](size, seed, index))


COUNTED = 10_000
"""how many conversations are counted one by one"""


Tally = tuple[dict[str, int], dict[str, int]]
"""by agent: how often it opens, and how often it answers"""


def tally_of(schedule: Schedule) -> Tally:
    """Counted, or extrapolated from the first conversations."""
    opened, answered = Counter[str](), Counter[str]()
    for meeting in islice(schedule.meetings(), COUNTED):
        opened[meeting.opener] += 1
        answered[meeting.partner] += 1
    scale = max(1.0, schedule.total / COUNTED)
    first, second = ({name: round(scale * sides[name]) for name in schedule.agents} for sides in (opened, answered))
    return first, second
