"""Small evolutions on the real engine and a real file, and what they left there."""

from pathlib import Path
from typing import Any

from tests.support.state import query
from tidepool import Evolution
from tidepool.engine.config.sections import Providers, Service, SimulatedSettings
from tidepool.engine.events import CallAnswered, Event
from tidepool.engine.run import resume_batch, run_batch
from tidepool.engine.runtime.session import RunControl
from tidepool.engine.studies.evolution.genome import seed_genomes
from tidepool.storage.states import StopCode


def study(
    *,
    seed: int = 7,
    service: str = "auto",
    limits: dict[str, Any] | None = None,
    simulated: dict[str, Any] | None = None,
    **settings: Any,
) -> Evolution:
    sizes: dict[str, Any] = {
        "population_size": 8,
        "max_generations": 4,
        "max_problems": 12,
        "validation_problems": 20,
        "elite_size": 2,
        "rate_limit_per_minute": 0,
        "seed_prompts": [genome.prompt for genome in seed_genomes()[:10]],
    }
    return Evolution(
        seed=seed,
        service=Service(name=service, **{"batch_from": 0, **(limits or {})}),  # type: ignore[arg-type]
        providers=Providers(simulated=SimulatedSettings(**(simulated or {}))),
        **{**sizes, **settings},
    )


async def run(config: Evolution, database: Path) -> dict[str, Any]:
    return await run_batch(config, database)


async def run_with_interruptions(config: Evolution, database: Path, every: int) -> tuple[dict[str, Any], int]:
    """Stops after so many new answers, again and again; returns the summary and how often it was stopped."""
    stops = 0
    control, listener = _stopping_after(every)
    summary = await run_batch(config, database, control=control, on_event=listener)
    while summary["status"] == "interrupted":
        stops += 1
        control, listener = _stopping_after(every)
        summary = await resume_batch("last", database, control=control, on_event=listener)
    return summary, stops


def _stopping_after(count: int) -> tuple[RunControl, Any]:
    control = RunControl()
    answered = 0

    def listen(event: Event) -> None:
        nonlocal answered
        if isinstance(event, CallAnswered) and event.source != "replay":
            answered += 1
            if answered == count:
                control.stop_for(StopCode.STOPPED)

    return control, listen


def evolved(summary: dict[str, Any], database: Path) -> dict[str, Any]:
    """What must be the same for the same seed: every genome and every figure but those of time and money."""
    statistics = {name: value for name, value in summary["statistics"].items() if name != "performance"}
    columns = "generation, genome_id, parents, operator, prompt, fitness, accuracy, missing"
    sql = f"SELECT {columns} FROM genomes WHERE batch_id = ? ORDER BY generation, genome_id"
    genomes = query(database, sql, summary["batch_id"])
    return {"genomes": genomes, "statistics": statistics, "reason": summary["reason"], "units": summary["units"]}
