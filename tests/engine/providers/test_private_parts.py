"""The private parts of dependencies that the product uses: these tests fail when one of them changes."""

from collections.abc import AsyncIterator
from importlib import import_module
from types import ModuleType

import pytest

from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.providers.connection import (
    Complained,
    DirectSession,
    RequestTemplate,
    SdkConnection,
    direct_session,
    read_within,
)
from tidepool.engine.providers.endpoint import endpoint_of

FAMILIES = ("openai", "anthropic")


def connection(family: str) -> SdkConnection:
    settings = ProviderSettings(like=family, base_url="http://127.0.0.1:9/v1")
    return SdkConnection(endpoint_of("elsewhere", settings), "http://127.0.0.1:9/v1")


@pytest.mark.parametrize("family", FAMILIES)
def test_headers_of_the_environment_do_not_go_to_other_servers(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Mine: 1")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    headers = {
        name.lower() for name, value in connection(family).client.default_headers.items() if isinstance(value, str)
    }
    assert headers and not headers & {"x-mine", "openai-organization"}


@pytest.mark.parametrize("family", FAMILIES)
async def test_the_session_of_the_sdk_is_used_directly(family: str) -> None:
    line = connection(family)
    with pytest.raises(Complained):  # nobody listens there; the transport opens its session all the same
        await line.get("/models")
    direct = direct_session(line._http, RequestTemplate(line.client.base_url, {}, {}))
    assert isinstance(direct, DirectSession)
    library: ModuleType = import_module(type(direct.transport).__module__)
    assert all(hasattr(library, name) for name in ("AiohttpResponseStream", "map_aiohttp_exceptions", "httpx"))
    await line.close()


@pytest.mark.parametrize("generation", ["httpx", "httpx2"])
async def test_a_bounded_body_is_kept_as_the_client_keeps_it(generation: str) -> None:
    async def body() -> AsyncIterator[bytes]:
        yield b"one "
        yield b"two"

    response = import_module(generation).Response(200, content=body())
    await read_within(response)
    assert response.content == await response.aread() == b"one two"


def test_ollama_has_a_raw_request() -> None:
    assert callable(import_module("ollama").AsyncClient._request_raw)
