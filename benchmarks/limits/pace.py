"""A limit of requests a minute against a server that enforces it in every second: no 429, and nearly all of it used.

The server is the test suite's emulator in a process of its own, so calls arrive as unevenly as they do over a wire.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.emulator import RemoteEmulator
from tidepool import SecretGame
from tidepool.engine.bench.figures import Measurement, at_least, at_most
from tidepool.engine.config.sections import Agent, Providers, ProviderSettings, Service
from tidepool.engine.events import CallAnswered
from tidepool.engine.run import run_batch

MINUTES = 1


def prove() -> Iterator[Measurement]:
    for per_minute in (600, 1200):
        refused, used = asyncio.run(_paced(per_minute))
        limit = f"{per_minute:,} requests a minute, {per_minute // 60} in any second"
        yield at_most(f"429s at {limit}", refused, "", 0, f"{MINUTES} minutes")
        yield at_least(f"share used of {limit}", used, "", 0.95, "between the first and the last answer")


async def _paced(per_minute: int) -> tuple[int, float]:
    moments: list[float] = []

    def listen(event: object) -> None:
        if isinstance(event, CallAnswered):
            moments.append(time.monotonic())

    conduct = {"latency": 0.5, "jitter": 0.5, "requests_per_minute": per_minute, "window": 1.0}
    async with RemoteEmulator(faults={"openai": conduct}) as emulator:
        os.environ.update(emulator.env())
        study = SecretGame(
            agents=[Agent(name=name, model="openai:gpt-4o-mini", secret=name) for name in ("Ada", "Bob")],
            num_interactions=per_minute * MINUTES,
            messages_per_interaction=1,
            detection=["exact"],
            service=Service(name="live", requests_per_minute=per_minute, max_concurrent=100),
            providers=Providers(openai=ProviderSettings()),
        )
        with tempfile.TemporaryDirectory() as folder:
            os.environ["TIDEPOOL_STATE"] = folder
            await run_batch(study, Path(folder) / "pace.db", on_event=listen)
        traffic = await emulator.traffic("openai")
    return traffic.get("live:limit", 0), (len(moments) - 1) / (moments[-1] - moments[0]) * 60 / per_minute


if __name__ == "__main__":
    for figure in prove():
        print(figure)
