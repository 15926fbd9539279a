"""What stepping together gains: 16 environments, every call takes 0.1 s, the same study both ways in one run.

python -m benchmarks.mutation_speed
"""

import asyncio
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from tidepool import Mutation
from tidepool.engine.bench.figures import Measurement, at_least
from tidepool.engine.config.sections import Providers, Service, SimulatedSettings
from tidepool.engine.core.run_control import RunControl
from tidepool.engine.events import CallAnswered, Event
from tidepool.engine.run import run_batch
from tidepool.storage.states import StopCode

ENVIRONMENTS, STEPS, LATENCY = 16, 10, 0.1


async def seconds(*, batching: bool) -> float:
    """From the first call of a training to its last answer, start-up excluded; then the batch is stopped."""
    last_wave = 2 * STEPS
    began = ended = 0.0
    control = RunControl()

    def listen(event: Event) -> None:
        nonlocal began, ended
        match event:
            case CallAnswered(wave=wave) if wave <= last_wave:
                ended = time.monotonic()
                began = began or ended - LATENCY
            case CallAnswered():
                control.stop_for(StopCode.STOPPED)

    study = Mutation(
        num_processes=ENVIRONMENTS,
        num_env_steps=ENVIRONMENTS * STEPS,
        use_batching=batching,
        baselines=[],
        service=Service(name="live", max_concurrent=ENVIRONMENTS),
        providers=Providers(simulated=SimulatedSettings(latency=LATENCY)),
    )
    with tempfile.TemporaryDirectory() as folder:
        await run_batch(study, Path(folder) / "study.db", on_event=listen, control=control)
    return ended - began


def prove() -> Iterable[Measurement]:
    together = asyncio.run(seconds(batching=True))
    apart = asyncio.run(seconds(batching=False))
    yield at_least(
        f"{ENVIRONMENTS} environments stepping together, against one after another",
        apart / together,
        "× faster",
        12,
        f"{LATENCY} s a call: {apart:.1f} s and {together:.2f} s",
    )


if __name__ == "__main__":
    for figure in prove():
        print(f"{figure.name}: {figure.value:.1f} {figure.unit} ({figure.note})")
