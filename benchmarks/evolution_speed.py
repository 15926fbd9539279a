"""What asynchronous evaluation gains: population 30 × 50 problems, every call as slow as any other, the same study both
ways in one run.

python -m benchmarks.evolution_speed
"""

import asyncio
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from tidepool import Evolution
from tidepool.engine.bench import Measurement, at_least
from tidepool.engine.config.sections import Providers, Service, SimulatedSettings
from tidepool.engine.events import CallAnswered, Event
from tidepool.engine.run import run_batch
from tidepool.engine.runtime.run_control import RunControl
from tidepool.engine.studies.evolution.config import PresetName
from tidepool.storage.states import StopCode

POPULATION, PROBLEMS, LATENCY = 30, 50, 0.1
CALLS = POPULATION * PROBLEMS
PRESET_CONCURRENCY: dict[PresetName, int] = {"conservative": 15, "balanced": 50}
"""genomes at once × calls of each: what the presets of the contract allow"""


async def seconds(*, preset: PresetName = "balanced", sequential: bool = False) -> float:
    """From the first call of a generation to its last answer, start-up excluded; then the batch is stopped."""
    began = ended = 0.0
    control = RunControl()

    def listen(event: Event) -> None:
        nonlocal began, ended
        match event:
            case CallAnswered(wave=1):
                ended = time.monotonic()
                began = began or ended - LATENCY
            case CallAnswered():
                control.stop_for(StopCode.STOPPED)

    study = Evolution(
        population_size=POPULATION,
        max_problems=PROBLEMS,
        racing=False,
        preset=preset,
        rate_limit_per_minute=0,
        enable_async_evaluation=not sequential,
        service=Service(name="live"),
        providers=Providers(simulated=SimulatedSettings(latency=LATENCY)),
    )
    with tempfile.TemporaryDirectory() as folder:
        await run_batch(study, Path(folder) / "study.db", on_event=listen, control=control)
    return ended - began


def prove() -> Iterable[Measurement]:
    apart = asyncio.run(seconds(sequential=True))
    for preset, concurrency in PRESET_CONCURRENCY.items():
        together = asyncio.run(seconds(preset=preset))
        yield at_least(
            f"{POPULATION} prompts × {PROBLEMS} problems, preset {preset}, {concurrency} calls at once: speed-up over one "
            f"call at a time ÷ {min(concurrency, CALLS)}",
            apart / together / min(concurrency, CALLS),
            "",
            0.9,
            f"{LATENCY} s a call: {apart:.1f} s and {together:.2f} s",
        )


if __name__ == "__main__":
    for figure in prove():
        print(f"{'ok    ' if figure.met else 'MISSED'} {figure.name}: {figure.value:.3f} ({figure.note})")
