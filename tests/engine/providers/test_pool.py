"""Several servers as one: each call where it is answered first, none lost when a server rests."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.books import live_call
from tests.support.virtual_time import play
from tidepool.engine.call import Call, Message, stream
from tidepool.engine.config.sections import OllamaSettings
from tidepool.engine.providers.connection import Complained, Response
from tidepool.engine.providers.endpoint import endpoint_of, open_provider
from tidepool.engine.providers.errors import ProviderComplaint, diagnose
from tidepool.engine.providers.protocol import Answer, ErrorClass, NoReply, ProviderError
from tidepool.engine.providers.provider import EndpointProvider
from tidepool.engine.runtime.accounts import Account

MODEL = "llama3.2"
MEAN = (20 + 29.5) / 50
"""seconds of the mean call of a server that takes one second for fifty tokens"""


class Server:
    """The connection to one server, as the provider sees it."""

    def __init__(
        self, seconds: float, parallel: int = 1, *, models: tuple[str, ...] = (MODEL,), queue: int = 512
    ) -> None:
        self.seconds = seconds
        self.models = models
        self.answered = 0
        self.busiest = 0
        self.down: Callable[[], bool] = lambda: False
        self._queue = queue
        self._parallel = parallel
        self._here = 0
        self._slots = asyncio.Semaphore(parallel)

    def open(self) -> None: ...

    async def close(self) -> None: ...

    def diagnose(self, complaint: ProviderComplaint) -> ProviderError:
        return diagnose(complaint, endpoint_of("ollama", OllamaSettings()), "http://host0")

    def load_json(self, content: Any) -> Any:
        return content

    async def get(self, path: str) -> Any:
        if self.down():
            raise Complained(ProviderComplaint(None, words="refused", no_reply=NoReply.UNREACHABLE))
        return {"models": [{"model": f"{name}:latest"} for name in self.models]}

    async def post(self, path: str, content: bytes, seconds: float, headers: None) -> Response:
        body = json.loads(content)
        if self.down():
            raise Complained(ProviderComplaint(None, words="refused", no_reply=NoReply.UNREACHABLE))
        if (model := body["model"]) not in self.models:
            raise Complained(ProviderComplaint(404, words=f"model '{model}' not found"))
        if self._here >= self._parallel + self._queue:
            raise Complained(ProviderComplaint(503, words="server busy, please try again."))
        tokens = 20 + stream(body["options"]["seed"], "tokens").randrange(60)
        self._here += 1
        self.busiest = max(self.busiest, self._here)
        try:
            async with self._slots:
                await asyncio.sleep(self.seconds * tokens / 50)
        finally:
            self._here -= 1
        if self.down():
            raise Complained(ProviderComplaint(None, words="Server disconnected", no_reply=NoReply.BROKEN))
        self.answered += 1
        message = {"role": "assistant", "content": "yes"}
        figures = {"prompt_eval_count": 10, "eval_count": tokens}
        reply: Any = {"model": model, "message": message, "done": True, "done_reason": "stop", **figures}
        return Response({}, reply)


class Machines:
    """A pool of servers behind an account, as a run has them."""

    def __init__(self, *servers: Server, **settings: Any) -> None:
        self.servers = servers
        hosts = [f"http://host{number}" for number, _ in enumerate(servers)]
        chosen = OllamaSettings(**{"hosts": hosts, "max_concurrent": 8, "timeout": 600.0, "retries": 5, **settings})
        provider = open_provider("ollama", chosen)
        assert isinstance(provider, EndpointProvider)
        self.provider = provider
        for host, server in zip(provider.pool.hosts, servers, strict=True):
            host.client = server
            host.models = dict.fromkeys(f"{name}:latest" for name in server.models)
        self.account = Account(self.provider, chosen)

    async def ask(self, number: int, model: str = MODEL) -> Answer:
        call = Call(f"t{number}", 1, f"ollama:{model}", (Message("user", "hello"),))
        return await live_call(self.account, call, number).answer()

    async def answer_all(self, calls: int) -> None:
        await asyncio.gather(*map(self.ask, range(calls)))


@pytest.mark.parametrize("servers", [((1.0, 1), (3.0, 1)), ((1.0, 2), (3.0, 8)), ((2.0, 2), (1.0, 1), (5.0, 4))])
def test_the_pool_brings_nearly_what_its_servers_bring_together(
    monkeypatch: pytest.MonkeyPatch, servers: tuple[tuple[float, int], ...]
) -> None:
    async def story() -> Machines:
        machines = Machines(*(Server(seconds, parallel) for seconds, parallel in servers))
        await machines.answer_all(600)
        return machines

    machines, seconds = play(monkeypatch, story())
    ideal = 600 / sum(parallel / (speed * MEAN) for speed, parallel in servers)
    assert ideal / seconds >= 0.9
    assert sum(server.answered for server in machines.servers) == 600


def test_steps_taken_together_are_shared_out_by_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixteen environments that wait for each other: a slow server must not hold up every step."""

    async def story() -> Machines:
        machines = Machines(Server(1.0, 2), Server(3.0, 2))
        for step in range(40):
            await asyncio.gather(*(machines.ask(100 * step + number) for number in range(16)))
        return machines

    machines, seconds = play(monkeypatch, story())
    ideal = 640 / (2 / MEAN + 2 / (3 * MEAN))
    assert ideal / seconds >= 0.8
    fast, slow = machines.servers
    assert 2 < fast.answered / slow.answered < 5


