"""Three minutes against a provider that enforces 600 requests a minute: no 429, and at least 97 % of it used."""

import asyncio
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tidepool import SecretGame
from tidepool.engine.bench.figures import Measurement, at_least, at_most
from tidepool.engine.config.sections import Agent, Providers, Service, SimulatedSettings
from tidepool.engine.events import CallRetried
from tidepool.engine.run import run_batch

PER_MINUTE = 600
MINUTES = 3


def prove() -> Iterator[Measurement]:
    refusals = 0

    def listen(event: object) -> None:
        nonlocal refusals
        refusals += isinstance(event, CallRetried)

    study = SecretGame(
        agents=[Agent(name=name, model="simulated:filler", secret=name) for name in ("Ada", "Bob")],
        num_interactions=PER_MINUTE * MINUTES,
        messages_per_interaction=1,
        detection=["exact"],
        service=Service(name="live", requests_per_minute=PER_MINUTE, max_concurrent=100),
        providers=Providers(simulated=SimulatedSettings(latency=0.5, jitter=0.5, enforced_per_minute=PER_MINUTE)),
    )
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TIDEPOOL_SELLER"] = os.environ["TIDEPOOL_STATE"] = folder
        summary = asyncio.run(run_batch(study, Path(folder) / "pace.db", on_event=listen))
    used = summary["calls"]["bought"] / (summary["seconds"] / 60) / PER_MINUTE
    yield at_most("429s in three minutes at 600 requests a minute", refusals, "", 0)
    yield at_least("share of the limit used over three minutes", used, "", 0.97)


if __name__ == "__main__":
    for figure in prove():
        print(figure)
