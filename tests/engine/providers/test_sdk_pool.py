"""Servers that speak like OpenAI or Anthropic, several as one: work goes where its model is and where somebody answers."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.emulator import Emulator
from tests.support.books import live_call
from tidepool.engine.call import Call, Message
from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.providers.endpoint import open_provider
from tidepool.engine.providers.protocol import ErrorClass, ProviderError
from tidepool.engine.runtime.accounts import Account

FAMILIES = {"openai": "gpt-4o-mini", "anthropic": "claude-haiku-5-5"}
NOBODY = "http://127.0.0.1:9/v1"


class TwoServers:
    """Two servers of one family behind an account, as a run has them."""

    def __init__(self, family: str, first: Emulator, second: Emulator) -> None:
        self.family = family
        self.servers = (first, second)
        self.told: list[str] = []

    def open(self, *more_hosts: str, **settings: Any) -> None:
        self.model = FAMILIES[self.family]
        hosts = [server.urls[self.family] for server in self.servers]
        chosen = ProviderSettings(
            hosts=[*hosts, *more_hosts], **{"max_concurrent": 4, "timeout": 5.0, "retries": 2, **settings}
        )
        self.provider = open_provider(self.family, chosen)
        self.provider.backoff = 0.01
        self.provider.notices.listen(self.told.append)
        self.account = Account(self.provider, chosen)

    async def ask(self, number: int, model: str = "") -> int:
        """How often it was asked."""
        call = Call(f"t{number}", 1, f"{self.family}:{model or self.model}", (Message("user", f"hello {number}"),))
        live = live_call(self.account, call, number)
        await live.answer()
        return live.attempts

    async def ask_all(self, calls: int, model: str = "") -> list[int]:
        return await asyncio.gather(*(self.ask(number, model) for number in range(calls)))

    def faults(self, server: int, **faults: Any) -> None:
        self.servers[server].set_faults(self.family, **faults)

    @property
    def answered(self) -> list[int]:
        return [len(server.purchases) for server in self.servers]


@pytest.fixture(params=FAMILIES)
async def servers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[TwoServers]:
    monkeypatch.setenv(f"{request.param.upper()}_API_KEY", "any-key")
    async with Emulator() as first, Emulator() as second:
        two = TwoServers(request.param, first, second)
        yield two
        await two.provider.close()


async def test_both_servers_work_and_each_has_its_own_limit(servers: TwoServers) -> None:
    servers.open()
    for server in (0, 1):
        servers.faults(server, latency=0.02)
    assert servers.account.limiter.ceiling == 8 and servers.provider.batches is None
    await servers.provider.check([servers.model])
    assert await servers.ask_all(60) == [1] * 60
    assert sum(servers.answered) == 60 and min(servers.answered) > 5
    assert all(server.traffic(servers.family)["peak"] <= 4 for server in servers.servers)


async def test_a_server_that_cannot_list_its_models_is_taken_to_have_all_until_it_refuses_one(
    servers: TwoServers,
) -> None:
    servers.open()
    servers.faults(0, rates={"models": {"404": 1.0}}, models=["another"])
    await servers.provider.check([servers.model])
    assert await servers.ask_all(20) == [1] * 20, "what one server has not is asked of the other at once"
    assert servers.answered == [0, 20]
    assert servers.servers[0].traffic(servers.family)["live"] <= 4


async def test_a_silent_server_is_told_and_the_others_carry_on(servers: TwoServers) -> None:
    servers.open(NOBODY)
    await servers.provider.check([servers.model])
    assert any("127.0.0.1:9 does not answer" in line for line in servers.told)
    assert await servers.ask_all(20) == [1] * 20


async def test_a_server_that_is_full_rests_and_costs_no_call_a_try(servers: TwoServers) -> None:
    servers.open()
    await servers.provider.check([servers.model])
    servers.faults(0, rates={"live": {"429": 1.0}}, retry_after=30)
    assert await servers.ask_all(30) == [1] * 30
    assert servers.answered == [0, 30]
    assert servers.account.limiter.allowed == 8, "the account hears nothing of it"


async def test_a_server_that_wants_another_key_rests_and_is_told(servers: TwoServers) -> None:
    servers.open()
    await servers.provider.check([servers.model])
    servers.faults(0, keys=["another-key"])
    assert await servers.ask_all(10) == [1] * 10
    assert any("rejects all requests and is paused" in line for line in servers.told)


async def test_where_no_server_answers_the_study_does_not_begin(servers: TwoServers) -> None:
    servers.open()
    for server in (0, 1):
        servers.faults(server, rates={"models": {"drop": 1.0}})
    with pytest.raises(ProviderError, match=r"No \w+ server answers .* Check the network") as told:
        await servers.provider.check([servers.model])
    assert told.value.fault is ErrorClass.FATAL


async def test_a_server_that_comes_later_joins_in(servers: TwoServers) -> None:
    servers.open()
    servers.faults(0, rates={"models": {"drop": 1.0}})
    servers.faults(1, latency=0.01)
    await servers.provider.check([servers.model])
    servers.faults(0, rates={})
    await servers.ask_all(20)
    assert servers.answered[0]
