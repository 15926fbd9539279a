"""The statistics of an evolution: generations, finalists, held-out problems, and the champion's prompt."""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidepool.engine.errors import NotFound
from tidepool.engine.inference.intervals import Interval
from tidepool.engine.inference.typed import Statistics
from tidepool.engine.studies.evolution.genome import join_segments, split_frame, split_segments
from tidepool.engine.studies.evolution.records import GENERATION, RESULT, finalists
from tidepool.storage.batches import find_batch
from tidepool.storage.queries.learning import genome, genome_counts
from tidepool.storage.queries.summary import findings


@dataclass(frozen=True)
class GenerationStatistics(Statistics):
    generation: int
    best: float
    mean: float
    diversity: float
    calls: int
    leader: str
    missing: float


@dataclass(frozen=True)
class ByModel(Statistics):
    fitness: float | None
    accuracy: float | None
    validation_accuracy: float | None
    validation_ci95: Interval | None


@dataclass(frozen=True)
class MetricEstimate(Statistics):
    value: float | None
    ci95: Interval | None


@dataclass(frozen=True)
class Portrait(Statistics):
    """A prompt with what it is worth; an unfinished run has not met the held-out problems."""

    LEFT_OUT = frozenset({"components", "metrics"})

    prompt: str
    fitness: float | None
    accuracy: float | None
    validation_accuracy: float | None
    validation_ci95: Interval | None
    validation_problems: int | None
    validation_missing: float | None
    unclear: float | None
    """share of the held-out replies without a readable answer"""
    accuracy_bounds: Interval | None
    """of validation_accuracy, if all of these were wrong, or right"""
    missing: float | None
    genome_id: str
    generation: int
    operator: str
    components: Mapping[str, float | None] | None
    models: Mapping[str, ByModel] | None
    metrics: Mapping[str, MetricEstimate] | None
    """what a scorer measured beside its score, on the held-out problems"""


@dataclass(frozen=True)
class RandomSearch(Portrait):
    """What as many calls find by chance, and how the champion compares."""

    calls: int
    p_value: float | None
    p_value_holm: float | None
    difference: float
    difference_ci95: Interval | None
    difference_bounds: Interval | None
    pairs: int
    better: str | None


@dataclass(frozen=True)
class Genomes(Statistics):
    total: int
    distinct_prompts: int
    missing: float | None
    """the share of their calls that failed, so a genome that was asked more counts more"""


@dataclass(frozen=True)
class EvolutionStatistics(Statistics):
    LEFT_OUT = frozenset({"rewrites", "refused_rewrites", "won", "lost", "marked_by"})

    strategy: str
    generations: tuple[GenerationStatistics, ...]
    baseline_calls: int | None
    champion: Portrait | None
    baseline: Portrait | None
    """the best seed prompt"""
    p_value: float | None
    """None: too few pairs, or not validated yet"""
    p_value_holm: float | None
    """corrected for the comparison with random search, if there is one"""
    difference: float | None
    difference_ci95: Interval | None
    difference_bounds: Interval | None
    """if all unclear replies of the champion were wrong and those of the best seed prompt right, and the other way"""
    pairs: int
    better: str | None
    """champion or baseline; None: the two cannot be told apart, or unclear replies could reverse it"""
    stopped_by: str | None
    calls_saved_by_racing: int | None
    search_calls: int
    rewrites: int | None
    """that came back; None: not recorded"""
    refused_rewrites: Mapping[str, int] | None
    """by reason"""
    random_search: RandomSearch | None
    genomes: Genomes
    won: tuple[int, ...] | None
    """held-out problems, by number, on which the champion does better than the best seed prompt"""
    lost: tuple[int, ...] | None
    """the other way"""
    marked_by: str | None
    """what gave each reply a score from 0 to 1, of which accuracies are means: a judge's model or a scorer; None: replies
    are right or wrong"""
    most_fitness: float | None
    """that the weights allow"""


def evolution_statistics(
    connection: sqlite3.Connection, batch_number: int, settings: Mapping[str, Any]
) -> EvolutionStatistics:
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
    return EvolutionStatistics.from_json(data)


def _so_far(connection: sqlite3.Connection, batch_number: int, generations: list[dict[str, Any]]) -> dict[str, Any]:
    """An unfinished run has a leader, but no honest word on it yet."""
    leaders = [genome(connection, batch_number, item["leader"]) for item in (generations[-1:] + generations[:1])]
    champion, baseline = (dict(row) if row else None for row in leaders or (None, None))
    return {
        "champion": champion,
        "baseline": baseline,
        "pairs": 0,
        "calls_saved_by_racing": None,
        "search_calls": sum(item["calls"] for item in generations),
    }


def champion_prompt(connection: sqlite3.Connection, reference: str) -> str:
    """The champion's prompt of a batch, named by id, prefix or `last`, without what stands around its question: it fits an
    agent's `instructions`."""
    batch = find_batch(connection, reference)
    if batch["kind"] != "evolution":
        raise NotFound(f"Batch {batch['id']} is a {batch['kind']}: only an evolution has a champion.")
    champion = finalists(connection, batch["number"]).get("champion")
    row = genome(connection, batch["number"], champion) if champion else None
    if row is None:
        raise NotFound(f"Batch {batch['id']} has no champion yet: not one generation is judged.")
    return join_segments(split_frame(split_segments(row["prompt"]))[0])
