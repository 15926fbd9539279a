"""`hosts = "local"`: the server of whichever machine a call leaves from."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import pytest

from tests.emulator import Emulator, Faults
from tests.engine.runtime.near_workers import InProcessStarter
from tests.support.books import live_call
from tests.support.stage import question
from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.errors import UsageError
from tidepool.engine.gate import servers_to_ask_about
from tidepool.engine.providers.endpoint import endpoint_of, open_provider
from tidepool.engine.runtime import worker_pool
from tidepool.engine.runtime.accounts import Account
from tidepool.engine.runtime.recording import LiveCall
from tidepool.engine.runtime.worker_pool import RemoteProvider, WorkerPool


@pytest.mark.parametrize(
    ("name", "settings", "address"),
    [
        ("ollama", {}, "http://127.0.0.1:11434"),
        ("vllm", {}, "http://127.0.0.1:8000/v1"),
        ("vllm", {"base_url": "http://localhost:8100/v1"}, "http://localhost:8100/v1"),
        ("lab", {"like": "openai", "base_url": "http://127.0.0.1:9000/v1"}, "http://127.0.0.1:9000/v1"),
    ],
)
def test_it_is_at_its_usual_port_or_the_one_that_is_written(
    name: str, settings: dict[str, str], address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "http://elsewhere:1")  # says where Ollama is for this machine, not for a node
    chosen = ProviderSettings.model_validate({"hosts": "local", **settings})
    assert chosen.hosts == ["local"]
    assert endpoint_of(name, chosen).where() == (address,)
    assert servers_to_ask_about(name, chosen) == []


@pytest.mark.parametrize("settings", [{"like": "openai"}, {"like": "openai", "base_url": "http://gpu1:8000/v1"}])
def test_a_place_that_is_not_on_the_machine_itself_is_refused(settings: dict[str, str]) -> None:
    with pytest.raises(UsageError, match=r"\[providers.lab\] has no address of lab"):
        open_provider("lab", ProviderSettings.model_validate({"hosts": "local", **settings}))


async def test_each_node_counts_as_a_server_and_hands_ask_there() -> None:
    async with Emulator() as emulator:
        settings = ProviderSettings(like="openai", hosts=["local"], base_url=emulator.urls["openai"], max_concurrent=3)
        crew = WorkerPool(InProcessStarter(), 2)
        await crew.gather()
        home = open_provider("lab", settings)
        provider = RemoteProvider(home, crew)
        assert provider.concurrency(3) == 3
        await provider.check(["gpt-4o-mini"])
        assert provider.concurrency(3) == 6
        answer = await provider.complete(question("t1", model="lab:gpt-4o-mini", text="Good morning"), 1, 1)
        assert answer.text and emulator.books.bought_of("openai") == 1
        await crew.close()
        await home.close()


NOBODY = "http://127.0.0.1:9/v1"


@asynccontextmanager
async def two_hands(
    emulator: Emulator,
) -> AsyncIterator[tuple[InProcessStarter, WorkerPool, RemoteProvider, ProviderSettings]]:
    settings = ProviderSettings(like="openai", hosts=["local"], base_url=emulator.urls["openai"], max_concurrent=8)
    starter = InProcessStarter()
    crew = WorkerPool(starter, 2)
    await crew.gather()
    home = open_provider("lab", settings)
    provider = RemoteProvider(home, crew)
    await provider.check(["gpt-4o-mini"])
    try:
        yield starter, crew, provider, settings
    finally:
        await crew.close()
        await home.close()


def calls_of(provider: RemoteProvider, count: int) -> list[LiveCall]:
    account = Account(provider, ProviderSettings(max_concurrent=8, retries=1))
    ask = partial(question, model="lab:gpt-4o-mini", text="Good morning")
    return [live_call(account, ask(f"t{seed}"), seed) for seed in range(count)]


async def test_a_hand_whose_server_is_gone_gets_no_calls_until_it_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """It fails more quickly than others answer: by its calls in flight alone it would get nearly all."""
    monkeypatch.setattr(worker_pool, "FIRST_PAUSE", 0.01)
    told: list[str] = []
    async with (
        Emulator(openai=Faults(latency=0.01)) as emulator,
        two_hands(emulator) as (starter, crew, provider, settings),
    ):
        crew.notices.listen(told.append)
        there = starter.started[1].work._providers
        await there["lab"].close()
        there["lab"] = open_provider("lab", settings.model_copy(update={"base_url": NOBODY}))
        calls = calls_of(provider, 200)
        answers = await asyncio.gather(*(call.answer() for call in calls))
        assert all(answer.text for answer in answers) and emulator.books.bought_of("openai") == 200
        assert "cannot use lab at the moment" in told[0] and len(crew.workers) == 2, "the hand itself goes on"
        async with asyncio.timeout(20):
            while provider.concurrency(8) < 16:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        await there["lab"].close()
