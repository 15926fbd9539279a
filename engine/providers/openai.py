"""OpenAI, and every server that speaks like it: live calls and batches.

A batch is a file that is uploaded and a batch made of it; its answers come back as files. Uploading buys nothing and may be
repeated. Creating buys, and may not. The file is also the fence: once it is deleted, a creation that is still on its way
can no longer succeed.
"""

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from tidepool.engine.answer_forms import schema_of
from tidepool.engine.call import Call, PriceTag, packed_vectors
from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.providers.batch_api import (
    ODD,
    ODD_LOOKS,
    UPLOAD_SECONDS,
    ResultReading,
    SdkBatches,
    as_count,
    as_mapping,
    as_number,
    as_string,
    creation_refusal,
    fetch_card,
    lookup_error,
    read_id,
    read_object,
    row_complaint,
    short_word,
    sum_counts,
)
from tidepool.engine.providers.connection import LOOK_SECONDS, Complained, SdkConnection
from tidepool.engine.providers.endpoint import scrub_keys
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
from tidepool.engine.providers.sdk import ModelCard, SdkProvider
from tidepool.engine.providers.unsupported_settings import SYSTEM_ROLE, UnsupportedSettings
from tidepool.storage.states import FinishReason

SEED_BITS = 0x7FFF_FFFF
"""some servers keep a seed in 32 bits"""
LENGTHS = {"max_completion_tokens": "max_tokens", "max_tokens": "max_completion_tokens"}
"""the two names of the same limit, each with the other"""
_OPENAI_MODEL = re.compile(r"(ft:)?(gpt|chatgpt|o\d|text-)")


class OpenAIRequestFormat:
    """Builds requests, and knows by now what each model takes."""

    def __init__(self, notices: Notices, foreign: bool) -> None:
        self.habits = UnsupportedSettings(
            notices, ("temperature", "seed", "reasoning_effort", "response_format", SYSTEM_ROLE), tuple(LENGTHS)
        )
        self._foreign = foreign
        self._length: dict[str, str] = {}

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
            form = {"name": call.form, "strict": True, "schema": schema_of(call.form, call.scale)}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        return body

    def learn(self, call: Call, complaint: ProviderComplaint, sent: Mapping[str, Any]) -> bool:
        """Whether the next request for this call will differ from the one that was sent and refused."""
        self.lesson(call.model_name, complaint, sent)
        return _outline(self.body(call, 0)) != _outline(sent)

    def lesson(self, model_name: str, complaint: ProviderComplaint, sent: Mapping[str, Any] | None = None) -> bool:
        """Whether a refusal is about a setting, which is then sent no more, or under its other name."""
        setting = self.habits.learn(model_name, complaint, sent)
        if setting in LENGTHS:
            self._length.setdefault(model_name, LENGTHS[setting])
        return setting is not None

    def _put_system(self, messages: list[dict[str, str]], call: Call) -> None:
        if self.habits.supports(call.model_name, SYSTEM_ROLE):
            messages.insert(0, {"role": "system", "content": call.system})
        elif messages and messages[0]["role"] == "user":  # such models often want the roles to alternate, too
            messages[0]["content"] = f"{call.system}\n\n{messages[0]['content']}"
        else:
            messages.insert(0, {"role": "user", "content": call.system})

    def _length_setting(self, model_name: str) -> str:
        if model_name in self._length:
            return self._length[model_name]
        newer = not self._foreign or _OPENAI_MODEL.match(model_name)
        return "max_completion_tokens" if newer else "max_tokens"


def _outline(body: Mapping[str, Any]) -> tuple[object, ...]:
    """What a lesson can change of a request."""
    return body.keys(), [message["role"] for message in body.get("messages", ())]


def path_of(call: Call) -> str:
    return "/embeddings" if call.operation == "embed" else "/chat/completions"


