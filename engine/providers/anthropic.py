"""Anthropic: live requests and message batches.

The current API has no sampling settings. Models of the fourth generation still sample under the API version of 2023, so
they get a temperature with that version's header, and newer models get none. Other services behind the same API get
requests of the 2023 version, and the adapter learns which settings they reject.

One request creates a batch, and the list of batches cannot be searched for its content. So if it is unclear whether a
batch was created, it is recognized by its time and its number of requests. It is confirmed by the ids of its requests,
which the provider shows only after the batch ends.
"""

import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import aclosing
from datetime import datetime
from functools import partial
from typing import Any

from tidepool.engine.answer_forms import schema_of
from tidepool.engine.call import Call, PriceTag, expected_tokens, prompt_hash
from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.providers.adapter import Adapter, ModelCard
from tidepool.engine.providers.batch_api import (
    ODD,
    ResultReading,
    SdkBatches,
    as_mapping,
    as_string,
    read_id,
    read_object,
    row_complaint,
    short_word,
    sum_counts,
)
from tidepool.engine.providers.connection import Connection
from tidepool.engine.providers.endpoint import Endpoint
from tidepool.engine.providers.protocol import (
    Answer,
    BatchedCall,
    ErrorClass,
    Notices,
    ProviderBatchBounds,
    ProviderBatchResult,
    ProviderBatchState,
    ProviderBatchTicket,
    ProviderError,
    ProviderSpec,
    RateLimits,
    ResultsIncomplete,
)
from tidepool.engine.providers.provider import EndpointProvider
from tidepool.engine.providers.rate_headers import anthropic_limits
from tidepool.engine.providers.replies import (
    Usage,
    parse_reply,
    part_of,
    plausible_usage,
    priced_answer,
    text_of,
    tokens,
)

SAMPLING_VERSION = "2023-06-01"
LEAST_CACHED = 1_024
"""tokens of the shortest prefix that the provider caches"""
LEAST_THINKING = 1_024
"""tokens of the smallest budget that the API accepts"""
EFFORTS = {"minimal": "low"}
"""our names of efforts, with the API's names"""
EMPTY_TEXT = "…"
"""replaces an empty message, which the API rejects"""
_GENERATION = re.compile(r"claude-[a-z]+-(\d+)")


