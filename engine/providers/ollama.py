"""Ollama: models on your own machines, free of charge, live only. Several servers form one pool."""

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from tidepool.engine.answer_forms import schema_of
from tidepool.engine.call import Call, PriceTag, expected_input, packed_vectors
from tidepool.engine.config.sections import OllamaSettings
from tidepool.engine.providers.adapter import SEED_BITS, Adapter, ModelCard
from tidepool.engine.providers.connection import Complained
from tidepool.engine.providers.endpoint import display_host
from tidepool.engine.providers.errors import read_error
from tidepool.engine.providers.protocol import Answer, ErrorClass, NoReply, ProviderError, ProviderSpec, RateLimits
from tidepool.engine.providers.provider import EndpointProvider
from tidepool.engine.providers.replies import ParsedReply, encode_json, parse_reply, priced_answer, text_of, tokens
from tidepool.storage.states import FinishReason

USUAL_CONTEXT = 4_096
"""tokens of a request that a server reads by default; it would silently cut a longer request"""
THINKING = {"none": False, "minimal": "low", "xhigh": "high", "max": "high"}
"""our names of efforts, with the server's names"""


class OllamaAdapter(Adapter):
    optional = ("think", "format")
    models_path = "/api/tags"
    nothing_there = "no server answers, or no server has a model. Start one with `ollama serve`"
    start_hint = (
        "Start one with `ollama serve`, or set the addresses of your servers: "
        '[providers.ollama] hosts = ["http://…:11434"] or OLLAMA_HOST.'
    )
    busy_hint = (
        "OLLAMA_NUM_PARALLEL on that server sets how many requests it answers at once (1 by default), and OLLAMA_MAX_QUEUE how many "
        "may wait (512)."
    )

    def path(self, call: Call) -> str:
        return "/api/embed" if call.operation == "embed" else "/api/chat"

    def body(self, call: Call, seed: int) -> dict[str, Any]:
        name = call.model_name
        if call.operation == "embed":
            return {"model": name, "input": [message.text for message in call.messages]}
        messages = [{"role": message.role, "content": message.text} for message in call.messages]
        if call.system:
            messages.insert(0, {"role": "system", "content": call.system})
        body = {"model": name, "messages": messages, "options": _options(call, seed), "stream": False}
        if call.form and self.habits.supports(name, "format"):
            body["format"] = schema_of(call.form, call.scale)
        if call.reasoning_effort and self.habits.supports(name, "think"):
            body["think"] = THINKING.get(call.reasoning_effort, call.reasoning_effort)
        return body

    def answer(
        self, data: Mapping[str, Any], call: Call | None, tag: PriceTag | None, limits: RateLimits | None = None
    ) -> Answer:
        assert call is not None, "there is no batch API"
        prompt, output = tokens(data.get("prompt_eval_count")), tokens(data.get("eval_count"))
        if call.operation == "embed":
            vectors = packed_vectors([list(vector) for vector in data["embeddings"]])
            reply, prompt, output = ParsedReply(vectors, None, FinishReason.COMPLETE), prompt or 0, 0
        else:
            message = data["message"]
            reply = parse_reply(
                text_of(message.get("content")),
                data.get("done_reason") if data.get("done") is not False else "error",
                thought=text_of(message.get("thinking")),
                tool=bool(message.get("tool_calls")),
            )
        if prompt is None:  # a server with the whole prompt in its cache reports no count
            prompt = expected_input(call)
        usage = None if output is None else (prompt, output, 0, 0, 0)
        return priced_answer(reply, usage, data.get("model"), tag, batch=False, limits=None)

    def cards(self, listed: Mapping[str, Any]) -> Iterator[ModelCard]:
        for card in listed.get("models") or ():
            if name := card.get("model") or card.get("name"):
                yield ModelCard(self.full_name(str(name)))

    def full_name(self, model_name: str) -> str:
        return model_name if ":" in model_name else f"{model_name}:latest"

    def fetch_hint(self, model_name: str, similar: str) -> str:
        suggestion = f" (or did you mean {similar}?)" if similar else ""
        return f"Fetch it with `tidepool models --pull {model_name}` or `ollama pull {model_name}`{suggestion}."


def _options(call: Call, seed: int) -> dict[str, Any]:
    options: dict[str, Any] = {"seed": seed & SEED_BITS, "num_predict": call.most_output}
    if call.temperature is not None:
        options["temperature"] = call.temperature
    needed, context_size = expected_input(call) * 4 // 3 + call.most_output, USUAL_CONTEXT
    while context_size < needed:
        context_size *= 2
    return options if context_size == USUAL_CONTEXT else {**options, "num_ctx": context_size}


@dataclass(frozen=True, slots=True)
class Pulling:
    """A step of downloading a model."""

    host: str
    status: str
    completed: int = 0
    total: int = 0


async def pull_model(provider: EndpointProvider, model_name: str) -> AsyncIterator[Pulling]:
    """Downloads a model to every server, and reports progress."""
    for host in provider.pool.hosts:
        where = display_host(host.url)
        try:
            async for line in host.client.lines("/api/pull", encode_json({"model": model_name}), silence=None):
                step = json.loads(line)
                if step.get("error"):
                    raise ValueError(read_error(step).words)
                yield Pulling(where, step.get("status") or "", step.get("completed") or 0, step.get("total") or 0)
        except Complained as complained:
            if complained.complaint.no_reply is NoReply.UNREACHABLE:
                raise ProviderError(ErrorClass.FATAL, provider.no_server({host.url: complained})) from None
            raise host.client.diagnose(complained.complaint) from None
        except (ValueError, AttributeError) as error:
            text = f"{model_name} could not be downloaded to {where}: {error}"
            raise ProviderError(ErrorClass.CLIENT, text) from None


PROVIDER = ProviderSpec(OllamaSettings, partial(EndpointProvider, OllamaAdapter, None))
