"""Servers that speak alike, each of another speed and with other slots: how much of all does a study use?

    python -m benchmarks.pools.openai_pool

The servers are emulated in a process of their own; they answer so many calls at once and queue the rest, and do not tell
how many. What they could do together is worked out from latency and slots: what each brings alone at its best, added
up. What was done is counted by answers a second in the middle of a study, once the pool has found its numbers.
"""

import asyncio
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.emulator.remote import RemoteEmulator
from tidepool import SecretGame
from tidepool.engine.bench import Measurement, at_least
from tidepool.engine.config.sections import Agent, Providers, ProviderSettings, Service
from tidepool.engine.events import CallAnswered, Event
from tidepool.engine.run import run_batch

CONVERSATIONS, MESSAGES = 400, 4
MIDDLE = slice(CONVERSATIONS * MESSAGES // 4, CONVERSATIONS * MESSAGES * 9 // 10)
"""answers between finding the numbers and running out of work"""
FAMILIES = {"openai": "gpt-4o-mini", "anthropic": "claude-haiku-5-5"}
SERVERS: dict[str, dict[str, Any]] = {
    "quick": {"latency": 0.2, "parallel": 4},
    "slow": {"latency": 0.8, "parallel": 4},
    "wide": {"latency": 0.6, "parallel": 12},
}


async def shares(like: str, servers: Mapping[str, dict[str, Any]]) -> tuple[float, dict[str, int]]:
    """Answers a second over what all servers can do together, and the calls each server had."""
    async with RemoteEmulator(faults={name: {"like": like, **faults} for name, faults in servers.items()}) as emulator:
        hosts = [emulator.urls[name] for name in servers]
        pool = ProviderSettings(like=like, hosts=hosts, max_concurrent=32)  # type: ignore[arg-type]
        _, moments = await played({"pool": pool}, [f"pool:{FAMILIES[like]}"] * 2)
        calls = {name: (await emulator.traffic(name))["live"] for name in servers}
    rate = (len(moments[MIDDLE]) - 1) / (moments[MIDDLE][-1] - moments[MIDDLE][0])
    return rate / sum(faults["parallel"] / faults["latency"] for faults in servers.values()), calls


async def played(endpoints: Mapping[str, Any], models: Iterable[str]) -> tuple[dict[str, Any], list[float]]:
    """The summary of a game between these models, and when each call was answered."""
    moments: list[float] = []

    def listen(event: Event) -> None:
        if isinstance(event, CallAnswered):
            moments.append(time.monotonic())

    study = SecretGame(
        agents=[Agent(name=f"Agent {at}", model=model, secret=f"secret{at}") for at, model in enumerate(models)],
        num_interactions=CONVERSATIONS,
        messages_per_interaction=MESSAGES,
        detection=["exact"],
        service=Service(name="live"),
        providers=Providers(**endpoints),
    )
    with tempfile.TemporaryDirectory() as folder:
        summary = await run_batch(study, Path(folder) / "study.db", on_event=listen)
    return summary, moments


def prove() -> Iterable[Measurement]:
    for like in FAMILIES:
        share, calls = asyncio.run(shares(like, SERVERS))
        told = ", ".join(f"{name} had {count:,} calls" for name, count in calls.items())
        yield at_least(
            f"throughput of three servers like {like}, of mixed speed, over the sum of all", share, "", 0.9, told
        )


if __name__ == "__main__":
    for figure in prove():
        print(f"{figure.name}: {figure.value:.2f} ({figure.note})")
