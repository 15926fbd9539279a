"""The connection to a server: its SDK authenticates, and what comes is bounded in size and time."""

from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest

from tests.emulator import Emulator
from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.providers.connection import (
    Connection,
    RejectedResponse,
    complaint_of,
    open_client,
    proxy_for,
    read_body,
)
from tidepool.engine.providers.endpoint import endpoint_of
from tidepool.engine.providers.protocol import ErrorClass, NoReply, Provider, ProviderError

from .conftest import MODELS
from .test_live import open_live, question


@pytest.fixture(params=MODELS)
async def provider(request: pytest.FixtureRequest, emulator: Emulator) -> AsyncIterator[Provider]:
    opened = open_live(request.param)
    yield opened
    await opened.close()


async def _error_of(emulator: Emulator, provider: Provider, *words: str) -> ProviderError:
    emulator.set_faults(provider.name, script={"live": list(words)})
    with pytest.raises(ProviderError) as raised:
        await provider.complete(question(MODELS[provider.name]), 1, 1)
    return raised.value


@pytest.mark.parametrize(
    ("word", "words"),
    [
        ("body:bomb", "more than 64 MB"),
        ("move:elsewhere", "a redirect to localhost"),
        ("move:moved", "a redirect to localhost"),
        ("move:in-circles", "a redirect to 127.0.0.1"),
    ],
)
async def test_a_body_without_end_and_a_redirect_fail_their_call_alone(
    emulator: Emulator, provider: Provider, monkeypatch: pytest.MonkeyPatch, word: str, words: str
) -> None:
    monkeypatch.setattr("tests.emulator.malformed_replies.transport.BOMB_MEGABYTES", 80)
    error = await _error_of(emulator, provider, word)
    assert error.fault is ErrorClass.CLIENT and words in str(error)
    await provider.complete(question(MODELS[provider.name]), 1, 1)


@pytest.mark.parametrize("word", ["body:brackets", "body:half", "body:nothing", "body:no-content", "body:gzip-broken"])
async def test_what_cannot_be_read_is_a_fault_that_heals(emulator: Emulator, provider: Provider, word: str) -> None:
    assert (await _error_of(emulator, provider, word)).fault is ErrorClass.TRANSIENT


@pytest.mark.parametrize("word", ["body:gzip", "body:bom"])
async def test_an_answer_in_another_dress_is_an_answer(emulator: Emulator, provider: Provider, word: str) -> None:
    emulator.set_faults(provider.name, script={"live": [word]})
    assert (await provider.complete(question(MODELS[provider.name]), 1, 1)).text


def test_broken_letters_in_a_reply_are_replaced() -> None:
    connection = Connection(endpoint_of("openai", ProviderSettings()), "http://127.0.0.1:9")
    assert connection.load_json(b'{"text": "na\xffve"}') == {"text": "na\ufffdve"}
    with pytest.raises(ProviderError, match="cannot read as a reply"):
        connection.load_json(b'{"text"\xff: "a"}')


async def test_a_byte_a_second_does_not_outlast_the_timeout(emulator: Emulator, provider: Provider) -> None:
    provider.settings = provider.settings.model_copy(update={"timeout": 0.3})
    error = await _error_of(emulator, provider, "body:drip")
    assert (error.fault, error.no_reply) == (ErrorClass.TRANSIENT, NoReply.TIMEOUT)


@pytest.mark.parametrize("family", MODELS)
async def test_headers_of_the_environment_go_to_no_other_server(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Mine: 1\nAuthorization: mine")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    for name in MODELS:
        monkeypatch.setenv(f"{name.upper()}_API_KEY", "sk-house-key")
    endpoint = endpoint_of("lab", ProviderSettings(like=family, base_url="http://127.0.0.1:9/v1"))  # type: ignore[arg-type]
    client, address, headers = open_client(endpoint, "http://127.0.0.1:9/v1")
    sent = {name.lower(): value for name, value in headers.items()}
    assert address == "http://127.0.0.1:9/v1" and sent["authorization"] == "Bearer none"
    assert not sent.keys() & {"x-mine", "openai-organization"}
    await client.close()
    own = endpoint_of(family, ProviderSettings())
    client, _, headers = open_client(own, own.addresses[0])
    sent = {name.lower(): value for name, value in headers.items()}
    assert sent["authorization"] == ("mine" if family == "anthropic" else "Bearer sk-house-key")
    assert ("openai-organization" in sent) is (family == "openai")
    await client.close()


def test_a_proxy_of_the_environment_is_used_where_it_is_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("no_proxy", "localhost,127.0.0.1")
    assert proxy_for("https://api.openai.com/v1") == "http://proxy.example:3128"
    assert proxy_for("https://127.0.0.1/v1") is proxy_for("http://gpu1:8000/v1") is None


class _Answer:
    """A response of aiohttp, as far as its body is concerned."""

    def __init__(self, headers: dict[str, str], *chunks: bytes) -> None:
        self.headers = headers
        self.content_length = int(headers["Content-Length"]) if "Content-Length" in headers else None
        self.content = self
        self._chunks = chunks
        self.taken = 0

    async def iter_any(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            self.taken += 1
            yield chunk


@pytest.mark.parametrize("headers", [{}, {"Content-Length": "5", "Content-Encoding": "gzip"}])
async def test_reading_stops_where_too_much_has_come(headers: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidepool.engine.providers.connection.MOST_BYTES", 12)
    answer = _Answer(headers, *[b"12345"] * 10)
    with pytest.raises(RejectedResponse, match="more than 0 MB"):
        await read_body(answer)
    assert answer.taken == 3
    assert await read_body(_Answer(headers, b"12345", b"67890")) == b"1234567890"


async def test_a_body_that_is_announced_too_large_is_not_read_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidepool.engine.providers.connection.MOST_BYTES", 12)
    answer = _Answer({"Content-Length": "13"}, b"12345")
    with pytest.raises(RejectedResponse):
        await read_body(answer)
    assert not answer.taken


PLACE: Any = SimpleNamespace(host="127.0.0.1", port=9, ssl=True, is_ssl=False)


@pytest.mark.parametrize(
    ("error", "no_reply"),
    [
        (aiohttp.ClientConnectorError(PLACE, ConnectionRefusedError(111, "Connect call failed")), NoReply.UNREACHABLE),
        (aiohttp.ConnectionTimeoutError(), NoReply.UNREACHABLE),
        (TimeoutError(), NoReply.TIMEOUT),
        (aiohttp.SocketTimeoutError(), NoReply.TIMEOUT),
        (aiohttp.ServerDisconnectedError(), NoReply.BROKEN),
        (aiohttp.ClientOSError(104, "reset"), NoReply.BROKEN),
        (aiohttp.ClientPayloadError(), NoReply.BROKEN),
    ],
)
def test_what_may_have_been_bought_is_told_from_what_never_left(error: Exception, no_reply: NoReply) -> None:
    assert complaint_of(error, 1.0).no_reply is no_reply
