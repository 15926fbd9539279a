"""Throughput and CPU per call: the engine alone, and calls through the real SDK against raw aiohttp.

The server is the emulator of the test suite in a process of its own. Each way of asking runs in its own process too
(`python -m benchmarks.throughput WAY URL CONVERSATIONS`), and all ask the same; ours includes the ledger and all checks. For the
cost of a call one process alternates between both ways, so that both meet the same machine; start-up is not part of it.
"""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.emulator import RemoteEmulator
from tidepool.engine.bench import Measurement, at_most, measure


def prove_engine() -> Iterator[Measurement]:
    yield from measure(lambda text: print(f"   … {text}", flush=True), full=True)


FEW, SOME = 200, 400
"""conversations"""
MESSAGES, AT_ONCE = 5, 100
LATENCY = 0.2
ROUNDS, CHUNKS, SDK_CHUNKS = 3, 16, 4
MODEL = "gpt-4o-mini"
INSTRUCTIONS = (
    "You are Ada, and talk with Bob. Your secret is: secret of Ada. Keep it to yourself, find out what Bob's is. " * 7
)
"""as long as those of a secret game"""


def body(said: list[str]) -> dict[str, Any]:
    """The next question of a conversation."""
    messages = [{"role": "system", "content": INSTRUCTIONS}]
    messages += [{"role": ("user", "assistant")[place % 2], "content": words} for place, words in enumerate(said)]
    return {"model": MODEL, "messages": messages, "max_completion_tokens": 300}


Cost = tuple[float, float]
"""seconds from the first call to the last, and seconds of CPU meanwhile"""


@dataclass(frozen=True, slots=True)
class Whole:
    """A process, from its start to its end."""

    cpu: float
    seconds: float
    memory: float
    """MB at most"""


Found = dict[tuple[str, int], list[Whole]]
Chunks = list[dict[str, Cost]]
"""seconds, and seconds of CPU, by way"""


def prove_sdk() -> Iterator[Measurement]:
    yield from asyncio.run(_figures())


async def _figures() -> list[Measurement]:
    async with RemoteEmulator(faults={"openai": {"latency": LATENCY, "jitter": 0.5}}) as emulator:
        url = emulator.urls["openai"]
        runs = [("raw", FEW), ("command", FEW), ("command", SOME)]
        found: Found = {run: [] for run in runs}
        for _ in range(ROUNDS):
            for way, talks in runs:
                found[way, talks].append(await asyncio.to_thread(_whole, (way, url, str(talks))))
        chunks = await asyncio.to_thread(_chunks, "both", url, SOME)
        beside_sdk = await asyncio.to_thread(_chunks, "beside_sdk", url, FEW)
    return [*_costs_of_a_call(chunks), _cost_beside_sdk(beside_sdk), *_costs_of_a_command(found)]


def _costs_of_a_call(chunks: Chunks) -> Iterator[Measurement]:
    calls = SOME * MESSAGES
    ours, raw = (sum(chunk[way][1] for chunk in chunks) / CHUNKS / calls * 1000 for way in ("ours", "raw"))
    low, _, high = statistics.quantiles((chunk["ours"][1] / chunk["raw"][1] for chunk in chunks), n=4)
    note = (
        f"{CHUNKS} alternating pairs, half of them {low:.2f} to {high:.2f}; {ours:.2f} ms against {raw:.2f} ms a call"
    )
    yield at_most(f"CPU per call ÷ raw aiohttp's, chunks of {calls:,} calls", ours / raw, "×", 1.5, note)
    ours, raw = (sum(chunk[way][0] for chunk in chunks) / CHUNKS for way in ("ours", "raw"))
    note = f"the same chunks; {ours:.2f} s against {raw:.2f} s on average"
    yield at_most("makespan ÷ a raw aiohttp loop", ours / raw, "×", 1.08, note)


def _cost_beside_sdk(chunks: Chunks) -> Measurement:
    calls = FEW * MESSAGES
    ours, sdk = (sum(chunk[way][1] for chunk in chunks) / SDK_CHUNKS / calls * 1000 for way in ("ours", "sdk"))
    note = f"{SDK_CHUNKS} alternating pairs; {ours:.2f} ms against {sdk:.2f} ms a call"
    return at_most(
        f"CPU per call ÷ a loop over the OpenAI SDK's, chunks of {calls:,} calls", ours / sdk, "×", 0.2, note
    )


def _costs_of_a_command(found: Found) -> Iterator[Measurement]:
    memory = max(one.memory for one in found["command", SOME])
    note = "the whole process, at most; the limit was 120 before SQLModel, which takes 26"
    yield at_most(f"memory of a live run of {SOME} conversations", memory, "MB", 135, note)
    ours, raw = (min(one.seconds for one in found[way, FEW]) for way in ("command", "raw"))
    note = f"best of {ROUNDS}; {ours:.2f} s against {raw:.2f} s of raw aiohttp; CPU {min(one.cpu for one in found['command', FEW]):.2f} s"
    name = f"a whole study of {FEW * MESSAGES:,} calls, more than a raw script takes"
    yield at_most(name, ours - raw, "s", 2.0, note)


