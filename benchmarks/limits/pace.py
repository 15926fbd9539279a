"""A limit of requests a minute against a server that enforces it in every second: no 429, and nearly all of it used.

The server is the test suite's emulator in a process of its own, so calls arrive as unevenly as they do over a wire. A
machine that is taken away for 50 ms in the midst of it delays calls on their way by more than 95 % of a limit leave
room for, and gets them refused whoever sent them. So both processes watch the clock: the promise is judged in the seconds
in which the machine ran, and what happened in all of them is told beside it.
"""

import asyncio
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.emulator import RemoteEmulator
from tests.emulator.stalls import StallWatch
from tidepool import SecretGame
from tidepool.engine.bench import Measurement, at_least, at_most
from tidepool.engine.config.sections import Agent, Providers, ProviderSettings, Service
from tidepool.engine.run import run_batch
from tidepool.engine.runtime.cluster_section import Cluster

MINUTES = 2
WINDOW = 1.0
ENOUGH = 20
"""seconds in which the machine ran, for the figures to mean anything"""


@dataclass(frozen=True, slots=True)
class Pace:
    arrivals: list[tuple[float, bool]]
    """when calls reached the server, and whether they were too many"""
    stalls: list[tuple[float, float]]
    """from when to when either process stood still"""

    def refused(self, *, while_it_ran: bool) -> int:
        return sum(refused for at, refused in self.arrivals if not while_it_ran or self._ran(at - WINDOW, at))

    def share(self, a_second: float) -> float:
        served = sum(not refused for _, refused in self.arrivals)
        return (served - 1) / (self.arrivals[-1][0] - self.arrivals[0][0]) / a_second

    def share_while_it_ran(self, a_second: float) -> float:
        """Of the limit, in whole seconds in which the machine ran, as it did in the one before: nothing is made up there."""
        seconds = [since for since in self._whole_seconds() if self._ran(since - 1, since + 1)]
        served = sum(not refused for at, refused in self.arrivals if any(since <= at < since + 1 for since in seconds))
        return served / len(seconds) / a_second if seconds else 0.0

    def seconds_it_ran(self) -> int:
        return sum(self._ran(since, since + 1) for since in self._whole_seconds())

    def _whole_seconds(self) -> list[float]:
        first, last = self.arrivals[0][0], self.arrivals[-1][0]
        return [first + second for second in range(int(last - first))]

    def _ran(self, since: float, until: float) -> bool:
        return not any(began < until and ended > since for began, ended in self.stalls)


def prove() -> Iterator[Measurement]:
    for per_minute in (600, 1200):
        pace, a_second = asyncio.run(paced(per_minute)), per_minute / 60
        limit = f"{per_minute:,} requests a minute, {a_second:.0f} in any second"
        ran, total = pace.seconds_it_ran(), int(pace.arrivals[-1][0] - pace.arrivals[0][0])
        yield at_least("seconds in which the machine ran", ran, "s", ENOUGH, f"of {total}; {limit}")
        everything = f"in all: {pace.refused(while_it_ran=False)} of {len(pace.arrivals):,} calls"
        yield at_most(f"429s at {limit}", pace.refused(while_it_ran=True), "", 0, everything)
        in_all = f"in all: {pace.share(a_second):.3f}"
        yield at_least(f"share used of {limit}", pace.share_while_it_ran(a_second), "", 0.95, in_all)


async def paced(per_minute: int, cluster: Cluster | None = None) -> Pace:
    """`cluster`: the hands that calls leave from."""
    conduct = {"latency": 0.5, "jitter": 0.5, "requests_per_minute": per_minute, "window": WINDOW}
    watch = StallWatch()
    async with RemoteEmulator(faults={"openai": conduct}) as emulator:
        os.environ.update(emulator.env())
        study = SecretGame(
            agents=[Agent(name=name, model="openai:gpt-4o-mini", secret=f"marigold {name}") for name in ("Ada", "Bob")],
            num_interactions=per_minute * MINUTES,
            messages_per_interaction=1,
            detection=["exact"],
            service=Service(name="live", requests_per_minute=per_minute, max_concurrent=100),
            providers=Providers(openai=ProviderSettings()),
            cluster=cluster,
        )
        watch.start()
        await emulator.stalls()
        with tempfile.TemporaryDirectory() as folder:
            os.environ["TIDEPOOL_STATE"] = folder
            await run_batch(study, Path(folder) / "pace.db")
        watch.end()
        return Pace(await emulator.arrivals("openai"), watch.stalls + await emulator.stalls())


if __name__ == "__main__":
    for figure in prove():
        print(figure)
