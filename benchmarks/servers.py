"""Live calls against servers that enforce a limit, queue in silence, go away for a minute, or differ in speed.

The server is the emulator of the test suite in a process of its own, so calls arrive as unevenly as over a network.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.emulator import RemoteEmulator
from tests.emulator.limits import StallWatch
from tests.support.state import log_of, query
from tidepool import SecretGame
from tidepool.engine.bench import Measurement, at_least, at_most
from tidepool.engine.config.sections import Agent, OllamaSettings, Providers, ProviderSettings, Service
from tidepool.engine.events import CallAnswered
from tidepool.engine.run import run_batch


@dataclass(frozen=True, slots=True)
class Run:
    summary: dict[str, Any]
    database: Path
    answered: list[float]
    """when each reply came"""


@asynccontextmanager
async def played(
    conversations: int, messages: int, service: Service, model: str = "openai:gpt-4o-mini", **providers: Any
) -> AsyncIterator[Run]:
    """Runs a secret game between two agents of one model; its file lasts as long as the context."""
    answered: list[float] = []

    def listen(event: object) -> None:
        if isinstance(event, CallAnswered):
            answered.append(time.monotonic())

    study = SecretGame(
        agents=[Agent(name=name, model=model, secret=f"orchid {name}") for name in ("Ada", "Bob")],
        num_interactions=conversations,
        messages_per_interaction=messages,
        detection=["exact"],
        service=service,
        providers=Providers(**providers),
    )
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TIDEPOOL_STATE"] = folder
        database = Path(folder) / "study.db"
        yield Run(await run_batch(study, database, on_event=listen), database, answered)


# -- a limit of requests a minute ------------------------------------------------------------------------------

MINUTES = 2
WINDOW = 1.0
ENOUGH = 20
"""seconds without a stall of the machine that the figures need"""


@dataclass(frozen=True, slots=True)
class Pace:
    """A machine that stalls for 50 ms delays calls on their way and gets them refused, whoever sent them. Both processes
    record stalls; the promise is judged in the seconds without one, and the note gives the totals."""

    arrivals: list[tuple[float, bool]]
    """when calls reached the server, and whether it refused them"""
    stalls: list[tuple[float, float]]

    def refused(self, *, without_stalls: bool) -> int:
        return sum(refused for at, refused in self.arrivals if not without_stalls or self._ran(at - WINDOW, at))

    def share(self, a_second: float) -> float:
        """Of the limit, in whole seconds without a stall in them or in the second before."""
        seconds = [since for since in self._whole_seconds() if self._ran(since - 1, since + 1)]
        served = sum(not refused for at, refused in self.arrivals if any(since <= at < since + 1 for since in seconds))
        return served / len(seconds) / a_second if seconds else 0.0

    def seconds_without_stalls(self) -> int:
        return sum(self._ran(since, since + 1) for since in self._whole_seconds())

    def _whole_seconds(self) -> list[float]:
        first, last = self.arrivals[0][0], self.arrivals[-1][0]
        return [first + second for second in range(int(last - first))]

    def _ran(self, since: float, until: float) -> bool:
        return not any(began < until and ended > since for began, ended in self.stalls)


def prove_pace() -> Iterator[Measurement]:
    for per_minute in (600, 1200):
        pace, a_second = asyncio.run(_paced(per_minute)), per_minute / 60
        limit = f"{per_minute:,} requests a minute, {a_second:.0f} in any second"
        yield at_least("seconds in which the machine ran", pace.seconds_without_stalls(), "s", ENOUGH, limit)
        everything = f"in all: {pace.refused(without_stalls=False)} of {len(pace.arrivals):,} calls"
        yield at_most(f"429s at {limit}", pace.refused(without_stalls=True), "", 0, everything)
        yield at_least(f"share used of {limit}", pace.share(a_second), "", 0.95)


async def _paced(per_minute: int) -> Pace:
    faults = {"latency": 0.5, "jitter": 0.5, "requests_per_minute": per_minute, "window": WINDOW}
    watch = StallWatch()
    async with RemoteEmulator(faults={"openai": faults}) as emulator:
        os.environ.update(emulator.env())
        watch.start()
        await emulator.stalls()
        service = Service(name="live", requests_per_minute=per_minute, max_concurrent=100)
        async with played(per_minute * MINUTES, 1, service):
            watch.end()
        return Pace(await emulator.arrivals("openai"), watch.stalls + await emulator.stalls())


# -- two slots and a queue -------------------------------------------------------------------------------------

SLOTS, ALLOWED = 2, 6
MEAN = 0.4
SLOW_CONVERSATIONS, SLOW_MESSAGES = 30, 5


def prove_slow_server() -> Iterator[Measurement]:
    """Six calls are allowed, two are served at a time; only somebody who knows the server could have set two."""
    calls = SLOW_CONVERSATIONS * SLOW_MESSAGES
    (best, _, _, _), (seconds, completed, bought, timeouts) = (
        asyncio.run(_served(at_once)) for at_once in (SLOTS, ALLOWED)
    )
    what = f"{SLOTS} slots, {ALLOWED} calls allowed, timeout 3 × the mean"
    note = f"{seconds:.1f} s, best fixed number {best:.1f} s, {timeouts} timeouts in {calls} calls"
    yield at_least(f"conversations completed: {what}", completed / SLOW_CONVERSATIONS, "", 1.0)
    yield at_least("speed ÷ that of the best fixed concurrency", best / seconds, "×", 0.8, note)
    yield at_most("bought ÷ needed, by the server's books", bought / calls, "×", 1.1)


async def _served(at_once: int) -> tuple[float, int, int, int]:
    """Seconds between first and last reply, conversations completed, calls bought, timeouts."""
    async with RemoteEmulator(faults={"openai": {"latency": MEAN, "jitter": 0.5, "parallel": SLOTS}}) as emulator:
        os.environ.update(emulator.env())
        service = Service(name="live", max_concurrent=at_once, timeout=3 * MEAN)
        async with played(SLOW_CONVERSATIONS, SLOW_MESSAGES, service) as run:
            timeouts = query(run.database, "SELECT count(*) FROM surplus WHERE reason = 'timeout'")[0][0]
        seconds = run.answered[-1] - run.answered[0]
        return seconds, run.summary["units"]["completed"], len(await emulator.purchases()), timeouts


# -- an outage -------------------------------------------------------------------------------------------------

GONE = 60.0
CONVERSATIONS, MESSAGES = 60, 4
CALLS = CONVERSATIONS * MESSAGES
RETRIES = 1
"""retries alone would have given up after a second"""


def prove_outage() -> Iterator[Measurement]:
    summary, bought, back = asyncio.run(_interrupted())
    note = f"retries = {RETRIES}; the log says: {back.rpartition(', ')[2]}"
    completed = summary["units"]["completed"] / CONVERSATIONS
    yield at_least(f"conversations completed, the server gone for {GONE:g} s in the middle", completed, "", 1.0, note)
    yield at_most("bought ÷ needed, by the server's books", bought / CALLS, "×", 1.0)
    yield at_most("seconds of the run beyond the outage", summary["seconds"] - GONE, "s", 40.0)


async def _interrupted() -> tuple[dict[str, Any], int, str]:
    faults = {"latency": 0.3, "jitter": 0.5, "outage_after": CALLS // 2, "outage_seconds": GONE}
    async with RemoteEmulator(faults={"openai": faults}) as emulator:
        os.environ.update(emulator.env())
        async with played(CONVERSATIONS, MESSAGES, Service(name="live", max_concurrent=10, retries=RETRIES)) as run:
            log = log_of(run.database, run.summary["batch_id"])
        back = [line for line in log if "answers again" in line][-1]
        return run.summary, len(await emulator.purchases()), back


# -- servers of mixed speed ------------------------------------------------------------------------------------

POOL_CONVERSATIONS = 400
MIDDLE = slice(POOL_CONVERSATIONS * MESSAGES // 4, POOL_CONVERSATIONS * MESSAGES * 9 // 10)
"""replies after the pool has found its concurrency and before it runs out of work"""
FAMILIES = {"openai": "gpt-4o-mini", "anthropic": "claude-haiku-5-5", "ollama": "llama3.2"}
SERVERS: Mapping[str, dict[str, Any]] = {
    "quick": {"latency": 0.2, "parallel": 4},
    "slow": {"latency": 0.8, "parallel": 4},
    "wide": {"latency": 0.6, "parallel": 12},
}


def prove_pools() -> Iterator[Measurement]:
    """Servers do not say how many calls they serve at once; the target is what each brings alone at its best, added up."""
    for like in FAMILIES:
        share, calls = asyncio.run(_pooled(like))
        note = ", ".join(f"{name} had {count:,} calls" for name, count in calls.items())
        name = f"throughput of three servers like {like}, of mixed speed, over the sum of all"
        yield at_least(name, share, "", 0.9, note)


async def _pooled(like: str) -> tuple[float, dict[str, int]]:
    async with RemoteEmulator(faults={name: {"like": like, **faults} for name, faults in SERVERS.items()}) as emulator:
        hosts = [emulator.urls[name] for name in SERVERS]
        if like == "ollama":
            pool: dict[str, Any] = {"ollama": OllamaSettings(hosts=hosts, max_concurrent=32)}
        else:
            pool = {"pool": ProviderSettings(like=like, hosts=hosts, max_concurrent=32)}  # type: ignore[arg-type]
        model = f"{next(iter(pool))}:{FAMILIES[like]}"
        async with played(POOL_CONVERSATIONS, MESSAGES, Service(name="live"), model, **pool) as run:
            middle = run.answered[MIDDLE]
        calls = {name: (await emulator.traffic(name))["live"] for name in SERVERS}
    rate = (len(middle) - 1) / (middle[-1] - middle[0])
    return rate / sum(faults["parallel"] / faults["latency"] for faults in SERVERS.values()), calls
