"""Who meets whom, in which order, and how often: the schedule of a batch and its counts.

Rounds are counted through all games of a batch, so that short games do not repeat the same few pairs: with
four agents and games of one round, game 2 takes up the round robin where game 1 left it. A schedule is
generated as it is read; nothing but the current round is held. Games, rounds and sequence numbers count
from 1.

- round_robin: the circle method. Of each pair the other one opens at its next meeting, and within one cycle
  every agent opens as often as it answers, give or take one.
- random: a seeded shuffle of each round. A pair that met before swaps sides; otherwise the one opens who has
  opened less.
- ordered: a round is every ordered pair, each agent with itself included, so both sides are there by design.

A plan needs to know how often each agent opens, answers, and has heard others before. A schedule of a few thousand conversations is counted. A longer one repeats itself, so whole repetitions are worked out
and only the rest is counted: a plan of a million conversations must not take longer than one of a hundred.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, islice

from tidepool.engine.call import stream

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
        """Which of so many scenarios it is played with: they come round by round, for everybody."""
        return (self.round - 1) % scenarios if scenarios else None


@dataclass(frozen=True, slots=True)
class Round:
    game: int
    number: int
    meetings: tuple[PlannedConversation, ...]
    sits_out: tuple[str, ...]
    """agents with no conversation in this round: the odd one, or those the last round was cut short of"""


@dataclass(frozen=True, slots=True)
class Schedule:
    """`games` × `rounds`, or exactly `num_interactions` conversations.

    With `num_interactions` the batch plays whole rounds, the last one cut short. They are dealt to `games`
    games as evenly as whole rounds allow or, where `rounds` is given too, to as many games of that length as
    it takes.
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
        """conversations in all"""
        if self.num_interactions is None:
            return self.total_rounds * self.conversations_per_round
        return self.num_interactions

    def conversations_in_game(self, game: int) -> int:
        """How many conversations a game has, the cut of the last round included."""
        first, rounds = self.rounds_of_game(game)
        size = self.conversations_per_round
        return max(0, min(self.total, (first + rounds) * size) - first * size)

    def play(self) -> Iterator[Round]:
        pairs_of_rounds = _PAIRS[self.pairing](len(self.agents), self.seed)
        done = 0
        for (game, number), pairs in zip(self._numbers(), pairs_of_rounds, strict=False):
            pairs = pairs[: self.total - done]
            yield self._round(game, number, pairs, done)
            done += len(pairs)

    def ends_of_rounds(self) -> Iterator[tuple[int, int]]:
        """The game of each whole round, and the conversations up to its end: at no more than a step's cost a round."""
        size = self.conversations_per_round
        for place, (game, _) in enumerate(self._numbers(), 1):
            if place * size <= self.total:
                yield game, place * size

    def meetings(self) -> Iterator[PlannedConversation]:
        for a_round in self.play():
            yield from a_round.meetings

    def _numbers(self) -> Iterator[tuple[int, int]]:
        """The (game, round) of every round of the batch, in order."""
        for game in count(1):
            first, rounds = self.rounds_of_game(game)
            if first >= self.total_rounds:
                return
            yield from ((game, number) for number in range(1, rounds + 1))

    def rounds_of_game(self, game: int) -> tuple[int, int]:
        """The rounds before a game, and those in it."""
        total, earlier = self.total_rounds, game - 1
        if self.rounds or self.num_interactions is None:
            length = self.rounds or 1
            first = earlier * length
            return first, max(0, min(length, total - first))
        share, longer = divmod(total, self.games)
        if earlier >= self.games:
            return total, 0
        return earlier * share + min(earlier, longer), share + (earlier < longer)

    def _round(self, game: int, number: int, pairs: Sequence[Pair], done: int) -> Round:
        agents = self.agents
        meetings = tuple(
            PlannedConversation(position, game, number, agents[opener], agents[partner])
            for position, (opener, partner) in enumerate(pairs, done + 1)
        )
        if 2 * len(pairs) == len(agents) and self.pairing != "ordered":
            return Round(game, number, meetings, ())
        busy = {index for pair in pairs for index in pair}
        idle = tuple(name for index, name in enumerate(agents) if index not in busy)
        return Round(game, number, meetings, idle)


