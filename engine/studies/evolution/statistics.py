"""The statistics of an evolution: generations, finalists, held-out problems, and the champion's prompt."""

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from tidepool.engine.errors import NotFound
from tidepool.engine.studies.evolution.genome import join_segments, split_frame, split_segments
from tidepool.engine.studies.evolution.records import GENERATION, RESULT, finalists
from tidepool.storage.batches import find_batch
from tidepool.storage.queries.learning import genome_counts, genome_history
from tidepool.storage.queries.summary import findings

# Keys in the order of the JSON. Each is present, as null if unknown, except those in `LEFT_OUT`.
PORTRAIT = (
    *("prompt", "fitness", "accuracy", "validation_accuracy", "validation_ci95", "validation_problems"),
    *("validation_missing", "unclear", "accuracy_bounds", "missing", "genome_id", "generation", "operator"),
    *("components", "models", "metrics"),
)
"""a prompt with its results; an unfinished run has no results on held-out problems"""
VERDICT = ("p_value", "p_value_holm", "difference", "difference_ci95", "difference_bounds", "pairs", "better")
RANDOM_SEARCH = (*PORTRAIT, "calls", *VERDICT)
"""the result of a random search with as many requests, and its comparison with the champion"""
RUN = (
    *("strategy", "generations", "baseline_calls", "champion", "baseline", *VERDICT, "stopped_by"),
    *("calls_saved_by_racing", "search_calls", "rewrites", "refused_rewrites", "random_search", "genomes"),
    *("won", "lost", "marked_by", "most_fitness"),
)
LEFT_OUT = frozenset({"components", "metrics", "rewrites", "refused_rewrites", "won", "lost", "marked_by"})


def evolution_statistics(
    connection: sqlite3.Connection, batch_number: int, settings: Mapping[str, Any]
) -> dict[str, Any]:
    value = findings(connection, batch_number)
    generations = [content for name, content in value.items() if name.startswith(GENERATION)]
    stored = value.get(RESULT) or _so_far(connection, batch_number, generations)
    counts = genome_counts(connection, batch_number)
    judged = f"judge {settings.get('judge')}" if settings.get("task") == "judge" else None
    data = {
        "strategy": settings["strategy"],
        "generations": generations,
        **stored,
        "genomes": dict(zip(("total", "distinct_prompts", "missing"), counts, strict=True)),
        "most_fitness": sum(settings["weights"].values()),
        "marked_by": f"scorer {settings['scorer']}" if settings.get("scorer") else judged,
    }
    for role, names in (("champion", PORTRAIT), ("baseline", PORTRAIT), ("random_search", RANDOM_SEARCH)):
        data[role] = _in_order(data[role], names) if data.get(role) else None
    return _in_order(data, RUN)


def _in_order(data: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: data.get(name) for name in names if name not in LEFT_OUT or data.get(name) is not None}


def _so_far(connection: sqlite3.Connection, batch_number: int, generations: list[dict[str, Any]]) -> dict[str, Any]:
    """An unfinished run has a leader, but no final test yet."""
    leaders = [
        genome_history(connection, batch_number, item["leader"]) for item in (generations[-1:] + generations[:1])
    ]
    champion, baseline = (dict(row) if row else None for row in leaders or (None, None))
    return {
        "champion": champion,
        "baseline": baseline,
        "pairs": 0,
        "calls_saved_by_racing": None,
        "search_calls": sum(item["calls"] for item in generations),
    }


def champion_prompt(connection: sqlite3.Connection, reference: str) -> str:
    """The champion's prompt of a batch, named by id, prefix or `last`, without the frame around its question. So it fits an
    agent's `instructions`."""
    batch = find_batch(connection, reference)
    if batch["kind"] != "evolution":
        raise NotFound(f"Batch {batch['id']} is a {batch['kind']}. Only an evolution has a champion.")
    champion = finalists(connection, batch["number"]).get("champion")
    row = genome_history(connection, batch["number"], champion) if champion else None
    if row is None:
        raise NotFound(f"Batch {batch['id']} has no champion yet, because no generation is complete.")
    return join_segments(split_frame(split_segments(row["prompt"]))[0])