def _chunks(ways: str, url: str, talks: int) -> Chunks:
    command = [sys.executable, "-m", "benchmarks.throughput", ways, url, str(talks)]
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "OPENAI_API_KEY": "any", "TIDEPOOL_STATE": folder}
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    chunks: Chunks = json.loads(done.stdout)
    return chunks[1:]


def _whole(arguments: tuple[str, str, str]) -> Whole:
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "benchmarks.throughput", *arguments]
        if arguments[0] == "command":
            (Path(folder) / "study.toml").write_text(study(arguments[1], int(arguments[2])))
            command = [sys.executable, "-m", "tidepool", "--db", f"{folder}/study.db", "--run", f"{folder}/study.toml"]
        environment = {**os.environ, "OPENAI_API_KEY": "any", "TIDEPOOL_STATE": folder}
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"{command} ended with {process.returncode}")
    seconds = time.perf_counter() - began
    return Whole(used.ru_utime + used.ru_stime, seconds, used.ru_maxrss / 1024)


# -- the ways --------------------------------------------------------------------------------------------


async def raw(url: str, talks: int) -> Cost:
    """aiohttp alone, with JSON read and written."""
    import aiohttp

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def ask(said: list[str]) -> str:
            async with session.post(
                f"{url}/chat/completions", json=body(said), headers={"Authorization": "Bearer any"}
            ) as got:
                return str(json.loads(await got.read())["choices"][0]["message"]["content"])

        return await _looped(ask, talks)


async def sdk(url: str, talks: int) -> Cost:
    """A loop over the official SDK, as most scripts are."""
    from openai import AsyncOpenAI

    async with AsyncOpenAI(base_url=url, api_key="any") as client:

        async def ask(said: list[str]) -> str:
            reply = await client.chat.completions.create(**body(said))
            return str(reply.choices[0].message.content)

        return await _looped(ask, talks)


async def ours(url: str, talks: int) -> Cost:
    """The engine: limits, retries, prices and the ledger on disk included."""
    from tidepool.engine.config.loading import config_from

    return await _played(config_from(tomllib.loads(study(url, talks))))


def study(url: str, talks: int) -> str:
    agents = "".join(
        f'[[agents]]\nname = "{name}"\nmodel = "openai:{MODEL}"\nsecret = "secret of {name}"\n'
        for name in ("Ada", "Bob")
    )
    return f"""
[batch]
kind = "secret_game"

[service]
name = "live"
max_concurrent = {AT_ONCE}

[providers.openai]
base_url = "{url}"

[secret_game]
num_interactions = {talks}
messages_per_interaction = {MESSAGES}
detection = ["exact"]

{agents}"""


async def _played(study: Any) -> Cost:
    from tidepool.engine.events import BatchEnded, BatchStarted
    from tidepool.engine.run import run_batch

    marks: dict[str, tuple[float, float]] = {}

    def listen(event: Any) -> None:
        if isinstance(event, (BatchStarted, BatchEnded)):
            marks[type(event).__name__] = (time.perf_counter(), time.process_time())

    with tempfile.TemporaryDirectory() as folder:
        summary = await run_batch(study, Path(folder) / "study.db", on_event=listen)
    assert summary["status"] == "completed", summary["reason"]
    (began, cpu), (ended, used) = marks["BatchStarted"], marks["BatchEnded"]
    return ended - began, used - cpu


async def _looped(ask: Callable[[list[str]], Awaitable[str]], talks: int) -> Cost:
    """So many conversations at once, each one call after the other; the first call opens what must be opened."""
    await ask(["Hello"])
    lanes = iter(range(talks))

    async def lane() -> None:
        for number in lanes:
            said = [f"Good morning, number {number}"]
            for _ in range(MESSAGES):
                said.append(await ask(said))

    began, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(lane() for _ in range(AT_ONCE)))
    return time.perf_counter() - began, time.process_time() - cpu


async def measured(name: str, url: str, talks: int) -> Cost | Chunks:
    """One way, or two that alternate. The first chunk opens what must be opened."""
    if name == "raw":
        return await raw(url, talks)
    ways, chunks = ([raw, ours], CHUNKS) if name == "both" else ([sdk, ours], SDK_CHUNKS)
    found = []
    for _ in range(chunks + 1):
        found.append({way.__name__: await way(url, talks) for way in ways})
        ways.reverse()
    return found


if __name__ == "__main__":
    print(json.dumps(asyncio.run(measured(sys.argv[1], sys.argv[2], int(sys.argv[3])))))
