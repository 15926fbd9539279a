"""Who said how much, how it was judged, and with which attributes that goes."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from tidepool.engine.answer_forms import levels_of
from tidepool.engine.coding.report import coding_blocks
from tidepool.engine.results.blocks import (
    COUNTS,
    Block,
    Cell,
    Estimate,
    Figure,
    Headline,
    Named,
    Number,
    PValue,
    Series,
    Words,
    table,
)
from tidepool.engine.studies.simulation.attributes import AttributeStatistics, AttributeTest, Mean
from tidepool.engine.studies.simulation.statistics import EntityStatistics, Judgements, SimulationStatistics

MOST_ENTITIES = 12
MOST_ATTRIBUTES = 6
MOST_DRAWN = 24

Measure = Literal["words", "turns", "rating"]


def blocks(statistics: Mapping[str, Any]) -> list[Block]:
    found = SimulationStatistics.from_json(statistics)
    measure: Measure = "rating" if found.judgements else "words"
    return [
        *_overall(found),
        *_ratings(found.judgements),
        *_entities(found.entities, measure),
        *_attributes(found.by_attribute, measure),
        *coding_blocks(statistics),
    ]


def figures(statistics: Mapping[str, Any]) -> dict[str, Cell]:
    found = SimulationStatistics.from_json(statistics)
    told: dict[str, Cell] = {
        "combinations that met": found.combinations_run,
        "combinations possible": found.combinations_possible,
        "messages": found.messages,
        "words": found.words,
        "failed simulations": found.missing.simulations,
    }
    if judged := found.judgements:
        told |= {"ratings": judged.given, "ratings missing": judged.missing, "mean rating": _mean_rating(judged)}
    for name, row in found.entities.items():
        told |= {f"{name}: talks": row.simulations, f"{name}: words each": _mean(row.words, "words")}
        if found.judgements:
            told[f"{name}: rating"] = _mean(row.rating, "rating")
    return told


def _mean(found: Mean | None, measure: Measure) -> Estimate:
    digits = 2 if measure == "rating" else 1
    return Estimate(found.mean, found.ci95, digits) if found else Estimate(None)


def _mean_rating(judged: Judgements) -> Estimate:
    return Estimate(judged.mean, judged.ci95, 2)


def _overall(found: SimulationStatistics) -> Iterator[Block]:
    columns = ("simulations", "completed", "failed", "messages", "words")
    rows: list[tuple[Cell, ...]] = [
        (kind, *(getattr(row, name) for name in columns)) for kind, row in found.by_interaction_type.items()
    ]
    yield Words(
        f"{found.combinations_run:,} of {found.combinations_possible:,} possible combinations have met; "
        "only completed simulations are measured"
    )
    if found.unsplit_scenes:
        yield Words(f"{found.unsplit_scenes:,} narrated rounds name no speaker; they are kept as (scene)", "warning")
    yield table("interactions", ("type", *columns), rows)


def _ratings(judged: Judgements | None) -> Iterator[Block]:
    if judged is None:
        return
    low, high = judged.scale
    told = f"{judged.given:,} ratings from {low:g} to {high:g}, {judged.missing:,} missing"
    yield Words(judged.question, "strong")
    yield Headline("mean rating", _mean_rating(judged), told)
    if judged.distribution:
        levels = dict.fromkeys(map(str, levels_of((low, high))), 0)
        given = (
            {**levels, **judged.distribution} if levels.keys() >= judged.distribution.keys() else judged.distribution
        )
        series = Series("times given", tuple(map(float, given.values())), colour="accent")
        labels = tuple(given)
        yield Figure("bars", "ratings given", (series,), labels=labels, ylabel="times given", caption=COUNTS)


def _entities(entities: Mapping[str, EntityStatistics], measure: Measure) -> Iterator[Block]:
    if not entities:
        return
    ranked = dict(sorted(entities.items(), key=lambda item: -(_mean(getattr(item[1], measure), measure).value or 0.0)))
    places = {name: place for place, name in enumerate(sorted(entities))}
    measures: tuple[Measure, ...] = ("words", "turns", "rating") if measure == "rating" else ("words", "turns")
    rows: list[tuple[Cell, ...]] = [
        (Named(name, places[name]), row.simulations, *(_mean(getattr(row, one), one) for one in measures))
        for name, row in ranked.items()
    ]
    titles = {"words": "words each (95 %)", "turns": "turns each (95 %)", "rating": "rating (95 %)"}
    columns = ("entity", "talks", *(titles[one] for one in measures))
    yield table("entities", columns, rows, first=MOST_ENTITIES)
    yield _means("words a talk", {name: row.words for name, row in ranked.items()}, "primary", places)
    if measure == "rating":
        yield _means("mean rating", {name: row.rating for name, row in ranked.items()}, "primary", places)
    yield Words(
        "Means of an entity are over its own simulations; intervals are at 95 %, over the combinations it was in.",
        "quiet",
    )


def _means(title: str, rows: Mapping[str, Mean | None], colour: str, order: Mapping[str, int] | None = None) -> Figure:
    """`order` are the places of those who take part, where the rows are some of them."""
    drawn = {name: row for name, row in list(rows.items())[:MOST_DRAWN] if row}
    means, bounds = tuple(row.mean for row in drawn.values()), tuple(row.ci95 for row in drawn.values())
    places = tuple(order[name] for name in drawn) if order else ()
    series = Series(title, means, colour=colour, intervals=bounds)
    return Figure("means", title, (series,), labels=tuple(drawn), places=places)


def _attributes(attributes: Mapping[str, AttributeStatistics], measure: Measure) -> Iterator[Block]:
    """The clearest first."""
    if not attributes:
        return
    ranked = sorted(attributes.items(), key=lambda item: _doubt(getattr(item[1].tests, measure)))
    rows: list[tuple[Cell, ...]] = []
    for attribute, entry in ranked:
        test: AttributeTest | None = getattr(entry.tests, measure)
        tested = (Number(test.correlation if test else None, 2), PValue(test.p_holm if test else None))
        for place, group in enumerate(entry.groups):
            told = (_mean(getattr(group, measure), measure), *(("", "") if place else tested))
            rows.append(("" if place else attribute, group.value, group.entities, *told))
    columns = ("attribute", "value", "entities", f"{measure} (95 %)", "correlation", "p (Holm)")
    first = sum(len(entry.groups) for _, entry in ranked[:MOST_ATTRIBUTES])
    yield table(f"what goes with the {measure}", columns, rows, left=2, first=first)
    yield Words(
        "Compared over entities, each left out in turn with all its talks: those of one entity resemble each other.",
        "quiet",
    )
    clearest, entry = ranked[0]
    yield _means(f"{measure} by {clearest}", {group.value: getattr(group, measure) for group in entry.groups}, "accent")


def _doubt(test: AttributeTest | None) -> tuple[float, float]:
    return (2.0, 0.0) if test is None else (test.p_holm, -abs(test.correlation or 0.0))
