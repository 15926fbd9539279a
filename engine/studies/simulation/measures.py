"""The measures of a simulation by entity, and their relation to the attributes of entities.

Only completed simulations are measured; the others count as missing. Simulations are stored as columns, with one row for each
entity of each. Entities are the sampling units: intervals leave out each entity in turn, with all its conversations. Tests compare
entities' own means: Spearman's correlation for numbers, the Kruskal–Wallis test for groups, with Holm's correction over all
attributes and measures. With fewer than ten entities that have both the mean and the attribute, there is no test.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import compress, product
from typing import Any

from tidepool.engine.config.entities import Attribute, Entity, in_words
from tidepool.engine.inference.contrasts import FEWEST_TESTED, few_clusters
from tidepool.engine.inference.grouped import Array, numbered, numpy, places_in
from tidepool.engine.inference.intervals import Interval, interval_over
from tidepool.engine.inference.significance import group_difference, holm, over_the_run, rank_correlation
from tidepool.storage.queries.units import SpokenPage

RATING = "rating"
MEASURES = ("words", RATING)
FEWEST_FOR_AN_INTERVAL = 3
"""entities, or combinations of one entity: two differ too much or, by chance, not at all"""
FEW_NUMBERS = 5
"""up to this many different numbers form their own groups; more are divided into three"""
MOST_GROUPS = 12
"""an attribute with more different texts forms no groups"""
UNBOUNDED = (-math.inf, math.inf)
COUNTS = ("simulations", "completed", "failed", "messages", "words")

Mean = dict[str, Any]
"""`mean` and `ci95`"""

# Scripts written without spaces: there each character counts.
_WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]|[^\s\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+"
)
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")


def words_in(text: str) -> int:
    spaced = text.isascii() or not _UNSPACED.search(text)
    return len(text.split()) if spaced else len(_WORD.findall(text))


class SpeechTally:
    """Who met whom, and the values of each participant: one row for each entity of each completed simulation."""

    def __init__(self) -> None:
        self.types: dict[str, dict[str, int]] = {}
        """by interaction type: `COUNTS`"""
        self.unsplit = 0
        """messages without an entity: narrated rounds in which no name was found"""
        self.places: dict[str, int] = {}
        """the number of each entity seen so far"""
        self.unrated: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        """failed simulations of each entity"""
        self.number = 0
        """of completed simulations"""
        self._parts: defaultdict[str, list[Array]] = defaultdict(list)

    def take(self, page: SpokenPage) -> None:
        """Adds consecutive simulations, completed or not."""
        for (kind, status), times in Counter(zip(page.kinds, page.statuses, strict=True)).items():
            counts = self.types.setdefault(kind, dict.fromkeys(COUNTS, 0))
            counts["simulations"] += times
            if status in ("completed", "failed"):
                counts[status] += times
        completed = [status == "completed" for status in page.statuses]
        for cast in compress(page.casts, [status == "failed" for status in page.statuses]):
            self.failed.update(cast)
        kinds = dict(compress(zip(page.units, page.kinds, strict=True), completed))
        casts = list(compress(page.casts, completed))
        keys = [(unit, name) for unit, cast in zip(kinds, casts, strict=True) for name in dict.fromkeys(cast)]
        row_of = {key: row for row, key in enumerate(keys)}

        units, speakers, texts = page.messages
        rows = numpy.array([row_of.get(key, -1) for key in zip(units, speakers, strict=True)], dtype=int)
        split = rows >= 0
        self.unsplit += sum(unit in kinds for unit in compress(units, ~split))
        lengths = (words_in(text.decode(errors="replace")) for text in texts)
        in_each = numpy.fromiter(lengths, dtype=int, count=len(texts))
        words = numpy.bincount(rows[split], in_each[split], len(keys))
        turns = numpy.bincount(rows[split], minlength=len(keys))
        rating = numpy.full(len(keys), math.nan)
        for unit, name, value in page.ratings:
            if value is None:
                self.unrated[name] += unit in kinds
            elif (unit, name) in row_of:
                rating[row_of[unit, name]] = value
        kind_of = numpy.array([kinds[unit] for unit, _ in keys])
        for kind in set(kinds.values()):
            self.types[kind]["messages"] += int(turns[kind_of == kind].sum())
            self.types[kind]["words"] += int(words[kind_of == kind].sum())

        numbers = {unit: self.number + place for place, unit in enumerate(kinds)}
        columns = {
            "entity": places_in(self.places, [name for _, name in keys]).astype("int32"),
            "talk": numpy.array([numbers[unit] for unit, _ in keys], dtype="int32"),
            "combination": numpy.array([hash(frozenset(cast)) for cast in casts], dtype="int64"),
            "words": words,
            RATING: rating,
        }
        for name, column in columns.items():
            self._parts[name].append(column)
        self.number += len(casts)

    def _column(self, name: str) -> Array:
        parts = self._parts[name]
        parts[:] = [numpy.concatenate(parts)] if parts else [numpy.zeros(0, dtype=int)]
        return parts[0]

    @property
    def combinations_met(self) -> int:
        """the number of different combinations in completed simulations"""
        return len(numpy.unique(self._column("combination")))

    def known(self, measure: str) -> tuple[Array, Array, Array]:
        """Entity, conversation and value of the rows that have a value."""
        values = self._column(measure)
        known = ~numpy.isnan(values)
        return self._column("entity")[known], self._column("talk")[known], values[known]

    def talks_of(self) -> dict[str, int]:
        """Simulations of each entity."""
        counts = numpy.bincount(self._column("entity"), minlength=len(self.places)).tolist()
        return dict(zip(self.places, counts, strict=True))

    def means(self, measure: str, without: str | None = None) -> dict[str, float]:
        """The entities' own means, if they have values; `without` excludes all conversations of one entity."""
        entity, talk, values = self.known(measure)
        if without is not None:
            gone = numpy.zeros(self.number, dtype=bool)
            gone[talk[entity == self.places[without]]] = True
            entity, values = entity[~gone[talk]], values[~gone[talk]]
        size = len(self.places)
        sums, times = numpy.bincount(entity, values, size), numpy.bincount(entity, minlength=size)
        return {name: float(sums[place] / times[place]) for name, place in self.places.items() if times[place]}

    def own_means(self, measure: str, scale: Interval) -> dict[str, Mean]:
        """With intervals over the combinations of an entity: a combination that meets again is not a new one."""
        entity, talk, values = self.known(measure)
        different, combination = numpy.unique(self._column("combination"), return_inverse=True)
        cells, cell = numbered(entity.astype(int) * max(1, len(different)) + combination[talk])
        sums, times = numpy.bincount(cell, values), numpy.bincount(cell)
        edges = numpy.searchsorted(cells, numpy.arange(len(self.places) + 1) * max(1, len(different)))
        found = {}
        for name, place in self.places.items():
            own = slice(edges[place], edges[place + 1])
            parts = list(zip(sums[own].tolist(), times[own].tolist(), strict=True))
            if parts:
                mean = _mean(parts, parts, measure, scale)
                found[name] = mean if len(parts) >= FEWEST_FOR_AN_INTERVAL else {**mean, "ci95": None}
        return found

    def group_means(self, measure: str, groups: Sequence[Collection[str]], scale: Interval) -> list[Mean | None]:
        """The mean over all conversations of each group's entities. Intervals leave out each entity with all its conversations.

        No entity is in two groups. None: without a value.
        """
        group = numpy.full(len(self.places), -1)
        for place, members in enumerate(groups):
            group[[self.places[name] for name in members if name in self.places]] = place
        entity, talk, values = self.known(measure)
        rows = group[entity] >= 0
        entity, talk, values = entity[rows], talk[rows], values[rows]
        cell = talk.astype(int) * len(groups) + group[entity]
        in_talk = numpy.bincount(cell, values), numpy.bincount(cell)
        size = len(self.places)
        columns = (values, numpy.ones(len(values)), in_talk[0][cell], in_talk[1][cell])
        by_entity = numpy.array([numpy.bincount(entity, column, size) for column in columns]).T.tolist()
        means: list[Mean | None] = []
        for members in groups:
            own = [by_entity[self.places[name]] for name in members if name in self.places]
            totals = [(total, round(times)) for total, times, _, _ in own if times]
            parts = [(total, round(times)) for _, times_own, total, times in own if times_own]
            mean = _mean(totals, parts, measure, scale) if totals else None
            few = len(totals) < FEWEST_FOR_AN_INTERVAL
            means.append({**mean, "ci95": None} if mean and few else mean)
        return means

    def over_the_run(self, scale: Interval) -> dict[str, Any] | None:
        """Mean ratings of conversations, minus each entity's own mean, in the order of the plan."""
        entity, talk, values = self.known(RATING)
        if not len(values):
            return None
        means = numpy.bincount(entity, values) / numpy.maximum(1, numpy.bincount(entity))
        rest, times = numpy.bincount(talk, values - means[entity]), numpy.bincount(talk)
        run = over_the_run((values.mean() + rest / numpy.maximum(1, times))[times > 0], scale)
        return run and {**run, "estimand": "conversations like these of these entities"}

    def distribution(self) -> dict[str, int]:
        """How often each rating was given."""
        ratings, times = numpy.unique(self.known(RATING)[2], return_counts=True)
        return {in_words(rating): count for rating, count in zip(ratings.tolist(), times.tolist(), strict=True)}


