"""Ollama: models on one's own machines, free, live only. Several servers form one pool."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

from tidepool.engine.answer_forms import schema_of
from tidepool.engine.call import Call, PriceTag, expected_input, packed_vectors
from tidepool.engine.config.sections import OllamaSettings, ProviderSettings
from tidepool.engine.deadlines import Deadline
from tidepool.engine.providers.connection import (
    RejectedResponse,
    read_within,
    refuse_strange_redirect,
    trusted_certificates,
)
from tidepool.engine.providers.endpoint import NO_KEY, display_host, scrub_keys
from tidepool.engine.providers.errors import ProviderComplaint, missing_key, no_reply_of
from tidepool.engine.providers.pool import Host, HostedProvider, HostFault
from tidepool.engine.providers.protocol import Answer, ErrorClass, NoReply, ProviderError, ProviderSpec
from tidepool.engine.providers.replies import name_of, parse_reply, text_of, tokens
from tidepool.engine.providers.sdk import ModelCard
from tidepool.engine.providers.unsupported_settings import UnsupportedSettings

SEED_BITS = 0x7FFF_FFFF
REFUSED = "connection refused"
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


class OllamaProvider(HostedProvider):
    like = "ollama"
    nothing_there = "no server answers, or none has a model; start one with `ollama serve`"
    start_hint = (
        "Start one with `ollama serve`, or name those there are: "
        '[providers.ollama] hosts = ["http://…:11434"] or OLLAMA_HOST.'
    )

    def __init__(self, settings: ProviderSettings, name: str = "ollama") -> None:
        super().__init__(settings, name)
        self._habits = UnsupportedSettings(self.notices, ("think", "format"))

    def connect(self, url: str) -> Any:
        import httpx
        import ollama

        limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
        hooks = {"response": [refuse_strange_redirect, _read_whole]}
        # Without a word of its own the SDK takes the key of the environment.
        own = None if self.endpoint.by_environment else {"Authorization": f"Bearer {self.endpoint.key or NO_KEY}"}
        verify = trusted_certificates("httpx")
        return ollama.AsyncClient(host=url, timeout=None, limits=limits, headers=own, event_hooks=hooks, verify=verify)

    async def complete(self, call: Call, seed: int, attempt: int) -> Answer:
        return await self.ask_pool(call, seed)

    async def ask(self, client: Any, call: Call, seed: int) -> Answer:
        async with Deadline(self.settings.timeout):
            while True:
                extras = {
                    name: value for name, value in _extras(call).items() if self._habits.supports(call.model_name, name)
                }
                try:
                    return await _send(client, call, seed, extras)
                except Exception as error:
                    if not self._learn(call, error, extras):
                        raise

    def _learn(self, call: Call, error: Exception, sent: dict[str, Any]) -> bool:
        """Whether it is about a setting that was sent, and is left out from now on."""
        complaint = ProviderComplaint(getattr(error, "status_code", None), words=self.words_of(error))
        setting = self._habits.find(complaint)
        if setting is None or setting not in sent:
            return False
        self._habits.refuse(call.model_name, setting, sent[setting])
        return True

    def price(self, model_name: str) -> PriceTag | None:
        return self.endpoint.price(model_name)

    async def check(self, model_names: Sequence[str]) -> None:
        if self.endpoint.lacks_key:
            raise missing_key(self.endpoint)
        await self.check_hosts(model_names)

    async def models(self) -> list[ModelCard]:
        names: set[str] = set().union(*(card.models for card in await self.hosts()))
        return [ModelCard(name) for name in sorted(names)]

    async def models_at(self, client: Any, wanted: Sequence[str]) -> set[str] | None:
        return {self.full_name(listed.model) for listed in (await client.list()).models if listed.model}

    async def pull(self, model_name: str) -> AsyncIterator[Pulling]:
        """Fetches a model onto every server, and tells how far it is."""
        for host in self.pool.hosts:
            try:
                async for step in await host.client.pull(model_name, stream=True):
                    yield Pulling(display_host(host.url), step.status or "", step.completed or 0, step.total or 0)
            except Exception as error:
                reason = self.words_of(error)
                if reason == REFUSED:
                    raise ProviderError(ErrorClass.FATAL, self.no_server({host.url: reason})) from None
                where = display_host(host.url)
                raise ProviderError(
                    ErrorClass.CLIENT, f"{model_name} could not be fetched onto {where}: {reason}"
                ) from None

    @staticmethod
    def full_name(model_name: str) -> str:
        return model_name if ":" in model_name else f"{model_name}:latest"

    def fetch_hint(self, model_name: str, similar: str) -> str:
        suggestion = f" (or did you mean {similar}?)" if similar else ""
        return f"Fetch it with `tidepool models --pull {model_name}` or `ollama pull {model_name}`{suggestion}."

    def lacking_words(self, where: str, model_name: str) -> str:
        return f"{super().lacking_words(where, model_name)} There: ollama pull {model_name}"

    def fault_at(self, host: Host, error: Exception) -> HostFault:
        status, where, reason = getattr(error, "status_code", None), display_host(host.url), self.words_of(error)
        if status == 404:
            return HostFault(ProviderError(ErrorClass.FATAL, f"{where}: {reason}"), lacks_model=True)
        if isinstance(error, RejectedResponse):
            reason = f"Ollama at {where} answered with {reason}."
            return HostFault(ProviderError(ErrorClass.CLIENT, reason, no_reply=NoReply.BROKEN))
        if status is not None and 400 <= status < 500 and status not in (408, 429):
            return HostFault(ProviderError(ErrorClass.CLIENT, f"Ollama at {where} answered {status}: {reason}"))
        busy = status in (429, 503)
        if busy:
            self.notices(f"The Ollama server {where} is busy and rests for a while. {BUSY_HINT}")
            reason += f" ({BUSY_HINT})"
        no_reply = None
        if status is None:  # what is no error of the network is a reply that the client could not read
            no_reply = NoReply.UNREACHABLE if reason == REFUSED else no_reply_of(error)
        return HostFault(
            ProviderError(ErrorClass.TRANSIENT, f"Ollama at {where}: {reason}", no_reply=no_reply),
            rests=busy or isinstance(error, (TimeoutError, ConnectionError)),
            not_sent=busy or no_reply is NoReply.UNREACHABLE,
        )

    def words_of(self, error: Exception) -> str:
        if isinstance(error, TimeoutError):
            return "no answer in time"
        if isinstance(error, ConnectionError) or type(error).__name__ == "ConnectError":
            return REFUSED
        return scrub_keys(str(getattr(error, "error", "") or error) or type(error).__name__)


async def _read_whole(response: Any) -> None:
    """A hook of the client: only what tells its progress is streamed."""
    if not response.request.url.path.endswith("/api/pull"):
        await read_within(response)


async def _send(client: Any, call: Call, seed: int, extras: dict[str, Any]) -> Answer:
    if call.operation == "embed":
        embedded = await client.embed(model=call.model_name, input=[message.text for message in call.messages])
        vectors = packed_vectors([list(vector) for vector in embedded.embeddings])
        return Answer(vectors, embedded.prompt_eval_count or 0, 0, 0.0)
    messages = [{"role": message.role, "content": message.text} for message in call.messages]
    if call.system:
        messages.insert(0, {"role": "system", "content": call.system})
    body = {"model": call.model_name, "messages": messages, "options": _options(call, seed), "stream": False, **extras}
    # Private: the reply as it came. The SDK's own type refuses a whole reply for one odd figure; a public raw request would replace
    # this.
    reply = (await client._request_raw("POST", "/api/chat", json=body)).json()
    if not isinstance(reply, dict) or not isinstance(message := reply.get("message"), dict):
        raise ValueError("something that is not a reply")
    parsed = parse_reply(
        text_of(message.get("content")),
        reply.get("done_reason") if reply.get("done") is not False else "error",
        thought=text_of(message.get("thinking")),
        tool=bool(message.get("tool_calls")),
    )
    prompt, output = tokens(reply.get("prompt_eval_count")), tokens(reply.get("eval_count"))
    # A server that has the whole prompt in its cache reports no count of it.
    missing = output is None
    return Answer(
        parsed.text,
        expected_input(call) if prompt is None else prompt,
        output or 0,
        0.0,
        finish=parsed.finish,
        served_model=name_of(reply.get("model")),
        thought=parsed.thought,
        usage_missing=missing,
    )


def _options(call: Call, seed: int) -> dict[str, Any]:
    options: dict[str, Any] = {"seed": seed & SEED_BITS, "num_predict": call.most_output}
    if call.temperature is not None:
        options["temperature"] = call.temperature
    needed, context_size = expected_input(call) * 4 // 3 + call.most_output, USUAL_CONTEXT
    while context_size < needed:
        context_size *= 2
    return options if context_size == USUAL_CONTEXT else {**options, "num_ctx": context_size}


def _extras(call: Call) -> dict[str, Any]:
    """A schema for the reply, and how much to think: nothing of it is sent where nothing was said about it."""
    extras: dict[str, Any] = {"format": schema_of(call.form, call.scale)} if call.form else {}
    if call.reasoning_effort:
        extras["think"] = THINKING.get(call.reasoning_effort, call.reasoning_effort)
    return extras


PROVIDER = ProviderSpec(OllamaSettings, OllamaProvider)