class AnthropicAdapter(Adapter):
    optional = ("temperature", "thinking", "output_config")
    models_path = "/v1/models?limit=1000"

    def __init__(self, notices: Notices, endpoint: Endpoint) -> None:
        super().__init__(notices, endpoint)
        self._prompt_uses: Counter[bytes] = Counter()
        """how often each long prompt was used"""

    def path(self, call: Call) -> str:
        if call.operation == "embed":
            raise ProviderError(
                ErrorClass.CLIENT, "Anthropic has no embedding models. Use an encoder of OpenAI or Ollama."
            )
        return "/v1/messages"

    def body(self, call: Call, seed: int) -> dict[str, Any]:
        messages = [{"role": message.role, "content": message.text or EMPTY_TEXT} for message in call.messages]
        body: dict[str, Any] = {"model": call.model_name, "max_tokens": call.most_output, "messages": messages}
        if call.system:
            body["system"] = self._system(call.system)
        if self.sends_temperature(call):
            body["temperature"] = call.temperature
        if thinking := self._thinking(call):
            body["thinking"] = thinking
        if output := self._output(call):
            body["output_config"] = output
        return body

    def _thinking(self, call: Call) -> dict[str, Any] | None:
        """Models of the fourth generation get a number of tokens. Newer models decide by the effort."""
        effort = call.reasoning_effort
        if not effort or not self.habits.supports(call.model_name, "thinking"):
            return None
        if effort == "none":
            return {"type": "disabled"}
        if samples(call.model_name):
            return {"type": "enabled", "budget_tokens": max(LEAST_THINKING, call.max_reasoning_tokens)}
        return {"type": "adaptive", "display": "summarized"}

    def _output(self, call: Call) -> dict[str, Any]:
        if not self.habits.supports(call.model_name, "output_config"):
            return {}
        output: dict[str, Any] = {}
        if call.reasoning_effort not in ("", "none") and not samples(call.model_name):
            output["effort"] = EFFORTS.get(call.reasoning_effort, call.reasoning_effort)
        if call.form:
            output["format"] = {"type": "json_schema", "schema": schema_of(call.form, call.scale)}
        return output

    def headers(self, call: Call) -> dict[str, str] | None:
        return {"anthropic-version": SAMPLING_VERSION} if self.sends_temperature(call) else None

    def limits(self, headers: Mapping[str, str]) -> RateLimits | None:
        return anthropic_limits(headers)

    def answer(
        self, data: Mapping[str, Any], call: Call | None, tag: PriceTag | None, limits: RateLimits | None = None
    ) -> Answer:
        blocks = data["content"]
        reply = parse_reply(
            text_of([block for block in blocks if block["type"] == "text"]),
            data.get("stop_reason"),
            thought=text_of([block for block in blocks if block["type"] == "thinking"], "thinking"),
            tool=any("tool_use" in block["type"] for block in blocks),
        )
        usage = plausible_usage(_usage(data.get("usage")), reply)
        return priced_answer(reply, usage, data.get("model"), tag, batch=call is None, limits=limits)

    def cards(self, listed: Mapping[str, Any]) -> Iterator[ModelCard]:
        for card in listed.get("data") or ():
            yield ModelCard(str(card["id"]), str(card["retires_at"])[:10] if card.get("retires_at") else None)

    def sends_temperature(self, call: Call) -> bool:
        if call.reasoning_effort not in ("", "none"):
            return False  # a model that reasons ignores a temperature
        if call.temperature is None or not self.habits.supports(call.model_name, "temperature"):
            return False
        if samples(call.model_name):
            return True
        self.habits.refuse(call.model_name, "temperature", call.temperature)
        return False

    def _system(self, text: str) -> Any:
        """Marks a long prompt for the provider's cache when it is used again, so a prompt that is used once costs no more."""
        if expected_tokens(text) < LEAST_CACHED:
            return text
        self._prompt_uses[prompt_hash(text)] += 1
        if self._prompt_uses[prompt_hash(text)] < 2:
            return text
        return [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]


def samples(model_name: str) -> bool:
    generation = _GENERATION.search(model_name)
    return int(generation[1]) < 5 if generation else "claude" not in model_name.lower()


def _usage(usage: object) -> Usage | None:
    """None: the usage cannot be read."""
    if not isinstance(usage, Mapping):
        return None
    uncached, output = tokens(usage.get("input_tokens")), tokens(usage.get("output_tokens"))
    if uncached is None or output is None:
        return None
    cache_read, cache_write = part_of(usage, "cache_read_input_tokens"), part_of(usage, "cache_creation_input_tokens")
    reasoning = part_of(usage, "output_tokens_details", "thinking_tokens")
    return uncached + cache_read + cache_write, output, min(reasoning, output), cache_read, cache_write


IN_PROGRESS = ("in_progress", "canceling")
KINDS = ("succeeded", "errored", "canceled", "expired")
COUNTS = ("processing", "succeeded", "errored", "canceled", "expired")
HEALING = ("api_error", "overloaded_error", "rate_limit_error", "timeout_error")
"""errors of a single request that a retry may fix"""


