"""An Ollama server as its clients see it: it answers `parallel` calls at once and queues the rest."""

import json
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from aiohttp import web

from .books import Purchase
from .provider import Outcome, Provider, json_response
from .replies import content_hash, input_tokens, tokens_of, vector, written

MODELS = ("llama3.2:latest", "nomic-embed-text:latest")
LIBRARY = (*MODELS, "qwen3:latest", "gemma3:latest")
"""what can be pulled"""

_WORDS = {
    400: "invalid request",
    404: "model not found",
    503: "server busy, please try again.  maximum pending requests exceeded",
}
_SIZE = 2_000_000


class Ollama(Provider):
    family = "ollama"
    usual_slots = 1

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._pulled: list[str] = []

    def routes(self) -> list[web.RouteDef]:
        at = f"/{self.name}"
        return [
            web.get(f"{at}/api/tags", self.guard("models", self._tags)),
            web.post(f"{at}/api/chat", self.guard("live", self._chat)),
            web.post(f"{at}/api/embed", self.guard("live", self._embed)),
            web.post(f"{at}/api/pull", self.guard("pull", self._pull)),
        ]

    def admits(self, request: web.Request) -> bool:
        return True

    @property
    def known_models(self) -> tuple[str, ...]:
        return (*(full_name(name) for name in self.faults.models or MODELS), *self._pulled)

    def error_body(
        self, status: int, message: str = "", code: str | None = None, param: str | None = None
    ) -> dict[str, Any]:
        return {"error": message or _WORDS.get(status, "llama runner process has terminated")}

    def spend_error(self) -> dict[str, Any]:
        return {"error": "you have reached your usage limit"}

    def rate_headers(self, now: float) -> dict[str, str]:
        return {}

    async def _served(self, request: web.Request, outcome: Outcome) -> web.Response:
        if not outcome.bought:
            return json_response(outcome.body, outcome.status)
        return json_response(outcome.body) if await self.work(request, outcome.bought) else self.refusal(503)

    # calls

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        return await self._served(request, self._missing(body) or self._spoken(body))

    def _missing(self, body: dict[str, Any]) -> Outcome | None:
        if full_name(body.get("model", "")) in self.known_models:
            return None
        return Outcome(404, self.error_body(404, f"model '{body.get('model', '')}' not found"))

    def _spoken(self, body: dict[str, Any]) -> Outcome:
        most = (body.get("options") or {}).get("num_predict") or 0
        reply = written(self.answer, body, max(0, most))
        asked = input_tokens(body)
        whole = {
            "model": body["model"],
            "created_at": _now(),
            "message": {"role": "assistant", "content": reply.text},
            "done": True,
            "done_reason": "length" if reply.cut else "stop",
            **_durations(),
            "prompt_eval_count": asked,
            "prompt_eval_duration": 1_000_000,
            "eval_count": reply.tokens,
            "eval_duration": 1_000_000,
        }
        return Outcome(200, whole, Purchase(self.name, "live", body["model"], content_hash(body), asked, reply.tokens))

    async def _embed(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        if missing := self._missing(body):
            return await self._served(request, missing)
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        asked = sum(tokens_of(text) for text in texts)
        vectors = [vector(text, body.get("dimensions") or 768) for text in texts]
        whole = {"model": body["model"], "embeddings": vectors, **_durations(), "prompt_eval_count": asked}
        bought = Purchase(self.name, "live", body["model"], content_hash(body), asked, 0)
        return await self._served(request, Outcome(200, whole, bought))

    # models

    async def _tags(self, request: web.Request) -> web.StreamResponse:
        return json_response({"models": [_card(name) for name in self.known_models]})

    async def _pull(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        name = full_name(body.get("model", ""))
        if name not in LIBRARY:
            lines = [{"status": "pulling manifest"}, {"error": "pull model manifest: file does not exist"}]
        else:
            lines = _progress(name)
        if not body.get("stream", True):
            return json_response(lines[-1], 500 if "error" in lines[-1] else 200)
        response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
        await response.prepare(request)
        for line in lines:
            await response.write(json.dumps(line).encode() + b"\n")
        if name in LIBRARY and name not in self.known_models:
            self._pulled.append(name)
        await response.write_eof()
        return response


def full_name(name: str) -> str:
    return name if ":" in name else f"{name}:latest"


def _progress(name: str) -> list[dict[str, Any]]:
    digest = _digest(name)
    layer = {"status": f"pulling {digest[7:19]}", "digest": digest, "total": _SIZE}
    return [
        {"status": "pulling manifest"},
        layer,
        *({**layer, "completed": _SIZE * part // 4} for part in range(1, 5)),
        {"status": "verifying sha256 digest"},
        {"status": "writing manifest"},
        {"status": "success"},
    ]


def _digest(name: str) -> str:
    return "sha256:" + sha256(name.encode()).hexdigest()


def _card(name: str) -> dict[str, Any]:
    family = name.partition(":")[0]
    details = {
        "parent_model": "",
        "format": "gguf",
        "family": family,
        "families": [family],
        "parameter_size": "3.2B",
        "quantization_level": "Q4_K_M",
    }
    digest = _digest(name).removeprefix("sha256:")
    return {"name": name, "model": name, "modified_at": _now(), "size": _SIZE, "digest": digest, "details": details}


def _durations() -> dict[str, int]:
    return {"total_duration": 5_000_000, "load_duration": 1_000_000}


def _now() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")
