"""The report of a simulation, the view of one that is running, and its methods in sentences."""

import math
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from tidepool.engine.answer_forms import levels_of
from tidepool.engine.coding.report import coding_blocks
from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.reports.blocks import (
    COUNTS,
    Block,
    Cell,
    Estimate,
    Figure,
    Headline,
    KindMethods,
    Named,
    Number,
    PValue,
    Series,
    Words,
    counted,
    ended,
    listing,
    quoted,
    sampling,
    series_of,
    table,
)
from tidepool.engine.studies.simulation.measures import AttributeStatistics, AttributeTest, Mean
from tidepool.engine.studies.simulation.statistics import EntityStatistics, Judgements, SimulationStatistics

MOST_ENTITIES = 12
MOST_ATTRIBUTES = 6
MOST_DRAWN = 24

Measure = Literal["words", "turns", "rating"]


def blocks(statistics: Mapping[str, Any]) -> list[Block]:
    stats = SimulationStatistics.from_json(statistics)
    measure: Measure = "rating" if stats.judgements else "words"
    return [
        *_overall(stats),
        *_ratings(stats.judgements),
        *_entities(stats.entities, measure),
        *_attributes(stats.by_attribute, measure),
        *coding_blocks(statistics),
    ]


def figures(statistics: Mapping[str, Any]) -> dict[str, Cell]:
    stats = SimulationStatistics.from_json(statistics)
    data: dict[str, Cell] = {
        "combinations that met": stats.combinations_run,
        "combinations possible": stats.combinations_possible,
        "messages": stats.messages,
        "words": stats.words,
        "failed simulations": stats.missing.simulations,
    }
    if judged := stats.judgements:
        data |= {
            "ratings": judged.given,
            "ratings missing": judged.missing,
            "mean rating": Estimate(judged.mean, judged.ci95, 2),
        }
    for name, row in stats.entities.items():
        data |= {f"{name}: talks": row.simulations, f"{name}: words each": _mean(row.words, "words")}
        if stats.judgements:
            data[f"{name}: rating"] = _mean(row.rating, "rating")
    return data


def _mean(mean: Mean | None, measure: Measure) -> Estimate:
    digits = 2 if measure == "rating" else 1
    return Estimate(mean.mean, mean.ci95, digits) if mean else Estimate(None)


def _overall(stats: SimulationStatistics) -> Iterator[Block]:
    columns = ("simulations", "completed", "failed", "messages", "words")
    rows = [(kind, *(getattr(row, name) for name in columns)) for kind, row in stats.by_interaction_type.items()]
    yield Words(
        f"{stats.combinations_run:,} of {stats.combinations_possible:,} possible combinations have met; "
        "only completed simulations are measured"
    )
    if stats.unsplit_scenes:
        yield Words(f"{stats.unsplit_scenes:,} narrated rounds name no speaker; they are kept as (scene)", "warning")
    yield table("interactions", ("type", *columns), rows)


def _ratings(judged: Judgements | None) -> Iterator[Block]:
    if judged is None:
        return
    low, high = judged.scale
    note = f"{judged.given:,} ratings from {low:g} to {high:g}, {judged.missing:,} missing"
    yield Words(judged.question, "strong")
    yield Headline("mean rating", Estimate(judged.mean, judged.ci95, 2), note)
    if judged.distribution:
        levels = dict.fromkeys(map(str, levels_of((low, high))), 0)
        counts = (
            {**levels, **judged.distribution} if levels.keys() >= judged.distribution.keys() else judged.distribution
        )
        series = Series("times given", tuple(map(float, counts.values())), colour="accent")
        labels = tuple(counts)
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
    places = tuple(order[name] for name in drawn) if order else ()
    series = series_of(title, [Estimate(row.mean, row.ci95) for row in drawn.values()], colour)
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
            cells = (_mean(getattr(group, measure), measure), *(("", "") if place else tested))
            rows.append(("" if place else attribute, group.value, group.entities, *cells))
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


