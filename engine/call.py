"""A call and its reply: what crosses the border between stories, the engine and the providers."""

from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple


@lru_cache(maxsize=20_000)
def prompt_hash(text: str) -> bytes:
    """Names a system prompt: many calls share one, so it is hashed, and stored, once."""
    return sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


class Message(NamedTuple):
    role: str
    """user or assistant, from the speaker's own point of view"""
    text: str


class Call(NamedTuple):
    """One question to one model, with its step in the unit that asks: together they are its address in the batch.

    A step is a domain name such as `t3` or `t3/judge`, never a counter: parallel calls arrive in any order.
    """

    step: str
    wave: int
    model: str
    """PROVIDER:MODEL"""
    messages: tuple[Message, ...]
    system: str = ""
    temperature: float | None = None
    max_tokens: int = 300
    speaker: str | None = None
    """set, with `turn`, when the reply is a message shown to somebody"""
    turn: int | None = None
    operation: str = "chat"
    """chat, or embed: then each message is one text, and the reply's text holds their vectors (`tidepool.engine.vectors`)"""
    reasoning_effort: str = ""
    """how much a reasoning model thinks before it speaks; empty: as much as it likes"""
    max_reasoning_tokens: int = 0
    """room for that, beside `max_tokens`"""
    form: str = ""
    """the shape its reply is to have (`tidepool.engine.answer_forms`), where the model can be held to one"""
    scale: tuple[float, float] | None = None
    """the lowest and the highest rating that a reply of the form `rating` may give"""

    @property
    def most_output(self) -> int:
        """Tokens that a reply can have, its reasoning included."""
        return self.max_tokens + self.max_reasoning_tokens

    @property
    def provider(self) -> str:
        return self.model.partition(":")[0]

    @property
    def model_name(self) -> str:
        return self.model.partition(":")[2]

    def key(self, seed: int) -> bytes:
        """What was asked, and which sample of it: proof on replay, index of the cache, id at a provider."""
        head = f"{self.operation} {self.model} {self.temperature} {self.max_tokens} {seed}"
        if self.reasoning_effort or self.max_reasoning_tokens:
            head += f" {self.reasoning_effort} {self.max_reasoning_tokens}"
        parts = [head]
        for message in self.messages:
            parts += message
        lengths = ",".join([str(len(part)) for part in parts])
        content = "\x1f".join((lengths, *parts)).encode("utf-8", "surrogatepass")
        return sha256(prompt_hash(self.system) + content).digest()[:16]


class Reply(NamedTuple):
    text: str
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0
    """None: the price is unknown"""
    seconds: float = 0.0
    source: str = "live"
    """live, batch or cache"""
    truth: str | None = None
    """what the simulated provider planted, kept out of band: no story reads it"""
    finish_reason: str | None = None
    """why it ended; None: it was answered before that was recorded"""
    served_model: str | None = None
