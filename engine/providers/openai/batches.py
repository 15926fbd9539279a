"""OpenAI's batches: a file is uploaded, a batch is made of it, and its answers come back as files.

Uploading buys nothing and may be repeated. Creating buys, and may not. The file is also the fence: once it is
deleted, a creation that is still on its way somewhere can no longer succeed.
"""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from typing import Any

from tidepool.engine.call import Call
from tidepool.engine.prices import PriceTag
from tidepool.engine.providers.batch_errors import CREATE_SECONDS, EARLIER, UPLOAD_SECONDS, not_taken, rows_of, seen
from tidepool.engine.providers.error_mapping import SPENT, ProviderComplaint, fault_of
from tidepool.engine.providers.keys import scrubbed
from tidepool.engine.providers.openai.request_format import OpenAIRequestFormat, answer_of
from tidepool.engine.providers.protocol import (
    BatchedCall,
    CreationUnclear,
    ErrorClass,
    ProviderBatchBounds,
    ProviderBatchResult,
    ProviderBatchState,
    ProviderBatchTicket,
    ProviderError,
)
from tidepool.engine.providers.sdk_connection import LOOK_SECONDS, Complained, SdkConnection
from tidepool.engine.providers.texts import packed

ENDPOINT = "/v1/chat/completions"
ENDED = ("completed", "expired", "cancelled", "failed")
UNDONE = ("batch_expired", "batch_cancelled")
SHORT_READS = 5
"""how often files with too few lines are fetched again"""
_SEPARATORS = {ord(mark): f"\\u{ord(mark):04x}" for mark in "\x85\u2028\u2029"}
"""line ends of Unicode, which some readers of JSON lines take for newlines"""