NOTHING = math.nan
FEWEST_TURNS = 2
"""a curve needs as many"""


STYLES = {
    "enacted": "Each entity spoke by a call of its own, from its own point of view: it was told its description and attributes, "
    "and of the others their names and what they said.",
    "narrated": "One call wrote a round for all entities, which was then split by the names before what they said.",
}
ORDERS = {"listed": "in the order of their list", "shuffled": "in an order drawn for each simulation by the seed"}
MEANS = (
    "An entity's means are over its own simulations, with 95 % intervals that rest on the combinations it was in: replicates of one "
    "combination are no new ones."
)
OVER_ENTITIES = (
    "Means over several entities have 95 % intervals by the jackknife: one entity at a time was left out with all its talks, which "
    "others share, and Student's quantile taken at one degree less than there are entities."
)
TESTS = (
    "Whether entities' means go with an attribute was tested by Spearman's correlation for numbers and by Kruskal and Wallis's "
    "test for groups, exact up to eight entities, with Holm's correction over all attributes."
)


def methods(
    batch: Mapping[str, Any], config: StoredConfig, statistics: Mapping[str, Any], connection: sqlite3.Connection
) -> KindMethods:
    settings, entities = config.sections["simulation"], config.sections["entities"]
    return KindMethods(
        design=tuple(_design(settings, entities, statistics)),
        measures=tuple(_measures(settings)),
        missing=tuple(_missing(statistics)),
        analysis=(MEANS, OVER_ENTITIES, *((TESTS,) if statistics.get("by_attribute") else ())),
    )


def _design(
    settings: Mapping[str, Any], entities: Sequence[Mapping[str, Any]], statistics: Mapping[str, Any]
) -> Iterator[str]:
    size, turns, rounds = settings["interaction_size"], settings["n_turns"], settings["simulation_rounds"]
    who = f"{counted(len(entities), 'described entity', 'described entities')} ({listing(entity['name'] for entity in entities)})"
    company = "each simulation was a monologue" if size == 1 else f"each simulation was a talk of {size:,}"
    yield ended(f"Of {who}, {company}, in this context: {quoted(settings['context'])}")
    yield STYLES.get(settings["style"], "")
    length = counted(rounds * turns, "turn")
    yield (
        f"A simulation had {length} ({counted(rounds, 'round')} of {turns:,}), a turn being one message by each entity, "
        f"{ORDERS.get(settings.get('speaking_order', 'listed'), '')}."
    )
    if settings.get("thoughts"):
        yield "Messages opened with a private thought, which was stored and not shown to the others."
    yield (
        f"{statistics['combinations_run']:,} of {statistics['combinations_possible']:,} possible combinations met, drawn by the seed so "
        "that every entity took part as equally often as possible; each met once before any met again."
    )
    yield f"{settings['model']} spoke in {settings['language']} with {sampling(settings)}."


def _measures(settings: Mapping[str, Any]) -> Iterator[str]:
    if judge := settings.get("judge"):
        low, high = judge["scale"]
        yield ended(
            f"The judge {judge['model']} rated every speaker of every completed talk at temperature 0, from the transcript without "
            f"attributes or thoughts, on a scale from {low:g} to {high:g}: {quoted(judge['question'])}"
        )
        yield "An answer without a single clear number on the scale counted as missing."
    yield "Words are what stands between spaces; of Chinese and Japanese, each character."


def _missing(statistics: Mapping[str, Any]) -> Iterator[str]:
    missing = statistics["missing"]
    if missing["simulations"]:
        yield "Only completed simulations were measured; those that failed keep their row and their error, and are in no figure."
    if missing["judgements"]:
        yield f"{counted(missing['judgements'], 'rating')} of completed simulations {'is' if missing['judgements'] == 1 else 'are'} missing."
    if scenes := statistics.get("unsplit_scenes"):
        yield f"{counted(scenes, 'narrated round')} named no speaker, and counted for nobody."
