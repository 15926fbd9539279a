"""What was counted: simulations, and for each entity how much it said and how it was judged.

Only completed simulations are measured; the others are counted as missing. Counts of equal values instead of lists
keep this small for any number of simulations.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tidepool.engine.statistics.clusters import Total

# Scripts written without spaces: there each character counts.
_WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]|[^\s\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+"
)


def words_in(text: str) -> int:
    return len(_WORD.findall(text))


MEASURES = ("words", "turns", "rating")
Values = tuple[float, float, float | None]
"""an entity's in one simulation, by measure; the rating may be missing"""


class Sums:
    """Of values: a sum and a number for each measure."""

    __slots__ = ("counts", "sums")

    def __init__(self) -> None:
        self.sums, self.counts = [0.0, 0.0, 0.0], [0, 0, 0]

    def add(self, values: Values) -> None:
        for place, value in enumerate(values):
            if value is not None:
                self.sums[place] += value
                self.counts[place] += 1

    def of(self, measure: str) -> Total:
        place = MEASURES.index(measure)
        return self.sums[place], self.counts[place]


@dataclass(slots=True)
class EntityCounts:
    """How often each value occurred, by simulation the entity took part in."""

    words: Counter[float] = field(default_factory=Counter)
    turns: Counter[float] = field(default_factory=Counter)
    ratings: Counter[float] = field(default_factory=Counter)
    unrated: int = 0
    beside: dict[str, Sums] = field(default_factory=dict)
    """what each other entity came to in the simulations they share"""
    combinations: dict[int, Sums] = field(default_factory=dict)
    """its own values by combination; empty where none was repeated"""

    @property
    def simulations(self) -> int:
        return self.turns.total()

    def own(self, measure: str) -> Counter[float]:
        return {"words": self.words, "turns": self.turns, "rating": self.ratings}[measure]

    def total(self, measure: str) -> Total:
        values = self.own(measure)
        return sum(value * times for value, times in values.items()), values.total()


@dataclass(slots=True)
class TypeCounts:
    simulations: int = 0
    completed: int = 0
    failed: int = 0
    messages: int = 0
    words: int = 0


@dataclass(slots=True)
class SpeechTally:
    types: dict[str, TypeCounts] = field(default_factory=dict)
    entities: dict[str, EntityCounts] = field(default_factory=dict)
    combinations: set[int] = field(default_factory=set)
    """hashes of those that met and completed"""
    unsplit: int = 0
    """messages of no entity: narrated rounds in which no name was found"""
    repeated: bool = False
    """combinations meet more than once"""

    def unfinished(self, kind: str, status: str) -> None:
        counts = self.types.setdefault(kind, TypeCounts())
        counts.simulations += 1
        counts.failed += status == "failed"

    def completed(
        self,
        kind: str,
        cast: Iterable[str],
        said: Iterable[tuple[str, str]],
        ratings: Iterable[tuple[str, float | None]],
    ) -> None:
        """One completed simulation: who took part, who said what, and each entity's rating (None: missing)."""
        names = tuple(cast)
        combination = hash(tuple(sorted(names)))
        self.combinations.add(combination)
        words, turns = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
        for speaker, text in said:
            if speaker in words:
                words[speaker] += words_in(text)
                turns[speaker] += 1
            else:
                self.unsplit += 1
        for name in names:
            counts = self.entities.setdefault(name, EntityCounts())
            counts.words[words[name]] += 1
            counts.turns[turns[name]] += 1
        given = dict(ratings)
        for name, rating in given.items():
            self._rate(name, rating)
        values = {name: (words[name], turns[name], given.get(name)) for name in names}
        self._share(values, combination)
        self._count(kind, sum(turns.values()), sum(words.values()))

    def _share(self, values: Mapping[str, Values], combination: int) -> None:
        for name in values:
            counts = self.entities[name]
            for other, own in values.items():
                if other != name:
                    counts.beside.setdefault(other, Sums()).add(own)
            if self.repeated:
                counts.combinations.setdefault(combination, Sums()).add(values[name])

    def _rate(self, name: str, rating: float | None) -> None:
        counts = self.entities.setdefault(name, EntityCounts())
        if rating is None:
            counts.unrated += 1
        else:
            counts.ratings[rating] += 1

    def _count(self, kind: str, messages: int, words: int) -> None:
        counts = self.types.setdefault(kind, TypeCounts())
        counts.simulations += 1
        counts.completed += 1
        counts.messages += messages
        counts.words += words
