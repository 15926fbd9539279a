"""OpenAI's batches: a file is uploaded, a batch is made of it, and its answers come back as files.

Uploading buys nothing and may be repeated. Creating buys, and may not. The file is also the fence: once it is
deleted, a creation that is still on its way somewhere can no longer succeed.
"""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from typing import Any
from urllib.parse import quote

from tidepool.engine.call import Call, PriceTag
from tidepool.engine.providers.batch_errors import (
    CREATE_SECONDS,
    MOST_PAGES,
    UPLOAD_SECONDS,
    ListEnd,
    is_unclear,
    not_taken,
    seen,
    unseen,
)
from tidepool.engine.providers.batch_results import (
    ODD,
    ODD_LOOKS,
    ResultReading,
    cards_in,
    id_in,
    mapping_of,
    number_of,
    text_of,
    total_of,
    word_of,
)
from tidepool.engine.providers.error_mapping import SPENT, ProviderComplaint
from tidepool.engine.providers.keys import scrubbed
from tidepool.engine.providers.openai.batch_lines import ENDPOINT, ResultLines, request_lines
from tidepool.engine.providers.openai.request_format import OpenAIRequestFormat
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

ENDED = ("completed", "expired", "cancelled", "failed")
UNDER_WAY = ("validating", "in_progress", "finalizing", "cancelling")
FILES = ("output_file_id", "error_file_id")
IN_A_PATH = "!$&'()*+,;=:@"
"""what may stand in a part of a path as it is"""


UPLOAD_NAME = "tidepool-"
"""how the name of every file begins that is uploaded here"""


class OpenAIBatches:
    bounds = ProviderBatchBounds(max_calls=50_000, max_bytes=190_000_000)
    uploads = True

    def __init__(self, line: SdkConnection, wire: OpenAIRequestFormat, price: Callable[[str], PriceTag | None]) -> None:
        self._line = line
        self._wire = wire
        self._lines = ResultLines(wire, price, line.diagnosed)
        self._cards: dict[str, dict[str, Any]] = {}
        self._odd_looks: Counter[str] = Counter()

    def group(self, call: Call) -> str:
        """One file holds calls to one model."""
        return call.model_name

    async def upload(self, ticket: ProviderBatchTicket, calls: Sequence[BatchedCall]) -> str:
        name = f"{UPLOAD_NAME}{ticket.order_id}.jsonl"
        content = b"".join([line async for line in request_lines(self._wire, calls)])
        try:
            request = self._line.client.files.create(file=(name, content), purpose="batch")
            card = await self._line.send(request, UPLOAD_SECONDS)
            return id_in(self._line, {"id": card.id, "error": getattr(card, "error", None)})
        except Complained as complained:
            raise not_taken(self._line, complained.complaint) from None
        except ODD:
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
            return id_in(self._line, self._line.parsed(response.content))
        except Complained as complained:
            complaint = complained.complaint
            if complaint.status == 404 and "file" in complaint.words.lower():
                raise ProviderError(
                    ErrorClass.HEALS, f"OpenAI does not see the uploaded file yet: {complaint.words}"
                ) from None
            if is_unclear(complaint):
                raise CreationUnclear(str(self._line.diagnosed(complaint))) from None
            raise not_taken(self._line, complaint) from None
        except ProviderError as garbage:
            raise CreationUnclear(str(garbage)) from None

    async def withdraw(self, upload_id: str) -> None:
        client = self._line.client
        try:
            card = await self._line.send(client.files.retrieve(upload_id), LOOK_SECONDS)
            if not text_of(getattr(card, "filename", None) or UPLOAD_NAME).startswith(UPLOAD_NAME):
                return  # a file of the user's that only the study file calls an upload
            await self._line.send(client.files.delete(upload_id), LOOK_SECONDS)
        except Complained as complained:
            error = unseen(self._line, complained.complaint)
            if isinstance(error, ProviderError) and error.fault in (ErrorClass.HEALS, ErrorClass.REFUSED):
                raise error from None
        except ODD:
            return  # it is gone, whatever the words that say so

    async def find(self, ticket: ProviderBatchTicket, others: Collection[str]) -> str | None:
        after: dict[str, str] = {}
        end = ListEnd(ticket.created_at)
        for _ in range(MOST_PAGES):
            cards = cards_in(self._line, page := await seen(self._line, "/batches", limit=100, **after))
            for card in cards:
                if mapping_of(card.get("metadata")).get("tidepool_order") == ticket.order_id:
                    return id_in(self._line, card)
                if end.is_behind(number_of(card.get("created_at"))):
                    return None
            last = text_of(cards[-1].get("id")) if cards else ""
            if not page.get("has_more") or not last or after == {"after": last}:
                return None
            after = {"after": last}
        return None

    async def poll(self, remote_id: str) -> ProviderBatchState:
        card = self._cards[remote_id] = await self._card(remote_id)
        status, counts = word_of(card.get("status")).lower(), card.get("request_counts")
        done, total = total_of(counts, "completed", "failed"), total_of(counts, "total")
        if status == "failed" and not _has_file(card):
            return self._failed(card, status)
        if status not in (*ENDED, *UNDER_WAY):
            return self._unclear(card, remote_id, status, whole=bool(total) and done == total)
        label = f"{status} {done or 0:,}/{total:,}" if total and status == "in_progress" else status
        return ProviderBatchState(status in ENDED, label, done)

    async def results(self, remote_id: str) -> AsyncIterator[ProviderBatchResult]:
        card = self._cards.pop(remote_id, None) or await self._card(remote_id)
        reading = ResultReading(self._line)
        model = text_of(mapping_of(card.get("metadata")).get("model"))
        for file_id in filter(None, (text_of(card.get(name)) for name in FILES)):
            name = quote(file_id, safe=IN_A_PATH, errors="replace")
            async for row in reading.rows(f"/files/{name}/content"):
                yield self._lines.read(row, model)
        reading.check(total_of(card.get("request_counts"), "completed", "failed"))

    async def cancel(self, remote_id: str) -> None:
        try:
            await self._line.post(f"/batches/{remote_id}/cancel", b"", LOOK_SECONDS)
        except Complained as complained:
            if complained.complaint.status not in (400, 404, 409):
                raise self._line.diagnosed(complained.complaint) from None

    # -- reading -----------------------------------------------------------------------------------------

    async def _card(self, remote_id: str) -> dict[str, Any]:
        return await seen(self._line, f"/batches/{remote_id}")

    def _failed(self, card: dict[str, Any], label: str) -> ProviderBatchState:
        """The whole batch was turned down after it had been taken."""
        errors = mapping_of(card.get("errors")).get("data")
        first = mapping_of(errors[0]) if isinstance(errors, list) and errors else {}
        code, words = text_of(first.get("code")), scrubbed(text_of(first.get("message")) or "no reason given")
        if code in SPENT:
            raise self._line.diagnosed(ProviderComplaint(429, code=code, words=words))
        return ProviderBatchState(True, label, 0, f"{code}: {words}" if code else words, "token_limit" in code)

    def _unclear(self, card: dict[str, Any], remote_id: str, status: str, *, whole: bool) -> ProviderBatchState:
        """A state without a word, or with one that nobody knows: its files tell that it has ended, where it says that
        they are whole, or where nothing changes for long."""
        self._odd_looks[remote_id] += 1
        ended = _has_file(card) and (whole or self._odd_looks[remote_id] > ODD_LOOKS)
        return ProviderBatchState(ended, status or "state unknown", unclear=not ended)


def _has_file(card: dict[str, Any]) -> bool:
    return any(text_of(card.get(name)) for name in FILES)
