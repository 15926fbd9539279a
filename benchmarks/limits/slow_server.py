"""A server with two slots that queues in silence, six calls allowed, and a timeout of three times what a call takes.

Every talk completes, at nearly the speed of the best fixed number of calls, which only somebody who knows the server
could have set. The two runs take turns on one machine; what they are compared by is the time between first and last answer.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.emulator import RemoteEmulator
from tests.support.state import query
from tidepool import SecretGame
from tidepool.engine.bench import Measurement, at_least, at_most
from tidepool.engine.config.sections import Agent, Service
from tidepool.engine.events import CallAnswered
from tidepool.engine.run import run_batch

SLOTS, ALLOWED = 2, 6
MEAN = 0.4
TALKS, MESSAGES = 30, 5
CALLS = TALKS * MESSAGES


@dataclass(frozen=True, slots=True)
class Served:
    """One run of the study."""

    completed: int
    seconds: float
    bought: int
    """by the server's own books"""
    timeouts: int


def prove() -> Iterator[Measurement]:
    best, found = asyncio.run(_served(SLOTS)), asyncio.run(_served(ALLOWED))
    what = f"{SLOTS} slots, {ALLOWED} calls allowed, timeout 3 × the mean"
    note = f"{found.seconds:.1f} s, best fixed number {best.seconds:.1f} s, {found.timeouts} timeouts in {CALLS} calls"
    yield at_least(f"conversations completed: {what}", found.completed / TALKS, "", 1.0)
    yield at_least("speed ÷ that of the best fixed concurrency", best.seconds / found.seconds, "×", 0.8, note)
    yield at_most("bought ÷ needed, by the server's books", found.bought / CALLS, "×", 1.1)


async def _served(at_once: int) -> Served:
    moments: list[float] = []

    def listen(event: object) -> None:
        if isinstance(event, CallAnswered):
            moments.append(time.monotonic())

    conduct: dict[str, Any] = {"latency": MEAN, "jitter": 0.5, "parallel": SLOTS}
    async with RemoteEmulator(faults={"openai": conduct}) as emulator:
        os.environ.update(emulator.env())
        study = SecretGame(
            agents=[
                Agent(name=name, model="openai:gpt-4o-mini", secret=f"orchid {number}")
                for number, name in enumerate(("Ada", "Bob"))
            ],
            num_interactions=TALKS,
            messages_per_interaction=MESSAGES,
            detection=["exact"],
            service=Service(name="live", max_concurrent=at_once, timeout=3 * MEAN),
        )
        with tempfile.TemporaryDirectory() as folder:
            os.environ["TIDEPOOL_STATE"] = folder
            database = Path(folder) / "slow.db"
            summary = await run_batch(study, database, on_event=listen)
            timeouts = query(database, "SELECT count(*) FROM surplus WHERE reason = 'timeout'")[0][0]
        bought = len(await emulator.purchases())
    return Served(summary["units"]["completed"], moments[-1] - moments[0], bought, timeouts)


if __name__ == "__main__":
    for figure in prove():
        print(figure)
