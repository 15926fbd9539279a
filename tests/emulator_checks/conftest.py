"""The emulator behind the real SDKs, their own retries off."""

from collections.abc import AsyncIterator

import ollama
import pytest
from anthropic import AsyncAnthropic
from anthropic import DefaultAioHttpClient as AnthropicTransport
from openai import AsyncOpenAI
from openai import DefaultAioHttpClient as OpenAITransport

from tests.emulator import Emulator


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
