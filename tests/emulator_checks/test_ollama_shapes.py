"""The emulated Ollama servers, held against the ollama package's own types and errors."""

import asyncio
import json
from typing import Any

import httpx
import ollama
import pytest

from tests.emulator import Emulator, Faults

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


async def test_a_streamed_chat_says_the_same(ollama_client: ollama.AsyncClient) -> None:
    whole = (await ollama_client.chat("llama3.2", HELLO)).message.content
    parts = [part async for part in await ollama_client.chat("llama3.2", HELLO, stream=True)]
    assert "".join(part.message.content or "" for part in parts) == whole
    assert [part.done for part in parts] == [False, True]


async def test_options_matter(ollama_client: ollama.AsyncClient) -> None:
    cut = await ollama_client.chat("llama3.2", HELLO, options={"num_predict": 3})
    assert (cut.done_reason, cut.eval_count) == ("length", 3)
    texts = {(await ollama_client.chat("llama3.2", HELLO, options={"seed": at})).message.content for at in range(8)}
    assert len(texts) > 4


async def test_texts_that_share_words_have_near_vectors(ollama_client: ollama.AsyncClient) -> None:
    texts = ["the sea is calm", "the sea is rough", "buy seven green hats"]
    calm, rough, hats = (await ollama_client.embed("nomic-embed-text", texts)).embeddings
    assert sum(a * b for a, b in zip(calm, rough, strict=True)) > sum(a * b for a, b in zip(calm, hats, strict=True))


async def test_models_on_disk_and_in_memory_are_told(ollama_client: ollama.AsyncClient) -> None:
    assert [one.model for one in (await ollama_client.list()).models] == [
        "llama3.2:latest",
        "nomic-embed-text:latest",
    ]
    assert (await ollama_client.ps()).models == []
    await ollama_client.chat("llama3.2", HELLO)
    assert [one.model for one in (await ollama_client.ps()).models] == ["llama3.2:latest"]


async def test_a_missing_model_is_404_until_it_is_pulled(ollama_client: ollama.AsyncClient) -> None:
    with pytest.raises(ollama.ResponseError) as missing:
        await ollama_client.chat("qwen3", HELLO)
    assert (missing.value.status_code, missing.value.error) == (404, "model 'qwen3' not found")
    progress = [step async for step in await ollama_client.pull("qwen3", stream=True)]
    assert progress[0].status == "pulling manifest" and progress[-1].status == "success"
    shares = [step.completed / step.total for step in progress if step.completed and step.total]
    assert shares == sorted(shares) and shares[-1] == 1
    assert (await ollama_client.chat("qwen3", HELLO)).message.content


async def test_a_model_nobody_has_cannot_be_pulled(ollama_client: ollama.AsyncClient) -> None:
    with pytest.raises(ollama.ResponseError, match="file does not exist"):
        [step async for step in await ollama_client.pull("no-such-thing", stream=True)]


async def test_a_full_queue_answers_503(emulator: Emulator, ollama_client: ollama.AsyncClient) -> None:
    emulator.set_faults("ollama", parallel=1, queue=2, latency=0.05)
    calls = [ollama_client.chat("llama3.2", HELLO, options={"seed": at}) for at in range(6)]
    done = await asyncio.gather(*calls, return_exceptions=True)
    busy = [one for one in done if isinstance(one, ollama.ResponseError)]
    assert [one.status_code for one in busy] == [503] * 3
    assert len(emulator.purchases) == 3


@pytest.mark.parametrize(("parallel", "least"), [(1, 0.4), (4, 0.1)])
async def test_a_server_answers_only_so_many_at_once(parallel: int, least: float) -> None:
    """Eight calls of 50 ms each take 400 ms one by one, and 100 ms four by four."""
    loop = asyncio.get_running_loop()
    async with Emulator(hosts={"den": Faults(parallel=parallel, latency=0.05)}) as emulator:
        client = ollama.AsyncClient(host=emulator.urls["den"], timeout=10)
        started = loop.time()
        await asyncio.gather(*(client.chat("llama3.2", HELLO, options={"seed": at}) for at in range(8)))
        assert loop.time() - started >= least
        await client.close()
    assert [one.provider for one in emulator.purchases] == ["den"] * 8


async def test_each_server_has_its_own_models_and_faults() -> None:
    hosts = {"north": Faults(models=["gemma3"]), "south": Faults(script={"live": ["503"]})}
    async with Emulator(hosts=hosts) as emulator:
        north, south = (ollama.AsyncClient(host=emulator.urls[name], timeout=10) for name in hosts)
        assert (await north.chat("gemma3", HELLO)).done
        with pytest.raises(ollama.ResponseError, match="server busy"):
            await south.chat("llama3.2", HELLO)
        await asyncio.gather(north.close(), south.close())


async def test_a_refused_connection_is_the_builtin_error(unused_tcp_port: int) -> None:
    client = ollama.AsyncClient(host=f"http://127.0.0.1:{unused_tcp_port}", timeout=10)
    with pytest.raises(ConnectionError, match="Ollama is downloaded, running"):
        await client.list()
    await client.close()


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("drop", httpx.RemoteProtocolError),
        ("hang", httpx.ReadTimeout),
        ("garbage", json.JSONDecodeError),
        ("cut", httpx.RemoteProtocolError),
        ("500", ollama.ResponseError),
    ],
)
async def test_faults_arrive_as_these_errors(emulator: Emulator, fault: str, error: Any) -> None:
    emulator.set_faults("ollama", script={"live": [fault]})
    client = ollama.AsyncClient(host=emulator.urls["ollama"], timeout=0.3)
    with pytest.raises(error):
        await client.chat("llama3.2", HELLO)
    assert (await client.chat("llama3.2", HELLO)).done, "the next call is well"
    await client.close()
