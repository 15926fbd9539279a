"""What is sent to Anthropic, and what its answers mean. No network here.

The current API takes no sampling settings. Models of the fourth generation still sample under the API version of
2023, so a temperature goes to them with that version's header, and to newer models not at all.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from tidepool.engine.call import Call, prompt_hash
from tidepool.engine.prices import PriceTag, expected_tokens
from tidepool.engine.providers.error_mapping import ProviderComplaint
from tidepool.engine.providers.protocol import Answer, Notices, RateLimits
from tidepool.engine.providers.texts import clean
from tidepool.engine.providers.unsupported_settings import UnsupportedSettings

SAMPLING_VERSION = "2023-06-01"
LEAST_CACHED = 1_024
"""tokens of the shortest prefix that the provider caches"""
SILENCE = "…"
"""stands for an empty message, which the API refuses"""
_GENERATION = re.compile(r"claude-[a-z]+-(\d+)")


class AnthropicRequestFormat:
    """Builds requests, and knows by now what each model takes and which prompts are shared."""

    def __init__(self, notices: Notices) -> None:
        self.habits = UnsupportedSettings(notices, ("temperature",))
        self._met: Counter[bytes] = Counter()

    def body(self, call: Call) -> dict[str, Any]:
        messages = [{"role": message.role, "content": message.text or SILENCE} for message in call.messages]
        body: dict[str, Any] = {"model": call.model_name, "max_tokens": call.max_tokens, "messages": messages}
        if call.system:
            body["system"] = self._system(call.system)
        if self.sends_temperature(call):
            body["temperature"] = call.temperature
        return body

    def headers(self, call: Call) -> dict[str, str]:
        return {"anthropic-version": SAMPLING_VERSION} if self.sends_temperature(call) else {}

    def sends_temperature(self, call: Call) -> bool:
        if call.temperature is None or not self.habits.takes(call.model_name, "temperature"):
            return False
        if samples(call.model_name):
            return True
        self.habits.refuse(call.model_name, "temperature", call.temperature)
        return False

    def learn(self, call: Call, complaint: ProviderComplaint, sent: Mapping[str, Any]) -> bool:
        """Whether the next request for this call will differ from the one that was sent and refused."""
        self.lesson(call.model_name, complaint, call.temperature)
        return "temperature" in sent and not self.sends_temperature(call)

    def lesson(self, model_name: str, complaint: ProviderComplaint, value: object = "any") -> bool:
        """Whether a refusal is about a setting, which is then sent no more."""
        setting = self.habits.learn(complaint)
        if setting is not None:
            self.habits.refuse(model_name, setting, value)
        return setting is not None

    def expect(self, calls: Iterable[Call]) -> None:
        """Calls that will be sent together: prompts they share are worth caching from the first on."""
        self._met.update(prompt_hash(call.system) for call in calls if _is_long(call.system))

    def _system(self, text: str) -> Any:
        """A long prompt that comes again is marked for the provider's cache; one that is met once costs no more."""
        if not _is_long(text):
            return text
        self._met[prompt_hash(text)] += 1
        if self._met[prompt_hash(text)] < 2:
            return text
        return [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]


def samples(model_name: str) -> bool:
    generation = _GENERATION.match(model_name)
    return generation is not None and int(generation[1]) < 5


def answer_of(
    data: Mapping[str, Any], tag: PriceTag | None, *, batch: bool = False, limits: RateLimits | None = None
) -> Answer:
    """Raises KeyError, TypeError or AttributeError where the data is no answer."""
    text = "".join(block["text"] for block in data["content"] if block["type"] == "text")
    usage = data["usage"]
    read, written = usage.get("cache_read_input_tokens") or 0, usage.get("cache_creation_input_tokens") or 0
    asked, said = usage["input_tokens"] + read + written, usage["output_tokens"]
    cost = None if tag is None else tag.cost(asked, said, batch=batch, cache_read=read, cache_write=written)
    return Answer(clean(text), asked, said, cost, limits=limits)


def _is_long(text: str) -> bool:
    return expected_tokens(text) >= LEAST_CACHED
