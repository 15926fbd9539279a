"""The emulator as a process of its own, steered through its control endpoints."""

import asyncio
import os
import sys
from pathlib import Path

import aiohttp
import openai
import pytest
from openai import AsyncOpenAI

from tests.emulator import RemoteEmulator

from .wording import CHAT


def parrot(request: dict[str, list[dict[str, str]]]) -> str:
    return "parrot: " + request["messages"][-1]["content"]


async def test_a_remote_emulator_is_steered_and_counts_across_restarts(tmp_path: Path) -> None:
    for start in (1, 2):
        async with (
            RemoteEmulator(state=tmp_path, answer="tests.emulator_checks.test_process:parrot") as emulator,
            AsyncOpenAI(base_url=emulator.env()["OPENAI_BASE_URL"], api_key="any", max_retries=0, timeout=10) as client,
        ):
            reply = await client.chat.completions.create(**CHAT)
            assert reply.choices[0].message.content == "parrot: Good morning"
            assert [one["provider"] for one in await emulator.purchases()] == ["openai"] * start
            await emulator.set_faults("openai", script={"live": ["500"]})
            with pytest.raises(openai.InternalServerError):
                await client.chat.completions.create(**CHAT)
            assert (await emulator.traffic("openai"))["live"] == 2


async def test_a_point_is_reached_and_released_from_outside() -> None:
    async with (
        RemoteEmulator(faults={"openai": {"keys": ["k"]}, "attic": {"parallel": 2}}) as emulator,
        AsyncOpenAI(base_url=emulator.urls["openai"], api_key="k", max_retries=0, timeout=10) as client,
    ):
        assert set(emulator.urls) == {"openai", "anthropic", "ollama", "attic"}
        await emulator.arm("openai:live:after")
        task = asyncio.create_task(client.chat.completions.create(**CHAT))
        await emulator.reached("openai:live:after")
        assert len(await emulator.purchases()) == 1 and not task.done()
        await emulator.release("openai:live:after")
        assert (await task).id
        with pytest.raises(aiohttp.ClientResponseError, match="Bad Request"):
            await emulator.set_faults("openai", latencie=1)


UPLOADER = """
import asyncio
from openai import AsyncOpenAI

async def upload():
    await AsyncOpenAI(max_retries=0).files.create(file=("wave.jsonl", b"x" * 30_000_000), purpose="batch")

asyncio.run(upload())
"""


async def test_a_client_killed_during_its_upload_leaves_no_file() -> None:
    async with RemoteEmulator() as emulator:
        await emulator.arm("openai:upload:before")
        client = await asyncio.create_subprocess_exec(
            sys.executable, "-c", UPLOADER, env={**os.environ, **emulator.env()}
        )
        await emulator.reached("openai:upload:before")
        client.kill()
        await client.wait()
        await emulator.release("openai:upload:before")
        async with AsyncOpenAI(base_url=emulator.urls["openai"], api_key="any", max_retries=0) as after:
            assert (await after.files.list()).data == []
        assert (await emulator.traffic("openai"))["upload"] == 1
