"""Parses a reply of any provider: why it ended, its reasoning, its text and its usage.

Providers and compatible servers use some thirty words for seven reasons. They put reasoning into separate fields or
between tags, and report usage that may be missing or absurd. This module makes them uniform. It cleans text so that it
can be stored and sent.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic_core import from_json, to_json

from tidepool.engine.call import PriceTag
from tidepool.engine.providers.protocol import Answer, ErrorClass, ProviderError, RateLimits
from tidepool.storage.states import FinishReason
from tidepool.storage.text import mask


def clean(text: str) -> str:
    """Text that every file and every provider accepts: lone surrogates are replaced."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


def encode_json(body: Any) -> bytes:
    """The JSON of a request; lone surrogates are replaced."""
    try:
        return to_json(body)
    except ValueError:
        return _compact(body).encode("utf-8", "replace")


def decode_json(content: str | bytes) -> Any:
    """Parses JSON: quickly if it is valid, else with Python's more tolerant parser, whose errors it raises."""
    try:
        return from_json(content, cache_strings="keys")
    except ValueError:
        return json.loads(content)


_WORDS = {
    FinishReason.COMPLETE: "stop end_turn stop_sequence eos eos_token completed complete finish done",
    FinishReason.CUT: "length max_tokens model_length max_output_tokens model_context_window_exceeded pause_turn incomplete",
    FinishReason.FILTERED: (
        "content_filter content_filtered filtered safety recitation blocklist prohibited_content spii image_safety "
        "sensitive language guardrail_intervened"
    ),
    FinishReason.REFUSED: "refusal refused",
    FinishReason.TOOL: "tool_calls tool_use function_call tool malformed_function_call",
    FinishReason.ERROR: "error abort aborted cancelled insufficient_system_resource load unload failed other",
}
FINISH_REASONS = {word: reason for reason, words in _WORDS.items() for word in words.split()}
MOST_TOKENS = 4_000_000
"""maximum tokens of a request; a larger number from a server is ignored"""
LONGEST_NAME = 200
ABSOLUTE_PATH = re.compile(r"(?:file:|[a-z]:)?[/\\]", re.IGNORECASE)

