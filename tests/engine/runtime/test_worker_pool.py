"""What becomes of calls that are handed over: the same answers, and nothing lost with a hand."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.engine.runtime.near_workers import InProcessStarter
from tests.support.books import NoBooks, live_call
from tests.support.stage import question
from tidepool.engine.config.loading import load_config
from tidepool.engine.config.sections import ProviderSettings, SimulatedSettings
from tidepool.engine.errors import UsageError
from tidepool.engine.providers.endpoint import open_provider
from tidepool.engine.providers.protocol import Answer, ErrorClass, NoReply, ProviderError
from tidepool.engine.run import run_batch
from tidepool.engine.runtime import worker_pool as crews
from tidepool.engine.runtime.accounts import Account
from tidepool.engine.runtime.session import RunControl
from tidepool.engine.runtime.worker import Opening
from tidepool.engine.runtime.worker_pool import RemoteProvider, WorkerPool
from tidepool.storage.states import StopCode


@asynccontextmanager
async def hands(count: int, **simulated: float) -> AsyncIterator[tuple[InProcessStarter, WorkerPool, RemoteProvider]]:
    starter = InProcessStarter()
    crew = WorkerPool(starter, count)
    await crew.gather()
    provider = RemoteProvider(open_provider("simulated", SimulatedSettings(**simulated)), crew)
    try:
        await provider.check(["guarded"])
        yield starter, crew, provider
    finally:
        await provider.close()
        await crew.close()


async def ask(provider: RemoteProvider, count: int) -> list[Answer]:
    return await asyncio.gather(*(provider.complete(question(f"t{seed}"), seed, 1) for seed in range(count)))


async def until(there: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not there():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


async def test_answers_are_those_of_a_provider_at_home_and_travel_in_bunches() -> None:
    home = open_provider("simulated", SimulatedSettings())
    async with hands(3) as (starter, _, provider):
        answers = await ask(provider, 200)
        expected = [await home.complete(question(f"t{seed}"), seed, 1) for seed in range(200)]
        assert [answer._replace(seconds=None) for answer in answers] == expected
        assert [len(hand.bunches) for hand in starter.started] == [1, 1, 1]


async def test_an_error_keeps_what_the_engine_decides_by() -> None:
    async with hands(1, latency=5.0, timeout=0.01) as (_, _, provider):
        with pytest.raises(ProviderError, match="no answer within") as raised:
            await ask(provider, 1)
        assert (raised.value.fault, raised.value.no_reply) == (ErrorClass.TRANSIENT, NoReply.TIMEOUT)
    async with hands(1, fatal_rate=1.0) as (_, _, provider):
        with pytest.raises(ProviderError) as raised:
            await ask(provider, 1)
        assert raised.value.fault is ErrorClass.CLIENT


async def test_calls_of_a_lost_hand_may_have_been_bought_and_are_asked_again_elsewhere() -> None:
    async with hands(2, latency=0.05) as (starter, crew, provider):
        account = Account(provider, SimulatedSettings(max_concurrent=100, latency=0.05, outage_patience=60.0))
        books = NoBooks()
        calls = [live_call(account, question(f"t{seed}"), seed, books) for seed in range(60)]
        playing = asyncio.gather(*(call.answer() for call in calls))
        await until(lambda: bool(crew.workers[0].in_flight))
        lost = len(crew.workers[0].in_flight)
        starter.started[0].kill()
        assert all(answer.text for answer in await playing)
        assert lost and sum(call.attempts == 2 for call in calls) == lost
        assert books.maybe_paid == ["lost"] * lost
        assert not account.outage.since, "a hand is no provider: what happens to it says nothing of one"


async def test_a_lost_hand_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crews, "FIRST_PAUSE", 0.01)
    told: list[str] = []
    async with hands(2) as (starter, crew, provider):
        crew.notices.listen(told.append)
        starter.started[0].kill()
        await until(lambda: len(starter.started) == 3 and len(crew.workers) == 2)
        assert {hand.card.node for hand in crew.workers} == {"node2", "node3"}
        assert "1 of 2 are left" in told[0] and "2 of 2 workers are running" in told[1]
        await ask(provider, 100)
        assert starter.started[2].bunches


async def test_where_no_hand_is_left_calls_wait_as_for_a_provider_that_is_down() -> None:
    async with hands(1) as (starter, crew, provider):
        starter.started[0].kill()
        await until(lambda: not crew.workers)
        with pytest.raises(ProviderError, match="No worker is left that can use simulated") as raised:
            await ask(provider, 1)
        assert (raised.value.fault, raised.value.no_reply) == (ErrorClass.TRANSIENT, NoReply.UNREACHABLE)


async def test_those_that_find_room_begin_and_where_none_does_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(InProcessStarter, "start_seconds", 0.05)
    some, told = WorkerPool(InProcessStarter(room=2), 5), list[str]()
    some.notices.listen(told.append)
    await some.gather()
    assert len(some.workers) == 2 and told[0].startswith("2 of 5 workers have started")
    await some.close()
    none = WorkerPool(InProcessStarter(room=0), 5)
    with pytest.raises(UsageError, match="No worker could be started"):
        await none.gather()
    await none.close()


async def test_who_wants_to_stop_does_not_wait_for_hands() -> None:
    async def stopped() -> None:
        await asyncio.sleep(0.01)

    crew = WorkerPool(InProcessStarter(room=0), 1)
    crew._starter.start_seconds = 3600.0
    with pytest.raises(UsageError, match="Stopped before a worker had started"):
        await crew.gather(stopped)
    await crew.close()


async def test_a_run_that_is_stopped_before_it_begins_asks_nothing(database: Path) -> None:
    control = RunControl()
    control.stop_for(StopCode.SIGNAL)
    summary = await run_batch(
        load_config("examples/secret_game.toml", ["service.name=live"]), database, control=control
    )
    assert summary["status"] == "interrupted" and summary["calls"]["total"] == 0


async def test_a_node_that_lacks_the_key_gets_no_calls_and_where_all_lack_it_nothing_is_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("LAB_KEY", raising=False)
    settings = ProviderSettings(like="openai", base_url="http://127.0.0.1:9/v1", api_key_env="LAB_KEY")
    crew, told = WorkerPool(InProcessStarter(), 2), list[str]()
    crew.notices.listen(told.append)
    await crew.gather()
    lab = open_provider("lab", settings)
    with pytest.raises(ProviderError, match=r"On node1: .*LAB_KEY"):
        await crew.open(Opening("lab", settings, ["m"]), lab.notices)
    assert len(told) == 2 and told[0].startswith("The worker on node1 cannot use lab")
    await lab.close()
    await crew.close()


async def test_a_limit_that_changes_reaches_the_hands() -> None:
    async with hands(2) as (starter, _, provider):
        provider.settings = provider.settings.model_copy(update={"timeout": 7.0})
        await until(lambda: all(hand.work._providers["simulated"].settings.timeout == 7.0 for hand in starter.started))