def answer_of(
    data: Mapping[str, Any], tag: PriceTag | None, *, batch: bool = False, limits: RateLimits | None = None
) -> Answer:
    """Raises KeyError, TypeError, AttributeError or IndexError where the data is no answer."""
    if "choices" in data:
        reply = _parse_choice(data["choices"][0])
        usage = plausible_usage(_usage(data.get("usage"), embedding=False), reply)
    else:
        ordered = sorted(data["data"], key=lambda embedding: embedding["index"])
        vectors = packed_vectors([embedding["embedding"] for embedding in ordered])
        reply, usage = ParsedReply(vectors, None, FinishReason.COMPLETE), _usage(data.get("usage"), embedding=True)
    return priced_answer(reply, usage, data.get("model"), tag, batch=batch, limits=limits)


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
    """None: no usage that can be read."""
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
    ):  # some count reasoning beside the completion, and some only in the total
        reasoning, output = max(reasoning, total - prompt - output), total - prompt
    cached = min(prompt, part_of(usage, "prompt_tokens_details", "cached_tokens"))
    cache_write = min(prompt - cached, part_of(usage, "prompt_tokens_details", "cache_write_tokens"))
    return prompt, output, min(reasoning, output), cached, cache_write


ENDPOINT = "/v1/chat/completions"
UNDONE = ("batch_expired", "batch_cancelled")
_SEPARATORS = {ord(mark): f"\\u{ord(mark):04x}" for mark in "\x85\u2028\u2029"}
"""line ends of Unicode, which some readers of JSON lines take for newlines"""


async def request_lines(wire: OpenAIRequestFormat, calls: Sequence[BatchedCall]) -> AsyncIterator[bytes]:
    """One for each call."""
    for count, batched in enumerate(calls):
        if not count % 500:
            await asyncio.sleep(0)
        body = wire.body(batched.call, batched.seed)
        request = {"custom_id": batched.custom_id, "method": "POST", "url": f"/v1{path_of(batched.call)}", "body": body}
        text = json.dumps(request, ensure_ascii=False, separators=(",", ":")).translate(_SEPARATORS)
        yield text.encode("utf-8", "replace") + b"\n"


ENDED = ("completed", "expired", "cancelled", "failed")
IN_PROGRESS = ("validating", "in_progress", "finalizing", "cancelling")
FILES = ("output_file_id", "error_file_id")
IN_A_PATH = "!$&'()*+,;=:@"
"""what may stand in a part of a path as it is"""


UPLOAD_NAME = "tidepool-"
"""how the name of every file begins that is uploaded here"""


