"""The emulator speaks the wire formats that docs/providers.md relies on: held against the types of the real SDKs."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import ollama
import pytest
from anthropic.types import Message
from anthropic.types.messages import MessageBatch, MessageBatchIndividualResponse
from openai.types import Batch, FileObject
from openai.types.chat import ChatCompletion

from tests.emulator import Emulator

HELLO = [{"role": "user", "content": "Good morning"}]
CHAT: dict[str, Any] = {"model": "gpt-4o-mini", "messages": HELLO}
SPEAK: dict[str, Any] = {"model": "claude-haiku-5-5", "max_tokens": 100, "messages": HELLO}


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    async with Emulator() as running:
        yield running


async def test_answers_and_batches_are_strictly_of_openais_types(emulator: Emulator) -> None:
    headers = {"Authorization": "Bearer any"}
    async with httpx.AsyncClient(base_url=emulator.urls["openai"], headers=headers) as client:
        chat = ChatCompletion.model_validate((await client.post("/chat/completions", json=CHAT)).json(), strict=True)
        assert chat.usage is not None and chat.usage.completion_tokens > 0
        line = httpx.Request(
            "POST", "http://x", json={"custom_id": "c", "method": "POST", "url": "/v1/chat/completions", "body": CHAT}
        )
        sent = await client.post("/files", data={"purpose": "batch"}, files={"file": ("a.jsonl", line.content + b"\n")})
        file = FileObject.model_validate(sent.json(), strict=True)
        order = {"input_file_id": file.id, "endpoint": "/v1/chat/completions", "completion_window": "24h"}
        batch = Batch.model_validate((await client.post("/batches", json=order)).json(), strict=True)
        ended = Batch.model_validate((await client.get(f"/batches/{batch.id}")).json(), strict=True)
        assert ended.status == "completed" and ended.output_file_id


async def test_answers_and_batches_are_strictly_of_anthropics_types(emulator: Emulator) -> None:
    headers = {"Authorization": "Bearer any", "anthropic-version": "2026-10-21"}
    emulator.set_faults("anthropic", batch_polls=1)
    async with httpx.AsyncClient(base_url=emulator.urls["anthropic"], headers=headers) as client:
        message = Message.model_validate_json((await client.post("/v1/messages", json=SPEAK)).content, strict=True)
        assert message.stop_reason == "end_turn" and message.usage.output_tokens > 0
        orders = {"requests": [{"custom_id": "c", "params": SPEAK}]}
        path = f"/v1/messages/batches/{(await client.post('/v1/messages/batches', json=orders)).json()['id']}"
        looks = [MessageBatch.model_validate_json((await client.get(path)).content, strict=True) for _ in range(2)]
        assert [look.processing_status for look in looks] == ["in_progress", "ended"]
        assert [look.request_counts.succeeded for look in looks] == [0, 1], "no progress until it ends"
        MessageBatchIndividualResponse.model_validate_json(
            (await client.get(f"{path}/results")).content.strip(), strict=True
        )


async def test_a_chat_is_strictly_of_ollamas_type(emulator: Emulator) -> None:
    async with httpx.AsyncClient(base_url=emulator.urls["ollama"]) as client:
        body = {"model": "llama3.2", "messages": HELLO, "stream": False}
        answer = ollama.ChatResponse.model_validate_json(
            (await client.post("/api/chat", json=body)).content, strict=True
        )
    assert answer.done and answer.prompt_eval_count and answer.eval_count
