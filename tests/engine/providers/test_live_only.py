"""What a provider of another package gets by deriving from ours."""

import asyncio
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from tidepool.engine.call import Call
from tidepool.engine.config.loading import config_from
from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.events import CallRetried, Event
from tidepool.engine.providers.protocol import Answer, Provider, ProviderSpec
from tidepool.engine.registries import PROVIDERS
from tidepool.engine.run import run_batch


class Parrot(Provider):
    name = "parrot"

    async def complete(self, call: Call, seed: int, attempt: int) -> Answer:
        return Answer(call.messages[-1].text)


class Late(Provider):
    """As one with `__slots__`: no method of its objects can be replaced."""

    name = "late"

    def __setattr__(self, name: str, value: object) -> None:
        if name == "complete":
            raise AttributeError(name)
        super().__setattr__(name, value)

    async def complete(self, call: Call, seed: int, attempt: int) -> Answer:
        if attempt == 1:
            await asyncio.Event().wait()
        return Answer("Hello.", 1, 1, cost_usd=0.0)


LATE = ProviderSpec(ProviderSettings, Late)


def test_a_price_that_nobody_told_is_unknown_not_nothing() -> None:
    assert Parrot(ProviderSettings()).price("any") is None


async def test_a_call_that_never_ends_is_cancelled_at_its_timeout_and_retried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = EntryPoint("late", f"{__name__}:LATE", "tidepool.providers")
    monkeypatch.setitem(vars(PROVIDERS), "installed", {"late": entry})
    settings = {"context": "c", "model": "late:x", "num_simulations": 1, "n_turns": 1}
    data = {
        "batch": {"kind": "simulation"},
        "service": {"timeout": 0.05},
        "simulation": settings,
        "entities": [{"name": name, "description": name} for name in "AB"],
    }
    retried: list[str] = []

    def listen(event: Event) -> None:
        if isinstance(event, CallRetried):
            retried.append(event.error)

    async with asyncio.timeout(20):
        summary = await run_batch(config_from(data, source=""), tmp_path / "study.db", on_event=listen)
    assert summary["status"] == "completed" and summary["calls"]["total"]
    assert retried == ["no answer within 0.05 s"] * summary["calls"]["total"]
