"""Runs of an evolution over several seeds: what each is worth, and how they are shown."""

import sqlite3
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tidepool.engine.design.outcomes import (
    PERCENT,
    BatchValues,
    KindOutcomes,
    Outcome,
    PlannedBatch,
    PlannedRivals,
    PlannedValues,
    Sections,
    number,
)
from tidepool.engine.results.blocks import Block, Figure
from tidepool.engine.results.seeds_report import BAND, SeedWords, curve_over_seeds, members_of, seed_blocks
from tidepool.engine.statistics.rates import UNIT
from tidepool.engine.studies.evolution.records.finding_names import RESULT, VALIDATION
from tidepool.engine.studies.evolution.statistics import EvolutionStatistics
from tidepool.engine.studies.several_seeds import Runs
from tidepool.storage.queries.summary import finding

if TYPE_CHECKING:
    from tidepool.engine.config.frozen import FrozenConfig

CHAMPION = "champion"
WORDS = SeedWords(
    title="champions on held-out problems, over seeds",
    measure="held out %",
    held_out="problems",
    kind="strategy",
    digits=1,
    baselines={"baseline": "the best seed prompt", "random_search": "random search"},
)


def _values(connection: sqlite3.Connection, batch: sqlite3.Row) -> Mapping[str, float | None]:
    result: Mapping[str, Any] = finding(connection, batch["number"], RESULT) or {}
    roles = (CHAMPION, "baseline", "random_search")
    return {name: row["validation_accuracy"] for name in roles if (row := result.get(name))}


def _held_out(connection: sqlite3.Connection, batch: sqlite3.Row) -> frozenset[str]:
    judged: Mapping[str, Any] = finding(connection, batch["number"], VALIDATION) or {}
    return frozenset(filter(None, (judged.get("problems"),)))


RUNS = Runs(
    section="evolution",
    main=CHAMPION,
    measure="held-out accuracy of a run's champion",
    called_by="strategy",
    values=_values,
    held_out=_held_out,
    bulky=("seed_prompts",),
    drawn=("frozen",),
)

ACCURACY, CALLS = "held-out accuracy", "calls"


def _listed(sections: Sections) -> list[Outcome]:
    accuracy = "accuracy of the champion on held-out problems"
    return [
        Outcome(name=ACCURACY, words=accuracy, unit=PERCENT, bounds=UNIT, per_talk=False, also=("accuracy",)),
        Outcome(name=CALLS, words="calls that the search took", per_talk=False, digits=0),
    ]


def _read(connection: sqlite3.Connection, batch: Mapping[str, Any], sections: Sections) -> BatchValues:
    """Of a run that came to its end."""
    result: Mapping[str, Any] = finding(connection, batch["number"], RESULT) or {}
    champion = result.get(CHAMPION) or {}
    return BatchValues(
        of_batch={ACCURACY: number(champion.get("validation_accuracy")), CALLS: number(result.get("search_calls"))}
    )


def _planned(config: "FrozenConfig") -> PlannedBatch:
    from tidepool.engine.studies.evolution.inputs import settings_of

    settings = settings_of(config)
    held_out = len(settings.frozen.validation) if settings.frozen else settings.validation_problems
    replies = settings.samples * len(settings.solvers())
    return PlannedBatch(
        counted="held-out problems",
        outcomes={ACCURACY: PlannedValues(held_out, replies)},
        sizes={"evolution.validation_problems": held_out},
        rivals=(PlannedRivals("the champion and the best seed prompt", ACCURACY, held_out, "matched"),),
    )


OUTCOMES = KindOutcomes(_listed, _read, _planned)


def blocks_over_seeds(batches: Sequence[Mapping[str, Any]], differences: Sequence[Mapping[str, Any]]) -> list[Block]:
    known = {
        batch["batch_id"]: (batch["seed"], EvolutionStatistics.from_json(batch["statistics"])) for batch in batches
    }
    groups = {label: dict(known[batch] for batch in ids) for label, ids in members_of(differences).items()}
    worth = {
        label: {seed: run.champion.validation_accuracy for seed, run in runs.items() if run.champion}
        for label, runs in groups.items()
    }
    curves = [
        one
        for label, runs in groups.items()
        if (
            one := curve_over_seeds(
                label, [{row.generation: row.best for row in run.generations} for run in runs.values()]
            )
        )
    ]
    drawn = Figure(
        "lines",
        "best fitness in training, over seeds",
        tuple(curves),
        xlabel="generation",
        ylabel="fitness",
        caption=BAND,
    )
    return seed_blocks(worth, differences, WORDS, [drawn] if curves else [], scale=100)
