"""The line to a provider: what the SDK worked out once is used again, and only where that is safe."""

import asyncio
import json
import os
from contextlib import suppress

import httpx2
import pytest

from tests.emulator import Emulator
from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.providers.connection import Complained, Place, SdkConnection, template_of
from tidepool.engine.providers.endpoint import endpoint_of
from tidepool.engine.providers.protocol import ProviderError

KEY = "sk-some-key"
BODIES = {
    "openai": ("/chat/completions", {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "hello"}]}),
    "anthropic": (
        "/v1/messages",
        {"model": "claude-haiku-5-5", "max_tokens": 20, "messages": [{"role": "user", "content": "hello"}]},
    ),
}


def request(**headers: str) -> httpx2.Request:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx2.Request("POST", "http://127.0.0.1/v1", headers=named, content=b"first")


@pytest.mark.parametrize(
    ("headers", "key", "kept"),
    [
        ({"authorization": f"Bearer {KEY}"}, KEY, True),
        ({"x_api_key": KEY}, KEY, True),
        ({"authorization": "Bearer a-token-that-ends"}, KEY, False),
        ({"authorization": "Bearer a-token-that-ends", "x_api_key": KEY}, KEY, False),
        ({"authorization": "Bearer "}, "", False),
        ({"authorization": f"Bearer {KEY}"}, None, False),
        ({}, KEY, False),
        ({"authorization": f"Bearer {KEY}", "idempotency_key": "one"}, KEY, False),
    ],
)
def test_a_request_is_a_pattern_only_where_a_lasting_key_is_all_that_admits_it(
    headers: dict[str, str], key: str | None, kept: bool
) -> None:
    pattern = template_of(request(**headers), key)
    assert (pattern is not None) == kept
    if pattern:
        again = pattern.request(b"a longer body")
        assert again.content == b"a longer body" and again.headers["content-length"] == "13"
        assert again.url == "http://127.0.0.1/v1" and KEY in str(again.headers.raw)


@pytest.mark.parametrize("provider", BODIES)
async def test_later_posts_are_answered_and_refused_as_the_first_one_is(emulator: Emulator, provider: str) -> None:
    path, body = BODIES[provider]
    line = SdkConnection(endpoint_of(provider, ProviderSettings()), os.environ[f"{provider.upper()}_BASE_URL"])
    broken = json.dumps({**body, "model": "no-such-model"}).encode()
    try:
        with pytest.raises(Complained) as first_refusal:
            await line.post(path, broken, 5.0)
        assert not line._templates, "what went wrong is no pattern"
        answers = [await line.post(path, json.dumps(body).encode(), 5.0) for _ in range(3)]
        assert len(line._templates) == 1
        with pytest.raises(Complained) as later_refusal:
            await line.post(path, broken, 5.0)
    finally:
        await line.close()
    assert len({frozenset(line.load_object(answer.content)) for answer in answers}) == 1
    first, later = first_refusal.value.complaint, later_refusal.value.complaint
    assert (first.status, first.code, first.words, first.param) == (later.status, later.code, later.words, later.param)
    assert len(emulator.purchases) == 3


@pytest.mark.parametrize("provider", BODIES)
async def test_posts_that_leave_together_cost_the_sdk_only_the_first(
    emulator: Emulator, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, body = BODIES[provider]
    line = SdkConnection(endpoint_of(provider, ProviderSettings()), os.environ[f"{provider.upper()}_BASE_URL"])
    content = json.dumps(body).encode()
    by_client: list[bytes] = []
    go = SdkConnection._by_client

    def counted(self: SdkConnection, client: object, place: Place, content: bytes) -> object:
        by_client.append(content)
        return go(self, client, place, content)

    monkeypatch.setattr(SdkConnection, "_by_client", counted)
    try:
        with suppress(Complained, ProviderError):
            await line.get("/models")  # as a study does before its first call
        answers = await asyncio.gather(*(line.post(path, content, 5.0) for _ in range(20)))
        assert len(by_client) == 1 and not line._untried and len(line._templates) == 1
        assert all(answer.status_code == 200 for answer in answers) and len(emulator.purchases) == 20
        line._templates.clear()
        emulator.set_faults(provider, script={"live": ["move:in-circles"] * 3})
        moved = await asyncio.gather(*(line.post(path, content, 5.0) for _ in range(3)))
        assert [answer.status_code for answer in moved] == [200] * 3
    finally:
        await line.close()
