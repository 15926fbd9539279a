"""The same study is the same study, whatever the service, the concurrency, or the order of replies."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.support.state import end_state
from tests.support.studies import game
from tidepool.engine.config.sections import ProviderSettings, Service
from tidepool.engine.run import run_batch
from tidepool.engine.runtime.services import batch_from

SERVICES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("live", {}, {}),
    ("live", {"max_concurrent": 1}, {}),
    ("live", {"max_concurrent": 200}, {"latency": 0.004, "jitter": 1.0}),
    ("live", {}, {"error_rate": 0.2, "latency": 0.0005}),
    ("default", {"max_concurrent": 7}, {"latency": 0.001, "jitter": 0.5}),
    ("auto", {}, {}),
    ("auto", {"batch_size": 30}, {}),
    ("auto", {}, {"batch_api": False}),
    ("auto", {}, {"batch_error_rate": 0.05, "batch_expire_rate": 0.05}),
    ("auto", {}, {"batch_refuse": True}),
    ("openai", {"batch_size": 40}, {}),
    ("anthropic-conversation", {}, {}),
]


async def played(folder: Path, number: int) -> tuple[dict[str, Any], dict[str, Any]]:
    name, service, simulated = SERVICES[number]
    database = folder / f"{number}.db"
    study = game(100, 5, service={"name": name, "poll_interval": 0.01, **service}, simulated=simulated)
    return await run_batch(study, database), end_state(database)


@pytest.fixture(scope="module")
def reference(module_folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    return asyncio.run(played(module_folder, 0))


@pytest.mark.parametrize("number", range(len(SERVICES)), ids=lambda n: f"{SERVICES[n][0]}-{n}")
async def test_a_hundred_conversations_are_five_waves_and_the_same_statistics_by_every_service(
    number: int, tmp_path: Path, reference: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    summary, state = await played(tmp_path, number)
    expected, expected_state = reference
    assert summary["status"] == "completed"
    assert [(wave["index"], wave["calls"], wave["failed"]) for wave in summary["waves"]] == [
        (wave, 100, 0) for wave in range(1, 6)
    ]
    assert summary["calls"]["total"] == summary["calls"]["bought"] == 500
    assert summary["statistics"] == expected["statistics"]
    assert state == expected_state
    name, _, simulated = SERVICES[number]
    live = name in ("live", "default") or simulated.get("batch_refuse") or simulated.get("batch_api") is False
    transports = {wave["transport"] for wave in summary["waves"]}
    assert transports == {"live"} if live else any("batch" in transport for transport in transports)


@pytest.mark.parametrize(
    ("service", "provider", "like", "least"),
    [
        ("auto", "openai", None, 7),
        ("auto", "simulated", None, 7),
        ("openai", "openai", None, 0),
        ("openai", "lab", "openai", 0),
        ("openai", "anthropic", None, 7),
        ("openai", "lab", "anthropic", 7),
        ("anthropic-conversation", "anthropic", None, 0),
        ("anthropic-conversation", "simulated", None, 0),
        ("anthropic-conversation", "ollama", None, 7),
    ],
)
def test_a_service_that_names_a_provider_takes_its_small_waves_too_and_others_go_as_under_auto(
    service: Any, provider: str, like: Any, least: int
) -> None:
    assert batch_from(Service(name=service), provider, ProviderSettings(batch_from=7, like=like)) == least
