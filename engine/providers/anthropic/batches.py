"""Anthropic's message batches: one request creates them, and nothing in it can be searched for afterwards.

So a provider batch whose creation is unclear is recognised by its time and its number of calls, and confirmed by the
ids of its calls, which the provider shows only once it has ended.
"""

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import Any

from tidepool.engine.call import Call, PriceTag
from tidepool.engine.providers.anthropic.request_format import AnthropicRequestFormat, answer_of
from tidepool.engine.providers.batch_errors import CREATE_SECONDS, MOST_PAGES, ListEnd, is_unclear, not_taken, seen
from tidepool.engine.providers.batch_results import (
    NO_REPLY,
    ODD,
    ResultReading,
    cards_in,
    complaint_in,
    id_in,
    mapping_of,
    object_in,
    text_of,
    total_of,
    word_of,
)
from tidepool.engine.providers.protocol import (
    BatchedCall,
    CreationUnclear,
    ProviderBatchBounds,
    ProviderBatchResult,
    ProviderBatchState,
    ProviderBatchTicket,
    ProviderError,
    ResultsIncomplete,
)
from tidepool.engine.providers.sdk_connection import LOOK_SECONDS, Complained, SdkConnection
from tidepool.engine.providers.texts import packed

PATH = "/v1/messages/batches"
UNDER_WAY = ("in_progress", "canceling")
KINDS = ("succeeded", "errored", "canceled", "expired")
COUNTS = ("processing", "succeeded", "errored", "canceled", "expired")
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
            remote_id = id_in(self._line, self._line.parsed(response.content))
            self._groups[remote_id] = self.group(calls[0].call)
            return remote_id
        except Complained as complained:
            complaint = complained.complaint
            if is_unclear(complaint):
                raise CreationUnclear(str(self._line.diagnosed(complaint))) from None
            raise not_taken(self._line, complaint) from None
        except ProviderError as garbage:
            raise CreationUnclear(str(garbage)) from None

    async def withdraw(self, upload_id: str) -> None:
        """There is nothing to take back."""

    async def find(self, ticket: ProviderBatchTicket, others: Collection[str]) -> str | None:
        """An ended batch is confirmed by its ids; one that still runs is the best guess, confirmed later."""
        running: list[tuple[float, str]] = []
        async for card in self._listed(ListEnd(ticket.created_at)):
            count = total_of(card.get("request_counts"), *COUNTS)
            if card.get("id") in others or count not in (ticket.count, None):
                continue
            remote_id = id_in(self._line, card)
            if not _has_ended(card):
                running.append((abs((_moment(card) or 0.0) - ticket.created_at), remote_id))
            elif await self._is_ours(remote_id, ticket):
                return remote_id
        return min(running)[1] if running else None

    async def poll(self, remote_id: str) -> ProviderBatchState:
        card = await seen(self._line, f"{PATH}/{remote_id}")
        self._cards[remote_id] = card
        status = word_of(card.get("processing_status")).lower()
        ended, known = _has_ended(card), status in ("ended", *UNDER_WAY)
        return ProviderBatchState(ended, status or "state unknown", unclear=not known and not ended)

    async def results(self, remote_id: str) -> AsyncIterator[ProviderBatchResult]:
        card, reading = self._cards.get(remote_id, {}), ResultReading(self._line)
        if text_of(card.get("archived_at")):
            raise ResultsIncomplete("Anthropic keeps them no longer")
        async for row in reading.rows(f"{PATH}/{remote_id}/results"):
            yield self._result(row, self._groups.get(remote_id, ""))
        reading.check(total_of(card.get("request_counts"), *COUNTS))

    async def cancel(self, remote_id: str) -> None:
        try:
            await self._line.post(f"{PATH}/{remote_id}/cancel", b"", LOOK_SECONDS)
        except Complained as complained:
            if complained.complaint.status not in (400, 404, 409):
                raise self._line.diagnosed(complained.complaint) from None

    async def _listed(self, end: ListEnd) -> AsyncIterator[dict[str, Any]]:
        """Newest first."""
        after: dict[str, str] = {}
        for _ in range(MOST_PAGES):
            page = await seen(self._line, PATH, limit=1000, **after)
            for card in cards_in(self._line, page):
                if end.is_behind(_moment(card)):
                    return
                yield card
            last = text_of(page.get("last_id"))
            if not page.get("has_more") or not last or after == {"after_id": last}:
                return
            after = {"after_id": last}

    async def _is_ours(self, remote_id: str, ticket: ProviderBatchTicket) -> bool:
        async with aclosing(ResultReading(self._line).rows(f"{PATH}/{remote_id}/results")) as rows:
            async for row in rows:
                return row["custom_id"] in ticket.custom_ids
        return False

    def _result(self, row: dict[str, Any], model: str) -> ProviderBatchResult:
        try:
            return self._read(row, model)
        except ODD:
            return ProviderBatchResult(row["custom_id"], NO_REPLY)

    def _read(self, row: dict[str, Any], model: str) -> ProviderBatchResult:
        name, result = row["custom_id"], mapping_of(row.get("result"))
        kind = word_of(result.get("type"))
        if kind == "succeeded" or kind not in KINDS:
            message = object_in(result.get("message"))
            tag = self._price(text_of(message.get("model")))
            return ProviderBatchResult(name, answer_of(message, tag, batch=True))
        if kind != "errored":
            return ProviderBatchResult(name, error=f"Anthropic did not get to it ({kind})", heals=True)
        complaint = complaint_in(result.get("error"), 400)
        heals = complaint.code in HEALING or (bool(model) and self._wire.lesson(model, complaint))
        return ProviderBatchResult(name, error=f"{self._line.diagnosed(complaint)}", heals=heals)


def _has_ended(card: dict[str, Any]) -> bool:
    """By its word; where that is missing or unknown, by the time or the place that only an ended batch has."""
    status = text_of(card.get("processing_status")).lower()
    known = status == "ended" or status in UNDER_WAY
    return status == "ended" or (not known and bool(text_of(card.get("ended_at")) or text_of(card.get("results_url"))))


def _moment(card: dict[str, Any]) -> float | None:
    try:
        return datetime.fromisoformat(card["created_at"]).timestamp()
    except ODD:
        return None
