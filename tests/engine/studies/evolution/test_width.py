"""How wide an evolution goes: presets, sizes and ceilings."""

from typing import Any

import pytest

from tidepool import UsageError
from tidepool.engine.config.sections import Service
from tidepool.engine.studies.evolution.config import EvolutionSettings
from tidepool.engine.studies.evolution.width import DYNAMIC_CONCURRENT, with_limits, with_sizes

SIZES = (
    "async_batch_size",
    "max_concurrent_requests",
    "genome_batch_size",
    "max_concurrent_genomes",
    "rate_limit_per_minute",
)


def settled(**settings: Any) -> EvolutionSettings:
    return with_sizes(EvolutionSettings(**settings))


@pytest.mark.parametrize(
    ("preset", "sizes"),
    [("balanced", (20, 10, 10, 5, 3500)), ("conservative", (10, 5, 5, 3, 2000)), ("aggressive", (30, 15, 15, 8, 3500))],
)
def test_a_preset_is_what_the_contract_says(preset: str, sizes: tuple[int, ...]) -> None:
    found = settled(preset=preset)
    assert tuple(getattr(found, name) for name in SIZES) == sizes


@pytest.mark.parametrize(
    ("service", "settings", "limits"),
    [
        ({}, {}, (50, 3500, 30.0)),
        ({"max_concurrent": 8}, {}, (8, 3500, 30.0)),
        ({"requests_per_minute": 100}, {}, (50, 100, 30.0)),
        ({"timeout": 10.0}, {}, (50, 3500, 10.0)),
        ({"timeout": 120.0}, {"async_timeout": 90.0}, (50, 3500, 90.0)),
        ({"timeout": 60.0}, {"async_timeout": 90.0}, (50, 3500, 60.0)),
        ({}, {"dynamic": True}, (DYNAMIC_CONCURRENT, 0, 30.0)),
        ({"max_concurrent": 300}, {"dynamic": True}, (300, 0, 30.0)),
        ({}, {"dynamic": True, "rate_limit_per_minute": 700}, (DYNAMIC_CONCURRENT, 700, 30.0)),
        ({"max_concurrent": 300}, {"enable_async_evaluation": False}, (1, 3500, 30.0)),
    ],
    ids=str,
)
def test_what_the_service_states_is_a_ceiling(
    service: dict[str, Any], settings: dict[str, Any], limits: tuple[int, int, float]
) -> None:
    found = with_limits(Service(**service), settled(**settings))
    assert (found.max_concurrent, found.requests_per_minute, found.timeout) == limits


def test_elites_leave_room_for_children_unless_the_config_says_otherwise() -> None:
    assert settled(population_size=4).elite_size == 2
    with pytest.raises(UsageError, match="room for children"):
        EvolutionSettings(population_size=4, elite_size=4)
