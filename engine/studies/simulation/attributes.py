"""Comparing entities by what they are: who, grouped by an attribute, said more or was judged otherwise.

The entity is what is sampled, so means are of entities' talks with intervals over entities, and tests compare
entities' own means: Spearman's correlation for numbers, Kruskal and Wallis's test for groups, with Holm's correction
over all attributes.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tidepool.engine.library.dimensions import in_words
from tidepool.engine.library.entities import Attribute, Entity
from tidepool.engine.statistics.association import group_difference, rank_correlation
from tidepool.engine.statistics.clusters import clustered_interval, clustered_mean
from tidepool.engine.statistics.comparisons import holm
from tidepool.engine.statistics.intervals import Interval, mean_of_counts
from tidepool.engine.studies.simulation.measures import EntityCounts

FEW_NUMBERS = 5
"""so many different numbers are groups of their own; more are cut into three"""
MOST_GROUPS = 12
"""texts of more kinds are no groups"""
MEASURES = ("words", "turns", "rating")
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


def compare_by_attribute(
    entities: Sequence[Entity], counts: Mapping[str, EntityCounts], scale: Interval = UNBOUNDED
) -> dict[str, dict[str, Any]]:
    """Every attribute in which the entities that took part differ; `scale` is that of the ratings."""
    present = [entity for entity in entities if entity.name in counts]
    attributes = dict.fromkeys(name for entity in present for name in entity.attributes)
    compared: dict[str, dict[str, Any]] = {}
    for name in attributes:
        attributed = grouped({e.name: e.attributes[name] for e in present if name in e.attributes})
        if attributed is not None:
            compared[name] = _compared(attributed, counts, scale)
    _correct(compared)
    return compared


def grouped(values: Mapping[str, Attribute]) -> Attributed | None:
    """Entities by value: numbers in order and cut into three where they are many; None where nothing differs."""
    numeric = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values.values())
    distinct = sorted(set(values.values())) if numeric else sorted({in_words(value) for value in values.values()})
    if len(distinct) < 2 or (not numeric and len(distinct) > MOST_GROUPS):
        return None
    if numeric and len(distinct) > FEW_NUMBERS:
        return Attributed(True, _thirds(values), values)
    by_label: dict[str, list[str]] = {in_words(value): [] for value in distinct}
    for name, value in values.items():
        by_label[in_words(value)].append(name)
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


def counts_of(measure: str, counts: EntityCounts) -> Counter[float]:
    return {"words": counts.words, "turns": counts.turns, "rating": counts.ratings}[measure]


def _compared(attributed: Attributed, counts: Mapping[str, EntityCounts], scale: Interval) -> dict[str, Any]:
    return {
        "kind": "number" if attributed.numeric else "category",
        "groups": [
            {
                "value": group.label,
                "entities": len(group.names),
                "simulations": sum(counts[name].simulations for name in group.names),
                **{measure: group_mean(measure, [counts[n] for n in group.names], scale) for measure in MEASURES},
            }
            for group in attributed.groups
        ],
        "tests": {measure: _tested(measure, attributed, counts) for measure in MEASURES},
    }


def group_mean(measure: str, members: Sequence[EntityCounts], scale: Interval) -> dict[str, Any] | None:
    """The mean over all talks of these entities, with an interval over entities; None without a value."""
    of_each = [counts_of(measure, counts) for counts in members]
    sums = [sum(value * times for value, times in counter.items()) for counter in of_each]
    sizes = [counter.total() for counter in of_each]
    mean = clustered_mean(sums, sizes)
    if mean is None:
        return None
    interval = clustered_interval(sums, sizes, scale if measure == "rating" else (0, math.inf))
    return {"mean": mean, "ci95": list(interval) if interval else None}


def _tested(measure: str, attributed: Attributed, counts: Mapping[str, EntityCounts]) -> dict[str, Any] | None:
    """Whether entities' means go with the attribute; None where they, or the attribute, do not vary."""
    means = {name: mean_of_counts(values) for name in attributed.values if (values := counts_of(measure, counts[name]))}
    if attributed.numeric:
        numbers = [float(attributed.values[name]) for name in means]
        found = rank_correlation(numbers, list(means.values()))
        return {"correlation": found[0], "p_value": found[1]} if found else None
    p_value = group_difference([[means[name] for name in group.names if name in means] for group in attributed.groups])
    return {"correlation": None, "p_value": p_value} if p_value is not None else None


def _correct(compared: Mapping[str, dict[str, Any]]) -> None:
    for measure in MEASURES:
        tests = [test for entry in compared.values() if (test := entry["tests"][measure])]
        for test, corrected in zip(tests, holm([test["p_value"] for test in tests]), strict=True):
            test["p_holm"] = corrected