class AnthropicBatches(SdkBatches):
    bounds = ProviderBatchBounds(max_calls=100_000, max_bytes=240_000_000)
    path, page_size, cursor = "/v1/messages/batches", 1000, "after_id"

    _adapter: AnthropicAdapter

    def __init__(self, connection: Connection, adapter: Adapter, price: Callable[[str], PriceTag | None]) -> None:
        super().__init__(connection, adapter, price)
        self._groups: dict[str, str] = {}

    def group(self, call: Call) -> str:
        """An API version belongs to a whole batch. Models may be mixed, except those that still sample: if such a batch is
        rejected, the adapter learns from it for its model."""
        return call.model_name if self._adapter.sends_temperature(call) else ""

    async def create(self, ticket: ProviderBatchTicket, calls: Sequence[BatchedCall], upload_id: str) -> str:
        requests = [
            {"custom_id": batched.custom_id, "params": self._adapter.body(batched.call, 0)} for batched in calls
        ]
        remote_id = await self.post({"requests": requests}, self._adapter.headers(calls[0].call))
        self._groups[remote_id] = self.group(calls[0].call)
        return remote_id

    async def find(self, ticket: ProviderBatchTicket, others: Collection[str]) -> str | None:
        """An ended batch is confirmed by its ids. A batch that still runs is the best guess, and is confirmed later."""
        running: list[tuple[float, str]] = []
        async for card in self.list_cards(ticket.created_at):
            count = sum_counts(card.get("request_counts"), *COUNTS)
            if card.get("id") in others or count not in (ticket.count, None):
                continue
            remote_id = read_id(self._connection, card)
            if not _has_ended(card):
                running.append((abs((self.created_at(card) or 0.0) - ticket.created_at), remote_id))
            elif await self._is_own_batch(remote_id, ticket):
                return remote_id
        return min(running)[1] if running else None

    async def poll(self, remote_id: str) -> ProviderBatchState:
        card = await self.fetch(remote_id)
        status = short_word(card.get("processing_status")).lower()
        ended, known = _has_ended(card), status in ("ended", *IN_PROGRESS)
        return ProviderBatchState(ended, status or "state unknown", unclear=not known and not ended)

    async def results(self, remote_id: str) -> AsyncIterator[ProviderBatchResult]:
        card, reading = self._cards.get(remote_id, {}), ResultReading(self._connection)
        if as_string(card.get("archived_at")):
            raise ResultsIncomplete("Anthropic has deleted them")
        async for row in reading.rows(f"{self.path}/{remote_id}/results"):
            yield self.result(row, self._groups.get(remote_id, ""))
        reading.check(sum_counts(card.get("request_counts"), *COUNTS))

    def created_at(self, card: dict[str, Any]) -> float | None:
        try:
            return datetime.fromisoformat(card["created_at"]).timestamp()
        except ODD:
            return None

    async def _is_own_batch(self, remote_id: str, ticket: ProviderBatchTicket) -> bool:
        async with aclosing(ResultReading(self._connection).rows(f"{self.path}/{remote_id}/results")) as rows:
            async for row in rows:
                return row["custom_id"] in ticket.custom_ids
        return False

    def read_row(self, row: dict[str, Any], model: str) -> ProviderBatchResult:
        name, result = row["custom_id"], as_mapping(row.get("result"))
        kind = short_word(result.get("type"))
        if kind == "succeeded" or kind not in KINDS:
            message = read_object(result.get("message"))
            tag = self._price(as_string(message.get("model")))
            return ProviderBatchResult(name, self._adapter.answer(message, None, tag))
        if kind != "errored":
            return ProviderBatchResult(name, error=f"Anthropic did not process it ({kind})", heals=True)
        complaint = row_complaint(result.get("error"), 400)
        heals = complaint.code in HEALING or (bool(model) and self._adapter.lesson(model, complaint))
        return ProviderBatchResult(name, error=f"{self._connection.diagnose(complaint)}", heals=heals)


def _has_ended(card: dict[str, Any]) -> bool:
    """Whether a batch has ended, by its status. If that is missing or unknown, by a field that only an ended batch has."""
    status = as_string(card.get("processing_status")).lower()
    marked = as_string(card.get("ended_at")) or as_string(card.get("results_url"))
    return status == "ended" or (status not in IN_PROGRESS and bool(marked))


PROVIDER = ProviderSpec(ProviderSettings, partial(EndpointProvider, AnthropicAdapter, AnthropicBatches))
