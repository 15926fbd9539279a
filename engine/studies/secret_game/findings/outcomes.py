"""The outcomes of a batch as counts: all that its statistics are made of.

A row is one side of a finished conversation, as in the view `outcomes`. What one side revealed the other
obtained, so a row alone tells whether both, one or none revealed, and no row needs its other half to be
counted. A talk of an agent with itself counts as two interactions of that agent, one for each side.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

Key = TypeVar("Key", str, tuple[str, str], bool)


class SideOutcome(NamedTuple):
    conversation_id: int | str
    mode: str
    game: int
    agent: str
    opponent: str
    opener: bool
    """whether this side opened"""
    revealed: bool
    obtained: bool
    detector: str | None
    turn: int | None
    score: float | None


Pair = tuple[str, str]
"""two agents in alphabetical order"""


def pair_of(agent: str, opponent: str) -> Pair:
    return (agent, opponent) if agent <= opponent else (opponent, agent)


@dataclass(slots=True)
class SideCounts:
    """What a set of sides came to."""

    none: int = 0
    only_revealed: int = 0
    only_obtained: int = 0
    both: int = 0
    scores: Counter[float] = field(default_factory=Counter)
    unscored: int = 0

    @property
    def interactions(self) -> int:
        return self.none + self.only_revealed + self.only_obtained + self.both

    @property
    def revealed(self) -> int:
        return self.only_revealed + self.both

    @property
    def obtained(self) -> int:
        return self.only_obtained + self.both

    @property
    def score(self) -> float:
        return sum(value * times for value, times in self.scores.items())

    def add(self, other: "SideCounts") -> None:
        self.none += other.none
        self.only_revealed += other.only_revealed
        self.only_obtained += other.only_obtained
        self.both += other.both
        self.scores.update(other.scores)
        self.unscored += other.unscored


class PairCell(NamedTuple):
    """The sides that are counted together."""

    agent: str
    opponent: str
    opener: bool
    mode: str


def count_sides(rows: Iterable[SideOutcome]) -> dict[PairCell, SideCounts]:
    """Sides by agent, opponent, opener and mode: one pass, however many rows."""
    times: Counter[tuple[str, str, bool, str, bool, bool, float | None]] = Counter(
        (row[3], row[4], row[5], row[1], row[6], row[7], row[10]) for row in rows
    )
    cells: dict[PairCell, SideCounts] = {}
    for (agent, opponent, opener, mode, revealed, obtained, score), count in times.items():
        counts = cells.setdefault(PairCell(agent, opponent, bool(opener), mode), SideCounts())
        _add_sides(counts, bool(revealed), bool(obtained), score, count)
    return cells


def _add_sides(counts: SideCounts, revealed: bool, obtained: bool, score: float | None, count: int) -> None:
    if revealed:
        if obtained:
            counts.both += count
        else:
            counts.only_revealed += count
    elif obtained:
        counts.only_obtained += count
    else:
        counts.none += count
    if score is None:
        counts.unscored += count
    else:
        counts.scores[score] += count


def gather(cells: Mapping[PairCell, SideCounts], key: Callable[[PairCell], Key]) -> dict[Key, SideCounts]:
    """The counts of all cells with the same key, by key in order."""
    gathered: dict[Key, SideCounts] = {}
    for cell, counts in cells.items():
        gathered.setdefault(key(cell), SideCounts()).add(counts)
    return dict(sorted(gathered.items()))


def by_agent(cell: PairCell) -> str:
    return cell.agent


def by_direction(cell: PairCell) -> tuple[str, str]:
    return cell.agent, cell.opponent


def by_pair(cell: PairCell) -> Pair:
    return pair_of(cell.agent, cell.opponent)


def whole(cells: Mapping[PairCell, SideCounts]) -> SideCounts:
    total = SideCounts()
    for counts in cells.values():
        total.add(counts)
    return total