class OpenAIBatches(SdkBatches):
    bounds = ProviderBatchBounds(max_calls=50_000, max_bytes=190_000_000)
    uploads = True
    path, page_size, cursor = "/batches", 100, "after"

    def __init__(self, sdk: SdkConnection, wire: OpenAIRequestFormat, price: Callable[[str], PriceTag | None]) -> None:
        super().__init__(sdk, price)
        self._wire = wire
        self._odd_looks: Counter[str] = Counter()

    def group(self, call: Call) -> str:
        """One file holds calls to one model."""
        return call.model_name

    async def upload(self, ticket: ProviderBatchTicket, calls: Sequence[BatchedCall]) -> str:
        name = f"{UPLOAD_NAME}{ticket.order_id}.jsonl"
        content = b"".join([line async for line in request_lines(self._wire, calls)])
        try:
            request = self._connection.client.files.create(file=(name, content), purpose="batch")
            card = await self._connection.send(request, UPLOAD_SECONDS)
            return read_id(self._connection, {"id": card.id, "error": getattr(card, "error", None)})
        except Complained as complained:
            raise creation_refusal(self._connection, complained.complaint) from None
        except ODD:
            raise self._connection.unreadable("a file's card") from None

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
        client = self._connection.client
        try:
            card = await self._connection.send(client.files.retrieve(upload_id), LOOK_SECONDS)
            if not as_string(getattr(card, "filename", None) or UPLOAD_NAME).startswith(UPLOAD_NAME):
                return  # a file of the user's that only the study file calls an upload
            await self._connection.send(client.files.delete(upload_id), LOOK_SECONDS)
        except Complained as complained:
            error = lookup_error(self._connection, complained.complaint)
            if isinstance(error, ProviderError) and error.fault in (ErrorClass.TRANSIENT, ErrorClass.RATE_LIMITED):
                raise error from None
        except ODD:
            return  # it is gone, whatever the words that say so

    async def find(self, ticket: ProviderBatchTicket, others: Collection[str]) -> str | None:
        async for card in self.list_cards(ticket.created_at):
            if as_mapping(card.get("metadata")).get("tidepool_order") == ticket.order_id:
                return read_id(self._connection, card)
        return None

    async def poll(self, remote_id: str) -> ProviderBatchState:
        card = self._cards[remote_id] = await self._card(remote_id)
        status, counts = short_word(card.get("status")).lower(), card.get("request_counts")
        done, total = sum_counts(counts, "completed", "failed"), sum_counts(counts, "total")
        if status == "failed" and not _has_file(card):
            return self._failed(card, status)
        if status not in (*ENDED, *IN_PROGRESS):
            return self._unclear(card, remote_id, status, whole=bool(total) and done == total)
        label = f"{status} {done or 0:,}/{total:,}" if total and status == "in_progress" else status
        return ProviderBatchState(status in ENDED, label, done)

    async def results(self, remote_id: str) -> AsyncIterator[ProviderBatchResult]:
        card = self._cards.pop(remote_id, None) or await self._card(remote_id)
        reading = ResultReading(self._connection)
        model = as_string(as_mapping(card.get("metadata")).get("model"))
        for file_id in filter(None, (as_string(card.get(name)) for name in FILES)):
            name = quote(file_id, safe=IN_A_PATH, errors="replace")
            async for row in reading.rows(f"/files/{name}/content"):
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
            return ProviderBatchResult(name, answer_of(body, tag, batch=True))
        complaint = row_complaint(row.get("error") or body, status)
        heals = complaint.code in UNDONE or fault_of(complaint) in (ErrorClass.TRANSIENT, ErrorClass.RATE_LIMITED)
        heals = heals or self._wire.lesson(model, complaint)
        return ProviderBatchResult(name, error=str(self._connection.diagnose(complaint)), heals=heals)

    async def _card(self, remote_id: str) -> dict[str, Any]:
        return await fetch_card(self._connection, f"{self.path}/{remote_id}")

    def _failed(self, card: dict[str, Any], label: str) -> ProviderBatchState:
        """The whole batch was turned down after it had been taken."""
        errors = as_mapping(card.get("errors")).get("data")
        first = as_mapping(errors[0]) if isinstance(errors, list) and errors else {}
        code, reason = as_string(first.get("code")), scrub_keys(as_string(first.get("message")) or "no reason given")
        if code in SPENT:
            raise self._connection.diagnose(ProviderComplaint(429, code=code, words=reason))
        return ProviderBatchState(True, label, 0, f"{code}: {reason}" if code else reason, "token_limit" in code)

    def _unclear(self, card: dict[str, Any], remote_id: str, status: str, *, whole: bool) -> ProviderBatchState:
        """A state without a word, or with one that nobody knows: its files tell that it has ended, where it says that
        they are whole, or where nothing changes for long."""
        self._odd_looks[remote_id] += 1
        ended = _has_file(card) and (whole or self._odd_looks[remote_id] > ODD_LOOKS)
        return ProviderBatchState(ended, status or "state unknown", unclear=not ended)


def _has_file(card: dict[str, Any]) -> bool:
    return any(as_string(card.get(name)) for name in FILES)


class OpenAIProvider(SdkProvider):
    like = "openai"
    wire: OpenAIRequestFormat

    def __init__(self, settings: ProviderSettings, name: str = "openai") -> None:
        super().__init__(settings, name)
        self.wire = OpenAIRequestFormat(self.notices, "api.openai.com" not in self.connection.where)
        if self.endpoint.has_batches and not self.pooled:
            self.batches = OpenAIBatches(self.connection, self.wire, self.price)

    def request(self, call: Call, seed: int) -> tuple[str, dict[str, Any], dict[str, str] | None]:
        return path_of(call), self.wire.body(call, seed), None

    def answer(self, data: Mapping[str, Any], call: Call, headers: Mapping[str, str]) -> Answer:
        return answer_of(data, self.price(call.model_name), limits=openai_limits(headers))

    async def cards_at(self, connection: SdkConnection) -> list[ModelCard]:
        response = await connection.get("/models")
        return [
            ModelCard(str(card["id"]).removeprefix("models/"), card.get("shutdown_date"))
            for card in response.get("data") or ()
        ]

    async def look_up_at(self, connection: SdkConnection, model_name: str) -> None:
        await connection.get(f"/models/{model_name}")


PROVIDER = ProviderSpec(ProviderSettings, OpenAIProvider)
