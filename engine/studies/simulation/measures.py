"""What was counted: simulations, and for each entity how much it said and how it was judged.

Only completed simulations are measured; the others are counted as missing. Simulations are taken in many at a time and
kept as columns, one row for each entity of each: nothing here is an object for each simulation.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, compress, repeat

from tidepool.engine.statistics.clusters import Total
from tidepool.engine.statistics.labels import Array, numbered
from tidepool.engine.statistics.words import words_in_each
from tidepool.storage.queries.units import SpokenPage

MEASURES = ("words", "turns", "rating")
_MISSING = float("nan")
_NOTHING_SAID = ((), (), ())


class SharedTalks:
    """Who talked with whom, and what each came to there: one row for each entity of each simulation.

    Leaving an entity out means leaving out all its talks, with everything the others said in them. Kept by pair of entities
    that would be a dictionary as large as the batch; as columns it is thirty bytes a row, summed when it is asked for.
    """

    def __init__(self) -> None:
        self.places: dict[str, int] = {}
        """of each entity that was seen, its number"""
        self.number = 0
        """of simulations"""
        self._parts: dict[str, list[Array]] = {}

    def numbers_of(self, names: Sequence[str]) -> Array:
        import numpy

        for name in dict.fromkeys(names):
            self.places.setdefault(name, len(self.places))
        return numpy.fromiter(map(self.places.__getitem__, names), dtype=int, count=len(names))

    def add(self, talks: int, **columns: Array) -> None:
        """So many simulations more; `entity`, `talk` (its place among them) and the measures, by row."""
        columns["talk"] = columns["talk"] + self.number
        for name, column in columns.items():
            self._parts.setdefault(name, []).append(column.astype("int32" if name in ("entity", "talk") else float))
        self.number += talks

    def column(self, name: str) -> Array:
        import numpy

        parts = self._parts.get(name) or [numpy.zeros(0, dtype=int)]
        if len(parts) > 1:
            parts[:] = [numpy.concatenate(parts)]
        return parts[0]

    def known(self, measure: str) -> tuple[Array, Array, Array]:
        """Entity, talk and value of the rows that have one."""
        import numpy

        columns = self.column("entity"), self.column("talk"), self.column(measure)
        known = ~numpy.isnan(columns[2])
        entity, talk, values = columns if known.all() else (column[known] for column in columns)
        return entity, talk, values

    def in_talks_of(self, measure: str, groups: Sequence[Collection[str]]) -> list[dict[str, Total]]:
        """For each entity of each group, what all of its group came to in the simulations that it was in.

        Nobody is in two groups.
        """
        import numpy

        group = numpy.full(len(self.places), -1)
        for place, members in enumerate(groups):
            group[[self.places[name] for name in members if name in self.places]] = place
        size, number = len(self.places), len(groups)
        entity, talk, values = self.known(measure)
        rows = group[entity] >= 0
        if not rows.all():
            entity, talk, values = entity[rows], talk[rows], values[rows]
        cell = talk.astype(int) * number + group[entity]
        sums, times = numpy.bincount(cell, values), numpy.bincount(cell)
        own, counts = numpy.bincount(entity, sums[cell], size), numpy.bincount(entity, times[cell], size)
        told = list(zip(own.tolist(), counts.astype(int).tolist(), strict=True))
        return [{name: told[self.places[name]] for name in members if name in self.places} for members in groups]

    def between(self, measure: str) -> dict[tuple[str, str], Total]:
        """What the second of two came to in the simulations that it shares with the first."""
        import numpy

        entity, talk, values = self.known(measure)
        size = len(self.places)
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
        names = list(self.places)
        found = zip(pairs.tolist(), sums.tolist(), times.tolist(), strict=True)
        return {(names[pair // size], names[pair % size]): (total, count) for pair, total, count in found}


@dataclass(slots=True)
class EntityCounts:
    """How often each value occurred, by simulation the entity took part in."""

    words: Counter[float] = field(default_factory=Counter)
    turns: Counter[float] = field(default_factory=Counter)
    ratings: Counter[float] = field(default_factory=Counter)
    unrated: int = 0
    talks: SharedTalks | None = None
    """its simulations, and those of all others of the tally; None where it shares none with anybody"""
    combinations: Mapping[str, Sequence[Total]] = field(default_factory=dict)
    """by measure its own values in each combination; empty where none was repeated"""
    _totals: dict[str, Total] = field(default_factory=dict)

    @property
    def simulations(self) -> int:
        return self.turns.total()

    def own(self, measure: str) -> Counter[float]:
        return {"words": self.words, "turns": self.turns, "rating": self.ratings}[measure]

    def total(self, measure: str) -> Total:
        """Worked out once: every attribute asks for it."""
        if measure not in self._totals:
            values = self.own(measure)
            self._totals[measure] = sum(value * times for value, times in values.items()), values.total()
        return self._totals[measure]


@dataclass(slots=True)
class TypeCounts:
    simulations: int = 0
    completed: int = 0
    failed: int = 0
    messages: int = 0
    words: int = 0


class SpeechTally:
    def __init__(self, *, repeated: bool = False) -> None:
        """`repeated`: combinations meet more than once."""
        self.types: dict[str, TypeCounts] = {}
        self.unsplit = 0
        """messages of no entity: narrated rounds in which no name was found"""
        self.repeated = repeated
        self.talks = SharedTalks()
        self._met: list[Array] = []
        """of each simulation that completed, a number that its combination alone has"""
        self._given: list[tuple[Array, Array]] = []
        """entities and what a judge gave them"""
        self._entities: dict[str, EntityCounts] | None = None

    def completed(
        self,
        kind: str,
        cast: Iterable[str],
        said: Iterable[tuple[str, str]],
        ratings: Iterable[tuple[str, float | None]],
    ) -> None:
        """One completed simulation: who took part, who said what, and each entity's rating (None: missing)."""
        told, given = list(said), [(0, *one) for one in ratings]
        speakers, texts = [speaker for speaker, _ in told], [text.encode() for _, text in told]
        self.take(SpokenPage([0], ["completed"], [kind], [list(cast)], ([0] * len(told), speakers, texts), given))

    def unfinished(self, kind: str, status: str) -> None:
        self.take(SpokenPage([0], [status], [kind], [[]], _NOTHING_SAID, ()))

    def rated(self, talks: Sequence[tuple[list[str], Sequence[tuple[str, float | None]]]]) -> None:
        """Completed simulations of which nothing is known but who took part and how they were rated."""
        given = [(place, *one) for place, (_, ratings) in enumerate(talks) for one in ratings]
        number = len(talks)
        casts = [cast for cast, _ in talks]
        self.take(SpokenPage(range(number), ["completed"] * number, [""] * number, casts, _NOTHING_SAID, given))

    def take(self, page: SpokenPage) -> None:
        """Simulations that follow one another, completed or not."""
        import numpy

        self._entities = None
        for (kind, status), times in Counter(zip(page.kinds, page.statuses, strict=True)).items():
            counts = self.types.setdefault(kind, TypeCounts())
            counts.simulations += times
            counts.completed += times if status == "completed" else 0
            counts.failed += times if status == "failed" else 0
        whole = [status == "completed" for status in page.statuses]
        casts, kinds = list(compress(page.casts, whole)), list(compress(page.kinds, whole))
        units = numpy.array(page.units, dtype=int)[whole]
        given = {(unit, name): rating for unit, name, rating in page.ratings}
        entity = self.talks.numbers_of(list(chain.from_iterable(casts)))
        rated = self.talks.numbers_of([name for _, name in given])
        rows = _Rows(units, numpy.repeat(numpy.arange(len(casts)), list(map(len, casts))), entity)
        words, turns = self._spoken(rows, *page.said)
        rating = self._rated(rows, [unit for unit, _ in given], rated, list(given.values()))
        self.talks.add(len(casts), entity=rows.entity, talk=rows.talk, words=words, turns=turns, rating=rating)
        self._met.append(rows.combinations())
        self._count_by_kind(kinds, rows.talk, words, turns)

    def _spoken(
        self, rows: "_Rows", units: Sequence[int], speakers: Sequence[str], texts: Sequence[bytes]
    ) -> tuple[Array, Array]:
        """Words and turns of each row."""
        import numpy

        numbers = map(self.talks.places.get, speakers, repeat(-1))
        in_whole, row = rows.of(units, numpy.fromiter(numbers, dtype=int, count=len(speakers)))
        split = row >= 0
        self.unsplit += int((in_whole & ~split).sum())
        row, number = row[split], len(rows.entity)
        return numpy.bincount(row, words_in_each(texts)[split], number), numpy.bincount(row, minlength=number)

    def _rated(self, rows: "_Rows", units: Sequence[int], entity: Array, ratings: Sequence[float | None]) -> Array:
        """The rating of each row; who was not there may have been rated too."""
        import numpy

        values = numpy.array([_MISSING if rating is None else rating for rating in ratings], dtype=float)
        in_whole, row = rows.of(units, entity)
        self._given.append((entity[in_whole], values[in_whole]))
        found = numpy.full(len(rows.entity), _MISSING)
        found[row[row >= 0]] = values[row >= 0]
        return found

    def _count_by_kind(self, kinds: Sequence[str], talk: Array, words: Array, turns: Array) -> None:
        import numpy

        places = {kind: place for place, kind in enumerate(dict.fromkeys(kinds))}
        kind_of = numpy.array([places[kind] for kind in kinds], dtype=int)[talk]
        messages, said = (numpy.bincount(kind_of, column, len(places)).tolist() for column in (turns, words))
        for kind, place in places.items():
            self.types[kind].messages += int(messages[place])
            self.types[kind].words += int(said[place])

    @property
    def combinations_met(self) -> int:
        """different ones, in simulations that completed"""
        return len(self._combinations()[0])

    def _combinations(self) -> tuple[Array, Array]:
        import numpy

        return numpy.unique(numpy.concatenate([numpy.zeros(0, "uint64"), *self._met]), return_inverse=True)

    @property
    def entities(self) -> dict[str, EntityCounts]:
        if self._entities is None:
            self._entities = self._counted()
        return self._entities

    def _counted(self) -> dict[str, EntityCounts]:
        import numpy

        talks, size = self.talks, len(self.talks.places)
        if not self._given:
            return {}
        rated, given = (numpy.concatenate([numpy.zeros(0, int), *column]) for column in zip(*self._given, strict=True))
        known = ~numpy.isnan(given)
        entity = talks.column("entity")
        columns = zip(
            talks.places,
            _counters(entity, talks.column("words"), size),
            _counters(entity, talks.column("turns"), size),
            _counters(rated[known], given[known], size),
            numpy.bincount(rated[~known].astype(int), minlength=size).tolist(),
            strict=True,
        )
        found = {
            name: EntityCounts(words, turns, ratings, unrated, talks)
            for name, words, turns, ratings, unrated in columns
        }
        if self.repeated:
            for measure in MEASURES:
                self._by_combination(measure, list(found.values()))
        return found

    def _by_combination(self, measure: str, counts: Sequence[EntityCounts]) -> None:
        import numpy

        different, combination = self._combinations()
        entity, talk, values = self.talks.known(measure)
        cells, cell = numbered(entity.astype(int) * len(different) + combination[talk])
        sums, times = numpy.bincount(cell, values).tolist(), numpy.bincount(cell).tolist()
        parts: list[list[Total]] = [[] for _ in counts]
        for owner, total in zip((cells // len(different)).tolist(), zip(sums, times, strict=True), strict=True):
            parts[owner].append(total)
        for one, own in zip(counts, parts, strict=True):
            one.combinations = {**one.combinations, measure: own}


class _Rows:
    """Who took part in which simulation of a page, each once."""

    def __init__(self, units: Array, talk: Array, entity: Array) -> None:
        import numpy

        self._units = units
        self._most = int(entity.max(initial=0)) + 1
        self._keys, rows = numpy.unique(talk * self._most + entity, return_index=True)
        kept = numpy.sort(rows)
        self._order = numpy.searchsorted(kept, rows)
        self.talk, self.entity = talk[kept], entity[kept]

    def of(self, units: Sequence[int], entity: Array) -> tuple[Array, Array]:
        """Whether each unit is one of these, and the row of the entity in it: -1 where it has none."""
        import numpy

        if not len(self._keys):
            return numpy.isin(units, self._units), numpy.full(len(units), -1)
        told = numpy.array(units, dtype=int)
        talk = numpy.minimum(numpy.searchsorted(self._units, told), len(self._units) - 1)
        here = self._units[talk] == told
        key = talk * self._most + entity
        place = numpy.minimum(numpy.searchsorted(self._keys, key), len(self._keys) - 1)
        there = here & (entity >= 0) & (entity < self._most) & (self._keys[place] == key)
        return here, numpy.where(there, self._order[place], -1)

    def combinations(self) -> Array:
        """Of each simulation a number that no other combination has, but by a chance of one in 2^64."""
        import numpy

        mixed = self.entity.astype("uint64")
        for factor, shift in ((0x9E3779B97F4A7C15, 30), (0xBF58476D1CE4E5B9, 27), (0x94D049BB133111EB, 31)):
            mixed = (mixed + numpy.uint64(1)) * numpy.uint64(factor)
            mixed ^= mixed >> numpy.uint64(shift)
        found = numpy.zeros(len(self._units), dtype="uint64")
        numpy.add.at(found, self.talk, mixed)
        return found


def _counters(entity: Array, values: Array, size: int) -> list[Counter[float]]:
    """By entity how often it has each value, in the order in which they came."""
    import numpy

    different, value = numbered(values)
    number = max(1, len(different))
    cells, first, times = numpy.unique(entity.astype(int) * number + value, return_index=True, return_counts=True)
    order = numpy.argsort(first)
    cells, found = cells[order], [Counter[float]() for _ in range(size)]
    columns = (cells // number, different[cells % number].astype(float), times[order])
    for owner, one, often in zip(*(column.tolist() for column in columns), strict=True):
        found[owner][one] = often
    return found
