"""One study that meets five endpoints at once, two of them pools of servers of mixed speed.

    python -m benchmarks.pools.endpoints

Agents of a hosted OpenAI, of a Claude behind a gateway, of two servers like vLLM, of two of Ollama and of one like
llama.cpp talk with each other, live. One server of each pool knows nothing of a setting, refuses a part of its calls or
is slow: nothing of that may be seen in the study.
"""

import asyncio
from collections.abc import Iterable
from typing import Any

from benchmarks.pools.openai_pool import CONVERSATIONS, MESSAGES, played
from tests.emulator.remote import RemoteEmulator
from tidepool.engine.bench import Measurement, at_least, at_most
from tidepool.engine.config.sections import ProviderSettings

MODELS = {
    "hosted": ("openai", "gpt-4o-mini"),
    "gateway": ("anthropic", "claude-haiku-5-5"),
    "cluster": ("openai", "gpt-4o-mini"),
    "farm": ("ollama", "llama3.2"),
    "laptop": ("openai", "gpt-4o-mini"),
}
HOSTS = {
    "hosted": ("hosted",),
    "gateway": ("gateway",),
    "cluster": ("cluster-1", "cluster-2"),
    "farm": ("farm-1", "farm-2"),
    "laptop": ("laptop",),
}
SERVERS: dict[str, dict[str, Any]] = {
    "hosted": {"latency": 0.1},
    "gateway": {"latency": 0.15, "refused_settings": ["temperature"]},
    "cluster-1": {"latency": 0.1, "parallel": 8},
    "cluster-2": {"latency": 0.3, "parallel": 4, "rates": {"live": {"503": 0.05}}},
    "farm-1": {"latency": 0.1, "parallel": 4},
    "farm-2": {"latency": 0.3, "parallel": 2, "rates": {"live": {"drop": 0.03}}},
    "laptop": {"latency": 0.1, "parallel": 4, "refused_settings": ["seed", "max_tokens"], "error_form": "detail-list"},
}


async def outcome() -> tuple[dict[str, Any], dict[str, int], int]:
    """The study's summary, the calls that each server had, and how many were bought by the servers' own books."""
    family = {server: MODELS[name][0] for name, servers in HOSTS.items() for server in servers}
    faults = {server: {"like": family[server], **conduct} for server, conduct in SERVERS.items()}
    async with RemoteEmulator(faults=faults) as emulator:
        endpoints = {
            name: ProviderSettings(
                like=like,  # type: ignore[arg-type]
                hosts=[emulator.urls[server] for server in HOSTS[name]],
                max_concurrent=16,
            )
            for name, (like, _) in MODELS.items()
        }
        summary, _ = await played(endpoints, [f"{name}:{model}" for name, (_, model) in MODELS.items()])
        calls = {server: (await emulator.traffic(server))["live"] for server in SERVERS}
        bought = len(await emulator.purchases())
    return summary, calls, bought


def prove() -> Iterable[Measurement]:
    summary, calls, bought = asyncio.run(outcome())
    needed = CONVERSATIONS * MESSAGES
    told = ", ".join(f"{name} {count:,}" for name, count in calls.items())
    yield at_least(
        "conversations completed, share", summary["units"]["completed"] / CONVERSATIONS, "", 1.0, f"calls: {told}"
    )
    yield at_most("bought ÷ needed, by the servers' own books", bought / needed, "", 1.0)
    yield at_least("calls of the server that had fewest", min(calls.values()), "", 20)


if __name__ == "__main__":
    for figure in prove():
        print(f"{figure.name}: {figure.value:.2f} ({figure.note})")
