"""How a simulation was played, judged and analysed, in sentences."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.results.blocks import KindMethods, counted, ended, listing, quoted, sampling

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
    who = f"{counted(len(entities), 'described entity', 'described entities')} ({listing(one['name'] for one in entities)})"
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
