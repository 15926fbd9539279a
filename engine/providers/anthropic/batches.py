"""Anthropic's message batches: one request creates them, and nothing in it can be searched for afterwards.

So a provider batch whose creation is unclear is recognised by its time and its number of calls, and confirmed by the
ids of its calls, which the provider shows only once it has ended.
"""

from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import Any

from tidepool.engine.call import Call
from tidepool.engine.prices import PriceTag
from tidepool.engine.providers.anthropic.request_format import AnthropicRequestFormat, answer_of
from tidepool.engine.providers.batch_errors import CREATE_SECONDS, EARLIER, not_taken, rows_of, seen
from tidepool.engine.providers.error_mapping import ProviderComplaint, fault_of
from tidepool.engine.providers.protocol import (
    BatchedCall,
    CreationUnclear,
    ErrorClass,
    ProviderBatchBounds,
    ProviderBatchGone,
    ProviderBatchResult,
    ProviderBatchState,
    ProviderBatchTicket,
    ProviderError,
)
from tidepool.engine.providers.sdk_connection import LOOK_SECONDS, Complained, SdkConnection
from tidepool.engine.providers.texts import packed

SHORT_READS = 5
PATH = "/v1/messages/batches"
HEALING = ("api_error", "overloaded_error", "rate_limit_error", "timeout_error")
"""errors of a single request that asking again may heal"""


class AnthropicBatches:
    bounds = ProviderBatchBounds(max_calls=100_000, max_bytes=240_000_000)
    uploads = False

    def __init__(
        self, line: SdkConnection, wire: AnthropicRequestFormat, price: Callable[[str], PriceTag | None]
    ) -> None:
        self._line = line
        self._wire = wire
        self._price = price
        self._cards: dict[str, dict[str, Any]] = {}
        self._groups: dict[str, str] = {}
        self._short: Counter[str] = Counter()

    def group(self, call: Call) -> str:
        """An API version belongs to a whole batch. Models may mix, but not those that still sample: what such a
        batch is refused for is learned for its model."""
        return call.model_name if self._wire.sends_temperature(call) else ""

    async def upload(self, ticket: ProviderBatchTicket, calls: Sequence[BatchedCall]) -> str:
        return ""

    async def create(self, ticket: ProviderBatchTicket, calls: Sequence[BatchedCall], upload_id: str) -> str:
        self._wire.expect(one.call for one in calls)
        requests = [{"custom_id": one.custom_id, "params": self._wire.body(one.call)} for one in calls]
        headers = self._wire.headers(calls[0].call)
        try:
            response = await self._line.post(PATH, packed({"requests": requests}), CREATE_SECONDS, headers)
            remote_id = str(self._line.parsed(response.content)["id"])
            self._groups[remote_id] = self.group(calls[0].call)
            return remote_id
        except Complained as complained:
            if fault_of(complained.complaint) is ErrorClass.HEALS:
                raise CreationUnclear(str(self._line.diagnosed(complained.complaint))) from None
            raise not_taken(self._line, complained.complaint) from None
        except (ProviderError, KeyError) as garbage:
            raise CreationUnclear(str(garbage)) from None

    async def withdraw(self, upload_id: str) -> None:
        """There is nothing to take back."""

    async def find(self, ticket: ProviderBatchTicket, others: Collection[str]) -> str | None:
        """An ended batch is confirmed by its ids; one that still runs is the best guess, confirmed later."""
        running: list[tuple[float, str]] = []
        async for card in self._listed(ticket.created_at - EARLIER):
            if card["id"] in others or sum(card["request_counts"].values()) != ticket.count:
                continue
            if card["processing_status"] != "ended":
                running.append((abs(_moment(card["created_at"]) - ticket.created_at), card["id"]))
            elif await self._is_ours(card["id"], ticket):
                return str(card["id"])
        return min(running)[1] if running else None

    async def poll(self, remote_id: str) -> ProviderBatchState:
        card = await seen(self._line, f"{PATH}/{remote_id}")
        self._cards[remote_id] = card
        status = str(card["processing_status"])
        if card.get("archived_at"):
            raise ProviderBatchGone("its results are no longer kept")
        return ProviderBatchState(status == "ended", status)

    async def results(self, remote_id: str) -> AsyncIterator[ProviderBatchResult]:
        rows = 0
        async for row in self._rows(remote_id):
            rows += 1
            yield self._result(row, self._groups.get(remote_id, ""))
        expected = sum(self._cards.get(remote_id, {}).get("request_counts", {}).values())
        if rows < expected and self._short[remote_id] < SHORT_READS:
            self._short[remote_id] += 1
            raise ProviderError(ErrorClass.HEALS, f"Anthropic's results hold {rows} of {expected} rows")

    async def cancel(self, remote_id: str) -> None:
        try:
            await self._line.post(f"{PATH}/{remote_id}/cancel", b"", LOOK_SECONDS)
        except Complained as complained:
            if complained.complaint.status not in (400, 404, 409):
                raise self._line.diagnosed(complained.complaint) from None

    async def _listed(self, since: float) -> AsyncIterator[dict[str, Any]]:
        """Newest first."""
        after: dict[str, str] = {}
        while True:
            page = await seen(self._line, PATH, limit=1000, **after)
            for card in page.get("data") or ():
                if _moment(card["created_at"]) < since:
                    return
                yield card
            if not page.get("has_more"):
                return
            after = {"after_id": page["last_id"]}

    async def _is_ours(self, remote_id: str, ticket: ProviderBatchTicket) -> bool:
        try:
            async with aclosing(self._rows(remote_id)) as rows:
                async for row in rows:
                    return row["custom_id"] in ticket.custom_ids
        except ProviderBatchGone:
            pass
        return False

    def _rows(self, remote_id: str) -> AsyncGenerator[dict[str, Any], None]:
        batches = self._line.within(LOOK_SECONDS).messages.batches
        return rows_of(self._line, batches.with_streaming_response.results(remote_id))

    def _result(self, row: dict[str, Any], model: str) -> ProviderBatchResult:
        name, result = str(row["custom_id"]), row.get("result") or {}
        if result.get("type") == "succeeded":
            message = result.get("message") or {}
            try:
                return ProviderBatchResult(name, answer_of(message, self._price(message["model"]), batch=True))
            except (KeyError, TypeError, AttributeError):
                return ProviderBatchResult(
                    name, error="Anthropic answered with something that is not a reply", heals=True
                )
        if result.get("type") != "errored":
            return ProviderBatchResult(name, error=f"Anthropic did not get to it ({result.get('type')})", heals=True)
        error = result.get("error") or {}
        inner = error.get("error") or error
        kind, words = str(inner.get("type") or ""), str(inner.get("message") or "no reason given")
        complaint = ProviderComplaint(400, code=kind, words=words)
        heals = kind in HEALING or (bool(model) and self._wire.lesson(model, complaint))
        return ProviderBatchResult(name, error=f"{self._line.diagnosed(complaint)}", heals=heals)


def _moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
