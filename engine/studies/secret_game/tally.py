"""How often each agent opens, answers, and has heard before: what a plan needs to know of a schedule.

A schedule of a few thousand conversations is counted. A longer one repeats itself, so whole repetitions are worked out
and only the rest is counted: a plan of a million conversations must not take longer than one of a hundred.
"""

from collections import Counter
from dataclasses import dataclass, field
from itertools import islice

from tidepool.engine.studies.secret_game.pairing import Schedule

COUNTED = 20_000
"""conversations that are counted one by one"""


@dataclass(frozen=True, slots=True)
class ScheduleTally:
    opened: Counter[str] = field(default_factory=Counter)
    answered: Counter[str] = field(default_factory=Counter)
    heard_before: Counter[str] = field(default_factory=Counter)
    """over all its conversations, how many of the same game came before"""


def tally_of(schedule: Schedule, most: int = COUNTED) -> ScheduleTally:
    return counted(schedule, schedule.total) if schedule.total <= most else worked_out(schedule, most)


def counted(schedule: Schedule, conversations: int) -> ScheduleTally:
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
            tally.heard_before[name] += played[name]
            played[name] += 1
    return tally


def worked_out(schedule: Schedule, most: int = COUNTED) -> ScheduleTally:
    """Exact but for memories, and for a rest too long to count, which is scaled up."""
    whole, each = _repetitions(schedule)
    rest = schedule.total - whole * each * len(schedule.agents)
    first = counted(schedule, min(rest, most))
    heard = _heard_before(schedule)
    return ScheduleTally(
        _scaled(first.opened, schedule.agents, rest, whole * each),
        _scaled(first.answered, schedule.agents, rest, whole * each),
        Counter(dict.fromkeys(schedule.agents, heard)),
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


def _heard_before(schedule: Schedule) -> int:
    """Of one agent, taken to play as often as any: with so many talks in a game it hears 0 + 1 + 2 + … before."""
    size = len(schedule.agents)
    talks = schedule.total * ((2 * size - 1) / size**2 if schedule.pairing == "ordered" else 2 / size)
    games = -(-schedule.total_rounds // schedule.rounds) if schedule.rounds else schedule.games
    in_a_game = talks / max(1, games)
    return int(games * in_a_game * max(0.0, in_a_game - 1) / 2)
