"""The lines of OpenAI's batch files: calls on their way there, results on their way back. Others read and write them too."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from tidepool.engine.call import PriceTag
from tidepool.engine.providers.batch_results import (
    NO_REPLY,
    ODD,
    complaint_in,
    count_of,
    mapping_of,
    object_in,
    text_of,
)
from tidepool.engine.providers.error_mapping import ProviderComplaint, fault_of
from tidepool.engine.providers.openai.request_format import OpenAIRequestFormat, answer_of, path_of
from tidepool.engine.providers.protocol import BatchedCall, ErrorClass, ProviderBatchResult, ProviderError

ENDPOINT = "/v1/chat/completions"
UNDONE = ("batch_expired", "batch_cancelled")
_SEPARATORS = {ord(mark): f"\\u{ord(mark):04x}" for mark in "\x85\u2028\u2029"}
"""line ends of Unicode, which some readers of JSON lines take for newlines"""


async def request_lines(wire: OpenAIRequestFormat, calls: Sequence[BatchedCall]) -> AsyncIterator[bytes]:
    """One for each call."""
    for count, one in enumerate(calls):
        if not count % 500:
            await asyncio.sleep(0)
        body = wire.body(one.call, one.seed)
        line = {"custom_id": one.custom_id, "method": "POST", "url": f"/v1{path_of(one.call)}", "body": body}
        text = json.dumps(line, ensure_ascii=False, separators=(",", ":")).translate(_SEPARATORS)
        yield text.encode("utf-8", "replace") + b"\n"


class ResultLines:
    """Reads lines of results, each by itself."""

    def __init__(
        self,
        wire: OpenAIRequestFormat,
        price: Callable[[str], PriceTag | None],
        diagnosed: Callable[[ProviderComplaint], ProviderError],
    ) -> None:
        self._wire = wire
        self._price = price
        self._diagnosed = diagnosed

    def read(self, row: dict[str, Any], model: str) -> ProviderBatchResult:
        """`model` is what was asked; empty where nobody remembers."""
        try:
            return self._read(row, model)
        except ODD:
            return ProviderBatchResult(row["custom_id"], NO_REPLY)

    def _read(self, row: dict[str, Any], model: str) -> ProviderBatchResult:
        name, response = row["custom_id"], mapping_of(row.get("response"))
        status, body = count_of(response.get("status_code")), response.get("body")
        if status == 200 or (status is None and not row.get("error")):
            body = object_in(body)
            tag = self._price(model or text_of(body.get("model")))
            return ProviderBatchResult(name, answer_of(body, tag, batch=True))
        complaint = complaint_in(row.get("error") or body, status)
        heals = complaint.code in UNDONE or fault_of(complaint) in (ErrorClass.HEALS, ErrorClass.REFUSED)
        heals = heals or self._wire.lesson(model, complaint)
        return ProviderBatchResult(name, error=str(self._diagnosed(complaint)), heals=heals)
