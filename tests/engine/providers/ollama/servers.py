"""Ollama servers of any speed, in virtual time: each answers so many calls at once and queues the rest."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import httpx
import ollama

from tests.support.books import NoBooks
from tidepool.engine.call import Call, Message, stream
from tidepool.engine.config.sections import OllamaSettings
from tidepool.engine.providers.ollama import OllamaProvider
from tidepool.engine.providers.pool import Host, Parallelism, Pool
from tidepool.engine.providers.protocol import Answer
from tidepool.engine.runtime.accounts import Account
from tidepool.engine.runtime.recording import LiveCall
from tidepool.engine.runtime.unit import PendingCall

MODEL = "llama3.2"


class Server:
    """The client of one server, as the provider sees it."""

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

    async def list(self) -> Any:
        if self.down():
            raise ConnectionError("refused")
        return SimpleNamespace(models=[SimpleNamespace(model=f"{name}:latest") for name in self.models])

    async def _request_raw(self, method: str, path: str, *, json: dict[str, Any]) -> Any:
        reply = await self._chat(json["model"], json["options"])
        return SimpleNamespace(json=lambda: reply)

    async def _chat(self, model: str, options: dict[str, Any]) -> dict[str, Any]:
        if self.down():
            raise ConnectionError("refused")
        if model not in self.models:
            raise ollama.ResponseError(f"model '{model}' not found", 404)
        if self._here >= self._parallel + self._queue:
            raise ollama.ResponseError("server busy, please try again.", 503)
        tokens = 20 + stream(options["seed"], "tokens").randrange(60)
        self._here += 1
        self.busiest = max(self.busiest, self._here)
        try:
            async with self._slots:
                await asyncio.sleep(self.seconds * tokens / 50)
        finally:
            self._here -= 1
        if self.down():
            raise httpx.RemoteProtocolError("Server disconnected")
        self.answered += 1
        message = {"role": "assistant", "content": "yes"}
        figures = {"prompt_eval_count": 10, "eval_count": tokens}
        return {"model": model, "message": message, "done": True, "done_reason": "stop", **figures}

    async def close(self) -> None: ...


class Machines:
    """A pool of servers behind an account, as a run has them."""

    def __init__(self, *servers: Server, **settings: Any) -> None:
        self.servers = servers
        hosts = [f"http://host{number}" for number, _ in enumerate(servers)]
        chosen = OllamaSettings(**{"hosts": hosts, "max_concurrent": 8, "timeout": 600.0, "retries": 5, **settings})
        self.provider = OllamaProvider(chosen)
        self.provider._pool = Pool(
            [
                Host(url, server, Parallelism(chosen.max_concurrent), {f"{name}:latest" for name in server.models})
                for url, server in zip(hosts, servers, strict=True)
            ]
        )
        self.account = Account(self.provider, chosen)

    async def ask(self, number: int, model: str = MODEL) -> Answer:
        call = Call(f"t{number}", 1, f"ollama:{model}", (Message("user", "hello"),))
        return await LiveCall(self.account, PendingCall(number, call, b"", number, 0.0), NoBooks()).answer()

    async def answer_all(self, calls: int) -> None:
        await asyncio.gather(*map(self.ask, range(calls)))