def _mean(
    totals: Sequence[tuple[float, int]], parts: Sequence[tuple[float, int]], measure: str, scale: Interval
) -> Mean:
    total, times = math.fsum(part for part, _ in totals), sum(count for _, count in totals)
    interval = interval_over((total, times), parts, scale if measure == RATING else (0.0, math.inf))
    return {"mean": total / times, "ci95": interval and list(interval)}


# -- attributes --------------------------------------------------------------------------------------------------------

Groups = dict[str, list[str]]
"""names of entities by the value of an attribute, in words"""


def compare_by_attribute(
    entities: Sequence[Entity], tally: SpeechTally, scale: Interval = UNBOUNDED
) -> dict[str, dict[str, Any]]:
    """Compares every attribute that differs between the participating entities; `scale` is that of the ratings."""
    present = [entity for entity in entities if entity.name in tally.places]
    values = {
        name: {entity.name: entity.attributes[name] for entity in present if name in entity.attributes}
        for name in dict.fromkeys(name for entity in present for name in entity.attributes)
    }
    by_name = {name: groups for name, own in values.items() if (groups := grouped(own))}
    tests = _tests({measure: tally.means(measure) for measure in MEASURES}, by_name, values)
    talks = tally.talks_of()
    compared = {}
    for name, groups in by_name.items():
        means = {measure: tally.group_means(measure, list(groups.values()), scale) for measure in MEASURES}
        compared[name] = {
            "kind": "number" if is_numeric(values[name]) else "category",
            "groups": [
                {
                    "value": label,
                    "entities": len(names),
                    "simulations": sum(talks[name] for name in names),
                    **{measure: means[measure][place] for measure in MEASURES},
                }
                for place, (label, names) in enumerate(groups.items())
            ],
            "tests": {measure: tests.get((measure, name)) for measure in MEASURES},
            "note": few_clusters(len(values[name]), "entities")
            if len(values[name]) < FEWEST_TESTED
            else few_clusters(min(map(len, groups.values())), "entities in a group", fewest=0),
        }
    return compared


