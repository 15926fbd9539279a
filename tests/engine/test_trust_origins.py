"""Who a server is, told from its address exactly as the clients that connect there read it."""

import asyncio
import ssl
from contextlib import suppress
from contextvars import ContextVar
from functools import cache
from ipaddress import ip_address
from typing import Any

import pytest

from tests.support.addresses import ALL, LOOPBACK, OLLAMAS
from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.providers.catalogue import open_provider
from tidepool.engine.providers.protocol import ProviderError
from tidepool.engine.trust.origins import is_loopback, origin_of, shown

HERE = {*LOOPBACK, *(address for address in OLLAMAS if address.startswith(("127.", "localhost", "[::1]")))}


_asked: ContextVar[list[tuple[str, int]]] = ContextVar("asked")


@pytest.fixture
def nobody_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing leaves: it is noted where the clients would connect to."""
    import aiohttp
    import httpcore
    from httpcore._backends.auto import AutoBackend

    async def connect_by_sdk(self: object, request: Any, *more: object) -> None:
        _asked.get().append((request.url.raw_host, request.url.port))
        raise aiohttp.ClientConnectionError("nobody is there")

    async def connect_by_ollama(self: object, host: str, port: int, **more: object) -> None:
        _asked.get().append((host, port))
        raise httpcore.ConnectError("nobody is there")

    monkeypatch.setattr(aiohttp.TCPConnector, "_create_connection", connect_by_sdk)
    monkeypatch.setattr(AutoBackend, "connect_tcp", connect_by_ollama)
    monkeypatch.setattr(ssl, "create_default_context", cache(ssl.create_default_context))  # a tenth of a second each
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


async def connected_to(address: str, like: str) -> list[tuple[str, int]]:
    _asked.set([])
    provider = open_provider("lab", ProviderSettings.model_validate({"like": like, "base_url": address}))
    with suppress(ProviderError):
        await provider.check(["some-model"])
    await provider.close()
    return _asked.get()


def test_every_address_is_who_it_was_said_to_be_beforehand() -> None:
    assert {address: str(origin) if (origin := origin_of(address)) else None for address in ALL} == ALL
    assert {address for address in ALL if is_loopback(address)} == HERE


@pytest.mark.parametrize("like", ["openai", "ollama"])
async def test_clients_connect_to_the_very_server_that_was_judged(nobody_there: None, like: str) -> None:
    known = {address: origin for address in ALL if (origin := origin_of(address))}
    asked = [address for address in known if like == "ollama" or address.startswith("http")]
    reached = await asyncio.gather(*(asyncio.create_task(connected_to(address, like)) for address in asked))
    for address, places in zip(asked, reached, strict=True):
        origin = known[address]
        assert {(_plain(host), port) for host, port in places} == {(_plain(origin.host), origin.port)}, address


def _plain(host: str) -> str:
    try:
        return ip_address(host.strip("[]")).compressed
    except ValueError:
        return host.lower()


def test_letters_that_look_like_others_are_written_out_where_a_person_is_asked() -> None:
    assert shown("https://\u0430pi.openai.com/v1\u202e") == "https://\\u0430pi.openai.com/v1\\u202e"
