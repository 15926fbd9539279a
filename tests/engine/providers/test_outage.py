"""A server that goes away in the middle of a study, or is slower than its timeout, behind the real SDKs."""

import asyncio
from typing import Any

import pytest

from tests.emulator import Emulator
from tests.support.state import log_of, query
from tidepool.engine.events import CallAnswered, Logged
from tidepool.engine.runtime.session import RunControl
from tidepool.storage.states import StopCode

from .conftest import MODELS, Talks, When


def answered(event: Any) -> bool:
    return isinstance(event, CallAnswered)


def told_down(event: Any) -> bool:
    return isinstance(event, Logged) and "is down" in event.message


@pytest.mark.parametrize("provider", MODELS)
async def test_a_study_waits_for_a_server_that_goes_away_and_buys_nothing_twice(
    emulator: Emulator, talks: Talks, provider: str
) -> None:
    emulator.set_faults(provider, latency=0.02, parallel=4)
    noticed = asyncio.Event()
    outage = When(talks, answered, lambda: asyncio.ensure_future(emulator.outage(0.5, noticed)))
    outage.then = lambda event: noticed.set() if told_down(event) else None
    summary = await talks.play(MODELS[provider], conversations=20, max_concurrent=4, retries=1)
    await outage.done
    assert summary["status"] == "completed" and summary["calls"]["failed"] == 0
    assert len(emulator.purchases) == 40
    lines = "\n".join(log_of(talks.database, summary["batch_id"]))
    assert "is down" in lines and "answers again, after" in lines


@pytest.mark.parametrize("retry_after", [0, 30])
async def test_a_provider_that_only_answers_429_is_an_outage_and_a_resume_completes_it(
    emulator: Emulator, talks: Talks, retry_after: float
) -> None:
    emulator.set_faults("openai", rates={"live": {"429": 1.0}}, retry_after=retry_after)
    summary = await talks.play(MODELS["openai"], conversations=10, max_concurrent=4, outage_patience=0.5)
    assert summary["units"]["failed"] == 10 and not emulator.purchases
    errors = {row[0] for row in query(talks.database, "SELECT error FROM conversations WHERE status = 'failed'")}
    assert len(errors) == 1 and "rejected every request (429) for longer than 500 ms (outage_patience)" in errors.pop()
    lines = log_of(talks.database, summary["batch_id"])
    (first,) = [line for line in lines if "First rate limit error" in line]
    assert "of openai:gpt-4o-mini: OpenAI answered 429" in first
    assert len([line for line in lines if " × rate limit error " in line]) <= 4
    assert len([line for line in lines if "Resume the batch when the provider is back" in line]) == 1
    emulator.set_faults("openai", rates={})
    assert (await talks.resume())["status"] == "completed"
    assert len(emulator.purchases) == 20


async def test_a_run_that_waits_for_its_provider_can_be_stopped(emulator: Emulator, talks: Talks) -> None:
    control = RunControl()
    down = When(talks, answered, lambda: asyncio.ensure_future(emulator.outage(0.8)))
    append = down.append
    stopping = When(talks, told_down, lambda: control.stop_for(StopCode.STOPPED, "stopped"))
    stop = stopping.append
    down.append = lambda event: (append(event), stop(event))  # type: ignore[method-assign, assignment]
    talks.events = down  # type: ignore[assignment]
    summary = await talks.play(MODELS["openai"], conversations=20, max_concurrent=2, control=control)
    assert summary["status"] == "interrupted" and summary["units"]["failed"] == 0
    await down.done
    assert (await talks.resume())["status"] == "completed"
