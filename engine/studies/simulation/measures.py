"""The measures of a simulation by entity, and how they go with the attributes of entities.

Only completed simulations are measured; the others are counted as missing. Simulations are kept as columns, one row for each entity
of each. The entity is what is sampled: intervals leave out each entity in turn, with all its conversations. Tests compare entities'
own means: Spearman's correlation for numbers, Kruskal and Wallis's test for groups, with Holm's correction over all attributes.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, compress, repeat
from typing import Any, NamedTuple

from tidepool.engine.config.entities import Attribute, Entity, in_words
from tidepool.engine.inference.grouped import Array, numbered, numpy, places_in
from tidepool.engine.inference.intervals import Interval, Total, interval_over
from tidepool.engine.inference.significance import group_difference, holm, rank_correlation
from tidepool.engine.inference.typed import Statistics
from tidepool.engine.inference.words import words_in_each
from tidepool.storage.queries.units import SpokenPage

RATING = "rating"

MEASURES = ("words", "turns", "rating")
_MISSING = float("nan")


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

    def add(self, talks: int, **columns: Array) -> None:
        """So many simulations more; `entity`, `talk` (its place among them) and the measures, by row."""
        columns["talk"] = columns["talk"] + self.number
        for name, column in columns.items():
            self._parts.setdefault(name, []).append(column.astype("int32" if name in ("entity", "talk") else float))
        self.number += talks

    def column(self, name: str) -> Array:
        chunks = self._parts.get(name) or [numpy.zeros(0, dtype=int)]
        if len(chunks) > 1:
            chunks[:] = [numpy.concatenate(chunks)]
        return chunks[0]

    def known(self, measure: str) -> tuple[Array, Array, Array]:
        """Entity, talk and value of the rows that have one."""
        columns = self.column("entity"), self.column("talk"), self.column(measure)
        known = ~numpy.isnan(columns[2])
        entity, talk, values = columns if known.all() else (column[known] for column in columns)
        return entity, talk, values

    def in_talks_of(self, measure: str, groups: Sequence[Collection[str]]) -> list[dict[str, Total]]:
        """For each entity of each group, what all of its group came to in the simulations that it was in.

        Nobody is in two groups.
        """
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
        entity_sums, counts = numpy.bincount(entity, sums[cell], size), numpy.bincount(entity, times[cell], size)
        totals = list(zip(entity_sums.tolist(), counts.astype(int).tolist(), strict=True))
        return [{name: totals[self.places[name]] for name in members if name in self.places} for members in groups]

    def between(self, measure: str) -> dict[tuple[str, str], Total]:
        """What the second of two came to in the simulations that it shares with the first."""
        entity, talk, values = self.known(measure)
        size = len(self.places)
        codes, partner_values = [], []
        for offset in range(1, int(numpy.bincount(talk).max(initial=0))):
            same_talk = talk[offset:] == talk[:-offset]
            first, second = entity[:-offset][same_talk].astype("int64"), entity[offset:][same_talk].astype("int64")
            codes += [first * size + second, second * size + first]
            partner_values += [values[offset:][same_talk], values[:-offset][same_talk]]
        if not codes:
            return {}
        pairs, place = numbered(numpy.concatenate(codes))
        sums, times = numpy.bincount(place, numpy.concatenate(partner_values)), numpy.bincount(place)
        names = list(self.places)
        rows = zip(pairs.tolist(), sums.tolist(), times.tolist(), strict=True)
        return {(names[pair // size], names[pair % size]): (total, count) for pair, total, count in rows}


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


@dataclass
class TypeCounts(Statistics):
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

    def rated(self, talks: Sequence[tuple[list[str], Sequence[tuple[str, float | None]]]]) -> None:
        """Completed simulations of which nothing is known but who took part and how they were rated."""
        rows = [(place, *rating) for place, (_, ratings) in enumerate(talks) for rating in ratings]
        number, casts = len(talks), [cast for cast, _ in talks]
        self.take(SpokenPage(range(number), ["completed"] * number, [""] * number, casts, ((), (), ()), rows))

    def take(self, page: SpokenPage) -> None:
        """Simulations that follow one another, completed or not."""
        self._entities = None
        for (kind, status), times in Counter(zip(page.kinds, page.statuses, strict=True)).items():
            counts = self.types.setdefault(kind, TypeCounts())
            counts.simulations += times
            counts.completed += times if status == "completed" else 0
            counts.failed += times if status == "failed" else 0
        completed = [status == "completed" for status in page.statuses]
        casts, kinds = list(compress(page.casts, completed)), list(compress(page.kinds, completed))
        units = numpy.array(page.units, dtype=int)[completed]
        ratings = {(unit, name): rating for unit, name, rating in page.ratings}
        entity = places_in(self.talks.places, list(chain.from_iterable(casts)))
        rated = places_in(self.talks.places, [name for _, name in ratings])
        rows = _Rows(units, numpy.repeat(numpy.arange(len(casts)), list(map(len, casts))), entity)
        words, turns = self._spoken(rows, *page.messages)
        rating = self._rated(rows, [unit for unit, _ in ratings], rated, list(ratings.values()))
        self.talks.add(len(casts), entity=rows.entity, talk=rows.talk, words=words, turns=turns, rating=rating)
        self._met.append(rows.combinations())
        self._count_by_kind(kinds, rows.talk, words, turns)

    def _spoken(
        self, rows: "_Rows", units: Sequence[int], speakers: Sequence[str], texts: Sequence[bytes]
    ) -> tuple[Array, Array]:
        """Words and turns of each row."""
        numbers = map(self.talks.places.get, speakers, repeat(-1))
        in_whole, row = rows.of(units, numpy.fromiter(numbers, dtype=int, count=len(speakers)))
        split = row >= 0
        self.unsplit += int((in_whole & ~split).sum())
        row, number = row[split], len(rows.entity)
        return numpy.bincount(row, words_in_each(texts)[split], number), numpy.bincount(row, minlength=number)

    def _rated(self, rows: "_Rows", units: Sequence[int], entity: Array, ratings: Sequence[float | None]) -> Array:
        """The rating of each row; who was not there may have been rated too."""
        values = numpy.array([_MISSING if rating is None else rating for rating in ratings], dtype=float)
        in_whole, row = rows.of(units, entity)
        self._given.append((entity[in_whole], values[in_whole]))
        by_row = numpy.full(len(rows.entity), _MISSING)
        by_row[row[row >= 0]] = values[row >= 0]
        return by_row

    def _count_by_kind(self, kinds: Sequence[str], talk: Array, words: Array, turns: Array) -> None:
        places = {kind: place for place, kind in enumerate(dict.fromkeys(kinds))}
        kind_of = numpy.array([places[kind] for kind in kinds], dtype=int)[talk]
        messages, word_counts = (numpy.bincount(kind_of, column, len(places)).tolist() for column in (turns, words))
        for kind, place in places.items():
            self.types[kind].messages += int(messages[place])
            self.types[kind].words += int(word_counts[place])

    @property
    def combinations_met(self) -> int:
        """different ones, in simulations that completed"""
        return len(self._combinations()[0])

    def _combinations(self) -> tuple[Array, Array]:
        return numpy.unique(numpy.concatenate([numpy.zeros(0, "uint64"), *self._met]), return_inverse=True)

    @property
    def entities(self) -> dict[str, EntityCounts]:
        if self._entities is None:
            self._entities = self._counted()
        return self._entities

    def _counted(self) -> dict[str, EntityCounts]:
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
        counts = {
            name: EntityCounts(words, turns, ratings, unrated, talks)
            for name, words, turns, ratings, unrated in columns
        }
        if self.repeated:
            for measure in MEASURES:
                self._by_combination(measure, list(counts.values()))
        return counts

    def _by_combination(self, measure: str, counts: Sequence[EntityCounts]) -> None:
        different, combination = self._combinations()
        entity, talk, values = self.talks.known(measure)
        cells, cell = numbered(entity.astype(int) * len(different) + combination[talk])
        sums, times = numpy.bincount(cell, values).tolist(), numpy.bincount(cell).tolist()
        totals: list[list[Total]] = [[] for _ in counts]
        for owner, total in zip((cells // len(different)).tolist(), zip(sums, times, strict=True), strict=True):
            totals[owner].append(total)
        for entity_counts, entity_totals in zip(counts, totals, strict=True):
            entity_counts.combinations = {**entity_counts.combinations, measure: entity_totals}


class _Rows:
    """Who took part in which simulation of a page, each once."""

    def __init__(self, units: Array, talk: Array, entity: Array) -> None:
        self._units = units
        self._most = int(entity.max(initial=0)) + 1
        self._keys, rows = numpy.unique(talk * self._most + entity, return_index=True)
        ordered = numpy.sort(rows)
        self._order = numpy.searchsorted(ordered, rows)
        self.talk, self.entity = talk[ordered], entity[ordered]

    def of(self, units: Sequence[int], entity: Array) -> tuple[Array, Array]:
        """Whether each unit is one of these, and the row of the entity in it: -1 where it has none."""
        if not len(self._keys):
            return numpy.isin(units, self._units), numpy.full(len(units), -1)
        unit_numbers = numpy.array(units, dtype=int)
        talk = numpy.minimum(numpy.searchsorted(self._units, unit_numbers), len(self._units) - 1)
        here = self._units[talk] == unit_numbers
        key = talk * self._most + entity
        place = numpy.minimum(numpy.searchsorted(self._keys, key), len(self._keys) - 1)
        there = here & (entity >= 0) & (entity < self._most) & (self._keys[place] == key)
        return here, numpy.where(there, self._order[place], -1)

    def combinations(self) -> Array:
        """Of each simulation a number that no other combination has, but by a chance of one in 2^64."""
        mixed = self.entity.astype("uint64")
        for factor, shift in ((0x9E3779B97F4A7C15, 30), (0xBF58476D1CE4E5B9, 27), (0x94D049BB133111EB, 31)):
            mixed = (mixed + numpy.uint64(1)) * numpy.uint64(factor)
            mixed ^= mixed >> numpy.uint64(shift)
        codes = numpy.zeros(len(self._units), dtype="uint64")
        numpy.add.at(codes, self.talk, mixed)
        return codes


def _counters(entity: Array, values: Array, size: int) -> list[Counter[float]]:
    """By entity how often it has each value, in the order in which they came."""
    different, value = numbered(values)
    number = max(1, len(different))
    cells, first, times = numpy.unique(entity.astype(int) * number + value, return_index=True, return_counts=True)
    order = numpy.argsort(first)
    cells, counters = cells[order], [Counter[float]() for _ in range(size)]
    columns = (cells // number, different[cells % number].astype(float), times[order])
    for owner, one, often in zip(*(column.tolist() for column in columns), strict=True):
        counters[owner][one] = often
    return counters


FEW_NUMBERS = 5
"""so many different numbers are groups of their own; more are cut into three"""
MOST_GROUPS = 12
"""texts of more kinds are no groups"""
UNBOUNDED = (-math.inf, math.inf)


class AttributeGroup(NamedTuple):
    label: str
    names: list[str]


@dataclass(frozen=True, slots=True)
class GroupedAttribute:
    """An attribute over the entities that have it."""

    numeric: bool
    groups: list[AttributeGroup]
    values: Mapping[str, Attribute]


@dataclass(frozen=True)
class Mean(Statistics):
    mean: float
    ci95: Interval | None


@dataclass(frozen=True)
class GroupStatistics(Statistics):
    value: str
    entities: int
    simulations: int
    words: Mean | None
    turns: Mean | None
    rating: Mean | None


@dataclass(frozen=True)
class AttributeTest(Statistics):
    correlation: float | None
    """of numbers only"""
    p_value: float
    p_holm: float


@dataclass(frozen=True)
class AttributeTests(Statistics):
    """None where the entities' means, or the attribute, do not vary."""

    words: AttributeTest | None
    turns: AttributeTest | None
    rating: AttributeTest | None


