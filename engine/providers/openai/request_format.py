"""What is sent to OpenAI and to servers that speak like it, and what their answers mean. No network here."""

import re
from collections.abc import Mapping
from typing import Any

from tidepool.engine.answer_forms import schema_of
from tidepool.engine.call import Call, PriceTag, packed_vectors
from tidepool.engine.providers.error_mapping import ProviderComplaint
from tidepool.engine.providers.protocol import Answer, Notices, RateLimits
from tidepool.engine.providers.replies import Said, Usage, believed, name_of, part_of, said, text_of, thought_in, tokens
from tidepool.engine.providers.texts import clean
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
            notices, ("temperature", "seed", "reasoning_effort", "response_format", SYSTEM_ROLE, *LENGTHS)
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
        if call.temperature is not None and self.habits.takes(name, "temperature"):
            body["temperature"] = call.temperature
        if self.habits.takes(name, "seed"):
            body["seed"] = seed & SEED_BITS
        if call.reasoning_effort and self.habits.takes(name, "reasoning_effort"):
            body["reasoning_effort"] = call.reasoning_effort
        if call.form and self.habits.takes(name, "response_format"):
            form = {"name": call.form, "strict": True, "schema": schema_of(call.form, call.scale)}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        return body

    def learn(self, call: Call, complaint: ProviderComplaint, sent: Mapping[str, Any]) -> bool:
        """Whether the next request for this call will differ from the one that was sent and refused."""
        self.lesson(call.model_name, complaint, sent)
        return _outline(self.body(call, 0)) != _outline(sent)

    def lesson(self, model_name: str, complaint: ProviderComplaint, sent: Mapping[str, Any] | None = None) -> bool:
        """Whether a refusal is about a setting, which is then sent no more, or under its other name."""
        setting = self.habits.learn(complaint)
        if setting in LENGTHS:
            self._length.setdefault(model_name, LENGTHS[setting])
        elif setting is not None:
            value = (sent or {}).get(setting, "any")
            self.habits.refuse(model_name, setting, "by address" if setting == "seed" else value)
        return setting is not None

    def _put_system(self, messages: list[dict[str, str]], call: Call) -> None:
        if self.habits.takes(call.model_name, SYSTEM_ROLE):
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
    words = _said(data["choices"][0]) if "choices" in data else Said(_vectors(data), None, FinishReason.COMPLETE)
    embedding = "choices" not in data
    usage = _usage(data.get("usage"), embedding=embedding)
    usage = usage if embedding else believed(usage, words)
    model = name_of(data.get("model"))
    if usage is None:
        return Answer(words.text, 0, 0, None, None, limits, None, words.finish, model, words.thought, 0, True)
    asked, wrote, reasoned, read, written = usage
    cost = None if tag is None else tag.cost(asked, wrote, batch=batch, cache_read=read, cache_write=written)
    return Answer(words.text, asked, wrote, cost, None, limits, None, words.finish, model, words.thought, reasoned)


def _said(choice: Mapping[str, Any]) -> Said:
    message = choice["message"]
    refusal = message.get("refusal")
    content = message.get("content")
    return said(
        text_of(content),
        choice.get("finish_reason"),
        thought=text_of(message.get("reasoning_content") or message.get("reasoning")) or thought_in(content),
        tool=bool(message.get("tool_calls") or message.get("function_call")),
        refusal=clean(refusal) if isinstance(refusal, str) else "",
    )


def _usage(usage: object, *, embedding: bool) -> Usage | None:
    """None: no usage that can be read."""
    if not isinstance(usage, Mapping):
        return None
    asked, wrote = tokens(usage.get("prompt_tokens")), tokens(usage.get("completion_tokens"))
    if asked is None or (wrote is None and not embedding):
        return None
    wrote = wrote or 0
    reasoned = part_of(usage, "completion_tokens_details", "reasoning_tokens")
    total = part_of(usage, "total_tokens")
    if (
        not embedding and total > asked + wrote
    ):  # some count reasoning beside the completion, and some only in the total
        reasoned, wrote = max(reasoned, total - asked - wrote), total - asked
    read = min(asked, part_of(usage, "prompt_tokens_details", "cached_tokens"))
    written = min(asked - read, part_of(usage, "prompt_tokens_details", "cache_write_tokens"))
    return asked, wrote, min(reasoned, wrote), read, written


def _vectors(data: Mapping[str, Any]) -> str:
    ordered = sorted(data["data"], key=lambda one: one["index"])
    return packed_vectors([one["embedding"] for one in ordered])
