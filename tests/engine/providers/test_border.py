"""What comes from a server is bounded in size and time, and is read on the server that was meant."""

from collections.abc import AsyncIterator

import httpx2
import pytest

from tests.emulator import Emulator
from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.providers.connection import RejectedResponse, SdkConnection, read_within, refuse_strange_redirect
from tidepool.engine.providers.endpoint import endpoint_of
from tidepool.engine.providers.protocol import ErrorClass, NoReply, Provider, ProviderError

from .conftest import MODELS
from .test_live import OPEN, question


@pytest.fixture(params=MODELS)
async def provider(request: pytest.FixtureRequest, emulator: Emulator) -> AsyncIterator[Provider]:
    """One that was asked before, so that both ways to send a call are tried: the first, and all that come after."""
    opened: Provider = OPEN[request.param]()  # type: ignore[assignment]
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
        ("move:elsewhere", "redirect to another server (localhost"),
        ("move:moved", "redirect to another server (localhost"),
    ],
)
async def test_a_body_without_end_and_a_redirect_elsewhere_fail_their_call_alone(
    emulator: Emulator, provider: Provider, monkeypatch: pytest.MonkeyPatch, word: str, words: str
) -> None:
    monkeypatch.setattr("tests.emulator.malformed_replies.transport.BOMB_MEGABYTES", 80)
    first = await _error_of(emulator, provider, word)
    await provider.complete(question(MODELS[provider.name]), 1, 1)
    later = await _error_of(emulator, provider, word)
    assert first.fault is later.fault is ErrorClass.CLIENT
    assert words in str(first) and str(first) == str(later)


@pytest.mark.parametrize("word", ["body:brackets", "body:half", "body:nothing", "body:no-content", "body:gzip-broken"])
async def test_what_cannot_be_read_is_a_fault_that_heals(emulator: Emulator, provider: Provider, word: str) -> None:
    assert (await _error_of(emulator, provider, word)).fault is ErrorClass.TRANSIENT
    await provider.complete(question(MODELS[provider.name]), 1, 1)
    assert (await _error_of(emulator, provider, word)).fault is ErrorClass.TRANSIENT


@pytest.mark.parametrize("word", ["body:gzip", "body:bom"])
async def test_an_answer_in_another_dress_is_an_answer(emulator: Emulator, provider: Provider, word: str) -> None:
    if provider.name == "ollama" and word != "body:gzip":
        pytest.skip("its own client reads the JSON")
    for _ in range(2):
        emulator.set_faults(provider.name, script={"live": [word]})
        assert (await provider.complete(question(MODELS[provider.name]), 1, 1)).text


def test_broken_letters_in_a_reply_are_replaced() -> None:
    line = SdkConnection(endpoint_of("openai", ProviderSettings()), "http://127.0.0.1:9")
    assert line.load_json(b'{"text": "na\xffve"}') == {"text": "na\ufffdve"}
    with pytest.raises(ProviderError, match="not a reply"):
        line.load_json(b'{"text"\xff: "a"}')


async def test_a_byte_a_second_does_not_outlast_the_timeout(emulator: Emulator, provider: Provider) -> None:
    provider.settings = provider.settings.model_copy(update={"timeout": 0.3})
    error = await _error_of(emulator, provider, "body:drip")
    assert (error.fault, error.no_reply) == (ErrorClass.TRANSIENT, NoReply.TIMEOUT)


@pytest.mark.parametrize(
    ("here", "there", "followed"),
    [
        ("https://a.example/v1/x", "/v2/x", True),
        ("https://a.example/v1/x", "https://a.example:443/v2", True),
        ("http://a.example/v1", "https://a.example/v1", True),
        ("http://a.example:8000/v1", "https://a.example:8443/v1", True),
        ("https://a.example/v1", "http://a.example/v1", False),
        ("https://a.example/v1", "https://b.example/v1", False),
        ("https://a.example/v1", "//b.example/v1", False),
        ("https://a.example/v1", "https://a.example.b.example/v1", False),
        ("https://a.example/v1", "https://a.example@b.example/v1", False),
        ("http://a.example:8000/v1", "http://a.example:9000/v1", False),
        ("https://a.example/v1", "https://[/", False),
    ],
)
async def test_a_redirect_is_followed_on_the_same_server_alone(here: str, there: str, followed: bool) -> None:
    response = httpx2.Response(307, headers={"Location": there}, request=httpx2.Request("POST", here))
    if followed:
        await refuse_strange_redirect(response)
    else:
        with pytest.raises(RejectedResponse, match="redirect to"):
            await refuse_strange_redirect(response)


class _Body(httpx2.AsyncByteStream):
    def __init__(self, *chunks: bytes) -> None:
        self.chunks = chunks
        self.read = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self.chunks:
            self.read += 1
            yield chunk


@pytest.mark.parametrize("headers", [{}, {"Content-Length": "many"}, {"Content-Length": "5", "Content-Encoding": "x"}])
async def test_reading_stops_where_too_much_has_come(headers: dict[str, str]) -> None:
    body = _Body(*[b"12345"] * 10)
    with pytest.raises(RejectedResponse, match="more than 0 MB"):
        await read_within(httpx2.Response(200, headers=headers, stream=body), max_bytes=12)
    assert body.read == 3
    whole = httpx2.Response(200, headers=headers, stream=_Body(b"12345", b"67890"))
    await read_within(whole, max_bytes=12)
    assert whole.content == b"1234567890"


async def test_a_body_that_is_announced_too_large_is_not_read_at_all() -> None:
    body = _Body(b"12345")
    for headers in ({"Content-Length": "13"}, {"Content-Encoding": "gzip, gzip"}):
        with pytest.raises(RejectedResponse):
            await read_within(httpx2.Response(200, headers=headers, stream=body), max_bytes=12)
    assert not body.read
