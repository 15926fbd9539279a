"""OpenAI and compatible servers: live requests and batches.

To create a batch, upload a file and then create the batch from it. The answers come back as files. Uploading is free and
can be repeated. Creating costs money and must not be repeated. After the file is deleted, a creation that is still in
progress can no longer succeed.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import quote

from tidepool.engine.answer_forms import schema_of
from tidepool.engine.call import Call, PriceTag, packed_vectors
from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.providers.adapter import SEED_BITS, SYSTEM_ROLE, Adapter, ModelCard
from tidepool.engine.providers.batch_api import (
    UPLOAD_SECONDS,
    ResultReading,
    SdkBatches,
    as_count,
    as_mapping,
    as_number,
    as_string,
    creation_refusal,
    lookup_error,
    read_id,
    read_object,
    row_complaint,
    short_word,
    sum_counts,
)
from tidepool.engine.providers.connection import Complained
from tidepool.engine.providers.endpoint import Endpoint, scrub_keys
from tidepool.engine.providers.errors import SPENT, ProviderComplaint, fault_of
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
)
from tidepool.engine.providers.provider import EndpointProvider
from tidepool.engine.providers.rate_headers import openai_limits
from tidepool.engine.providers.replies import (
    ParsedReply,
    Usage,
    clean,
    parse_reply,
    part_of,
    plausible_usage,
    priced_answer,
    text_of,
    thought_in,
    tokens,
)
from tidepool.storage.states import FinishReason

LENGTHS = {"max_completion_tokens": "max_tokens", "max_tokens": "max_completion_tokens"}
"""the two names of the same limit, each with the other"""
_OPENAI_MODEL = re.compile(r"(ft:)?(gpt|chatgpt|o\d|text-)")


class OpenAIAdapter(Adapter):
    optional = ("temperature", "seed", "reasoning_effort", "response_format", SYSTEM_ROLE)
    renamed = LENGTHS
    models_path = "/models"

    def __init__(self, notices: Notices, endpoint: Endpoint) -> None:
        super().__init__(notices, endpoint)
        self._own = any("api.openai.com" in address for address in endpoint.addresses)

    def path(self, call: Call) -> str:
        return "/embeddings" if call.operation == "embed" else "/chat/completions"

    def body(self, call: Call, seed: int) -> dict[str, Any]:
        if call.operation == "embed":
            texts = [message.text for message in call.messages]
            return {"model": call.model_name, "input": texts, "encoding_format": "float"}
        name = call.model_name
        messages = [{"role": message.role, "content": message.text} for message in call.messages]
        if call.system:
            self._put_system(messages, call)
        body: dict[str, Any] = {"model": name, "messages": messages, self._length_setting(name): call.most_output}
        if call.temperature is not None and self.habits.supports(name, "temperature"):
            body["temperature"] = call.temperature
        if self.habits.supports(name, "seed"):
            body["seed"] = seed & SEED_BITS
        if call.reasoning_effort and self.habits.supports(name, "reasoning_effort"):
            body["reasoning_effort"] = call.reasoning_effort
        if call.form and self.habits.supports(name, "response_format"):
            form = {
                "name": call.form_name,
                "strict": True,
                "schema": schema_of(call.form, call.scale),
            }
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        return body

    def limits(self, headers: Mapping[str, str]) -> RateLimits | None:
        return openai_limits(headers)

    def answer(
        self, data: Mapping[str, Any], call: Call | None, tag: PriceTag | None, limits: RateLimits | None = None
    ) -> Answer:
        if "choices" in data:
            reply = _parse_choice(data["choices"][0])
            usage = plausible_usage(_usage(data.get("usage"), embedding=False), reply)
        else:
            ordered = sorted(data["data"], key=lambda embedding: embedding["index"])
            vectors = packed_vectors([embedding["embedding"] for embedding in ordered])
            reply, usage = ParsedReply(vectors, None, FinishReason.COMPLETE), _usage(data.get("usage"), embedding=True)
        return priced_answer(reply, usage, data.get("model"), tag, batch=call is None, limits=limits)

    def cards(self, listed: Mapping[str, Any]) -> Iterator[ModelCard]:
        for card in listed.get("data") or ():
            yield ModelCard(str(card["id"]).removeprefix("models/"), card.get("shutdown_date"))

    def _put_system(self, messages: list[dict[str, str]], call: Call) -> None:
        if self.habits.supports(call.model_name, SYSTEM_ROLE):
            messages.insert(0, {"role": "system", "content": call.system})
        elif messages and messages[0]["role"] == "user":  # such models often require alternating roles, too
            messages[0]["content"] = f"{call.system}\n\n{messages[0]['content']}"
        else:
            messages.insert(0, {"role": "user", "content": call.system})

    def _length_setting(self, model_name: str) -> str:
        if model_name in self._names:
            return self._names[model_name]
        return "max_completion_tokens" if self._own or _OPENAI_MODEL.match(model_name) else "max_tokens"


def _parse_choice(choice: Mapping[str, Any]) -> ParsedReply:
    message = choice["message"]
    refusal = message.get("refusal")
    content = message.get("content")
    return parse_reply(
        text_of(content),
        choice.get("finish_reason"),
        thought=text_of(message.get("reasoning_content") or message.get("reasoning")) or thought_in(content),
        tool=bool(message.get("tool_calls") or message.get("function_call")),
        refusal=clean(refusal) if isinstance(refusal, str) else "",
    )


def _usage(usage: object, *, embedding: bool) -> Usage | None:
    """None: the usage cannot be read."""
    if not isinstance(usage, dict):
        return None
    prompt, output = tokens(usage.get("prompt_tokens")), tokens(usage.get("completion_tokens"))
    if prompt is None or (output is None and not embedding):
        return None
    output = output or 0
    reasoning = part_of(usage, "completion_tokens_details", "reasoning_tokens")
    total = part_of(usage, "total_tokens")
    if (
        not embedding and total > prompt + output
    ):  # some servers count reasoning next to the completion, and some only in the total
        reasoning, output = max(reasoning, total - prompt - output), total - prompt
    cached = min(prompt, part_of(usage, "prompt_tokens_details", "cached_tokens"))
    cache_write = min(prompt - cached, part_of(usage, "prompt_tokens_details", "cache_write_tokens"))
    return prompt, output, min(reasoning, output), cached, cache_write


ENDPOINT = "/v1/chat/completions"
UNDONE = ("batch_expired", "batch_cancelled")
_SEPARATORS = {ord(mark): f"\\u{ord(mark):04x}" for mark in "\x85\u2028\u2029"}
"""line ends of Unicode, which some readers of JSON lines treat as newlines"""


ENDED = ("completed", "expired", "cancelled", "failed")
IN_PROGRESS = ("validating", "in_progress", "finalizing", "cancelling")
FILES = ("output_file_id", "error_file_id")


UPLOAD_NAME = "tidepool-"
"""the prefix of the name of every file that is uploaded here"""


class OpenAIBatches(SdkBatches):
    bounds = ProviderBatchBounds(max_calls=50_000, max_bytes=190_000_000)
    uploads = True
    path, page_size, cursor = "/batches", 100, "after"

    def group(self, call: Call) -> str:
        """One file contains requests to one model."""
        return call.model_name

    async def upload(self, ticket: ProviderBatchTicket, calls: Sequence[BatchedCall]) -> str:
        lines = bytearray()
        for count, batched in enumerate(calls):
            if not count % 500:
                await asyncio.sleep(0)
            request = {
                "custom_id": batched.custom_id,
                "method": "POST",
                "url": f"/v1{self._adapter.path(batched.call)}",
                "body": self._adapter.body(batched.call, batched.seed),
            }
            text = json.dumps(request, ensure_ascii=False, separators=(",", ":")).translate(_SEPARATORS)
            lines += text.encode("utf-8", "replace") + b"\n"
        name = f"{UPLOAD_NAME}{ticket.order_id}.jsonl"
        try:
            card = await self._connection.upload("/files", name, bytes(lines), UPLOAD_SECONDS, purpose="batch")
        except Complained as complained:
            raise creation_refusal(self._connection, complained.complaint) from None
        return read_id(self._connection, card)

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
        return await self.post(body)

    async def withdraw(self, upload_id: str) -> None:
        path = f"/files/{_quote(upload_id)}"
        try:
            name = as_string((await self._connection.get(path)).get("filename"))
            if name and not name.startswith(UPLOAD_NAME):
                return  # a file of the user that only the study file calls an upload
            await self._connection.delete(path)
        except Complained as complained:
            error = lookup_error(self._connection, complained.complaint)
            if isinstance(error, ProviderError) and error.fault in (ErrorClass.TRANSIENT, ErrorClass.RATE_LIMITED):
                raise error from None

    async def find(self, ticket: ProviderBatchTicket, others: Collection[str]) -> str | None:
        async for card in self.list_cards(ticket.created_at):
            if as_mapping(card.get("metadata")).get("tidepool_order") == ticket.order_id:
                return read_id(self._connection, card)
        return None

    async def poll(self, remote_id: str) -> ProviderBatchState:
        card = await self.fetch(remote_id)
        status, counts = short_word(card.get("status")).lower(), card.get("request_counts")
        done, total = sum_counts(counts, "completed", "failed"), sum_counts(counts, "total")
        if status == "failed" and not _has_file(card):
            return self._failed(card, status)
        if status not in (*ENDED, *IN_PROGRESS):
            ended = _has_file(card) and bool(total) and done == total
            return ProviderBatchState(ended, status or "state unknown", unclear=not ended)
        label = f"{status} {done or 0:,}/{total:,}" if total and status == "in_progress" else status
        return ProviderBatchState(status in ENDED, label, done)

    async def results(self, remote_id: str) -> AsyncIterator[ProviderBatchResult]:
        card = self._cards.pop(remote_id, None) or await self.fetch(remote_id)
        reading = ResultReading(self._connection)
        model = as_string(as_mapping(card.get("metadata")).get("model"))
        for file_id in filter(None, (as_string(card.get(name)) for name in FILES)):
            async for row in reading.rows(f"/files/{_quote(file_id)}/content"):
                yield self.result(row, model)
        reading.check(sum_counts(card.get("request_counts"), "completed", "failed"))

    def created_at(self, card: dict[str, Any]) -> float | None:
        return as_number(card.get("created_at"))

    def read_row(self, row: dict[str, Any], model: str) -> ProviderBatchResult:
        name, response = row["custom_id"], as_mapping(row.get("response"))
        status, body = as_count(response.get("status_code")), response.get("body")
        if status == 200 or (status is None and not row.get("error")):
            body = read_object(body)
            tag = self._price(model or as_string(body.get("model")))
            return ProviderBatchResult(name, self._adapter.answer(body, None, tag))
        complaint = row_complaint(row.get("error") or body, status)
        heals = complaint.code in UNDONE or fault_of(complaint) in (ErrorClass.TRANSIENT, ErrorClass.RATE_LIMITED)
        heals = heals or self._adapter.lesson(model, complaint)
        return ProviderBatchResult(name, error=str(self._connection.diagnose(complaint)), heals=heals)

    def _failed(self, card: dict[str, Any], label: str) -> ProviderBatchState:
        """The provider rejected the whole batch after accepting it."""
        errors = as_mapping(card.get("errors")).get("data")
        first = as_mapping(errors[0]) if isinstance(errors, list) and errors else {}
        code, reason = as_string(first.get("code")), scrub_keys(as_string(first.get("message")) or "no reason given")
        if code in SPENT:
            raise self._connection.diagnose(ProviderComplaint(429, code=code, words=reason))
        return ProviderBatchState(True, label, 0, f"{code}: {reason}" if code else reason, "token_limit" in code)


def _has_file(card: dict[str, Any]) -> bool:
    return any(as_string(card.get(name)) for name in FILES)


def _quote(file_id: str) -> str:
    return quote(file_id, safe=":", errors="replace")


PROVIDER = ProviderSpec(ProviderSettings, partial(EndpointProvider, OpenAIAdapter, OpenAIBatches))
