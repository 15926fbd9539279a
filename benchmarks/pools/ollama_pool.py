"""Two Ollama servers, one three times slower than the other: how much of both does a study use?

    python -m benchmarks.pools.ollama_pool

The servers are emulated in a process of their own; they answer so many calls at once and queue the rest, as Ollama
does, and do not tell how many. The study is a mutation of many environments whose mutator and target are on both
servers. What both could do together is worked out from their latency; what was done is counted by answers a second,
once the pool has found its numbers.
"""

import asyncio
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from tests.emulator.remote import RemoteEmulator
from tidepool import Mutation
from tidepool.engine.bench import Measurement, at_least
from tidepool.engine.config.sections import OllamaSettings, Providers, Service
from tidepool.engine.events import CallAnswered, Event
from tidepool.engine.run import run_batch
from tidepool.engine.runtime.run_control import RunControl
from tidepool.storage.states import StopCode

ENVIRONMENTS, STEPS, WARM_UP = 256, 2, 1
LATENCY, PARALLEL = 0.5, 4
SERVERS = {"quick": LATENCY, "slow": 3 * LATENCY}


async def shares() -> tuple[float, dict[str, int]]:
    """Answers a second over what both servers can do together, and the calls each server had."""
    faults = {name: {"latency": latency, "parallel": PARALLEL} for name, latency in SERVERS.items()}
    async with RemoteEmulator(faults=faults) as emulator:
        hosts = [emulator.urls[name] for name in SERVERS]
        rate = await _rate(hosts)
        calls = {name: (await emulator.traffic(name))["live"] for name in SERVERS}
    return rate / sum(PARALLEL / latency for latency in SERVERS.values()), calls


async def _rate(hosts: list[str]) -> float:
    moments: list[float] = []
    control = RunControl()

    def listen(event: Event) -> None:
        match event:
            case CallAnswered(wave=wave) if 2 * WARM_UP < wave <= 2 * STEPS:
                moments.append(time.monotonic())
            case CallAnswered(wave=wave) if wave > 2 * STEPS:
                control.stop_for(StopCode.STOPPED)

    study = Mutation(
        target="ollama:llama3.2",
        mutator="ollama:llama3.2",
        reward="keyword",
        num_processes=ENVIRONMENTS,
        num_env_steps=ENVIRONMENTS * STEPS,
        baselines=[],
        service=Service(name="live"),
        providers=Providers(ollama=OllamaSettings(hosts=hosts, max_concurrent=32)),
    )
    with tempfile.TemporaryDirectory() as folder:
        await run_batch(study, Path(folder) / "study.db", on_event=listen, control=control)
    return (len(moments) - 1) / (moments[-1] - moments[0])


def prove() -> Iterable[Measurement]:
    share, calls = asyncio.run(shares())
    told = ", ".join(f"{name} had {count:,} calls" for name, count in calls.items())
    yield at_least(
        "throughput of two Ollama servers, one three times slower, over the sum of both", share, "", 0.9, told
    )


if __name__ == "__main__":
    for figure in prove():
        print(f"{figure.name}: {figure.value:.2f} ({figure.note})")
