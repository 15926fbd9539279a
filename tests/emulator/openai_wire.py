"""OpenAI as its clients see it: chat completions, embeddings, models, files and batches."""

from collections.abc import Iterable
from itertools import count
from math import ceil
from time import time
from typing import Any

from aiohttp import web

from .books import Purchase
from .openai_batches import OpenAIBatches
from .provider import Outcome, Provider, json_response
from .replies import PromptCache, content_hash, input_tokens, packed, plain, tokens_of, vector, written

MODELS = (
    *("gpt-4o-mini", "gpt-5.4-mini", "gpt-5.6-luna", "gpt-6-luna", "gpt-6.1-terra", "gpt-6.1-sol"),
    *("text-embedding-3-small", "text-embedding-3-large"),
)

_WORDS: dict[int, tuple[str, str, str | None]] = {
    400: ("invalid_request_error", "We could not parse the JSON body of your request.", None),
    401: ("invalid_request_error", "Incorrect API key provided.", "invalid_api_key"),
    403: (
        "invalid_request_error",
        "You are not allowed to use this endpoint.",
        "unsupported_country_region_territory",
    ),
    404: ("invalid_request_error", "No such object.", None),
    409: ("invalid_request_error", "The object is in a state that does not allow this.", None),
    413: ("invalid_request_error", "The request is too large.", None),
    429: ("requests", "Rate limit reached for requests per min (RPM).", "rate_limit_exceeded"),
    503: ("server_error", "The engine is currently overloaded, please try again later.", None),
}
_ID_DIGITS = 24
_OOPS = ("server_error", "The server had an error while processing your request. Sorry about that!", None)


