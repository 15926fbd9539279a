"""Single measurements, each in a process of its own: `python -m tidepool.engine.bench.probes NAME ARGUMENTS` prints JSON.

A process of its own starts with a cold heap, so memory and garbage collection are those of one run.
"""

import asyncio
import gc
import heapq
import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tidepool.engine.call import seed_of
from tidepool.engine.config.freezing import freeze
from tidepool.engine.config.sections import Agent, Providers, Service, SimulatedSettings
from tidepool.engine.run import resume_batch, run_batch
from tidepool.engine.simulated.provider import latency_factor
from tidepool.engine.studies.secret_game.casting import schedule_of
from tidepool.engine.studies.secret_game.in_code import SecretGame

MESSAGES = 5


def study(conversations: int, *, model: str = "filler", max_concurrent: int = 10, **simulated: Any) -> SecretGame:
    names = ("Ada", "Bob", "Cleo", "Dion")
    return SecretGame(
        agents=[Agent(name=name, model=f"simulated:{model}", secret=f"word{i}") for i, name in enumerate(names)],
        num_interactions=conversations,
        messages_per_interaction=MESSAGES,
        detection=["exact"],
        service=Service(name="live", cache=False, max_concurrent=max_concurrent),
        providers=Providers(simulated=SimulatedSettings(**simulated)),
    )


def run(config: SecretGame, folder: Path) -> tuple[dict[str, Any], float]:
    """The summary, and the CPU seconds the run took in this process."""
    started = time.process_time()
    summary = asyncio.run(run_batch(config, folder / "bench.db"))
    return summary, time.process_time() - started


def speed(conversations: int, folder: Path) -> dict[str, float]:
    """Committed calls without latency, after a first run that warms the process up."""
    run(study(50), folder)
    gc.collect()
    summary, cpu = run(study(conversations), folder)
    calls = summary["calls"]["bought"]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "calls": calls,
        "calls_per_second": calls / summary["seconds"],
        "cpu_us_per_call": cpu / calls * 1e6,
        "memory_mb": memory,
    }


def replay(conversations: int, folder: Path) -> dict[str, float]:
    """Answers read back on resume: a finished batch is reopened and taken up again."""
    from sqlmodel import update

    from tidepool.storage.file import writing
    from tidepool.storage.sql import execute
    from tidepool.storage.states import BatchStatus
    from tidepool.storage.tables import Batch

    summary, _ = run(study(conversations), folder)
    with writing(folder / "bench.db") as connection:
        execute(connection, update(Batch).values(status=BatchStatus.INTERRUPTED))
    before = summary["seconds"]
    resumed = asyncio.run(resume_batch("last", folder / "bench.db"))
    seconds = resumed["seconds"] - before
    return {"replayed": resumed["calls"]["replayed"], "answers_per_second": resumed["calls"]["replayed"] / seconds}


def makespan(conversations: int, folder: Path) -> dict[str, float]:
    """Skewed latencies: how long the run took against an ideal scheduler without overhead on the same latencies."""
    latency, jitter, at_once = 0.2, 0.8, 100
    config = study(conversations, max_concurrent=at_once, latency=latency, jitter=jitter)
    summary, _ = run(config, folder)
    chains = [
        [
            latency * latency_factor(seed_of(config.seed, number, f"t{turn}"), 1, jitter)
            for turn in range(1, MESSAGES + 1)
        ]
        for number in range(1, schedule_of(freeze(config, folder)).total + 1)
    ]
    ideal = ideal_makespan(chains, at_once)
    waves_end = sum(wave["seconds"] for wave in summary["waves"][:1])
    return {"seconds": summary["seconds"], "ideal": ideal, "ratio": summary["seconds"] / ideal, "first_wave": waves_end}


def ideal_makespan(chains: list[list[float]], at_once: int) -> float:
    """First come, first served on `at_once` places, each chain one call after another, nothing lost in between."""
    now = 0.0
    waiting = [(0.0, number, 0) for number in range(len(chains))]
    running: list[tuple[float, int, int]] = []
    order = len(chains)
    heapq.heapify(waiting)
    while waiting or running:
        while waiting and len(running) < at_once:
            _, number, turn = heapq.heappop(waiting)
            heapq.heappush(running, (now + chains[number][turn], number, turn))
        now, number, turn = heapq.heappop(running)
        if turn + 1 < len(chains[number]):
            order += 1
            heapq.heappush(waiting, (now + order * 1e-12, number, turn + 1))
    return now


PROBES = {"speed": speed, "replay": replay, "makespan": makespan}


def main() -> None:
    name, size = sys.argv[1], int(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TIDEPOOL_SELLER"] = os.environ["TIDEPOOL_STATE"] = folder
        print(json.dumps(PROBES[name](size, Path(folder))))


if __name__ == "__main__":
    main()