def is_numeric(values: Mapping[str, Attribute]) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values.values())


def grouped(values: Mapping[str, Any]) -> Groups | None:
    """Entities by value. Many different numbers are divided into three groups. None if the values do not differ."""
    numeric = is_numeric(values)
    distinct = sorted(set(values.values()) if numeric else {in_words(value) for value in values.values()})
    if len(distinct) < 2 or (not numeric and len(distinct) > MOST_GROUPS):
        return None
    if numeric and len(distinct) > FEW_NUMBERS:
        return _thirds(values)
    labels = {value: in_words(value) for value in distinct}  # 0 and -0 are the same number
    groups: Groups = {label: [] for label in labels.values()}
    for name, value in values.items():
        groups[labels[value] if numeric else in_words(value)].append(name)
    return groups


def _thirds(values: Mapping[str, Any]) -> Groups:
    """Three groups of about equal size; equal values stay together."""
    ordered = sorted(values.values())
    edges = [ordered[len(ordered) * third // 3] for third in (1, 2)]
    groups: list[list[str]] = [[], [], []]
    for name, value in values.items():
        groups[sum(value >= edge for edge in edges)].append(name)
    labelled = {}
    for names in filter(None, groups):
        low, high = min(values[name] for name in names), max(values[name] for name in names)
        labelled[in_words(low) if low == high else f"{in_words(low)}–{in_words(high)}"] = names
    return labelled


Test = tuple[float | None, float]
"""a correlation, of numbers only, and the p-value"""


def _tests(
    means: Mapping[str, Mapping[str, float]], attributes: Mapping[str, Groups], values: Mapping[str, Mapping[str, Any]]
) -> dict[tuple[str, str], dict[str, Any]]:
    """By measure and attribute: the relation of entities' means to it, with Holm's correction over all of them."""
    tested: dict[tuple[str, str], Test] = {}
    for (measure, own), (attribute, groups) in product(means.items(), attributes.items()):
        if test := _test(own, groups, values[attribute]):
            tested[measure, attribute] = test
    adjusted = holm([p_value for _, p_value in tested.values()])
    return {
        key: {"correlation": correlation, "p_value": p_value, "p_holm": p_holm}
        for (key, (correlation, p_value)), p_holm in zip(tested.items(), adjusted, strict=True)
    }


def _test(means: Mapping[str, float], groups: Groups, values: Mapping[str, Any]) -> Test | None:
    known = [name for names in groups.values() for name in names if name in means]
    if len(known) < FEWEST_TESTED:
        return None
    if is_numeric(values):
        return rank_correlation([float(values[name]) for name in known], [means[name] for name in known])
    p_value = group_difference([[means[name] for name in names if name in means] for names in groups.values()])
    return None if p_value is None else (None, p_value)
