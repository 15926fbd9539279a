"""Odd and hostile answers: every row of the tables does what it says, and what was answered is paid."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from tests.emulator import Emulator, Faults
from tests.emulator.odd import WORDS
from tests.emulator.odd.anthropic_replies import ANTHROPIC
from tests.emulator.odd.cards import CARDS
from tests.emulator.odd.ollama_replies import OLLAMA
from tests.emulator.odd.openai_replies import OPENAI
from tests.emulator.odd.rows import ROWS

from .wording import CHAT, SPEAK, input_file

PATHS = {"openai": "/openai/v1/chat/completions", "anthropic": "/anthropic/v1/messages", "ollama": "/ollama/api/chat"}
ASKED: dict[str, dict[str, Any]] = {
    "openai": CHAT,
    "anthropic": SPEAK,
    "ollama": {"model": "llama3.2", "messages": [{"role": "user", "content": "Hello"}], "stream": False},
}
HEADERS = {"Authorization": "Bearer sk-a-key-of-mine", "anthropic-version": "2023-06-01"}
ENDLESS = {"drip", "bomb", "huge"}


@pytest.fixture
async def http(emulator: Emulator) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(emulator.url, auto_decompress=False) as session:
        yield session


async def ask(http: aiohttp.ClientSession, provider: str, **more: Any) -> tuple[int, bytes]:
    async with http.post(PATHS[provider], json=ASKED[provider], headers=HEADERS, **more) as answer:
        return answer.status, await answer.read()


@pytest.mark.parametrize(("provider", "table"), [("openai", OPENAI), ("anthropic", ANTHROPIC), ("ollama", OLLAMA)])
async def test_every_odd_reply_and_usage_is_sent_and_paid(
    emulator: Emulator, http: aiohttp.ClientSession, provider: str, table: dict[str, Any]
) -> None:
    _, honest = await ask(http, provider)
    words = [f"reply:{word}" for word in table] + [f"usage:{word}" for word in WORDS["usage"]]
    for word in words:
        emulator.set_faults(provider, script={"live": [word]})
        status, body = await ask(http, provider)
        assert status == 200 and isinstance(json.loads(body), dict) and body != honest, word
    assert len(emulator.purchases) == 1 + len(words)


async def test_refusals_are_free_and_have_their_form(emulator: Emulator, http: aiohttp.ClientSession) -> None:
    words = [f"{kind}:{word}" for kind in ("error", "wait") for word in WORDS[kind]]
    seen = {}
    for word in words:
        emulator.set_faults("openai", script={"live": [word]})
        seen[word] = await ask(http, "openai")
    assert emulator.purchases == []
    assert seen["error:detail"][0] == 422 and b'{"detail": "' in seen["error:detail"][1]
    assert {status for word, (status, _) in seen.items() if word.startswith("wait:")} == {429}
    assert all(status == (200 if "in-200" in word else status) for word, (status, _) in seen.items())


@pytest.mark.parametrize("form", ["detail", "detail-list", "text"])
async def test_a_server_words_all_its_refusals_in_its_own_form(
    emulator: Emulator, http: aiohttp.ClientSession, form: str
) -> None:
    emulator.set_faults("openai", refused_settings=["model"], error_form=form)
    status, body = await ask(http, "openai")
    assert status == 400 and list(json.loads(body)) == ["error" if form == "text" else "detail"] and b"model" in body


async def test_bodies_arrive_spoiled(emulator: Emulator, http: aiohttp.ClientSession) -> None:
    words = [word for word in WORDS["body"] if word not in ENDLESS]
    for word in words:
        emulator.set_faults("openai", script={"live": [f"body:{word}"]})
        _, body = await ask(http, "openai")
        if word == "key":
            assert b"sk-a-key-of-mine" in body and json.loads(body)["choices"]
        if word == "gzip":
            assert json.loads(gzip.decompress(body))["choices"]
    assert len(emulator.purchases) == len(words)


async def test_a_redirect_leads_to_another_host_where_strays_are_counted(
    emulator: Emulator, http: aiohttp.ClientSession
) -> None:
    emulator.set_faults("openai", script={"live": ["move:elsewhere", "move:elsewhere"]})
    assert (await ask(http, "openai", allow_redirects=False))[0] == 307
    assert emulator.strayed == []
    await ask(http, "openai")
    assert len(emulator.strayed) == 1


async def test_a_drip_never_ends_and_a_huge_body_does(emulator: Emulator, http: aiohttp.ClientSession) -> None:
    emulator.set_faults("openai", script={"live": ["body:drip", "body:huge"]})
    with pytest.raises(TimeoutError):
        await ask(http, "openai", timeout=aiohttp.ClientTimeout(0.2))
    assert len((await ask(http, "openai"))[1]) > 64 << 20


async def test_headers_of_limits_may_be_nonsense(emulator: Emulator, http: aiohttp.ClientSession) -> None:
    emulator.set_faults("openai", script={"live": ["head:none-left"]})
    async with http.post(PATHS["openai"], json=CHAT, headers=HEADERS) as answer:
        assert answer.headers["x-ratelimit-reset-requests"] == "99999d" and (await answer.json())["choices"]


@pytest.mark.parametrize("word", ROWS)
async def test_a_file_of_results_is_spoiled_as_its_row_says(
    emulator: Emulator, http: aiohttp.ClientSession, word: str
) -> None:
    form = aiohttp.FormData({"purpose": "batch"})
    form.add_field("file", input_file(9), filename="wave.jsonl")
    async with http.post("/openai/v1/files", data=form, headers=HEADERS) as uploaded:
        source = (await uploaded.json())["id"]
    order = {"input_file_id": source, "endpoint": "/v1/chat/completions", "completion_window": "24h"}
    async with http.post("/openai/v1/batches", json=order, headers=HEADERS) as created:
        batch = (await created.json())["id"]
    async with http.get(f"/openai/v1/batches/{batch}", headers=HEADERS) as polled:
        where = (await polled.json())["output_file_id"]
    files = []
    for script in ({}, {"results": [f"rows:{word}"]}):
        emulator.set_faults("openai", script=script)
        async with http.get(f"/openai/v1/files/{where}/content", headers=HEADERS) as content:
            files.append(await content.read())
    assert files[0].count(b"\n") == 9 and files[0] != files[1]


@pytest.mark.parametrize("provider", CARDS)
async def test_every_odd_card_is_still_a_card(provider: str) -> None:
    ended = {"id": "b", "status": "completed", "processing_status": "ended", "completed_at": 7, "ended_at": "7"}
    card = {**ended, "request_counts": {}, "output_file_id": "f", "error_file_id": None, "created_at": 1}
    for word, change in CARDS[provider].items():
        assert change(card) != card, word


async def test_a_stubborn_fault_stays_with_its_question(http: aiohttp.ClientSession, emulator: Emulator) -> None:
    emulator.set_faults("openai", rates={"live": {"reply:empty": 0.5}}, stubborn=True)
    told = {(await ask(http, "openai"))[1].find(b'"content": ""') > 0 for _ in range(8)}
    assert len(told) == 1


async def test_a_server_with_two_slots_lets_the_others_wait() -> None:
    async with (
        Emulator(openai=Faults(parallel=2, latency=0.05)) as emulator,
        aiohttp.ClientSession(emulator.url) as http,
    ):
        started = asyncio.get_running_loop().time()
        answers = await asyncio.gather(*(ask(http, "openai") for _ in range(6)))
        assert asyncio.get_running_loop().time() - started >= 0.15
    assert [status for status, _ in answers] == [200] * 6


async def test_who_hung_up_in_the_queue_is_not_worked_for() -> None:
    async with (
        Emulator(openai=Faults(parallel=1, latency=0.2)) as emulator,
        aiohttp.ClientSession(emulator.url) as http,
    ):
        first = asyncio.create_task(ask(http, "openai"))
        await asyncio.sleep(0)
        with pytest.raises(TimeoutError):
            await ask(http, "openai", timeout=aiohttp.ClientTimeout(0.1))
        await first
        await ask(http, "openai")
        assert len(emulator.purchases) == 2


async def test_an_outage_refuses_connections_and_ends(http: aiohttp.ClientSession, emulator: Emulator) -> None:
    emulator.set_faults("openai", outage_after=2, outage_seconds=0.3)
    await ask(http, "openai")
    refused = 0
    while len(emulator.purchases) < 2:
        try:
            await ask(http, "openai")
        except aiohttp.ClientError:
            refused += 1
            await asyncio.sleep(0.02)
    assert refused


async def test_a_minutes_share_is_enforced_in_a_short_window(http: aiohttp.ClientSession, emulator: Emulator) -> None:
    emulator.set_faults("openai", requests_per_minute=180, window=1.0)
    statuses = [(await ask(http, "openai"))[0] for _ in range(5)]
    assert statuses == [200, 200, 200, 429, 429] and emulator.traffic("openai")["live:limit"] == 2


async def test_servers_of_their_own_speak_like_whom_they_say() -> None:
    hosts = {"gpu": Faults(like="openai", models=["qwen3-32b"]), "den": Faults()}
    async with Emulator(hosts=hosts) as emulator, aiohttp.ClientSession() as http:
        assert emulator.urls["gpu"].endswith("/gpu/v1") and emulator.urls["den"].endswith("/den")
        asked = {**CHAT, "model": "qwen3-32b"}
        async with http.post(f"{emulator.urls['gpu']}/chat/completions", json=asked, headers=HEADERS) as answer:
            assert (await answer.json())["model"] == "qwen3-32b"
    assert [bought.provider for bought in emulator.purchases] == ["gpu"]
