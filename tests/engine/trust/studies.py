"""Small studies that ask a real provider's API, or run code."""

from pathlib import Path
from typing import Any

from tests.emulator import Emulator
from tests.engine.studies.evolution.running import study
from tidepool import Evolution, SecretGame
from tidepool.engine.config.sections import Agent, Providers, Service

EXAMPLES = Path(__file__).parents[3] / "examples"


def game(model: str = "openai:gpt-4o-mini", interactions: int = 1, **providers: dict[str, Any]) -> SecretGame:
    return SecretGame(
        agents=[Agent(name=name, model=model, secret=f"{name}moss") for name in ("Ada", "Bo")],
        num_interactions=interactions,
        messages_per_interaction=2,
        detection=["exact"],
        service=Service(name="live", retries=0, max_concurrent=1),
        providers=Providers.model_validate(providers),
    )


def openai_at(server: Emulator) -> dict[str, dict[str, Any]]:
    return {"openai": {"base_url": server.urls["openai"]}}


def lab(server: Emulator, **more: str) -> dict[str, dict[str, Any]]:
    return {"lab": {"like": "openai", "base_url": server.urls["lab"], **more}}


def code_study(**more: Any) -> Evolution:
    """Gives its replies to the user's scorer; to be made in the folder of the examples."""
    sizes = {
        "population_size": 3,
        "max_generations": 1,
        "max_problems": 3,
        "validation_problems": 2,
        "seed_final": False,
    }
    return study(service="live", scorer="scorer.py:right_and_brief", **sizes, **more)


def requests(server: Emulator) -> int:
    return sum(provider.traffic.total() for provider in server.providers.values())