def test_a_server_that_goes_away_and_comes_back_loses_no_call(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> Machines:
        machines = Machines(Server(1.0, 2), Server(1.0, 2))
        loop = asyncio.get_running_loop()
        start = loop.time()
        machines.servers[0].down = lambda: 20 < loop.time() - start < 60
        await machines.answer_all(400)
        return machines

    machines, seconds = play(monkeypatch, story())
    assert sum(server.answered for server in machines.servers) == 400
    assert machines.servers[0].answered > 100, "it was tried again after its rest"
    assert seconds < 400 * MEAN / 2


def test_where_all_servers_go_away_the_account_waits_for_the_first_that_is_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def story() -> tuple[Machines, float, list[str]]:
        machines, told = Machines(Server(1.0, 2), Server(1.0, 2), retries=2, max_concurrent=2), list[str]()
        machines.account.outage.log = lambda level, message: told.append(message)
        machines.account.errors.note = lambda *about, **more: None  # type: ignore[method-assign]
        loop = asyncio.get_running_loop()
        start = loop.time()
        machines.servers[0].down = lambda: 20 < loop.time() - start < 120
        machines.servers[1].down = lambda: 20 < loop.time() - start < 240
        await machines.answer_all(200)
        return machines, loop.time() - start, told

    (machines, seconds, told), _ = play(monkeypatch, story())
    assert seconds < 120 + 15 + 100, "it is not the servers' own rests, of up to a minute, that are waited for"
    assert sum(server.answered for server in machines.servers) == 200
    assert ["is down" in told[0], "answers again" in told[1]] == [True, True] and len(told) == 2


def test_a_full_server_rests_and_says_what_to_change(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    async def story() -> Machines:
        machines = Machines(Server(1.0, 1, queue=1), Server(1.0, 1))
        machines.provider.notices.listen(told.append)
        await machines.answer_all(200)
        return machines

    machines, _ = play(monkeypatch, story())
    assert sum(server.answered for server in machines.servers) == 200
    assert all("OLLAMA_NUM_PARALLEL" in line and "host0 is busy" in line for line in told)


def test_calls_go_only_where_their_model_is(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> Machines:
        machines = Machines(Server(1.0, models=("llama3.2",)), Server(1.0, models=("qwen3",)))
        await asyncio.gather(*(machines.ask(number, ("llama3.2", "qwen3")[number % 2]) for number in range(40)))
        return machines

    machines, _ = play(monkeypatch, story())
    assert [server.answered for server in machines.servers] == [20, 20]


def test_a_model_that_vanishes_everywhere_stops_with_its_pull_command(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> str:
        machines = Machines(Server(1.0), Server(1.0))
        for server in machines.servers:
            server.models = ("qwen3",)
        with pytest.raises(ProviderError, match=r"ollama pull llama3\.2") as told:
            await machines.answer_all(20)
        return told.value.fault.value

    fault, _ = play(monkeypatch, story())
    assert fault == ErrorClass.FATAL.value
