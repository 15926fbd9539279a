"""What a call through a real SDK costs in CPU and in time: ratios within one run.

The server is the test suite's emulator in a process of its own. Each way of asking runs in a process of its own too;
start-up is excluded everywhere, the ledger is included in ours. `python -m benchmarks.providers_speed WAY URL` is one of
them.
"""

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.emulator import RemoteEmulator
from tests.support.studies import game
from tidepool.engine.bench.figures import Measurement, at_most

CONVERSATIONS, MESSAGES, AT_ONCE = 400, 5, 100
CALLS = CONVERSATIONS * MESSAGES
LATENCY = 0.2
ROUNDS = 3
WAITED = 10
MODEL = "gpt-4o-mini"


def body(number: int) -> dict[str, Any]:
    """Each call asks something of its own: the server's latency is drawn by what it is asked."""
    said = [{"role": "user", "content": f"Good morning, number {number}"}]
    return {"model": MODEL, "messages": said, "max_completion_tokens": 300}


@dataclass(frozen=True, slots=True)
class Cost:
    seconds: float
    cpu: float
    """seconds of this process's CPU"""


def prove() -> Iterator[Measurement]:
    yield from asyncio.run(_figures())
    yield at_most(
        "CPU of a process that waits for a provider batch, share of a core",
        100 * asyncio.run(_waiting_share()),
        "%",
        2.0,
        f"{WAITED} s for each of two waves",
    )


async def _figures() -> list[Measurement]:
    async with RemoteEmulator(faults={"openai": {"latency": LATENCY, "jitter": 0.5}}) as emulator:
        costs: dict[str, list[Cost]] = {way: [] for way in WAYS}
        for _ in range(ROUNDS):
            for way in WAYS:
                costs[way].append(await _child(way, emulator.urls["openai"]))
    cpu = {way: min(cost.cpu for cost in measured) / CALLS * 1000 for way, measured in costs.items()}
    seconds = {way: min(cost.seconds for cost in measured) for way, measured in costs.items()}
    note = (
        f"best of {ROUNDS}; {cpu['ours']:.2f} ms against {cpu['create']:.2f} ms a call, raw aiohttp {cpu['raw']:.2f} ms"
    )
    times = (
        f"best of {ROUNDS}; {seconds['ours']:.2f} s against {seconds['raw']:.2f} s, create {seconds['create']:.2f} s"
    )
    return [
        at_most("CPU per call ÷ a plain chat.completions.create loop", cpu["ours"] / cpu["create"], "×", 0.5, note),
        at_most("makespan ÷ a raw aiohttp loop", seconds["ours"] / seconds["raw"], "×", 1.15, times),
    ]


async def _child(*arguments: str) -> Cost:
    command = [sys.executable, "-m", "benchmarks.providers_speed", *arguments]
    env = {**os.environ, "OPENAI_API_KEY": "any"}
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, env=env)
    out, _ = await process.communicate()
    return Cost(**json.loads(out))


async def _waiting_share() -> float:
    """The CPU that a slow provider batch costs more than a quick one, by the seconds it takes longer."""
    await _batch(0)  # loads what must be loaded
    quick, slow = await _batch(0), await _batch(WAITED)
    return (slow.cpu - quick.cpu) / (slow.seconds - quick.seconds)


async def _batch(seconds: float) -> Cost:
    service, simulated = {"name": "auto", "poll_interval": 1.0}, {"batch_seconds": seconds}
    return await _played(game(100, 2, service=service, simulated=simulated))


# -- the ways --------------------------------------------------------------------------------------------


async def raw(url: str) -> Cost:
    """aiohttp alone, with JSON read and written."""
    import aiohttp

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def ask(number: int) -> None:
            async with session.post(
                f"{url}/chat/completions", json=body(number), headers={"Authorization": "Bearer any"}
            ) as got:
                json.loads(await got.read())

        return await _looped(ask)


async def create(url: str) -> Cost:
    """What one writes first: the SDK's typed call on its default transport."""
    from openai import AsyncOpenAI

    async with AsyncOpenAI(base_url=url, max_retries=0) as client:

        async def ask(number: int) -> None:
            await client.chat.completions.create(**body(number))

        return await _looped(ask)


async def ours(url: str) -> Cost:
    """The engine: limits, retries, prices and the ledger on disk included."""
    from tidepool.engine.config.loading import config_from

    study = {
        "batch": {"kind": "secret_game"},
        "service": {"name": "live", "max_concurrent": AT_ONCE},
        "providers": {"openai": {"base_url": url}},
        "secret_game": {
            "num_interactions": CONVERSATIONS,
            "messages_per_interaction": MESSAGES,
            "detection": ["exact"],
        },
        "agents": [_agent("Ada", f"openai:{MODEL}"), _agent("Bob", f"openai:{MODEL}")],
    }
    return await _played(config_from(study))


def _agent(name: str, model: str) -> dict[str, str]:
    return {"name": name, "model": model, "secret": f"secret of {name}"}


async def _played(study: Any) -> Cost:
    from tidepool.engine.run import run_batch

    marks: dict[str, tuple[float, float]] = {}

    def listen(event: Any) -> None:
        marks[type(event).__name__] = (time.perf_counter(), time.process_time())

    with tempfile.TemporaryDirectory() as folder:
        summary = await run_batch(study, Path(folder) / "study.db", on_event=listen)
    assert summary["status"] == "completed", summary["reason"]
    (began, cpu), (ended, used) = marks["BatchStarted"], marks["BatchEnded"]
    return Cost(ended - began, used - cpu)


async def _looped(ask: Callable[[int], Awaitable[None]]) -> Cost:
    """So many conversations at once, each one call after the other; the first call opens what must be opened."""
    await ask(-1)
    lanes = iter(range(CONVERSATIONS))

    async def lane() -> None:
        for conversation in lanes:
            for turn in range(MESSAGES):
                await ask(conversation * MESSAGES + turn)

    began, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(lane() for _ in range(AT_ONCE)))
    return Cost(time.perf_counter() - began, time.process_time() - cpu)


WAYS: dict[str, Callable[[str], Coroutine[Any, Any, Cost]]] = {"raw": raw, "create": create, "ours": ours}

if __name__ == "__main__":
    if len(sys.argv) > 1:
        cost = asyncio.run(WAYS[sys.argv[1]](sys.argv[2]))
        print(json.dumps({"seconds": cost.seconds, "cpu": cost.cpu}))
    else:
        for figure in prove():
            print(
                f"{'ok    ' if figure.met else 'MISSED'} {figure.value:.3f} {figure.name} ({figure.note})", flush=True
            )