_LEADING = re.compile(
    r"\s*<(?P<tag>think|thinking|thought|reasoning)\s*>(?P<thought>.*?)(?:</(?P=tag)\s*>\s*|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_INSIDE = re.compile(r"(?P<line>^[ \t]*)?<think\s*>(?P<thought>.*?)(?P<end></think\s*>\s*|\Z)", re.I | re.M | re.S)
_CLOSING = re.compile(r"</think\s*>\s*", re.IGNORECASE)


def finish_reason(word: object) -> FinishReason:
    """The reason for a provider's word. An unknown word means that the reply ended."""
    return FINISH_REASONS.get(word.lower(), FinishReason.COMPLETE) if isinstance(word, str) else FinishReason.COMPLETE


def split_thought(text: str) -> tuple[str, str]:
    """(text, reasoning) of a reply with reasoning between tags in the text.

    Some servers omit the opening tag, and a truncated reply may have no closing tag.
    """
    thoughts: list[str] = []

    def take(match: re.Match[str]) -> str:
        if match["line"] is None and not match["end"]:
            return match[0]  # inside a sentence, an unclosed tag is plain text
        thoughts.append(match["thought"])
        return ""

    while leading := _LEADING.match(text):
        thoughts.append(leading["thought"])
        text = text[leading.end() :]
    text = _INSIDE.sub(take, text)
    if closing := _CLOSING.search(text):
        thoughts.append(text[: closing.start()])
        text = text[closing.end() :]
    return text, "\n\n".join(part.strip() for part in thoughts if part.strip())


def tokens(value: object) -> int | None:
    """A count of tokens as a bounded whole number; None if it is not valid."""
    if type(value) is int and 0 <= value <= MOST_TOKENS:
        return value
    if isinstance(value, float) and value.is_integer() and 0 <= value <= MOST_TOKENS:
        return int(value)
    return None


def part_of(usage: Mapping[str, Any], *path: str) -> int:
    """An optional count within the usage, such as cached or reasoning tokens; 0 if it is absent."""
    value: object = usage
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return tokens(value) or 0


def text_of(content: object, field: str = "text") -> str:
    """The text of a message, given as a whole or in parts."""
    if isinstance(content, list):
        parts = [part.get(field) if isinstance(part, Mapping) else part for part in content]
        content = "".join(part for part in parts if isinstance(part, str))
    return clean(content) if isinstance(content, str) else ""


def thought_in(content: object) -> str:
    """Reasoning among the parts of a message: `thinking`, which is a text or has parts of its own."""
    parts = [part.get("thinking") for part in content if isinstance(part, Mapping)] if isinstance(content, list) else []
    return "\n\n".join(text for part in parts if (text := text_of(part)))


def name_of(served: object) -> str | None:
    """The model that the provider reports; for an absolute path only the last part.

    llama.cpp reports the path of its weights, which often contains a user name, and study files are shared.
    """
    if not isinstance(served, str):
        return None
    if ABSOLUTE_PATH.match(served):
        served = re.split(r"[/\\]", served.rstrip("/\\"))[-1]
    return mask(served)[:LONGEST_NAME] or None


class ParsedReply(NamedTuple):
    """The parts of a reply."""

    text: str
    thought: str | None
    finish: FinishReason


Usage = tuple[int, int, int, int, int]
"""input, output, reasoning within the output, and the input tokens read from and written to the cache"""


def plausible_usage(usage: Usage | None, reply: ParsedReply) -> Usage | None:
    """None if it is impossible: every request has input tokens, and every text has output tokens."""
    if usage is None or not usage[0] or (not usage[1] and (reply.text or reply.thought)):
        return None
    return usage


def priced_answer(
    reply: ParsedReply,
    usage: Usage | None,
    model: object,
    tag: PriceTag | None,
    *,
    batch: bool,
    limits: RateLimits | None,
) -> Answer:
    """The answer with its tokens and its price, if they are known."""
    served = name_of(model)
    if usage is None:
        return Answer(reply.text, 0, 0, None, None, limits, None, reply.finish, served, reply.thought, 0, True)
    prompt, output, reasoning, cached, cache_write = usage
    cost = None if tag is None else tag.cost(prompt, output, batch=batch, cache_read=cached, cache_write=cache_write)
    return Answer(reply.text, prompt, output, cost, None, limits, None, reply.finish, served, reply.thought, reasoning)


def parse_reply(text: str, word: object, *, thought: str = "", tool: bool = False, refusal: str = "") -> ParsedReply:
    """Parses a reply: `text` and `thought` as they came, and `word` is the provider's finish reason."""
    finish = finish_reason(word)
    text, between = split_thought(text)
    thought = "\n\n".join(part for part in (thought.strip(), between) if part)
    if refusal and not text.strip():
        text, finish = refusal, FinishReason.REFUSED
    if not text.strip():
        text = ""
        if finish in (FinishReason.COMPLETE, FinishReason.CUT):
            finish = FinishReason.TOOL if tool else FinishReason.EMPTY
    return ParsedReply(mask(text), mask(thought) or None, finish)


_UNUSABLE_REASONS = {
    FinishReason.FILTERED: "the provider's content filter withheld the reply",
    FinishReason.REFUSED: "the model refused and gave no text",
    FinishReason.TOOL: "the model called a tool that it does not have, and gave no text",
    FinishReason.EMPTY: "the reply is empty",
    FinishReason.ERROR: "the provider ended the reply with an error",
}
ONLY_THOUGHT = "the whole reply was reasoning; raise max_reasoning_tokens, or lower reasoning_effort"


class UnusableReply(ProviderError):
    """A paid reply that is not a usable answer."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        super().__init__(_fault(answer), explain_unusable(answer))

    @property
    def kind(self) -> str:
        return "unusable reply"


def explain_unusable(answer: Answer) -> str:
    """Why a reply is unusable."""
    if _only_thought(answer):
        return ONLY_THOUGHT
    return _UNUSABLE_REASONS.get(answer.finish or FinishReason.EMPTY, _UNUSABLE_REASONS[FinishReason.EMPTY])


def is_retryable(answer: Answer) -> bool:
    """Whether a retry may give an answer."""
    return _fault(answer) is ErrorClass.TRANSIENT


def _fault(answer: Answer) -> ErrorClass:
    again = answer.finish in (FinishReason.EMPTY, FinishReason.COMPLETE) and not _only_thought(answer)
    return ErrorClass.TRANSIENT if again or answer.finish is FinishReason.ERROR else ErrorClass.CLIENT


def _only_thought(answer: Answer) -> bool:
    return answer.finish is FinishReason.EMPTY and bool(answer.thought or answer.reasoning_tokens)