@dataclass(frozen=True)
class AttributeStatistics(Statistics):
    kind: str
    groups: tuple[GroupStatistics, ...]
    tests: AttributeTests


def compare_by_attribute(
    entities: Sequence[Entity], counts: Mapping[str, EntityCounts], scale: Interval = UNBOUNDED
) -> dict[str, AttributeStatistics]:
    """Every attribute in which the entities that took part differ; `scale` is that of the ratings."""
    present = [entity for entity in entities if entity.name in counts]
    attributes = dict.fromkeys(name for entity in present for name in entity.attributes)
    by_name: dict[str, GroupedAttribute] = {}
    for name in attributes:
        attributed = grouped({e.name: e.attributes[name] for e in present if name in e.attributes})
        if attributed is not None:
            by_name[name] = attributed
    tests = {measure: _tests(measure, by_name, counts) for measure in MEASURES}
    return {
        name: AttributeStatistics(
            kind="number" if attributed.numeric else "category",
            groups=tuple(_groups(attributed.groups, counts, scale)),
            tests=AttributeTests(**{measure: tests[measure].get(name) for measure in MEASURES}),
        )
        for name, attributed in by_name.items()
    }


def grouped(values: Mapping[str, Attribute]) -> GroupedAttribute | None:
    """Entities by value: numbers in order and cut into three where they are many; None where nothing differs."""
    numeric = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values.values())
    distinct = sorted(set(values.values())) if numeric else sorted({in_words(value) for value in values.values()})
    if len(distinct) < 2 or (not numeric and len(distinct) > MOST_GROUPS):
        return None
    if numeric and len(distinct) > FEW_NUMBERS:
        return GroupedAttribute(True, _thirds(values), values)
    labels = {value: in_words(value) for value in distinct}  # 0 and -0 are one number, written in two ways
    by_label: dict[str, list[str]] = {label: [] for label in labels.values()}
    for name, value in values.items():
        by_label[labels[value] if numeric else in_words(value)].append(name)
    return GroupedAttribute(numeric, [AttributeGroup(label, names) for label, names in by_label.items()], values)


