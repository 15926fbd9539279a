"""The emulator speaks the wire formats that docs/providers.md relies on: held against the types of the real SDKs."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import httpx2
import ollama
import pytest
from anthropic import AsyncAnthropic
from anthropic import DefaultAioHttpClient as AnthropicTransport
from anthropic.types import Message
from anthropic.types.messages import MessageBatch, MessageBatchIndividualResponse
from openai import AsyncOpenAI
from openai import DefaultAioHttpClient as OpenAITransport
from openai.types import Batch, FileObject
from openai.types.chat import ChatCompletion

from tests.emulator import Emulator

CHAT: dict[str, Any] = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "Good morning"}]}


SPEAK: dict[str, Any] = {
    "model": "claude-haiku-5-5",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "Good morning"}],
}


def chat(text: str, **more: Any) -> dict[str, Any]:
    return {**CHAT, "messages": [{"role": "user", "content": text}], **more}


def speak(text: str, **more: Any) -> dict[str, Any]:
    return {**SPEAK, "messages": [{"role": "user", "content": text}], **more}


def input_file(count: int, **more: Any) -> bytes:
    """The lines of an OpenAI batch."""
    lines = (
        {
            "custom_id": f"c{at}",
            "method": "POST",
            "url": "/v1/chat/completions",
            "body": chat(f"No. {at}", **more),
        }
        for at in range(count)
    )
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def message_requests(count: int, **more: Any) -> list[Any]:
    """The requests of an Anthropic batch."""
    return [{"custom_id": f"c{at}", "params": speak(f"No. {at}", **more)} for at in range(count)]


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    async with Emulator() as running:
        yield running


@pytest.fixture
async def openai_client(emulator: Emulator) -> AsyncIterator[AsyncOpenAI]:
    transport = OpenAITransport()
    async with AsyncOpenAI(
        base_url=emulator.urls["openai"], api_key="any", max_retries=0, http_client=transport
    ) as client:
        yield client


@pytest.fixture
async def anthropic_client(emulator: Emulator) -> AsyncIterator[AsyncAnthropic]:
    transport = AnthropicTransport()
    async with AsyncAnthropic(
        base_url=emulator.urls["anthropic"], api_key="any", max_retries=0, http_client=transport
    ) as client:
        yield client


@pytest.fixture
async def ollama_client(emulator: Emulator) -> AsyncIterator[ollama.AsyncClient]:
    client = ollama.AsyncClient(host=emulator.urls["ollama"], timeout=10)
    yield client
    await client.close()


# -- OpenAI -------------------------------------------------------------------------------------------------


async def openai_json(client: AsyncOpenAI, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """The body as it came, past the SDK's lenient parsing."""
    answer = (
        client.post(path, cast_to=httpx2.Response, body=body) if body else client.get(path, cast_to=httpx2.Response)
    )
    parsed: dict[str, Any] = json.loads((await answer).content)
    return parsed


async def create(client: AsyncOpenAI, content: bytes, **more: Any) -> Batch:
    file = await client.files.create(file=("wave.jsonl", content), purpose="batch")
    return await client.batches.create(
        input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h", **more
    )


async def rows(client: AsyncOpenAI, file_id: str | None) -> dict[str, Any]:
    assert file_id
    text = (await client.files.content(file_id)).text
    return {row["custom_id"]: row for row in map(json.loads, text.splitlines())}


async def test_a_completion_is_a_strict_chat_completion(openai_client: AsyncOpenAI) -> None:
    strict = ChatCompletion.model_validate(await openai_json(openai_client, "/chat/completions", CHAT), strict=True)
    typed = await openai_client.chat.completions.create(**CHAT)
    assert strict.choices[0].message.content == typed.choices[0].message.content
    assert strict.usage is not None and strict.usage.completion_tokens > 0


async def test_a_batch_lives_from_upload_to_results(emulator: Emulator, openai_client: AsyncOpenAI) -> None:
    emulator.set_faults("openai", batch_polls=1, finalizing_polls=1)
    batch = await create(openai_client, input_file(20), metadata={"wave": "1"})
    states = [batch.status]
    while states[-1] != "completed":
        body = await openai_json(openai_client, f"/batches/{batch.id}")
        states.append(Batch.model_validate(body, strict=True).status)
    assert states == ["validating", "in_progress", "finalizing", "completed"]
    done = Batch.model_validate(body, strict=True)
    assert done.metadata == {"wave": "1"} and done.error_file_id is None
    assert done.request_counts and done.request_counts.completed == 20
    answers = await rows(openai_client, done.output_file_id)
    assert list(answers) != [f"c{at}" for at in range(20)], "results come in any order"
    for at in range(20):
        answer = ChatCompletion.model_validate(answers[f"c{at}"]["response"]["body"], strict=True)
        live = await openai_client.chat.completions.create(**chat(f"No. {at}"))
        assert answer.choices[0].message.content == live.choices[0].message.content
    FileObject.model_validate(await openai_json(openai_client, f"/files/{done.output_file_id}"), strict=True)


# -- Anthropic ----------------------------------------------------------------------------------------------


async def anthropic_body(client: AsyncAnthropic, path: str, body: dict[str, Any] | None = None) -> bytes:
    """The body as it came, past the SDK's lenient parsing."""
    if body:
        return (await client.post(path, cast_to=httpx2.Response, body=body)).content
    return (await client.get(path, cast_to=httpx2.Response)).content


async def test_a_message_is_strict(anthropic_client: AsyncAnthropic) -> None:
    strict = Message.model_validate_json(await anthropic_body(anthropic_client, "/v1/messages", SPEAK), strict=True)
    typed = await anthropic_client.messages.create(**SPEAK)
    assert strict.content == typed.content
    assert strict.stop_reason == "end_turn" and strict.usage.output_tokens > 0


async def test_a_batch_shows_no_progress_until_it_ends(emulator: Emulator, anthropic_client: AsyncAnthropic) -> None:
    emulator.set_faults("anthropic", batch_polls=2)
    batch = await anthropic_client.messages.batches.create(requests=message_requests(20))
    seen = []
    for _ in range(3):
        body = await anthropic_body(anthropic_client, f"/v1/messages/batches/{batch.id}")
        look = MessageBatch.model_validate_json(body, strict=True)
        counts = look.request_counts
        seen.append((look.processing_status, counts.processing, counts.succeeded, bool(look.results_url)))
    assert seen == [("in_progress", 20, 0, False)] * 2 + [("ended", 0, 20, True)]
    lines = (await anthropic_body(anthropic_client, f"/v1/messages/batches/{batch.id}/results")).splitlines()
    strict = [MessageBatchIndividualResponse.model_validate_json(line, strict=True) for line in lines]
    assert strict == [row async for row in await anthropic_client.messages.batches.results(batch.id)]


# -- Ollama -------------------------------------------------------------------------------------------------


HELLO = [{"role": "user", "content": "Good morning"}]


async def test_a_chat_is_strict_and_complete(emulator: Emulator, ollama_client: ollama.AsyncClient) -> None:
    typed = await ollama_client.chat("llama3.2", HELLO)
    async with httpx.AsyncClient(base_url=emulator.urls["ollama"]) as client:
        body = {"model": "llama3.2", "messages": HELLO, "stream": False}
        strict = ollama.ChatResponse.model_validate_json(
            (await client.post("/api/chat", json=body)).content, strict=True
        )
    assert strict.message.content == typed.message.content
    assert strict.done and strict.prompt_eval_count and strict.eval_count