class OpenAI(Provider):
    family = "openai"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._ids = count(1)
        self._cache = PromptCache()
        self.batches = OpenAIBatches(self)

    def routes(self) -> list[web.RouteDef]:
        at = f"/{self.name}/v1"
        return [
            web.post(f"{at}/chat/completions", self.guard("live", self._live_call)),
            web.post(f"{at}/embeddings", self.guard("live", self._live_call)),
            web.get(f"{at}/models", self.guard("models", self._models)),
            web.get(f"{at}/models/{{id}}", self.guard("models", self._one_model)),
            *self.batches.routes(at),
        ]

    def new_id(self, prefix: str) -> str:
        return f"{prefix}{next(self._ids):0{_ID_DIGITS}x}"

    def go_on_after(self, ids: Iterable[str]) -> None:
        """Gives none of these ids again."""
        self._ids = count(max((int(one[-_ID_DIGITS:], 16) for one in ids), default=0) + 1)

    @property
    def known_models(self) -> tuple[str, ...]:
        return tuple(self.faults.models) or MODELS

    def error_body(
        self, status: int, message: str = "", code: str | None = None, param: str | None = None
    ) -> dict[str, Any]:
        kind, words, usual = _WORDS.get(status, _OOPS)
        return {"error": {"message": message or words, "type": kind, "param": param, "code": code or usual}}

    def spend_error(self) -> dict[str, Any]:
        words = "You exceeded your current quota, please check your plan and billing details."
        kind = "insufficient_quota"
        return {"error": {"message": words, "type": kind, "param": None, "code": kind}}

    def rate_headers(self, now: float) -> dict[str, str]:
        headers = {}
        for what, limit, minute in (
            ("requests", self.faults.requests_per_minute, self._requests),
            ("tokens", self.faults.tokens_per_minute, self._tokens),
        ):
            if limit:
                room = minute.room(limit, self.faults.minute, now)
                headers[f"x-ratelimit-limit-{what}"] = str(limit)
                headers[f"x-ratelimit-remaining-{what}"] = str(room.remaining)
                headers[f"x-ratelimit-reset-{what}"] = duration(room.reset)
        return headers

    async def _live_call(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        outcome = self.answered(body, request.path.removeprefix(f"/{self.name}"), "live")
        if outcome.bought and not await self.work(request, outcome.bought):
            return self.refusal(503)
        headers = {
            "x-request-id": self.new_id("req_"),
            "openai-processing-ms": "1",
            "openai-version": "2020-10-01",
        }
        return json_response(outcome.body, outcome.status, headers)

    def answered(self, body: dict[str, Any], endpoint: str, transport: str) -> Outcome:
        """What a live call, or a line of a batch, is answered with."""
        model = body.get("model", "")
        if model not in self.known_models:
            words = f"The model `{model}` does not exist or you do not have access to it."
            return Outcome(404, self.error_body(404, words, "model_not_found"))
        if refused := [name for name in self.faults.refused_settings if body.get(name) is not None]:
            words = f"Unsupported parameter: '{refused[0]}' is not supported with this model."
            return Outcome(400, self.error_body(400, words, "unsupported_parameter", refused[0]))
        if endpoint == "/v1/embeddings":
            return self._embedded(body, transport)
        if not body.get("messages") or body.get("stream"):
            words = "Invalid 'messages': expected a non-empty array, and no stream here."
            return Outcome(400, self.error_body(400, words, "invalid_value", "messages"))
        return self._completed(body, transport)

    def _completed(self, body: dict[str, Any], transport: str) -> Outcome:
        reply = written(self.answer, body, body.get("max_completion_tokens") or body.get("max_tokens") or 0)
        asked = input_tokens(body)
        cached, _ = self._cache.look(body["model"], plain(body["messages"][0]["content"]))
        bought = Purchase(self.name, transport, body["model"], content_hash(body), asked, reply.tokens)
        message: dict[str, Any] = {
            "role": "assistant",
            "content": reply.text,
            "refusal": None,
            "annotations": [],
        }
        choice = {
            "index": 0,
            "message": message,
            "logprobs": None,
            "finish_reason": "length" if reply.cut else "stop",
        }
        usage = {
            "prompt_tokens": asked,
            "completion_tokens": reply.tokens,
            "total_tokens": asked + reply.tokens,
            "prompt_tokens_details": {"cached_tokens": min(cached, asked), "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
        }
        whole = {
            "id": self.new_id("chatcmpl-"),
            "object": "chat.completion",
            "created": int(time()),
            "model": body["model"],
            "choices": [choice],
            "usage": usage,
            "service_tier": "default",
            "system_fingerprint": "fp_emulator",
        }
        return Outcome(200, whole, bought)

    def _embedded(self, body: dict[str, Any], transport: str) -> Outcome:
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        vectors = [vector(text, body.get("dimensions") or 1536) for text in texts]
        shown = [packed(one) for one in vectors] if body.get("encoding_format") == "base64" else vectors
        data = [{"object": "embedding", "index": at, "embedding": one} for at, one in enumerate(shown)]
        asked = sum(tokens_of(text) for text in texts)
        bought = Purchase(self.name, transport, body["model"], content_hash(body), asked, 0)
        usage = {"prompt_tokens": asked, "total_tokens": asked}
        return Outcome(200, {"object": "list", "data": data, "model": body["model"], "usage": usage}, bought)

    async def _models(self, request: web.Request) -> web.StreamResponse:
        return json_response({"object": "list", "data": [_card(name) for name in self.known_models]})

    async def _one_model(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["id"]
        if name not in self.known_models:
            return self.refusal(404, f"The model '{name}' does not exist", "model_not_found", "model")
        return json_response(_card(name))

    def enqueued_room(self, model: str, tokens: int) -> bool:
        """Whether so many more tokens may wait in open batches of this model."""
        limit = self.faults.enqueued_tokens
        return not limit or self.batches.waiting_tokens(model) + tokens <= limit


def _card(name: str) -> dict[str, Any]:
    gone = "2027-01-31" if name == "gpt-4o-mini" else None
    return {"id": name, "object": "model", "created": 1750000000, "owned_by": "system", "shutdown_date": gone}


def duration(seconds: float) -> str:
    """As OpenAI writes it: 120ms, 6s, 1m3s."""
    if seconds < 1:
        return f"{ceil(seconds * 1000)}ms"
    minutes, rest = divmod(ceil(seconds), 60)
    return (f"{minutes}m" if minutes else "") + f"{rest}s"
