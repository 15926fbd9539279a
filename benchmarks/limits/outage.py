"""A server that is gone for a minute in the middle of a study: every talk completes, and nothing is bought twice."""

import asyncio
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.emulator import RemoteEmulator
from tests.support.state import log_of
from tidepool import SecretGame
from tidepool.engine.bench import Measurement, at_least, at_most
from tidepool.engine.config.sections import Agent, Service
from tidepool.engine.run import run_batch

GONE = 60.0
TALKS, MESSAGES = 60, 4
CALLS = TALKS * MESSAGES
RETRIES = 1
"""with their own retries alone, all would have failed after a second"""


def prove() -> Iterator[Measurement]:
    summary, bought, log = asyncio.run(_interrupted())
    back = [line for line in log if "answers again" in line][-1]
    yield at_least(
        f"conversations completed, the server gone for {GONE:g} s in the middle",
        summary["units"]["completed"] / TALKS,
        "",
        1.0,
        f"retries = {RETRIES}; the log says: {back.rpartition(', ')[2]}",
    )
    yield at_most("bought ÷ needed, by the server's books", bought / CALLS, "×", 1.0)
    yield at_most("seconds of the run beyond the outage", summary["seconds"] - GONE, "s", 40.0)


async def _interrupted() -> tuple[dict[str, Any], int, list[str]]:
    conduct = {"latency": 0.3, "jitter": 0.5, "outage_after": CALLS // 2, "outage_seconds": GONE}
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
            service=Service(name="live", max_concurrent=10, retries=RETRIES),
        )
        with tempfile.TemporaryDirectory() as folder:
            os.environ["TIDEPOOL_STATE"] = folder
            database = Path(folder) / "outage.db"
            summary = await run_batch(study, database)
            log = log_of(database, summary["batch_id"])
        return summary, len(await emulator.purchases()), log


if __name__ == "__main__":
    for figure in prove():
        print(figure)
