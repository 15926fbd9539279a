"""The report of a simulation, for ended and running batches, and its methods text."""

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
    section,
    sentence,
    series_of,
    table,
)
from tidepool.engine.studies.simulation.measures import RATING

MOST_ENTITIES = 12
MOST_ATTRIBUTES = 2
MOST_DRAWN = 24

Row = Mapping[str, Any]


def blocks(statistics: Row) -> list[Block]:
    measure = RATING if statistics["judgements"] else "words"
    return [
        *_overall(statistics),
        *_ratings(statistics["judgements"]),
        *section("entities", *_entities(statistics["entities"], measure)),
        *section("attributes", *_attributes(statistics["by_attribute"], measure)),
        *section("coding", *coding_blocks(statistics)),
    ]


def figures(statistics: Row) -> dict[str, Cell]:
    data: dict[str, Cell] = {
        "combinations run": statistics["combinations_run"],
        "possible combinations": statistics["combinations_possible"],
        "messages": statistics["messages"],
        "words": statistics["words"],
        "failed simulations": statistics["missing"]["simulations"],
    }
    if judged := statistics["judgements"]:
        data |= {
            "ratings": judged["given"],
            "ratings missing": judged["missing"],
            "mean rating": _mean(judged, RATING),
        }
    for name, row in statistics["entities"].items():
        data |= {f"{name}: conversations": row["simulations"], f"{name}: words each": _mean(row["words"], "words")}
        if judged:
            data[f"{name}: rating"] = _mean(row[RATING], RATING)
    return data


def _mean(mean: Row | None, measure: str) -> Estimate:
    if mean is None or mean["mean"] is None:
        return Estimate(None)
    return Estimate(mean["mean"], ends_of(mean["ci95"]), 2 if measure == RATING else 1)


def _overall(statistics: Row) -> Iterator[Block]:
    types = [
        f"{counted(row['completed'], f'{kind} conversation')} with {row['messages']:,} messages and {row['words']:,} words"
        for kind, row in statistics["by_interaction_type"].items()
    ]
    share = f"{statistics['combinations_run']:,} of {statistics['combinations_possible']:,} possible combinations"
    yield Words(
        f"{sentence(listing(types))}, over {share}.", "finding" if statistics["judgements"] is None else "plain"
    )
    if statistics["unsplit_scenes"]:
        yield Words(
            f"{statistics['unsplit_scenes']:,} narrated rounds name no speaker and are stored as (scene).", "warning"
        )


def _ratings(judged: Row | None) -> Iterator[Block]:
    if judged is None:
        return
    low, high = judged["scale"]
    note = f"{judged['given']:,} ratings from {low:g} to {high:g}, {judged['missing']:,} missing"
    yield Words(f"Question to the judge: {judged['question']}", "finding")
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
        "entities",
        ("entity", "conversations", *(["failed"] if failed else []), *columns.values()),
        rows,
        first=MOST_ENTITIES,
    )
    drawn = {name: row[measure] for name, row in list(ranked.items())[:MOST_DRAWN] if row[measure]}
    if not drawn:
        return
    title = "mean rating" if measure == RATING else "words per conversation"
    series = series_of(title, [_mean(row, measure) for row in drawn.values()], "primary")
    order = tuple(places[name] for name in drawn)
    caption = "95 % intervals over the combinations of each entity."
    yield Figure("means", title, (series,), labels=tuple(drawn), places=order, caption=caption)


def _attributes(attributes: Mapping[str, Row], measure: str) -> Iterator[Block]:
    """Yields a table by attribute, the smallest p-values first."""
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
    yield table(f"{measure} by attribute (exploratory)", columns, rows, left=2, first=first)
    note = "Intervals are jackknifed over entities. Groups of two entities have none."
    few = any(entry.get("note") for entry in attributes.values())
    yield Words(note + " In groups of fewer than 24 entities they can be too narrow." * few, "quiet")


def _doubt(test: Row | None) -> tuple[float, float]:
    return (2.0, 0.0) if test is None else (test["p_holm"], -abs(test["correlation"] or 0.0))


STYLES = {
    "enacted": "Each message was a separate request to the model. Its prompt held the description and attributes of the speaker, and of "
    "the others only their names and messages.",
    "narrated": "One request wrote each round for all entities. The text was then split at the names of the speakers.",
}
ORDERS = {"listed": "in the order of their list", "shuffled": "in an order drawn at random for each simulation"}
MEANS = (
    "The mean of an entity is over its simulations and describes this entity. Its 95 % interval treats the combinations with this entity "
    "as clusters, so replicates count once."
)
OVER_ENTITIES = (
    "A mean over entities describes entities like these in this context. Its 95 % interval is a jackknife interval with Student's "
    "quantile (Efron and Stein, 1981). The jackknife left out one entity at a time with all its conversations."
)
TESTS = (
    "Means of entities were tested against numeric attributes with Spearman's correlation and against groups with the Kruskal-Wallis test, "
    "if at least ten entities had both. These tests are exploratory, with Holm's correction over all attributes and measures (Holm, 1979)."
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
    company = "a monologue of one entity" if size == 1 else f"a conversation of {size:,} entities"
    yield ended(f"The study had {who}. Each simulation was {company} in this context: {quoted(settings['context'])}")
    yield STYLES.get(settings["style"], "")
    length = counted(rounds * turns, "turn")
    yield (
        f"A simulation had {length} ({counted(rounds, 'round')} of {turns:,}). In each turn, every entity wrote one message, "
        f"{ORDERS.get(settings.get('speaking_order', 'listed'), '')}."
    )
    if settings.get("thoughts"):
        yield "Each message began with a private thought, which was stored and not shown to the others."
    run, possible = statistics["combinations_run"], statistics["combinations_possible"]
    some = "were drawn at random, so that all entities took part about equally often"
    yield f"{run:,} of {possible:,} possible combinations {some if run < possible else 'took part, about equally often'}."
    yield f"{settings['model']} wrote in {settings['language']} with {sampling(settings)}."


def _measures(settings: Mapping[str, Any]) -> Iterator[str]:
    if judge := settings.get("judge"):
        low, high = judge["scale"]
        yield ended(
            f"The judge {judge['model']} rated every speaker of every completed conversation at temperature 0, on a scale from {low:g} to "
            f"{high:g}. It saw the transcript without attributes and thoughts. The question was: {quoted(judge['question'])}"
        )
        yield "An answer without a single clear number on the scale counted as missing."
    if settings["language"].lower() in ("chinese", "japanese"):
        yield "Each Chinese or Japanese character counted as a word."


def _missing(statistics: Mapping[str, Any]) -> Iterator[str]:
    missing = statistics["missing"]
    if missing["simulations"]:
        yield "Failed simulations were left out of all figures."
    if missing["judgements"]:
        yield f"{counted(missing['judgements'], 'rating')} of completed simulations {'is' if missing['judgements'] == 1 else 'are'} missing."
    if scenes := statistics.get("unsplit_scenes"):
        yield f"{counted(scenes, 'narrated round')} named no speaker and were left out of the figures of entities."