def _round_robin(size: int, seed: int) -> Iterator[list[Pair]]:
    seats = size + size % 2
    for index in count():
        cycle, turned = divmod(index, seats - 1)
        ring = [seats - 1, *((turned + step) % (seats - 1) for step in range(seats - 1))]
        facing = ((ring[k], ring[seats - 1 - k]) for k in range(seats // 2))
        yield [_by_turns(a, b, size, cycle) for a, b in facing if a < size and b < size]


def _by_turns(a: int, b: int, size: int, cycle: int) -> Pair:
    """Each opens against the half of the circle after it; every cycle swaps all sides."""
    distance = (b - a) % size
    a_opens = 2 * distance < size or (2 * distance == size and a < b)
    return (a, b) if a_opens == (cycle % 2 == 0) else (b, a)


def _random(size: int, seed: int) -> Iterator[list[Pair]]:
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

    for index in count():
        order = list(range(size))
        stream(seed, "pairing", index).shuffle(order)
        yield [sides(a, b) for a, b in zip(order[::2], order[1::2], strict=False)]


def _ordered(size: int, seed: int) -> Iterator[list[Pair]]:
    """By distance around the circle, so a round cut short has seen every agent about equally often."""
    shifts = [*range(1, size), 0]
    pairs = [(opener, (opener + shift) % size) for shift in shifts for opener in range(size)]
    while True:
        yield pairs


_PAIRS = {"round_robin": _round_robin, "random": _random, "ordered": _ordered}


COUNTED = 20_000
"""conversations that are counted one by one"""


@dataclass(frozen=True, slots=True)
class ScheduleTally:
    opened: Counter[str] = field(default_factory=Counter)
    answered: Counter[str] = field(default_factory=Counter)
    earlier_talks: Counter[str] = field(default_factory=Counter)
    """over all its conversations, how many of the same game came before"""


def tally_of(schedule: Schedule, most: int = COUNTED) -> ScheduleTally:
    return count_tally(schedule, schedule.total) if schedule.total <= most else estimate_tally(schedule, most)


def count_tally(schedule: Schedule, conversations: int) -> ScheduleTally:
    """The first so many conversations, one by one."""
    tally = ScheduleTally()
    played: Counter[str] = Counter()
    game = 0
    for meeting in islice(schedule.meetings(), conversations):
        if meeting.game != game:
            game = meeting.game
            played.clear()
        tally.opened[meeting.opener] += 1
        tally.answered[meeting.partner] += 1
        for name in {meeting.opener, meeting.partner}:
            tally.earlier_talks[name] += played[name]
            played[name] += 1
    return tally


def estimate_tally(schedule: Schedule, most: int = COUNTED) -> ScheduleTally:
    """Exact but for memories, and for a rest too long to count, which is scaled up."""
    repeats, per_repeat = _repetitions(schedule)
    remaining = schedule.total - repeats * per_repeat * len(schedule.agents)
    counted_rest = count_tally(schedule, min(remaining, most))
    earlier = _earlier_talks(schedule)
    return ScheduleTally(
        _scaled(counted_rest.opened, schedule.agents, remaining, repeats * per_repeat),
        _scaled(counted_rest.answered, schedule.agents, remaining, repeats * per_repeat),
        Counter(dict.fromkeys(schedule.agents, earlier)),
    )


def _repetitions(schedule: Schedule) -> tuple[int, int]:
    """(how often the schedule repeats itself, how often each agent opens, and answers, each time)"""
    size = len(schedule.agents)
    if schedule.pairing == "random":
        return 0, 0
    each = size if schedule.pairing == "ordered" else size - 1
    return schedule.total // (each * size), each


def _scaled(first: Counter[str], agents: tuple[str, ...], total: int, offset: int) -> Counter[str]:
    """As many as `total` in all, in the shares seen; the rounding goes to those who come first."""
    seen = first.total()
    shares = {name: first[name] * total // seen if seen else 0 for name in agents}
    for name in islice(agents, total - sum(shares.values())):
        shares[name] += 1
    return Counter({name: share + offset for name, share in shares.items()})


def _earlier_talks(schedule: Schedule) -> int:
    """Of one agent, taken to play as often as any: with so many talks in a game it hears 0 + 1 + 2 + … before."""
    size = len(schedule.agents)
    talks = schedule.total * ((2 * size - 1) / size**2 if schedule.pairing == "ordered" else 2 / size)
    games = -(-schedule.total_rounds // schedule.rounds) if schedule.rounds else schedule.games
    in_a_game = talks / max(1, games)
    return int(games * in_a_game * max(0.0, in_a_game - 1) / 2)
