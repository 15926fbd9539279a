"""The measurements of `tidepool bench`: the speed of this machine, and the gain of waves for your study.

`python -m tidepool.engine.bench NAME SIZE` makes a single measurement and prints JSON. A separate process starts with an
empty heap, so memory and garbage collection are those of one run.
"""

import asyncio
import gc
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tidepool.engine.config.sections import Agent, Config, Providers, Service, SimulatedSettings
from tidepool.engine.run import resume_batch, run_batch
from tidepool.engine.studies.secret_game.config import SecretGame


@dataclass(frozen=True, slots=True)
class Measurement:
    name: str
    value: float
    unit: str
    target: float
    at_least: bool
    """whether the target is a minimum or a maximum"""
    note: str = ""

    @property
    def met(self) -> bool:
        return self.value >= self.target if self.at_least else self.value <= self.target

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "met": self.met}


def at_least(name: str, value: float, unit: str, target: float, note: str = "") -> Measurement:
    return Measurement(name, value, unit, target, True, note)


def at_most(name: str, value: float, unit: str, target: float, note: str = "") -> Measurement:
    return Measurement(name, value, unit, target, False, note)


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
    """The summary, and the CPU seconds of the run in this process."""
    started = time.process_time()
    summary = asyncio.run(run_batch(config, folder / "bench.db"))
    return summary, time.process_time() - started


def speed(conversations: int, folder: Path) -> dict[str, float]:
    """Committed calls without latency, after a first run that warms up the process."""
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
    """Answers replayed on resume: a finished batch is reopened and resumed."""
    from sqlmodel import update

    from tidepool.storage.db import execute
    from tidepool.storage.file import writing
    from tidepool.storage.states import BatchStatus
    from tidepool.storage.tables import Batch

    summary, _ = run(study(conversations), folder)
    with writing(folder / "bench.db") as connection:
        execute(connection, update(Batch).values(status=BatchStatus.INTERRUPTED))
    before = summary["seconds"]
    resumed = asyncio.run(resume_batch("last", folder / "bench.db"))
    seconds = resumed["seconds"] - before
    return {"replayed": resumed["calls"]["replayed"], "answers_per_second": resumed["calls"]["replayed"] / seconds}


def texts(number: int, folder: Path) -> dict[str, float]:
    """JSON texts of 500 bytes that this machine writes and reads per second, as a reference for other speeds."""
    started = time.process_time()
    for place in range(number):
        json.loads(json.dumps({"number": place, "text": "x" * 480}))
    return {"texts_per_second": number / (time.process_time() - started)}


PROBES = {"speed": speed, "replay": replay, "texts": texts}


def main() -> None:
    name, size = sys.argv[1], int(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TIDEPOOL_SELLER"] = os.environ["TIDEPOOL_STATE"] = folder
        print(json.dumps(PROBES[name](size, Path(folder))))


def compare(config: Config) -> dict[str, Any]:
    """The study with one call in flight at a time, and with its own config."""
    with tempfile.TemporaryDirectory(prefix="tidepool-bench-") as folder:
        wave_config = _with_service(config, cache=False)
        sequential_config = _with_service(config, cache=False, name="default", max_concurrent=1)
        for provider in type(config.providers).model_fields:
            settings = getattr(sequential_config.providers, provider)
            setattr(sequential_config.providers, provider, settings.model_copy(update={"max_concurrent": 1}))
        waves = asyncio.run(run_batch(wave_config, Path(folder) / "waves.db"))
        sequential = asyncio.run(run_batch(sequential_config, Path(folder) / "sequential.db"))
    return {
        "calls": waves["calls"]["total"],
        "seconds_sequential": sequential["seconds"],
        "seconds_waves": waves["seconds"],
        "speedup": sequential["seconds"] / waves["seconds"],
        "cost_usd_sequential": sequential["cost_usd"],
        "cost_usd_waves": waves["cost_usd"],
        "simulated": waves["simulated"],
        "same_statistics": sequential["statistics"] == waves["statistics"],
    }


def _with_service(config: Config, **changes: Any) -> Config:
    return config.model_copy(
        update={
            "service": config.service.model_copy(update=changes),
            "providers": config.providers.model_copy(deep=True),
        }
    )


def probe(name: str, size: int) -> dict[str, Any]:
    """One measurement in a fresh process."""
    process = subprocess.run(
        [sys.executable, "-m", "tidepool.engine.bench", name, str(size)],
        capture_output=True,
        text=True,
        check=True,
    )
    figures: dict[str, Any] = json.loads(process.stdout)
    return figures


def measure(report: Callable[[str], None], *, full: bool) -> Iterator[Measurement]:
    """Quick: about a minute. Full: with the sizes of the documented limits, a hundred thousand conversations."""
    report("committed calls, small")
    small = min((probe("speed", 1_000) for _ in range(3)), key=lambda figures: figures["cpu_us_per_call"])
    large_size = 100_000 if full else 10_000
    report(f"committed calls, {large_size:,} conversations")
    large = probe("speed", large_size)
    speed = max(small["calls_per_second"], large["calls_per_second"])
    plain = max(probe("texts", 200_000)["texts_per_second"] for _ in range(3))
    note = f"{speed:,.0f} against {plain:,.0f} per second"
    yield at_least("committed calls, simulated, ÷ JSON texts written and read", speed / plain, "×", 0.03, note)
    growth = large["cpu_us_per_call"] / small["cpu_us_per_call"]
    yield at_most(f"CPU per call, {large_size:,} conversations ÷ 1,000", growth, "×", 1.1)
    yield at_most(f"memory with {large_size:,} live conversations of 300-byte replies", large["memory_mb"], "MB", 700)
    report("replay")
    replayed = probe("replay", 20_000 if full else 4_000)
    again = replayed["answers_per_second"]
    yield at_least("answers replayed on resume ÷ calls committed", again / speed, "×", 1.8, f"{again:,.0f} per second")


if __name__ == "__main__":
    main()
