"""Ollama: models on one's own machines, free, live only. Several servers form one pool."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from tidepool.engine.answer_forms import SCHEMAS
from tidepool.engine.call import Call
from tidepool.engine.config.sections import OllamaSettings
from tidepool.engine.prices import FREE, PriceTag, expected_input
from tidepool.engine.providers.keys import OWN_ADDRESSES, scrubbed, shown_host
from tidepool.engine.providers.model_listing import ModelCard
from tidepool.engine.providers.ollama.parallelism import Parallelism
from tidepool.engine.providers.ollama.pool import Host, Pool
from tidepool.engine.providers.protocol import Answer, BatchApi, ErrorClass, Notices, ProviderError, ProviderSpec
from tidepool.engine.providers.replies import name_of, said, text_of, tokens
from tidepool.engine.vectors import packed_vectors

LOOK_SECONDS = 15.0
SEED_BITS = 0x7FFF_FFFF
USUAL_CONTEXT = 4_096
"""tokens a server keeps of a request unless told otherwise: what is longer would be cut silently"""
THINKING = {"none": False, "minimal": "low", "xhigh": "high", "max": "high"}
"""efforts under the names that a server knows"""
BUSY_HINT = (
    "OLLAMA_NUM_PARALLEL on that server says how many calls it answers at once (1 by default), OLLAMA_MAX_QUEUE how many "
    "may wait (512)."
)


@dataclass(frozen=True, slots=True)
class Pulling:
    """A step of fetching a model."""

    host: str
    status: str
    completed: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True)
class HostCard:
    """One server: what it has, or why it does not answer."""

    url: str
    models: tuple[str, ...]
    silence: str = ""


class OllamaProvider:
    name = "ollama"
    simulated = False
    backoff = 0.5
    batches: BatchApi | None = None

    def __init__(self, settings: OllamaSettings) -> None:
        self.settings = settings
        self.notices = Notices()
        named = settings.hosts or [settings.base_url or os.environ.get("OLLAMA_HOST") or OWN_ADDRESSES["ollama"]]
        self.urls = list(dict.fromkeys(named))
        self._pool: Pool | None = None

    def serve(self, batch_id: str) -> None:
        """A local server needs no word of it."""

    def concurrency(self, max_concurrent: int) -> int:
        """Configured for each server."""
        most = max_concurrent * len(self.urls)
        if self._pool is not None:
            self._pool.most = most
            for host in self._pool.hosts:
                host.parallelism.change(max_concurrent)
        return most

    @property
    def pool(self) -> Pool:
        if self._pool is None:
            import httpx
            import ollama

            most = self.settings.max_concurrent
            limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
            self._pool = Pool(
                [
                    Host(url, ollama.AsyncClient(host=url, timeout=None, limits=limits), Parallelism(most))
                    for url in self.urls
                ]
            )
        return self._pool

    async def complete(self, call: Call, seed: int, attempt: int) -> Answer:
        model = full_name(call.model_name)
        if not self.pool.having(model):
            await self._look_around()
            if not self.pool.having(model):
                raise self._missing(call.model_name)
        try:
            host = await self.pool.take(model)
        except LookupError:
            raise self._missing(call.model_name) from None
        beside, started = host.in_flight, time.monotonic()
        try:
            async with asyncio.timeout(self.settings.timeout):
                answer = await _asked(host.client, call, seed)
        except Exception as error:
            raise self._judged(host, model, error, started) from None
        else:
            now = time.monotonic()
            host.answered(now - started, beside, answer.output_tokens + 20, now)
            return answer._replace(seconds=now - started)
        finally:
            self.pool.give_back(host)

    def price(self, model_name: str) -> PriceTag | None:
        return FREE

    async def check(self, model_names: Sequence[str]) -> None:
        silent = await self._look_around()
        if len(silent) == len(self.urls):
            raise ProviderError(ErrorClass.SYSTEMIC, _nobody_there(silent))
        for url, reason in silent.items():
            self.notices(f"The Ollama server {shown_host(url)} does not answer ({reason}): the others carry on.")
        for name in model_names:
            having = self.pool.having(full_name(name))
            if not having:
                raise self._missing(name)
            lacking = [host.url for host in self.pool.hosts if host not in having and host.url not in silent]
            if lacking:
                where = ", ".join(map(shown_host, lacking))
                self.notices(f"{where} has no {name} and gets no calls to it. There: ollama pull {name}")

    async def models(self) -> list[ModelCard]:
        names: set[str] = set().union(*(card.models for card in await self.hosts()))
        return [ModelCard(name) for name in sorted(names)]

    async def hosts(self) -> list[HostCard]:
        silent = await self._look_around()
        return [HostCard(host.url, tuple(sorted(host.models)), silent.get(host.url, "")) for host in self.pool.hosts]

    async def pull(self, model_name: str) -> AsyncIterator[Pulling]:
        """Fetches a model onto every server, and tells how far it is."""
        for host in self.pool.hosts:
            try:
                async for part in await host.client.pull(model_name, stream=True):
                    yield Pulling(shown_host(host.url), part.status or "", part.completed or 0, part.total or 0)
            except Exception as error:
                words = _words(error)
                if words == "connection refused":
                    raise ProviderError(ErrorClass.SYSTEMIC, _nobody_there({host.url: words})) from None
                where = shown_host(host.url)
                raise ProviderError(
                    ErrorClass.OURS, f"{model_name} could not be fetched onto {where}: {words}"
                ) from None

    async def close(self) -> None:
        if self._pool is not None:
            self._pool.close()
            for host in self._pool.hosts:
                await host.client.close()

    async def _look_around(self) -> dict[str, str]:
        """Asks every server for its models; those that do not answer, with the reason."""
        silent: dict[str, str] = {}

        async def look(host: Host) -> None:
            try:
                async with asyncio.timeout(min(LOOK_SECONDS, self.settings.timeout)):
                    listed = await host.client.list()
                host.models = {full_name(one.model) for one in listed.models if one.model}
            except Exception as error:
                silent[host.url] = _words(error)

        await asyncio.gather(*map(look, self.pool.hosts))
        return silent

    def _missing(self, model_name: str) -> ProviderError:
        known = sorted(set().union(*(host.models for host in self.pool.hosts)))
        near = get_close_matches(full_name(model_name), known, n=2, cutoff=0.5)
        hint = f" (or did you mean {' or '.join(near)}?)" if near else ""
        where = ", ".join(map(shown_host, self.urls))
        return ProviderError(
            ErrorClass.SYSTEMIC,
            f"No Ollama server ({where}) has the model {model_name!r}. Fetch it with `tidepool models --pull {model_name}` "
            f"or `ollama pull {model_name}`{hint}.",
        )

    def _judged(self, host: Host, model: str, error: Exception, asked_at: float) -> ProviderError:
        """What a failed call comes to, and what its server does next."""
        status, where, words = getattr(error, "status_code", None), shown_host(host.url), _words(error)
        if status == 404:
            host.models.discard(model)
            return (
                ProviderError(ErrorClass.HEALS, f"{where}: {words}")
                if self.pool.having(model)
                else self._missing(model)
            )
        if status is not None and 400 <= status < 500 and status not in (408, 429):
            return ProviderError(ErrorClass.OURS, f"Ollama at {where} answered {status}: {words}")
        if status in (429, 503):
            self.notices(f"The Ollama server {where} is busy and rests for a while. {BUSY_HINT}")
            words += f" ({BUSY_HINT})"
        if status in (429, 503) or isinstance(error, (TimeoutError, ConnectionError)):
            host.rest(asked_at, time.monotonic())
        return ProviderError(ErrorClass.HEALS, f"Ollama at {where}: {words}")


def full_name(model_name: str) -> str:
    return model_name if ":" in model_name else f"{model_name}:latest"


async def _asked(client: Any, call: Call, seed: int) -> Answer:
    if call.operation == "embed":
        embedded = await client.embed(model=call.model_name, input=[message.text for message in call.messages])
        vectors = packed_vectors([list(vector) for vector in embedded.embeddings])
        return Answer(vectors, embedded.prompt_eval_count or 0, 0, 0.0)
    messages = [{"role": message.role, "content": message.text} for message in call.messages]
    if call.system:
        messages.insert(0, {"role": "system", "content": call.system})
    reply = await client.chat(model=call.model_name, messages=messages, options=_options(call, seed), **_extras(call))
    words = said(
        text_of(reply.message.content),
        reply.done_reason if reply.done is not False else "error",
        thought=text_of(getattr(reply.message, "thinking", None)),
        tool=bool(reply.message.tool_calls),
    )
    asked, wrote = tokens(reply.prompt_eval_count), tokens(reply.eval_count)
    # A server that has the whole prompt in its cache reports no count of it.
    missing = wrote is None
    return Answer(
        words.text,
        expected_input(call) if asked is None else asked,
        wrote or 0,
        0.0,
        finish=words.finish,
        served_model=name_of(reply.model),
        thought=words.thought,
        usage_missing=missing,
    )


def _options(call: Call, seed: int) -> dict[str, Any]:
    options: dict[str, Any] = {"seed": seed & SEED_BITS, "num_predict": call.most_output}
    if call.temperature is not None:
        options["temperature"] = call.temperature
    needed, room = expected_input(call) * 4 // 3 + call.most_output, USUAL_CONTEXT
    while room < needed:
        room *= 2
    return options if room == USUAL_CONTEXT else {**options, "num_ctx": room}


def _extras(call: Call) -> dict[str, Any]:
    """A schema for the reply, and how much to think: nothing of it is sent where nothing was said about it."""
    extras: dict[str, Any] = {"format": SCHEMAS[call.form]} if call.form else {}
    if call.reasoning_effort:
        extras["think"] = THINKING.get(call.reasoning_effort, call.reasoning_effort)
    return extras


def _words(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, ConnectionError) or type(error).__name__ == "ConnectError":
        return "connection refused"
    return scrubbed(str(getattr(error, "error", "") or error) or type(error).__name__)


def _nobody_there(silent: dict[str, str]) -> str:
    where = "; ".join(f"{shown_host(url)}: {reason}" for url, reason in silent.items())
    return (
        f"No Ollama server answers ({where}). Start one with `ollama serve`, or name those there are: "
        '[providers.ollama] hosts = ["http://…:11434"] or OLLAMA_HOST.'
    )


PROVIDER = ProviderSpec(OllamaSettings, OllamaProvider)
