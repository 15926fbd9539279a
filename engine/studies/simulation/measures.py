"""What was counted: simulations, and for each entity how much it said and how it was judged.

Only completed simulations are measured; the others are counted as missing. Counts of equal values instead of lists
keep this small for any number of simulations.
"""

import re
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tidepool.engine.statistics.clusters import Total
from tidepool.engine.statistics.labels import Array, numbered

# Scripts written without spaces: there each character counts.
_WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]|[^\s\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+"
)

_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")


def words_in(text: str) -> int:
    spaced = text.isascii() or not _UNSPACED.search(text)
    return len(text.split()) if spaced else len(_WORD.findall(text))


MEASURES = ("words", "turns", "rating")
Values = tuple[float, float, float | None]
"""an entity's in one simulation, by measure; the rating may be missing"""
_MISSING = float("nan")


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


class SharedTalks:
    """Who talked with whom, and what each came to there: one row for each entity of each simulation.

    Leaving an entity out means leaving out all its talks, with everything the others said in them. Kept by pair of entities
    that would be a dictionary as large as the batch; as columns it is thirty bytes a row, summed when it is asked for.
    """

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._entity, self._talk = array("i"), array("i")
        self._values = tuple(array("d") for _ in MEASURES)
        self._talks = 0

    def add(self, values: Iterable[tuple[str, Values]]) -> None:
        """One simulation: its entities with what each came to."""
        words, turns, ratings = self._values
        for name, (said, spoke, rating) in values:
            self._entity.append(self._places.setdefault(name, len(self._places)))
            self._talk.append(self._talks)
            words.append(said)
            turns.append(spoke)
            ratings.append(_MISSING if rating is None else rating)
        self._talks += 1

    def in_talks_of(self, measure: str, members: Collection[str]) -> dict[str, Total]:
        """For each of these entities, what all of them came to in the simulations that it was in."""
        import numpy

        entity, talk, values = self._known(measure)
        wanted = numpy.zeros(len(self._places), dtype=bool)
        wanted[[self._places[name] for name in members if name in self._places]] = True
        rows = wanted[entity]
        entity, talk, values = entity[rows], talk[rows], values[rows]
        sums, times = numpy.bincount(talk, values), numpy.bincount(talk)
        size = len(self._places)
        own = numpy.bincount(entity, sums[talk], minlength=size).tolist()
        counts = numpy.bincount(entity, times[talk], minlength=size).astype(int).tolist()
        return {name: (own[place], counts[place]) for name in members if (place := self._places.get(name)) is not None}

    def between(self, measure: str) -> dict[tuple[str, str], Total]:
        """What the second of two came to in the simulations that it shares with the first."""
        import numpy

        entity, talk, values = self._known(measure)
        size = len(self._places)
        codes, beside = [], []
        for apart in range(1, int(numpy.bincount(talk).max(initial=0))):
            together = talk[apart:] == talk[:-apart]
            first, second = entity[:-apart][together].astype("int64"), entity[apart:][together].astype("int64")
            codes += [first * size + second, second * size + first]
            beside += [values[apart:][together], values[:-apart][together]]
        if not codes:
            return {}
        pairs, place = numbered(numpy.concatenate(codes))
        sums, times = numpy.bincount(place, numpy.concatenate(beside)), numpy.bincount(place)
        names = list(self._places)
        found = zip(pairs.tolist(), sums.tolist(), times.tolist(), strict=True)
        return {(names[pair // size], names[pair % size]): (total, count) for pair, total, count in found}

    def _known(self, measure: str) -> tuple[Array, Array, Array]:
        """The rows that have a value; copies, for columns that are looked at cannot grow."""
        import numpy

        columns: list[Any] = [self._entity, self._talk, self._values[MEASURES.index(measure)]]
        entity, talk, values = (numpy.array(column) for column in columns)
        known = ~numpy.isnan(values)
        return (entity, talk, values) if known.all() else (entity[known], talk[known], values[known])


@dataclass(slots=True)
class EntityCounts:
    """How often each value occurred, by simulation the entity took part in."""

    words: Counter[float] = field(default_factory=Counter)
    turns: Counter[float] = field(default_factory=Counter)
    ratings: Counter[float] = field(default_factory=Counter)
    unrated: int = 0
    talks: SharedTalks | None = None
    """its simulations, and those of all others of the tally; None where it shares none with anybody"""
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
    talks: SharedTalks = field(default_factory=SharedTalks)

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
            counts = self._entity(name)
            counts.words[words[name]] += 1
            counts.turns[turns[name]] += 1
        given = dict(ratings)
        for name, rating in given.items():
            self._rate(name, rating)
        values = {name: (words[name], turns[name], given.get(name)) for name in names}
        self._share(values, combination)
        self._count(kind, sum(turns.values()), sum(words.values()))

    def _share(self, values: Mapping[str, Values], combination: int) -> None:
        self.talks.add(values.items())
        if self.repeated:
            for name, own in values.items():
                self.entities[name].combinations.setdefault(combination, Sums()).add(own)

    def _entity(self, name: str) -> EntityCounts:
        found = self.entities.get(name)
        if found is None:
            found = self.entities[name] = EntityCounts(talks=self.talks)
        return found

    def _rate(self, name: str, rating: float | None) -> None:
        counts = self._entity(name)
        if rating is None:
            counts.unrated += 1
        else:
            counts.ratings[rating] += 1

    def _count(self, kind: str, messages: int, words: int) -> None:
        counts = self.types.get(kind) or self.types.setdefault(kind, TypeCounts())
        counts.simulations += 1
        counts.completed += 1
        counts.messages += messages
        counts.words += words
