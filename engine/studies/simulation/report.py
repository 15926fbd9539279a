"""The report of a simulation, the view of one that is running, and its methods in sentences."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tidepool.engine.answer_forms import levels_of
from tidepool.engine.coding.report import coding_blocks
from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.reports.blocks import (
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
    ends_of,
    listing,
    quoted,
    sampling,
    series_of,
    table,
)
from tidepool.engine.studies.simulation.measures import RATING

MOST_ENTITIES = 12
MOST_ATTRIBUTES = 2
MOST_DRAWN = 24

Row = Mapping[str, Any]


def blocks(stats: Row) -> list[Block]:
    measure = RATING if stats["judgements"] else "words"
    return [
        *_overall(stats),
        *_ratings(stats["judgements"]),
        *_entities(stats["entities"], measure),
        *_attributes(stats["by_attribute"], measure),
        *coding_blocks(stats),
    ]


def figures(stats: Row) -> dict[str, Cell]:
    data: dict[str, Cell] = {
        "combinations that met": stats["combinations_run"],
        "combinations possible": stats["combinations_possible"],
        "messages": stats["messages"],
        "words": stats["words"],
        "failed simulations": stats["missing"]["simulations"],
    }
    if judged := stats["judgements"]:
        data |= {
            "ratings": judged["given"],
            "ratings missing": judged["missing"],
            "mean rating": _mean(judged, RATING),
        }
    for name, row in stats["entities"].items():
        data |= {f"{name}: talks": row["simulations"], f"{name}: words each": _mean(row["words"], "words")}
        if judged:
            data[f"{name}: rating"] = _mean(row[RATING], RATING)
    return data


def _mean(mean: Row | None, measure: str) -> Estimate:
    if mean is None or mean["mean"] is None:
        return Estimate(None)
    return Estimate(mean["mean"], ends_of(mean["ci95"]), 2 if measure == RATING else 1)


def _overall(stats: Row) -> Iterator[Block]:
    types = [
        f"{counted(row['completed'], f'completed {kind} simulation')} with {row['messages']:,} messages and {row['words']:,} words"
        for kind, row in stats["by_interaction_type"].items()
    ]
    met = f"{stats['combinations_run']:,} of {stats['combinations_possible']:,} possible combinations met"
    yield Words(f"{met}: {listing(types)}.")
    if stats["unsplit_scenes"]:
        yield Words(f"{stats['unsplit_scenes']:,} narrated rounds name no speaker; they are kept as (scene)", "warning")


def _ratings(judged: Row | None) -> Iterator[Block]:
    if judged is None:
        return
    low, high = judged["scale"]
    note = f"{judged['given']:,} ratings from {low:g} to {high:g}, {judged['missing']:,} missing"
    yield Words(judged["question"], "strong")
    yield Headline("mean rating", _mean(judged, RATING), note)
    if judged["ci95"]:
        yield Words(f"The 95 % interval describes {judged.get('estimand', 'entities like these')}.", "quiet")
    if warning := judged.get("note"):
        yield Words(warning, "warning")
    if given := judged["distribution"]:
        levels = dict.fromkeys(map(str, levels_of((low, high))), 0)
        counts = {**levels, **given} if levels.keys() >= given.keys() else given
        series = Series("times given", tuple(map(float, counts.values())), colour="accent")
        yield Figure("bars", "times each rating was given", (series,), labels=tuple(counts))


def _entities(entities: Mapping[str, Row], measure: str) -> Iterator[Block]:
    if not entities:
        return
    ranked = dict(sorted(entities.items(), key=lambda item: -(_mean(item[1][measure], measure).value or 0.0)))
    places = {name: place for place, name in enumerate(sorted(entities))}
    columns = {"words": "words each (95 %)", **({RATING: "rating (95 %)"} if measure == RATING else {})}
    failed = any(row.get("failed") for row in entities.values())
    rows: list[tuple[Cell, ...]] = [
        (
            Named(name, places[name]),
            row["simulations"],
            *([row["failed"]] if failed else []),
            *(_mean(row[one], one) for one in columns),
        )
        for name, row in ranked.items()
    ]
    yield table(
        "entities", ("entity", "talks", *(["failed"] if failed else []), *columns.values()), rows, first=MOST_ENTITIES
    )
    drawn = {name: row[measure] for name, row in list(ranked.items())[:MOST_DRAWN] if row[measure]}
    if not drawn:
        return
    title = "mean rating" if measure == RATING else "words a talk"
    series = series_of(title, [_mean(row, measure) for row in drawn.values()], "primary")
    order = tuple(places[name] for name in drawn)
    caption = "95 % intervals over the combinations that an entity was in."
    yield Figure("means", title, (series,), labels=tuple(drawn), places=order, caption=caption)


def _attributes(attributes: Mapping[str, Row], measure: str) -> Iterator[Block]:
    """The clearest first."""
    if not attributes:
        return
    ranked = sorted(attributes.items(), key=lambda item: _doubt(item[1]["tests"][measure]))
    rows: list[tuple[Cell, ...]] = []
    for attribute, entry in ranked:
        test = entry["tests"][measure] or {"correlation": None, "p_holm": None}
        tested = (Number(test["correlation"], 2), PValue(test["p_holm"]))
        for place, group in enumerate(entry["groups"]):
            cells = (_mean(group[measure], measure), *(("", "") if place else tested))
            rows.append(("" if place else attribute, group["value"], group["entities"], *cells))
    columns = ("attribute", "value", "entities", f"{measure} (95 %)", "correlation", "p (Holm)")
    first = sum(len(entry["groups"]) for _, entry in ranked[:MOST_ATTRIBUTES])
    yield table(f"what goes with the {measure} (exploratory)", columns, rows, left=2, first=first)
    note = "Intervals leave out one entity at a time, with all its talks; of two entities there is none."
    few = any(entry.get("note") for entry in attributes.values())
    yield Words(note + " Groups of fewer than 24 entities can have too narrow ones." * few, "quiet")


def _doubt(test: Row | None) -> tuple[float, float]:
    return (2.0, 0.0) if test is None else (test["p_holm"], -abs(test["correlation"] or 0.0))


STYLES = {
    "enacted": "Each entity spoke by a call of its own, from its own point of view: it was told its description and attributes, "
    "and of the others their names and what they said.",
    "narrated": "One call wrote a round for all entities, which was then split by the names before what they said.",
}
ORDERS = {"listed": "in the order of their list", "shuffled": "in an order drawn for each simulation by the seed"}
MEANS = (
    "An entity's mean is over its own simulations and describes this entity; its 95 % interval is over the combinations it was in, of "
    "which replicates count once."
)
OVER_ENTITIES = (
    "A mean over entities describes entities like these in this context. Its 95 % interval is by the jackknife (Efron and Stein, 1981), "
    "which left out one entity at a time with all its conversations, with Student's quantile."
)
TESTS = (
    "Entities' means were tested against attributes by Spearman's correlation for numbers and by Kruskal and Wallis's test for groups, "
    "from ten entities on that have both. All tests are exploratory and one family over attributes and measures (Holm, 1979)."
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
    yield "Words are separated by spaces; in Chinese and Japanese, each character counts."


def _missing(statistics: Mapping[str, Any]) -> Iterator[str]:
    missing = statistics["missing"]
    if missing["simulations"]:
        yield "Only completed simulations were measured; those that failed are in no figure."
    if missing["judgements"]:
        yield f"{counted(missing['judgements'], 'rating')} of completed simulations {'is' if missing['judgements'] == 1 else 'are'} missing."
    if scenes := statistics.get("unsplit_scenes"):
        yield f"{counted(scenes, 'narrated round')} named no speaker and count for no entity."
