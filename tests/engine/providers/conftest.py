"""An emulator of the three providers, and studies that talk to it with the real SDKs."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.emulator import Emulator
from tidepool import SecretGame
from tidepool.engine.config.sections import Agent, OllamaSettings, Providers, ProviderSettings, Service
from tidepool.engine.run import resume_batch, run_batch
from tidepool.engine.runtime.session import RunControl

MODELS = {"openai": "openai:gpt-4o-mini", "anthropic": "anthropic:claude-haiku-5-5", "ollama": "ollama:llama3.2"}


@pytest.fixture
async def emulator(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Emulator]:
    async with Emulator() as running:
        for name, value in running.env().items():
            monkeypatch.setenv(name, value)
        yield running


class Talks:
    """Secret games with models of the emulator, played by the engine in this process."""

    def __init__(self, database: Path) -> None:
        self.database = database
        self.events: list[Any] = []

    def study(
        self,
        *models: str,
        conversations: int = 20,
        messages: int = 2,
        agents: dict[str, Any] | None = None,
        providers: dict[str, dict[str, Any]] | None = None,
        seed: int = 7,
        **service: Any,
    ) -> SecretGame:
        pair = models if len(models) > 1 else models * 2
        return SecretGame(
            agents=[
                Agent(name=f"Agent {number}", model=model, secret=f"marigold{number}", **(agents or {}))
                for number, model in enumerate(pair, 1)
            ],
            num_interactions=conversations,
            messages_per_interaction=messages,
            detection=["exact"],
            seed=seed,
            service=Service(**{"name": "live", "poll_interval": 0.05, "timeout": 5.0, "batch_from": 0, **service}),
            providers=Providers(
                **{
                    name: (OllamaSettings if name == "ollama" else ProviderSettings)(**settings)
                    for name, settings in (providers or {}).items()
                }
            ),
        )

    async def play(self, *models: str, control: RunControl | None = None, **more: Any) -> dict[str, Any]:
        study = self.study(*models, **more)
        return await run_batch(study, self.database, on_event=self.events.append, control=control)

    async def resume(self, *overrides: str) -> dict[str, Any]:
        return await resume_batch("last", self.database, overrides=overrides, on_event=self.events.append)


class When:
    """Does something once, as soon as an event is told of which the test says so."""

    def __init__(self, talks: Talks, seen: Callable[[Any], bool], act: Callable[[], Any]) -> None:
        self._seen, self._act = seen, act
        self.done: Any = None
        self.then: Callable[[Any], object] = lambda event: None
        """called with every event"""
        talks.events = self  # type: ignore[assignment]

    def append(self, event: Any) -> None:
        if self.done is None and self._seen(event):
            self.done = self._act() or True
        self.then(event)


def followed(event: Any) -> bool:
    """A provider batch is followed for the first time."""
    return str(getattr(event, "state", "")).startswith("in_progress")


@pytest.fixture
def talks(database: Path, monkeypatch: pytest.MonkeyPatch) -> Talks:
    monkeypatch.setattr("tidepool.engine.providers.provider.EndpointProvider.backoff", 0.01)
    return Talks(database)
