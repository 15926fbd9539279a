"""OpenAI as its clients see it: chat completions, embeddings, models, files and batches.

A batch is checked after its creation: what is wrong turns it `failed`.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from math import ceil
from time import time
from typing import Any

from aiohttp import web

from .batches import Batch, Item, item_of, page, send_rows
from .books import Purchase
from .provider import Outcome, Provider, json_response
from .replies import content_hash, input_tokens, packed, plain, tokens_of, vector, written

ENDPOINTS = ("/v1/chat/completions", "/v1/embeddings")
_EXPIRED = ("batch_expired", "This request could not be executed before the completion window expired.")
_CANCELLED = ("batch_cancelled", "This request was cancelled.")
_DAY = 86400


@dataclass(frozen=True, slots=True)
class StoredFile:
    id: str
    filename: str
    purpose: str
    lines: list[str]
    size: int
    created_at: int

    def card(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "object": "file",
            "bytes": self.size,
            "created_at": self.created_at,
            "filename": self.filename,
            "purpose": self.purpose,
            "status": "processed",
            "expires_at": None,
            "status_details": None,
        }


class OpenAIBatches:
    def __init__(self, provider: OpenAI) -> None:
        self._provider = provider
        self._files: dict[str, StoredFile] = {}
        self._batches: dict[str, Batch] = {}

    def routes(self, at: str) -> list[web.RouteDef]:
        guard = self._provider.guard
        return [
            web.post(f"{at}/files", guard("upload", self._upload)),
            web.get(f"{at}/files", guard("list", self._list_files)),
            web.get(f"{at}/files/{{id}}", guard("list", self._one_file)),
            web.delete(f"{at}/files/{{id}}", guard("cancel", self._delete_file)),
            web.get(f"{at}/files/{{id}}/content", guard("results", self._content)),
            web.post(f"{at}/batches", guard("create", self._create)),
            web.get(f"{at}/batches", guard("list", self._list)),
            web.get(f"{at}/batches/{{id}}", guard("poll", self._retrieve)),
            web.post(f"{at}/batches/{{id}}/cancel", guard("cancel", self._cancel)),
        ]

    # files

    async def _upload(self, request: web.Request) -> web.StreamResponse:
        form = await request.post()
        upload, purpose = form.get("file"), form.get("purpose")
        if not isinstance(upload, web.FileField) or purpose != "batch":
            return self._provider.refusal(400, "'file' and purpose 'batch' are required.", None, "purpose")
        content = upload.file.read()
        most = self._provider.faults.batch_bytes or 200 * 1024 * 1024
        if len(content) > most:
            return self._provider.refusal(400, f"File is too large: {len(content)} of {most} bytes.", "file_too_large")
        stored = self._store(upload.filename, "batch", content.decode().splitlines(), len(content))
        return json_response(stored.card())

    def _store(self, filename: str, purpose: str, lines: list[str], size: int) -> StoredFile:
        stored = StoredFile(self._provider.new_id("file-"), filename, purpose, lines, size, int(time()))
        self._files[stored.id] = stored
        return stored

    async def _list_files(self, request: web.Request) -> web.StreamResponse:
        cards = [stored.card() for stored in reversed(self._files.values())]
        return json_response({"object": "list", "data": cards, "has_more": False})

    async def _one_file(self, request: web.Request) -> web.StreamResponse:
        stored = self._files.get(request.match_info["id"])
        return json_response(stored.card()) if stored else self._no_file(request)

    async def _delete_file(self, request: web.Request) -> web.StreamResponse:
        stored = self._files.pop(request.match_info["id"], None)
        if not stored:
            return self._no_file(request)
        return json_response({"id": stored.id, "object": "file", "deleted": True})

    async def _content(self, request: web.Request) -> web.StreamResponse:
        stored = self._files.get(request.match_info["id"])
        if not stored:
            return self._no_file(request)
        point = f"{self._provider.name}:results:middle"
        return await send_rows(request, stored.lines, self._provider.points, point, "application/octet-stream")

    def _no_file(self, request: web.Request) -> web.Response:
        return self._provider.refusal(404, f"No such File object: {request.match_info['id']}", None, "id")

    # batches

    async def _create(self, request: web.Request) -> web.StreamResponse:
        order = await request.json()
        source = self._files.get(order.get("input_file_id", ""))
        if wrong := self._wrong_order(order, source):
            return self._provider.refusal(400, wrong, "invalid_request")
        assert source is not None
        batch = self._accepted(order, source, self._provider.new_id("batch_"))
        self._batches[batch.id] = batch
        self._provider.books.book(batch.purchases())
        return json_response(self._card(batch))

    def _wrong_order(self, order: dict[str, Any], source: StoredFile | None) -> str:
        metadata = order.get("metadata") or {}
        if source is None or source.purpose != "batch":
            return "Invalid 'input_file_id': no such file with purpose 'batch'."
        if order.get("endpoint") not in ENDPOINTS or order.get("completion_window") != "24h":
            return "Invalid 'endpoint' or 'completion_window'."
        if len(metadata) > 16:
            return "Invalid 'metadata': too many properties, at most 16."
        if any(len(key) > 64 or not isinstance(value, str) or len(value) > 512 for key, value in metadata.items()):
            return "Invalid 'metadata': keys of at most 64 and string values of at most 512 characters."
        return ""

    def _accepted(self, order: dict[str, Any], source: StoredFile, batch_id: str) -> Batch:
        details = {key: order.get(key) for key in ("endpoint", "completion_window", "input_file_id", "metadata")}
        failure = self._provider.roll("batch", source.id) or self._failure(source, order["endpoint"])
        if failure:
            return Batch(batch_id, [], {**details, "total": 0}, failure)
        lines = [json.loads(line) for line in source.lines]
        items = [
            item_of(
                self._provider,
                line["custom_id"],
                batch_id,
                self._provider.answered(line["body"], order["endpoint"], "batch"),
            )
            for line in lines
        ]
        details |= {"total": len(items), "model": lines[0]["body"]["model"]}
        details["tokens"] = sum(input_tokens(line["body"]) for line in lines)
        return Batch(batch_id, items, details)

    def _failure(self, source: StoredFile, endpoint: str) -> str:
        """Why validation turns the batch down; "" when it does not."""
        try:
            lines = [json.loads(line) for line in source.lines]
            ids = Counter(line["custom_id"] for line in lines)
            tokens = sum(input_tokens(line["body"]) for line in lines)
            models = {line["body"]["model"] for line in lines}
        except (ValueError, KeyError, TypeError):
            return "invalid_json_line"
        if not lines:
            return "empty_file"
        if len(lines) > 50_000:
            return "too_many_tasks"
        if len(ids) < len(lines):
            return "duplicate_custom_id"
        if len(models) > 1:
            return "mismatched_model"
        if models - set(self._provider.known_models):
            return "model_not_found"
        if any(line.get("url") != endpoint or line.get("method") != "POST" for line in lines):
            return "mismatched_endpoint"
        return "" if self._provider.enqueued_room(models.pop(), tokens) else "token_limit_exceeded"

    def waiting_tokens(self, model: str) -> int:
        for batch in self._batches.values():
            batch.pass_time(self._provider.faults)
        own = (batch for batch in self._batches.values() if batch.open and batch.details.get("model") == model)
        return sum(batch.details["tokens"] for batch in own)

    async def _list(self, request: web.Request) -> web.StreamResponse:
        limit = int(request.query.get("limit", 20))
        if not 1 <= limit <= 100:
            return self._provider.refusal(
                400, "Invalid 'limit': between 1 and 100.", "integer_above_max_value", "limit"
            )
        batches = list(self._batches.values())
        shown, more = page(batches, self._provider.faults, request.query.get("after"), limit)
        for batch in shown:
            batch.pass_time(self._provider.faults)
        cards = [self._card(batch) for batch in shown]
        ends = {"first_id": cards[0]["id"], "last_id": cards[-1]["id"]} if cards else {}
        return json_response({"object": "list", "data": cards, "has_more": more, **ends})

    async def _retrieve(self, request: web.Request) -> web.StreamResponse:
        batch = self._batches.get(request.match_info["id"])
        if not batch:
            return self._no_batch(request)
        batch.look(self._provider.faults)
        return json_response(self._card(batch))

    async def _cancel(self, request: web.Request) -> web.StreamResponse:
        batch = self._batches.get(request.match_info["id"])
        if not batch:
            return self._no_batch(request)
        batch.pass_time(self._provider.faults)
        if not batch.open:
            return self._provider.refusal(409, f"Cannot cancel a batch with status '{self._status(batch)}'.")
        self._provider.books.strike(batch.id, batch.cancel(self._provider.faults))
        return json_response(self._card(batch))

    def _no_batch(self, request: web.Request) -> web.Response:
        return self._provider.refusal(404, f"No batch found with id '{request.match_info['id']}'.")

    def _status(self, batch: Batch) -> str:
        if batch.failure:
            return "failed" if batch.polls else "validating"
        if batch.cancelled_at:
            return "cancelled" if batch.ended_at else "cancelling"
        if batch.ended_at is None:
            return "in_progress" if batch.polls else "validating"
        return "expired" if batch.counts()["expire"] else "completed"

    def _card(self, batch: Batch) -> dict[str, Any]:
        status, details, at = self._status(batch), batch.details, int(batch.created_at)
        ended = int(batch.ended_at) if batch.ended_at else None
        if status in ("completed", "expired", "cancelled"):
            self._write_files(batch)
        counts = batch.counts() if ended else {"done": int(batch.progress(self._provider.faults) * details["total"])}
        return {
            "id": batch.id,
            "object": "batch",
            "endpoint": details["endpoint"],
            "errors": _errors(batch.failure) if status == "failed" else None,
            "input_file_id": details["input_file_id"],
            "completion_window": details["completion_window"],
            "status": status,
            "output_file_id": details.get("output"),
            "error_file_id": details.get("error"),
            "created_at": at,
            "in_progress_at": at if batch.polls else None,
            "expires_at": at + _DAY,
            "finalizing_at": ended,
            "completed_at": ended if status == "completed" else None,
            "failed_at": at if status == "failed" else None,
            "expired_at": ended if status == "expired" else None,
            "cancelling_at": int(batch.cancelled_at) if batch.cancelled_at else None,
            "cancelled_at": ended if status == "cancelled" else None,
            "request_counts": {
                "total": details["total"],
                "completed": counts.get("done", 0),
                "failed": counts.get("failed", 0) + counts.get("expire", 0) + counts.get("cancel", 0),
            },
            "metadata": details["metadata"],
            "model": details.get("model"),
        }

    def _write_files(self, batch: Batch) -> None:
        """The output and the error file; a file that would be empty is not made."""
        if "output" in batch.details:
            return
        for name, good in (("output", True), ("error", False)):
            items = [item for item in batch.in_any_order(self._provider.faults) if (item.kind == "done") is good]
            lines = [json.dumps(self._row(item)) for item in items]
            size = sum(len(line) + 1 for line in lines)
            stored = self._store(f"{batch.id}_{name}.jsonl", "batch_output", lines, size) if lines else None
            batch.details[name] = stored.id if stored else None

    def _row(self, item: Item) -> dict[str, Any]:
        row: dict[str, Any] = {"id": self._provider.new_id("batch_req_"), "custom_id": item.custom_id}
        if item.fate:
            code, words = _EXPIRED if item.fate == "expire" else _CANCELLED
            return {**row, "response": None, "error": {"code": code, "message": words}}
        response = {"status_code": item.outcome.status, "request_id": row["id"], "body": item.outcome.body}
        return {**row, "response": response, "error": None}


def _errors(code: str) -> dict[str, Any]:
    return {"object": "list", "data": [{"code": code, "line": None, "message": _words(code), "param": None}]}


def _words(code: str) -> str:
    if code == "token_limit_exceeded":
        return "Enqueued token limit reached for this model. Please try again once some batches have completed."
    return f"The batch could not be validated: {code.replace('_', ' ')}."


MODELS = (
    *("gpt-4o-mini", "gpt-5.4-mini", "gpt-5.6-luna", "gpt-6-luna", "gpt-6.1-terra", "gpt-6.1-sol"),
    *("text-embedding-3-small", "text-embedding-3-large"),
)

_WORDS: dict[int, tuple[str, str, str | None]] = {
    400: ("invalid_request_error", "We could not parse the JSON body of your request.", None),
    401: ("invalid_request_error", "Incorrect API key provided.", "invalid_api_key"),
    403: ("invalid_request_error", "You are not allowed to use this endpoint.", "unsupported_country_region_territory"),
    404: ("invalid_request_error", "No such object.", None),
    409: ("invalid_request_error", "The object is in a state that does not allow this.", None),
    413: ("invalid_request_error", "The request is too large.", None),
    429: ("requests", "Rate limit reached for requests per min (RPM).", "rate_limit_exceeded"),
    503: ("server_error", "The engine is currently overloaded, please try again later.", None),
}
_OOPS = ("server_error", "The server had an error while processing your request. Sorry about that!", None)


class OpenAI(Provider):
    family = "openai"
    models = MODELS

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
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
        headers = {"x-request-id": self.new_id("req_"), "openai-processing-ms": "1", "openai-version": "2020-10-01"}
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
        message: dict[str, Any] = {"role": "assistant", "content": reply.text, "refusal": None, "annotations": []}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "length" if reply.cut else "stop"}
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
