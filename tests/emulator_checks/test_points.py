"""Standing still at a named point, and what happens to a request whose client is gone."""

import asyncio
from typing import Any

import openai
import pytest
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI

from tests.emulator import Emulator

from .wording import CHAT, chat, input_file, message_requests


async def order(client: AsyncOpenAI, count: int = 3) -> Any:
    file = await client.files.create(file=("wave.jsonl", input_file(count)), purpose="batch")
    return await client.batches.create(input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h")


async def gone(task: asyncio.Task[Any]) -> None:
    """As if the client had been killed: its connection closes."""
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize(
    ("moment", "verdict", "there_while_standing", "there_at_last"),
    [("before", "go", 0, 1), ("before", "drop", 0, 0), ("after", "go", 1, 1), ("after", "drop", 1, 1)],
)
async def test_a_batch_whose_client_died_exists_or_not(
    emulator: Emulator,
    openai_client: AsyncOpenAI,
    moment: str,
    verdict: str,
    there_while_standing: int,
    there_at_last: int,
) -> None:
    point = f"openai:create:{moment}"
    emulator.points.arm(point)
    task = asyncio.create_task(order(openai_client))
    await emulator.points.reached(point)
    await gone(task)
    assert len(emulator.purchases) == 3 * there_while_standing
    emulator.points.release(point, verdict)
    await openai_client.models.list()
    assert len((await openai_client.batches.list()).data) == there_at_last
    assert len(emulator.purchases) == 3 * there_at_last


async def test_a_client_that_lives_goes_on_after_the_release(emulator: Emulator, openai_client: AsyncOpenAI) -> None:
    emulator.points.arm("openai:upload:before")
    task = asyncio.create_task(order(openai_client))
    await emulator.points.reached("openai:upload:before")
    emulator.points.release("openai:upload:before")
    assert (await task).status == "validating"


async def test_a_dropped_request_never_arrived(emulator: Emulator, openai_client: AsyncOpenAI) -> None:
    emulator.points.arm("openai:live:before")
    task = asyncio.create_task(openai_client.chat.completions.create(**CHAT))
    await emulator.points.reached("openai:live:before")
    emulator.points.release("openai:live:before", "drop")
    with pytest.raises(openai.APIConnectionError):
        await task
    assert emulator.purchases == []


async def test_only_one_request_stops_and_others_pass(emulator: Emulator, openai_client: AsyncOpenAI) -> None:
    emulator.points.arm("openai:live:after", skip=1)
    await openai_client.chat.completions.create(**CHAT)
    task = asyncio.create_task(openai_client.chat.completions.create(**chat("second")))
    await emulator.points.reached("openai:live:after")
    await openai_client.chat.completions.create(**chat("third"))
    assert not task.done()
    emulator.points.release("openai:live:after")
    assert (await task).id


async def test_results_can_stop_in_the_middle(emulator: Emulator, anthropic_client: AsyncAnthropic) -> None:
    emulator.points.arm("anthropic:results:middle")
    batch = await anthropic_client.messages.batches.create(requests=message_requests(50))
    await anthropic_client.messages.batches.retrieve(batch.id)
    rows = aiter(await anthropic_client.messages.batches.results(batch.id))
    early = [await anext(rows) for _ in range(10)]
    await emulator.points.reached("anthropic:results:middle")
    emulator.points.release("anthropic:results:middle")
    assert len(early) + len([row async for row in rows]) == 50
