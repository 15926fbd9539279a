"""Anthropic's message batches: no metadata, and no progress until the whole batch has ended."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from aiohttp import web

from . import malformed_replies as malformed
from .batches import Batch, Item, page, rfc3339, send_rows
from .provider import Outcome, json_response

if TYPE_CHECKING:
    from .anthropic_wire import Anthropic

_CUSTOM_ID = re.compile(r"^[a-zA-Z0-9_-]{1,64}$")
_DAY = 86400
_RESULT = {"done": "succeeded", "failed": "errored", "expire": "expired", "cancel": "canceled"}


class AnthropicBatches:
    def __init__(self, provider: Anthropic) -> None:
        self._provider = provider
        self._batches: dict[str, Batch] = {}

    def routes(self, at: str) -> list[web.RouteDef]:
        guard = self._provider.guard
        return [
            web.post(f"{at}/messages/batches", guard("create", self._create)),
            web.get(f"{at}/messages/batches", guard("list", self._list)),
            web.get(f"{at}/messages/batches/{{id}}", guard("poll", self._retrieve)),
            web.get(f"{at}/messages/batches/{{id}}/results", guard("results", self._results)),
            web.post(f"{at}/messages/batches/{{id}}/cancel", guard("cancel", self._cancel)),
        ]

    async def _create(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        requests = json.loads(body).get("requests") or []
        version = request.headers.get("anthropic-version", "")
        if len(body) > (self._provider.faults.batch_bytes or 256 * 1024 * 1024):
            return self._provider.refusal(413)
        if wrong := self._provider.wrong_version(version) or self._wrong_order(requests):
            return self._provider.refusal(400, wrong)
        batch_id = self._provider.new_id("msgbatch_")
        batch = Batch(batch_id, [self._item(batch_id, one, version) for one in requests])
        self._batches[batch_id] = batch
        self._provider.books.book(batch.purchases())
        return json_response(self._card(batch, request))

    def _wrong_order(self, requests: list[dict[str, Any]]) -> str:
        ids = [one.get("custom_id", "") for one in requests]
        if not ids:
            return "requests: at least one request is required"
        if len(ids) > 100_000:
            return "requests: too many requests in the batch"
        if bad := [one for one in ids if not _CUSTOM_ID.match(one)]:
            return f"requests: custom_id {bad[0]!r} should match pattern '{_CUSTOM_ID.pattern}'"
        return "requests: custom_id must be unique" if len(set(ids)) < len(ids) else ""

    def _item(self, batch_id: str, one: dict[str, Any], version: str) -> Item:
        outcome = self._provider.answered(one["params"], version, "batch")
        if outcome.bought:
            fault = self._provider.roll("item", outcome.bought.content)
            if fault == "expire":
                return Item(one["custom_id"], outcome, "expire")
            if malformed.is_malformed(fault) and not malformed.strikes_before(fault):
                outcome = replace(outcome, body=malformed.answer(self._provider.family, fault, outcome.body))
            elif fault:
                return Item(one["custom_id"], Outcome(int(fault), self._provider.error_body(int(fault))))
            outcome = outcome.in_batch(one["custom_id"], batch_id)
        return Item(one["custom_id"], outcome)

    async def _list(self, request: web.Request) -> web.StreamResponse:
        limit = int(request.query.get("limit", 20))
        if not 1 <= limit <= 1000:
            return self._provider.refusal(400, "limit: must be between 1 and 1000")
        batches = list(self._batches.values())
        shown, more = page(batches, self._provider.faults, request.query.get("after_id"), limit)
        for batch in shown:
            batch.pass_time(self._provider.faults)
        ends = {"first_id": shown[0].id, "last_id": shown[-1].id} if shown else {"first_id": None, "last_id": None}
        return json_response({"data": [self._card(batch, request) for batch in shown], "has_more": more, **ends})

    async def _retrieve(self, request: web.Request) -> web.StreamResponse:
        batch = self._batches.get(request.match_info["id"])
        if not batch:
            return self._provider.refusal(404)
        batch.look(self._provider.faults)
        return json_response(self._card(batch, request))

    async def _cancel(self, request: web.Request) -> web.StreamResponse:
        batch = self._batches.get(request.match_info["id"])
        if not batch:
            return self._provider.refusal(404)
        batch.pass_time(self._provider.faults)
        if not batch.open:
            return self._provider.refusal(400, "Batch cannot be canceled because it has already ended.")
        self._provider.books.strike(batch.id, batch.cancel(self._provider.faults))
        return json_response(self._card(batch, request))

    async def _results(self, request: web.Request) -> web.StreamResponse:
        batch = self._batches.get(request.match_info["id"])
        if not batch or batch.ended_at is None:
            return self._provider.refusal(404, "No results: the batch does not exist or has not ended.")
        lines = [json.dumps(_row(item)) for item in batch.in_any_order(self._provider.faults)]
        point = f"{self._provider.name}:results:middle"
        return await send_rows(request, lines, self._provider.points, point, "application/x-jsonl")

    def _card(self, batch: Batch, request: web.Request) -> dict[str, Any]:
        ended = batch.ended_at is not None
        counts = batch.counts() if ended else {}
        own_url = f"{request.scheme}://{request.host}/{self._provider.name}/v1/messages/batches/{batch.id}/results"
        return {
            "id": batch.id,
            "type": "message_batch",
            "processing_status": "ended" if ended else "canceling" if batch.cancelled_at else "in_progress",
            "request_counts": {
                "processing": 0 if ended else len(batch.items),
                **{name: counts.get(kind, 0) for kind, name in _RESULT.items()},
            },
            "created_at": rfc3339(batch.created_at),
            "expires_at": rfc3339(batch.created_at + _DAY),
            "ended_at": rfc3339(batch.ended_at) if batch.ended_at else None,
            "cancel_initiated_at": rfc3339(batch.cancelled_at) if batch.cancelled_at else None,
            "archived_at": None,
            "results_url": own_url if ended else None,
        }


def _row(item: Item) -> dict[str, Any]:
    result: dict[str, Any] = {"type": _RESULT[item.kind]}
    if item.kind == "done":
        result["message"] = item.outcome.body
    if item.kind == "failed":
        result["error"] = item.outcome.body
    return {"custom_id": item.custom_id, "result": result}