def _thirds(values: Mapping[str, Any]) -> list[AttributeGroup]:
    """Three groups of about equally many entities; equal values stay together."""
    ordered = sorted(values.values())
    edges = [ordered[len(ordered) * third // 3] for third in (1, 2)]
    groups: list[list[str]] = [[], [], []]
    for name, value in values.items():
        groups[sum(value >= edge for edge in edges)].append(name)
    labelled = []
    for names in filter(None, groups):
        low, high = min(values[name] for name in names), max(values[name] for name in names)
        labelled.append(AttributeGroup(in_words(low) if low == high else f"{in_words(low)}–{in_words(high)}", names))
    return labelled


def _groups(
    groups: Sequence[AttributeGroup], counts: Mapping[str, EntityCounts], scale: Interval
) -> Iterator[GroupStatistics]:
    members = [{name: counts[name] for name in group.names} for group in groups]
    means = {measure: _group_means(measure, members, scale) for measure in MEASURES}
    for place, (group, own) in enumerate(zip(groups, members, strict=True)):
        yield GroupStatistics(
            value=group.label,
            entities=len(own),
            simulations=sum(member.simulations for member in own.values()),
            **{measure: means[measure][place] for measure in MEASURES},
        )


def group_mean(measure: str, members: Mapping[str, EntityCounts], scale: Interval) -> Mean | None:
    """The mean over all talks of these entities, with an interval over entities; None without a value."""
    return _group_means(measure, [members], scale)[0]


def _group_means(measure: str, groups: Sequence[Mapping[str, EntityCounts]], scale: Interval) -> list[Mean | None]:
    totals = [{name: counts.total(measure) for name, counts in members.items()} for members in groups]
    wholes = [_sum(own.values()) for own in totals]
    talks = next((counts.talks for members in groups for counts in members.values()), None)
    shared = talks.in_talks_of(measure, groups) if talks and any(times for _, times in wholes) else [{}] * len(groups)
    means: list[Mean | None] = []
    for whole, own, shared_totals in zip(wholes, totals, shared, strict=True):
        clusters = [shared_totals.get(name, total) for name, total in own.items()]
        interval = interval_over(whole, clusters, _bounds(measure, scale)) if whole[1] else None
        means.append(Mean(whole[0] / whole[1], interval) if whole[1] else None)
    return means


def own_mean(measure: str, counts: EntityCounts, scale: Interval) -> Mean | None:
    """Of one entity, over the combinations it was in: those that met again are no new ones."""
    total, times = counts.total(measure)
    if not times:
        return None
    single = Counter({(value, 1): often for value, often in counts.own(measure).items()})
    clusters = counts.combinations.get(measure) or single
    return Mean(total / times, interval_over((total, times), clusters, _bounds(measure, scale)))


def _bounds(measure: str, scale: Interval) -> Interval:
    return scale if measure == "rating" else (0.0, math.inf)


def _sum(totals: Iterable[Total]) -> Total:
    pairs = list(totals)
    return math.fsum(total for total, _ in pairs), sum(times for _, times in pairs)


def _tests(
    measure: str, attributes: Mapping[str, GroupedAttribute], counts: Mapping[str, EntityCounts]
) -> dict[str, AttributeTest]:
    """By attribute, with Holm's correction over all of them."""
    tested = {name: test for name, attributed in attributes.items() if (test := _tested(measure, attributed, counts))}
    corrected = holm([p_value for _, p_value in tested.values()])
    return {
        name: AttributeTest(correlation, p_value, p_holm)
        for (name, (correlation, p_value)), p_holm in zip(tested.items(), corrected, strict=True)
    }


def _tested(
    measure: str, attributed: GroupedAttribute, counts: Mapping[str, EntityCounts]
) -> tuple[float | None, float] | None:
    """(correlation, p): whether entities' means go with the attribute."""
    totals = {name: counts[name].total(measure) for name in attributed.values}
    means = {name: total / times for name, (total, times) in totals.items() if times}
    if attributed.numeric:
        return rank_correlation([float(attributed.values[name]) for name in means], list(means.values()))
    p_value = group_difference([[means[name] for name in group.names if name in means] for group in attributed.groups])
    return None if p_value is None else (None, p_value)
