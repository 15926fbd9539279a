"""Same seed, same evolution: whatever the concurrency, the transport, the failures or the interruptions."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.engine.studies.evolution.running import evolved, run, run_with_interruptions, study

FAULTY = {"fatal_rate": 0.2, "error_rate": 0.1}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What evolves undisturbed."""
    database = tmp_path_factory.mktemp("plain") / "plain.db"
    return evolved(asyncio.run(run(study(simulated=FAULTY), database)), database)


@pytest.mark.parametrize(
    "how",
    [
        {"service": "live"},
        {"service": "openai"},
        {"service": "live", "preset": "conservative"},
        {"service": "live", "limits": {"max_concurrent": 1}},
        {"enable_async_evaluation": False},
        {"service": "live", "simulated": {**FAULTY, "latency": 0.0005, "jitter": 1.0}},
        {"simulated": {**FAULTY, "batch_expire_rate": 0.1}},
        {"simulated": {**FAULTY, "batch_refuse": True}},
    ],
    ids=str,
)
async def test_neither_concurrency_nor_transport_changes_what_evolves(
    plain: dict[str, Any], how: dict[str, Any], tmp_path: Path
) -> None:
    config = study(**{"simulated": FAULTY, **how})
    assert evolved(await run(config, tmp_path / "study.db"), tmp_path / "study.db") == plain


@pytest.mark.parametrize("service", ["auto", "live"])
@pytest.mark.parametrize("every", [71, 120])
async def test_interruptions_in_the_middle_of_generations_change_nothing(
    plain: dict[str, Any], service: str, every: int, tmp_path: Path
) -> None:
    config = study(service=service, simulated=FAULTY)
    summary, stops = await run_with_interruptions(config, tmp_path / "study.db", every)
    assert stops >= 2
    assert evolved(summary, tmp_path / "study.db") == plain
    if service == "live":
        assert summary["calls"]["bought"] == summary["calls"]["total"] - summary["calls"]["failed"]
