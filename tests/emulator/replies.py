"""What the emulated models say: a short text, or a vector, that depends only on what was asked."""

import json
from array import array
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from math import sqrt
from typing import Any

Answer = Callable[[dict[str, Any]], str]
"""request as sent to the provider → the text of the reply"""

_OPENERS = "I see your point|That is a fair question|Let me think aloud|Honestly|As I remember it|Perhaps".split("|")
_MIDDLES = (
    "the harbour was quiet|we could trade a little|I would rather wait|there is more to it|numbers help here".split("|")
)
_CLOSERS = (
    "what do you make of it?|and I stand by that.|though I may be wrong.|so let us go on.|the answer is {n}.".split("|")
)
_SPOKEN = "model seed temperature max_tokens max_completion_tokens num_predict input dimensions".split()


@dataclass(frozen=True, slots=True)
class Text:
    """A reply, cut to the length asked for."""

    text: str
    tokens: int
    cut: bool


def plain(content: Any) -> str:
    """The text of a message's content, which is a string or a list of blocks."""
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text", "") for block in content or ())


def content_hash(request: Mapping[str, Any]) -> str:
    """What was asked, the same for a live call and for a line in a batch, with or without cache marks."""
    said = [(message["role"], plain(message.get("content"))) for message in request.get("messages", ())]
    options = request.get("options") or {}
    settings = [request.get(name, options.get(name)) for name in _SPOKEN]
    asked = json.dumps((plain(request.get("system", "")), said, settings))
    return blake2b(asked.encode(), digest_size=16).hexdigest()


def tokens_of(text: str) -> int:
    return len(text) // 4 + 1


def input_tokens(request: Mapping[str, Any]) -> int:
    system = plain(request.get("system", ""))
    spoken = sum(tokens_of(plain(message.get("content"))) + 3 for message in request.get("messages", ()))
    return spoken + (tokens_of(system) if system else 0)


def default_answer(request: dict[str, Any]) -> str:
    lot = int(content_hash(request)[:12], 16)
    opener, middle = _OPENERS[lot % 6], _MIDDLES[lot // 6 % 5]
    return f"{opener}: {middle}, {_CLOSERS[lot // 30 % 5].format(n=lot // 150 % 100)}"


def written(answer: Answer, request: dict[str, Any], most: int) -> Text:
    """The answer within `most` tokens (0 = any number)."""
    text = answer(request)
    tokens = tokens_of(text)
    if not most or tokens <= most:
        return Text(text, tokens, False)
    return Text(text[: most * 4 - 1], most, True)


def vector(text: str, dimensions: int) -> list[float]:
    """A unit vector by the words of the text: texts that share words are near each other."""
    numbers = [0.0] * dimensions
    for word in text.lower().split() or [""]:
        digest = blake2b(word.encode(), digest_size=32).digest()
        for at in range(0, 32, 4):
            place = int.from_bytes(digest[at : at + 4], "big")
            numbers[(place >> 1) % dimensions] += 1.0 if place & 1 else -1.0
    length = sqrt(sum(number * number for number in numbers)) or 1.0
    return [number / length for number in numbers]


def packed(numbers: list[float]) -> str:
    """Little-endian float32 in base64, which is what the openai SDK asks for when it can."""
    return b64encode(array("f", numbers).tobytes()).decode()


class PromptCache:
    """Which long prefixes were sent before: they are read from the provider's cache and cost less."""

    def __init__(self, least: int = 1024) -> None:
        self._least = least
        self._known: set[str] = set()

    def look(self, model: str, prefix: str) -> tuple[int, int]:
        """Tokens of the prefix (read, written); a short prefix is neither."""
        tokens = tokens_of(prefix)
        if tokens < self._least:
            return 0, 0
        key = blake2b(f"{model}\x1f{prefix}".encode(), digest_size=16).hexdigest()
        if key in self._known:
            return tokens, 0
        self._known.add(key)
        return 0, tokens
