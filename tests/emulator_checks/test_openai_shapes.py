"""The emulated OpenAI, held against the openai SDK's own types and error classes."""

import json
from typing import Any

import httpx2
import openai
import pytest
from openai import AsyncOpenAI
from openai.types import Batch, CreateEmbeddingResponse, FileObject, Model
from openai.types.chat import ChatCompletion

from tests.emulator import Emulator

from .wording import CHAT, chat, input_file


async def raw(client: AsyncOpenAI, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
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
    strict = ChatCompletion.model_validate(await raw(openai_client, "/chat/completions", CHAT), strict=True)
    typed = await openai_client.chat.completions.create(**CHAT)
    assert strict.choices[0].message.content == typed.choices[0].message.content
    assert strict.usage is not None and strict.usage.completion_tokens > 0


async def test_a_completion_is_cut_at_the_tokens_asked_for(openai_client: AsyncOpenAI) -> None:
    reply = await openai_client.chat.completions.create(**CHAT, max_completion_tokens=3)
    assert reply.choices[0].finish_reason == "length"
    assert reply.usage and reply.usage.completion_tokens == 3


async def test_another_seed_is_another_sample_and_the_same_seed_is_not(openai_client: AsyncOpenAI) -> None:
    texts = [
        (await openai_client.chat.completions.create(**CHAT, seed=seed)).choices[0].message.content
        for seed in (*range(8), 0)
    ]
    assert len(set(texts)) > 4
    assert texts[0] == texts[-1]


async def test_a_long_prompt_is_cached_the_second_time(openai_client: AsyncOpenAI) -> None:
    cached = []
    for _ in range(2):
        usage = (await openai_client.chat.completions.create(**chat("word " * 2000))).usage
        assert usage and usage.prompt_tokens_details
        cached.append(usage.prompt_tokens_details.cached_tokens)
    assert cached[0] == 0 and cached[1]


@pytest.mark.parametrize("encoding", ["float", "base64"])
async def test_embeddings_come_in_both_encodings(openai_client: AsyncOpenAI, encoding: Any) -> None:
    asked = {"model": "text-embedding-3-small", "input": ["red sea", "red sky"], "encoding_format": "float"}
    strict = CreateEmbeddingResponse.model_validate(await raw(openai_client, "/embeddings", asked), strict=True)
    typed = await openai_client.embeddings.create(**{**asked, "encoding_format": encoding})
    if encoding == "float":
        assert typed.data[1].embedding == strict.data[1].embedding
    else:
        assert isinstance(typed.data[1].embedding, str)
    assert [len(one.embedding) for one in strict.data] == [1536, 1536]


async def test_models_are_strict_and_carry_shutdown_dates(openai_client: AsyncOpenAI) -> None:
    listed = [Model.model_validate(one, strict=True) for one in (await raw(openai_client, "/models"))["data"]]
    assert {one.id: one.shutdown_date for one in listed}["gpt-4o-mini"] == "2027-01-31"
    assert (await openai_client.models.retrieve("gpt-6-luna")).id == "gpt-6-luna"


async def test_a_batch_lives_from_upload_to_results(emulator: Emulator, openai_client: AsyncOpenAI) -> None:
    emulator.set_faults("openai", batch_polls=1, finalizing_polls=1)
    batch = await create(openai_client, input_file(20), metadata={"wave": "1"})
    states = [batch.status]
    while states[-1] != "completed":
        body = await raw(openai_client, f"/batches/{batch.id}")
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
    FileObject.model_validate(await raw(openai_client, f"/files/{done.output_file_id}"), strict=True)


async def test_failed_and_expired_requests_are_in_the_error_file(
    emulator: Emulator, openai_client: AsyncOpenAI
) -> None:
    emulator.set_faults("openai", rates={"item": {"500": 0.2, "expire": 0.1}})
    batch = await openai_client.batches.retrieve((await create(openai_client, input_file(100))).id)
    assert batch.status == "expired" and batch.request_counts
    good, bad = (
        await rows(openai_client, batch.output_file_id),
        await rows(openai_client, batch.error_file_id),
    )
    assert len(good) == batch.request_counts.completed and len(good) + len(bad) == 100
    expired = [row for row in bad.values() if row["error"]]
    assert {row["error"]["code"] for row in expired} == {"batch_expired"}
    assert {row["response"]["status_code"] for row in bad.values() if not row["error"]} == {500}
    assert 60 <= len(good) <= 80 and 3 <= len(expired) <= 20
    assert len(emulator.purchases) == len(good), "what failed or expired is free"


async def test_a_batch_whose_requests_all_failed_is_completed_without_output(
    emulator: Emulator, openai_client: AsyncOpenAI
) -> None:
    emulator.set_faults("openai", rates={"item": {"400": 1.0}})
    batch = await openai_client.batches.retrieve((await create(openai_client, input_file(3))).id)
    assert (batch.status, batch.output_file_id) == ("completed", None)
    assert len(await rows(openai_client, batch.error_file_id)) == 3


async def test_a_cancelled_batch_keeps_what_it_finished_and_the_rest_is_free(
    emulator: Emulator, openai_client: AsyncOpenAI
) -> None:
    emulator.set_faults("openai", batch_polls=3)
    batch = await create(openai_client, input_file(20))
    await openai_client.batches.retrieve(batch.id)
    assert len(emulator.purchases) == 20
    assert (await openai_client.batches.cancel(batch.id)).status == "cancelling"
    after = await openai_client.batches.retrieve(batch.id)
    assert after.status == "cancelled"
    assert len(await rows(openai_client, after.output_file_id)) == len(emulator.purchases) == 5
    codes = {row["error"]["code"] for row in (await rows(openai_client, after.error_file_id)).values()}
    assert codes == {"batch_cancelled"}
    with pytest.raises(openai.ConflictError):
        await openai_client.batches.cancel(batch.id)


@pytest.mark.parametrize(
    ("faults", "content", "code"),
    [
        ({"rates": {"batch": {"token_limit_exceeded": 1}}}, input_file(2), "token_limit_exceeded"),
        ({"enqueued_tokens": 5}, input_file(2), "token_limit_exceeded"),
        ({"batch_requests": 1}, input_file(2), "too_many_tasks"),
        ({}, input_file(1) * 2, "duplicate_custom_id"),
        ({}, input_file(1, model="gpt-2"), "model_not_found"),
        ({}, b"not json\n", "invalid_json_line"),
        ({}, input_file(1).replace(b"POST", b"GET"), "mismatched_endpoint"),
        ({}, b"", "empty_file"),
    ],
    ids=["told", "tokens", "requests", "doubled", "model", "json", "endpoint", "empty"],
)
async def test_a_wrong_batch_is_created_and_then_fails(
    emulator: Emulator, openai_client: AsyncOpenAI, faults: dict[str, Any], content: bytes, code: str
) -> None:
    emulator.set_faults("openai", **faults)
    batch = await create(openai_client, content)
    assert batch.status == "validating"
    failed = Batch.model_validate(await raw(openai_client, f"/batches/{batch.id}"), strict=True)
    assert failed.status == "failed" and failed.errors and failed.errors.data
    assert failed.errors.data[0].code == code
    assert emulator.purchases == []


async def test_enqueued_tokens_are_freed_when_a_batch_ends(emulator: Emulator, openai_client: AsyncOpenAI) -> None:
    emulator.set_faults("openai", enqueued_tokens=15)
    first, second = [await create(openai_client, input_file(2)) for _ in range(2)]
    assert (await openai_client.batches.retrieve(second.id)).status == "failed"
    assert (await openai_client.batches.retrieve(first.id)).status == "completed"
    third = await create(openai_client, input_file(2))
    assert (await openai_client.batches.retrieve(third.id)).status == "completed"


async def test_batches_are_listed_newest_first_in_pages(openai_client: AsyncOpenAI) -> None:
    made = [(await create(openai_client, input_file(1), metadata={"n": str(at)})).id for at in range(5)]
    listed = [batch.id async for batch in openai_client.batches.list(limit=2)]
    assert listed == made[::-1]
    with pytest.raises(openai.BadRequestError):
        await openai_client.batches.list(limit=101)


async def test_a_new_batch_may_be_missing_in_the_list_for_a_while(
    emulator: Emulator, openai_client: AsyncOpenAI
) -> None:
    emulator.set_faults("openai", list_lag=3600)
    batch = await create(openai_client, input_file(1))
    assert (await openai_client.batches.list()).data == []
    emulator.set_faults("openai", list_lag=0)
    assert [one.id for one in (await openai_client.batches.list()).data] == [batch.id]


@pytest.mark.parametrize(
    "metadata",
    [{f"k{at}": "v" for at in range(17)}, {"k" * 65: "v"}, {"k": "v" * 513}],
    ids=["pairs", "key", "value"],
)
async def test_metadata_beyond_its_limits_is_refused(openai_client: AsyncOpenAI, metadata: dict[str, str]) -> None:
    with pytest.raises(openai.BadRequestError, match="metadata"):
        await create(openai_client, input_file(1), metadata=metadata)
