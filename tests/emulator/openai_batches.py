"""OpenAI's files and batches. A batch is checked after its creation: what is wrong turns it `failed`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import time
from typing import TYPE_CHECKING, Any

from aiohttp import web

from . import malformed_replies as malformed
from .batches import Batch, Item, page, send_rows
from .books import Purchase
from .provider import Outcome, json_response
from .replies import input_tokens

if TYPE_CHECKING:
    from .openai_wire import OpenAI

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

    def take_over(self, state: Mapping[str, Any]) -> None:
        """Goes on where an earlier emulator ended: its open batches, the files they were made of, and what it sold."""
        self._provider.go_on_after(card["id"] for card in (*state["files"], *state["batches"]))
        self._provider.books.book(Purchase(**bought) for bought in state["purchases"])
        for card in state["files"]:
            named = (card["id"], card["filename"], card["purpose"], card["lines"], card["bytes"], card["created_at"])
            self._files[card["id"]] = StoredFile(*named)
        for card in state["batches"]:
            batch = self._accepted(card, self._files[card["input_file_id"]], card["id"])
            batch.created_at = card["created_at"]
            self._batches[batch.id] = batch

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
        items = [self._item(batch_id, line, order["endpoint"]) for line in lines]
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

    def _item(self, batch_id: str, line: dict[str, Any], endpoint: str) -> Item:
        outcome = self._provider.answered(line["body"], endpoint, "batch")
        if outcome.bought:
            fault = self._provider.roll("item", outcome.bought.content)
            if fault == "expire":
                return Item(line["custom_id"], outcome, "expire")
            if malformed.is_malformed(fault) and not malformed.strikes_before(fault):
                outcome = replace(outcome, body=malformed.answer(self._provider.family, fault, outcome.body))
            elif fault:
                return Item(line["custom_id"], Outcome(int(fault), self._provider.error_body(int(fault))))
            outcome = outcome.in_batch(line["custom_id"], batch_id)
        return Item(line["custom_id"], outcome)

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
        if batch.polls_since_end < self._provider.faults.finalizing_polls:
            return "finalizing"
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