class OpenAIBatches:
    bounds = ProviderBatchBounds(max_calls=50_000, max_bytes=190_000_000)
    uploads = True

    def __init__(self, line: SdkConnection, wire: OpenAIRequestFormat, price: Callable[[str], PriceTag | None]) -> None:
        self._line = line
        self._wire = wire
        self._price = price
        self._cards: dict[str, dict[str, Any]] = {}
        self._short: Counter[str] = Counter()

    def group(self, call: Call) -> str:
        """One file holds calls to one model."""
        return call.model_name

    async def upload(self, ticket: ProviderBatchTicket, calls: Sequence[BatchedCall]) -> str:
        name = f"tidepool-{ticket.order_id}.jsonl"
        content = await self._jsonl(calls)
        try:
            request = self._line.client.files.create(file=(name, content), purpose="batch")
            return str((await self._line.send(request, UPLOAD_SECONDS)).id)
        except Complained as complained:
            raise not_taken(self._line, complained.complaint) from None
        except AttributeError:
            raise self._line.garbage("a file's card") from None

    async def create(self, ticket: ProviderBatchTicket, calls: Sequence[BatchedCall], upload_id: str) -> str:
        body = {
            "input_file_id": upload_id,
            "endpoint": ENDPOINT,
            "completion_window": "24h",
            "metadata": {
                "tidepool_order": ticket.order_id,
                "tidepool_batch": ticket.batch_id,
                "wave": str(ticket.wave),
                "content": ticket.content_hash,
                "model": calls[0].call.model_name[:512],
            },
        }
        try:
            response = await self._line.post("/batches", packed(body), CREATE_SECONDS)
            return str(self._line.parsed(response.content)["id"])
        except Complained as complained:
            complaint = complained.complaint
            if complaint.status == 404:
                raise ProviderError(
                    ErrorClass.HEALS, f"OpenAI does not see the uploaded file yet: {complaint.words}"
                ) from None
            if fault_of(complaint) is ErrorClass.HEALS:
                raise CreationUnclear(str(self._line.diagnosed(complaint))) from None
            raise not_taken(self._line, complaint) from None
        except (ProviderError, KeyError) as garbage:
            raise CreationUnclear(str(garbage)) from None

    async def withdraw(self, upload_id: str) -> None:
        client = self._line.client
        try:
            await self._line.send(client.files.delete(upload_id), LOOK_SECONDS)
        except Complained as complained:
            error = self._line.diagnosed(complained.complaint)
            if error.fault in (ErrorClass.HEALS, ErrorClass.REFUSED):
                raise error from None

    async def find(self, ticket: ProviderBatchTicket, others: Collection[str]) -> str | None:
        after: dict[str, str] = {}
        while True:
            page = await seen(self._line, "/batches", limit=100, **after)
            for card in page.get("data") or ():
                if (card.get("metadata") or {}).get("tidepool_order") == ticket.order_id:
                    return str(card["id"])
                if card["created_at"] < ticket.created_at - EARLIER:
                    return None
            if not page.get("has_more") or not page["data"]:
                return None
            after = {"after": page["data"][-1]["id"]}

    async def poll(self, remote_id: str) -> ProviderBatchState:
        card = await seen(self._line, f"/batches/{remote_id}")
        self._cards[remote_id] = card
        counts = card.get("request_counts") or {}
        done, total = counts.get("completed", 0) + counts.get("failed", 0), counts.get("total") or 0
        status = str(card["status"])
        label = f"{status} {done:,}/{total:,}" if total and status == "in_progress" else status
        if status == "failed":
            return self._failed(card, label)
        return ProviderBatchState(status in ENDED, label, done)

    async def results(self, remote_id: str) -> AsyncIterator[ProviderBatchResult]:
        if remote_id not in self._cards:
            await self.poll(remote_id)
        card = self._cards[remote_id]
        model, rows = (card.get("metadata") or {}).get("model") or "", 0
        for file_id in (card.get("output_file_id"), card.get("error_file_id")):
            if file_id:
                async for row in self._rows(file_id):
                    rows += 1
                    yield self._result(row, model)
        counts = card.get("request_counts") or {}
        self._refuse_short(remote_id, rows, counts.get("completed", 0) + counts.get("failed", 0))

    async def cancel(self, remote_id: str) -> None:
        try:
            await self._line.post(f"/batches/{remote_id}/cancel", b"", LOOK_SECONDS)
        except Complained as complained:
            if complained.complaint.status not in (400, 404, 409):
                raise self._line.diagnosed(complained.complaint) from None

    # -- reading -----------------------------------------------------------------------------------------

    def _rows(self, file_id: str) -> AsyncIterator[dict[str, Any]]:
        files = self._line.within(LOOK_SECONDS).files
        return rows_of(self._line, files.with_streaming_response.content(file_id))

    def _result(self, row: dict[str, Any], model: str) -> ProviderBatchResult:
        name, response, error = str(row["custom_id"]), row.get("response") or {}, row.get("error") or {}
        body = response.get("body") or {}
        if response.get("status_code") == 200:
            try:
                return ProviderBatchResult(
                    name, answer_of(body, self._price(model or body.get("model") or ""), batch=True)
                )
            except (KeyError, IndexError, TypeError, AttributeError):
                return ProviderBatchResult(name, error="OpenAI answered with something that is not a reply", heals=True)
        inner = error or body.get("error") or {}
        complaint = ProviderComplaint(
            response.get("status_code"),
            code=str(inner.get("code") or inner.get("type") or ""),
            words=str(inner.get("message") or "no answer"),
            param=str(inner.get("param") or ""),
        )
        heals = complaint.code in UNDONE or fault_of(complaint) in (ErrorClass.HEALS, ErrorClass.REFUSED)
        heals = heals or self._wire.lesson(model, complaint)
        return ProviderBatchResult(name, error=str(self._line.diagnosed(complaint)), heals=heals)

    def _failed(self, card: dict[str, Any], label: str) -> ProviderBatchState:
        """The whole batch was turned down after it had been taken."""
        errors = (card.get("errors") or {}).get("data") or [{}]
        code, words = str(errors[0].get("code") or ""), scrubbed(str(errors[0].get("message") or "no reason given"))
        if code in SPENT:
            raise self._line.diagnosed(ProviderComplaint(429, code=code, words=words))
        return ProviderBatchState(True, label, 0, f"{code}: {words}" if code else words, "token_limit" in code)

    def _refuse_short(self, remote_id: str, rows: int, expected: int) -> None:
        if rows < expected and self._short[remote_id] < SHORT_READS:
            self._short[remote_id] += 1
            raise ProviderError(ErrorClass.HEALS, f"OpenAI's result files hold {rows} of {expected} lines")

    # -- writing -----------------------------------------------------------------------------------------

    async def _jsonl(self, calls: Sequence[BatchedCall]) -> bytes:
        lines = []
        for count, one in enumerate(calls):
            if not count % 500:
                await asyncio.sleep(0)
            body = self._wire.body(one.call, one.seed)
            line = {"custom_id": one.custom_id, "method": "POST", "url": ENDPOINT, "body": body}
            text = json.dumps(line, ensure_ascii=False, separators=(",", ":")).translate(_SEPARATORS)
            lines.append(text.encode("utf-8", "replace"))
        return b"\n".join(lines) + b"\n"
