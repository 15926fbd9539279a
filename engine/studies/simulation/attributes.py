"""Comparing entities by what they are: who, grouped by an attribute, said more or was judged otherwise.

The entity is what is sampled, so means are of entities' talks with intervals over entities: each is left out in turn,
with all talks it was in. Tests compare entities' own means: Spearman's correlation for numbers, Kruskal and Wallis's
test for groups, with Holm's correction over all attributes.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tidepool.engine.library.dimensions import in_words
from tidepool.engine.library.entities import Attribute, Entity
from tidepool.engine.statistics.intervals import Interval, Total, interval_over
from tidepool.engine.statistics.significance import group_difference, holm, rank_correlation
from tidepool.engine.statistics.typed import Statistics
from tidepool.engine.studies.simulation.measures import MEASURES, EntityCounts

FEW_NUMBERS = 5
"""so many different numbers are groups of their own; more are cut into three"""
MOST_GROUPS = 12
"""texts of more kinds are no groups"""
UNBOUNDED = (-math.inf, math.inf)


class AttributeGroup(NamedTuple):
    label: str
    names: list[str]


@dataclass(frozen=True, slots=True)
class Attributed:
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
    found: dict[str, Attributed] = {}
    for name in attributes:
        attributed = grouped({e.name: e.attributes[name] for e in present if name in e.attributes})
        if attributed is not None:
            found[name] = attributed
    tests = {measure: _tests(measure, found, counts) for measure in MEASURES}
    return {
        name: AttributeStatistics(
            kind="number" if attributed.numeric else "category",
            groups=tuple(_groups(attributed.groups, counts, scale)),
            tests=AttributeTests(**{measure: tests[measure].get(name) for measure in MEASURES}),
        )
        for name, attributed in found.items()
    }


def grouped(values: Mapping[str, Attribute]) -> Attributed | None:
    """Entities by value: numbers in order and cut into three where they are many; None where nothing differs."""
    numeric = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values.values())
    distinct = sorted(set(values.values())) if numeric else sorted({in_words(value) for value in values.values()})
    if len(distinct) < 2 or (not numeric and len(distinct) > MOST_GROUPS):
        return None
    if numeric and len(distinct) > FEW_NUMBERS:
        return Attributed(True, _thirds(values), values)
    labels = {value: in_words(value) for value in distinct}  # 0 and -0 are one number, written in two ways
    by_label: dict[str, list[str]] = {label: [] for label in labels.values()}
    for name, value in values.items():
        by_label[labels[value] if numeric else in_words(value)].append(name)
    return Attributed(numeric, [AttributeGroup(label, names) for label, names in by_label.items()], values)


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
    found: list[Mean | None] = []
    for whole, own, beside in zip(wholes, totals, shared, strict=True):
        parts = [beside.get(name, total) for name, total in own.items()]
        interval = interval_over(whole, parts, _bounds(measure, scale)) if whole[1] else None
        found.append(Mean(whole[0] / whole[1], interval) if whole[1] else None)
    return found


def own_mean(measure: str, counts: EntityCounts, scale: Interval) -> Mean | None:
    """Of one entity, over the combinations it was in: those that met again are no new ones."""
    total, times = counts.total(measure)
    if not times:
        return None
    single = Counter({(value, 1): often for value, often in counts.own(measure).items()})
    parts = counts.combinations.get(measure) or single
    return Mean(total / times, interval_over((total, times), parts, _bounds(measure, scale)))


def _bounds(measure: str, scale: Interval) -> Interval:
    return scale if measure == "rating" else (0.0, math.inf)


def _sum(totals: Iterable[Total]) -> Total:
    parts = list(totals)
    return math.fsum(total for total, _ in parts), sum(times for _, times in parts)


def _tests(
    measure: str, attributes: Mapping[str, Attributed], counts: Mapping[str, EntityCounts]
) -> dict[str, AttributeTest]:
    """By attribute, with Holm's correction over all of them."""
    tested = {name: found for name, one in attributes.items() if (found := _tested(measure, one, counts))}
    corrected = holm([p_value for _, p_value in tested.values()])
    return {
        name: AttributeTest(correlation, p_value, p_holm)
        for (name, (correlation, p_value)), p_holm in zip(tested.items(), corrected, strict=True)
    }


def _tested(
    measure: str, attributed: Attributed, counts: Mapping[str, EntityCounts]
) -> tuple[float | None, float] | None:
    """(correlation, p): whether entities' means go with the attribute."""
    totals = {name: counts[name].total(measure) for name in attributed.values}
    means = {name: total / times for name, (total, times) in totals.items() if times}
    if attributed.numeric:
        return rank_correlation([float(attributed.values[name]) for name in means], list(means.values()))
    p_value = group_difference([[means[name] for name in group.names if name in means] for group in attributed.groups])
    return None if p_value is None else (None, p_value)
