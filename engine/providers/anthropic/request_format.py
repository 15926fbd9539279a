"""What is sent to Anthropic, and what its answers mean. No network here.

The current API takes no sampling settings. Models of the fourth generation still sample under the API version of
2023, so a temperature goes to them with that version's header, and to newer models not at all. What other houses serve
behind the same API is asked as it was in 2023, and what it refuses is learned.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from tidepool.engine.answer_forms import schema_of
from tidepool.engine.call import Call, PriceTag, expected_tokens, prompt_hash
from tidepool.engine.providers.error_mapping import ProviderComplaint
from tidepool.engine.providers.protocol import Answer, Notices, RateLimits
from tidepool.engine.providers.replies import Usage, believed, name_of, part_of, said, text_of, tokens
from tidepool.engine.providers.unsupported_settings import UnsupportedSettings

SAMPLING_VERSION = "2023-06-01"
LEAST_CACHED = 1_024
"""tokens of the shortest prefix that the provider caches"""
LEAST_THINKING = 1_024
"""tokens of the smallest budget that the API takes"""
EFFORTS = {"minimal": "low"}
"""efforts under the names that the API knows"""
SILENCE = "…"
"""stands for an empty message, which the API refuses"""
_GENERATION = re.compile(r"claude-[a-z]+-(\d+)")


class AnthropicRequestFormat:
    """Builds requests, and knows by now what each model takes and which prompts are shared."""

    def __init__(self, notices: Notices) -> None:
        self.habits = UnsupportedSettings(notices, ("temperature", "thinking", "output_config"))
        self._met: Counter[bytes] = Counter()

    def body(self, call: Call) -> dict[str, Any]:
        messages = [{"role": message.role, "content": message.text or SILENCE} for message in call.messages]
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
        """Models of the fourth generation are given a number of tokens, newer ones find it by the effort."""
        effort = call.reasoning_effort
        if not effort or not self.habits.takes(call.model_name, "thinking"):
            return None
        if effort == "none":
            return {"type": "disabled"}
        if samples(call.model_name):
            return {"type": "enabled", "budget_tokens": max(LEAST_THINKING, call.max_reasoning_tokens)}
        return {"type": "adaptive", "display": "summarized"}

    def _output(self, call: Call) -> dict[str, Any]:
        if not self.habits.takes(call.model_name, "output_config"):
            return {}
        output: dict[str, Any] = {}
        if call.reasoning_effort not in ("", "none") and not samples(call.model_name):
            output["effort"] = EFFORTS.get(call.reasoning_effort, call.reasoning_effort)
        if call.form:
            output["format"] = {"type": "json_schema", "schema": schema_of(call.form, call.scale)}
        return output

    def headers(self, call: Call) -> dict[str, str]:
        return {"anthropic-version": SAMPLING_VERSION} if self.sends_temperature(call) else {}

    def sends_temperature(self, call: Call) -> bool:
        if call.reasoning_effort not in ("", "none"):
            return False  # a model that thinks samples as it likes
        if call.temperature is None or not self.habits.takes(call.model_name, "temperature"):
            return False
        if samples(call.model_name):
            return True
        self.habits.refuse(call.model_name, "temperature", call.temperature)
        return False

    def learn(self, call: Call, complaint: ProviderComplaint, sent: Mapping[str, Any]) -> bool:
        """Whether the next request for this call will differ from the one that was sent and refused."""
        self.lesson(call.model_name, complaint, sent)
        return self.body(call).keys() != sent.keys()

    def lesson(self, model_name: str, complaint: ProviderComplaint, sent: Mapping[str, Any] | None = None) -> bool:
        """Whether a refusal is about a setting, which is then sent no more."""
        setting = self.habits.learn(complaint)
        if setting is not None:
            self.habits.refuse(model_name, setting, (sent or {}).get(setting, "any"))
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
    generation = _GENERATION.search(model_name)
    return int(generation[1]) < 5 if generation else "claude" not in model_name.lower()


def answer_of(
    data: Mapping[str, Any], tag: PriceTag | None, *, batch: bool = False, limits: RateLimits | None = None
) -> Answer:
    """Raises KeyError, TypeError or AttributeError where the data is no answer."""
    blocks = data["content"]
    words = said(
        text_of([block for block in blocks if block["type"] == "text"]),
        data.get("stop_reason"),
        thought=text_of([block for block in blocks if block["type"] == "thinking"], "thinking"),
        tool=any("tool_use" in block["type"] for block in blocks),
    )
    model, usage = name_of(data.get("model")), believed(_usage(data.get("usage")), words)
    if usage is None:
        return Answer(words.text, 0, 0, None, None, limits, None, words.finish, model, words.thought, 0, True)
    asked, wrote, reasoned, read, written = usage
    cost = None if tag is None else tag.cost(asked, wrote, batch=batch, cache_read=read, cache_write=written)
    return Answer(words.text, asked, wrote, cost, None, limits, None, words.finish, model, words.thought, reasoned)


def _usage(usage: object) -> Usage | None:
    """None: no usage that can be read."""
    if not isinstance(usage, Mapping):
        return None
    fresh, wrote = tokens(usage.get("input_tokens")), tokens(usage.get("output_tokens"))
    if fresh is None or wrote is None:
        return None
    read, written = part_of(usage, "cache_read_input_tokens"), part_of(usage, "cache_creation_input_tokens")
    reasoned = part_of(usage, "output_tokens_details", "thinking_tokens")
    return fresh + read + written, wrote, min(reasoned, wrote), read, written


def _is_long(text: str) -> bool:
    return expected_tokens(text) >= LEAST_CACHED
