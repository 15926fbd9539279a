"""What is sent to OpenAI and to servers that speak like it, and what their answers mean. No network here."""

import re
from collections.abc import Mapping
from typing import Any

from tidepool.engine.call import Call
from tidepool.engine.prices import PriceTag
from tidepool.engine.providers.error_mapping import ProviderComplaint
from tidepool.engine.providers.protocol import Answer, Notices, RateLimits
from tidepool.engine.providers.texts import clean
from tidepool.engine.providers.unsupported_settings import UnsupportedSettings
from tidepool.engine.vectors import packed_vectors

SEED_BITS = 0x7FFF_FFFF
"""some servers keep a seed in 32 bits"""
LENGTHS = {"max_completion_tokens": "max_tokens", "max_tokens": "max_completion_tokens"}
"""the two names of the same limit, each with the other"""
_OPENAI_MODEL = re.compile(r"(ft:)?(gpt|chatgpt|o\d|text-)")


class OpenAIRequestFormat:
    """Builds requests, and knows by now what each model takes."""

    def __init__(self, notices: Notices, foreign: bool) -> None:
        self.habits = UnsupportedSettings(notices, ("temperature", "seed", *LENGTHS))
        self._foreign = foreign
        self._length: dict[str, str] = {}

    def body(self, call: Call, seed: int) -> dict[str, Any]:
        if call.operation == "embed":
            texts = [message.text for message in call.messages]
            return {"model": call.model_name, "input": texts, "encoding_format": "float"}
        name = call.model_name
        messages = [{"role": message.role, "content": message.text} for message in call.messages]
        if call.system:
            messages.insert(0, {"role": "system", "content": call.system})
        body: dict[str, Any] = {"model": name, "messages": messages, self._length_setting(name): call.max_tokens}
        if call.temperature is not None and self.habits.takes(name, "temperature"):
            body["temperature"] = call.temperature
        if self.habits.takes(name, "seed"):
            body["seed"] = seed & SEED_BITS
        return body

    def learn(self, call: Call, complaint: ProviderComplaint, sent: Mapping[str, Any]) -> bool:
        """Whether the next request for this call will differ from the one that was sent and refused."""
        self.lesson(call.model_name, complaint, sent)
        return self.body(call, 0).keys() != sent.keys()

    def lesson(self, model_name: str, complaint: ProviderComplaint, sent: Mapping[str, Any] | None = None) -> bool:
        """Whether a refusal is about a setting, which is then sent no more, or under its other name."""
        setting = self.habits.learn(complaint)
        if setting in LENGTHS:
            self._length.setdefault(model_name, LENGTHS[setting])
        elif setting is not None:
            value = (sent or {}).get(setting, "any")
            self.habits.refuse(model_name, setting, "by address" if setting == "seed" else value)
        return setting is not None

    def _length_setting(self, model_name: str) -> str:
        if model_name in self._length:
            return self._length[model_name]
        newer = not self._foreign or _OPENAI_MODEL.match(model_name)
        return "max_completion_tokens" if newer else "max_tokens"


def path_of(call: Call) -> str:
    return "/embeddings" if call.operation == "embed" else "/chat/completions"


def answer_of(
    data: Mapping[str, Any], tag: PriceTag | None, *, batch: bool = False, limits: RateLimits | None = None
) -> Answer:
    """Raises KeyError, TypeError, AttributeError or IndexError where the data is no answer."""
    text = _text(data) if "choices" in data else _vectors(data)
    usage = data.get("usage")
    if not usage:
        return Answer(text, limits=limits)
    asked, said = usage["prompt_tokens"], usage.get("completion_tokens") or 0
    details = usage.get("prompt_tokens_details") or {}
    cost = None
    if tag is not None:
        read, written = details.get("cached_tokens") or 0, details.get("cache_write_tokens") or 0
        cost = tag.cost(asked, said, batch=batch, cache_read=read, cache_write=written)
    return Answer(text, asked, said, cost, limits=limits)


def _text(data: Mapping[str, Any]) -> str:
    message = data["choices"][0]["message"]
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(part.get("text") or "" for part in content)
    return clean(content or message.get("refusal") or "")


def _vectors(data: Mapping[str, Any]) -> str:
    ordered = sorted(data["data"], key=lambda one: one["index"])
    return packed_vectors([one["embedding"] for one in ordered])
