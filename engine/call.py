"""Calls to models: the request, the reply, its price, its random seed, and vectors as text.

Random streams are hash(batch seed, address), so no draw depends on the order of units. Embeddings are stored as the text of a reply: unit
vectors in half precision and base64, a quarter of the size of decimal numbers. A price is looked up once per model, and used for plans,
reservations and bills.
"""

import base64
import binascii
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b, sha256
from random import Random
from typing import TYPE_CHECKING, NamedTuple


def seed_of(seed: int, *address: object) -> int:
    """A 63-bit number for this address of a batch with this seed, the same on every machine."""
    text = "\x1f".join((str(seed), *map(str, address)))
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


def stream(seed: int, *address: object) -> Random:
    return Random(seed_of(seed, *address))


@lru_cache(maxsize=20_000)
def prompt_hash(text: str) -> bytes:
    """The hash of a system prompt. Many calls share a prompt, so it is hashed and stored once."""
    return sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


class Message(NamedTuple):
    role: str
    """user or assistant, from the speaker's own point of view"""
    text: str


class Call(NamedTuple):
    """One request to one model, with its step in the unit: together they are its address in the batch.

    A step is a domain name such as `t3` or `t3/judge`, never a counter, since parallel calls arrive in any order.
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
    """set, with `turn`, if the reply is a message that others see"""
    turn: int | None = None
    operation: str = "chat"
    """chat or embed; for embed, each message is one text, and the reply's text has their vectors (`packed_vectors`)"""
    reasoning_effort: str = ""
    """how much a reasoning model reasons before it answers; empty: the model decides"""
    max_reasoning_tokens: int = 0
    """tokens for reasoning, in addition to `max_tokens`"""
    form: str = ""
    """the form of its reply (`tidepool.engine.answer_forms`) or a JSON schema, for models that support one"""
    scale: tuple[float, float] | None = None
    """the lowest and the highest rating in a reply of the form `rating`"""

    @property
    def most_output(self) -> int:
        """Maximum tokens of a reply, its reasoning included."""
        return self.max_tokens + self.max_reasoning_tokens

    @property
    def form_name(self) -> str:
        """The name of its form; a JSON schema is an answer."""
        return "answer" if self.form.startswith("{") else self.form

    @property
    def provider(self) -> str:
        return self.model.partition(":")[0]

    @property
    def model_name(self) -> str:
        return self.model.partition(":")[2]

    def key(self, seed: int) -> bytes:
        """The hash of the request and of its sample: proof on replay, index of the cache, id at a provider."""
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
    finish_reason: str | None = None
    """why it ended; None: it is older than this column"""
    served_model: str | None = None


if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

HEAD = "float16"


def packed_vectors(vectors: "Sequence[Sequence[float]]") -> str:
    """Vectors as text. Rows that are not vectors of one length give an empty text, which no code reads as vectors."""
    import numpy as np

    try:
        rows = np.asarray(vectors, dtype=np.float64)
    except (ValueError, TypeError):
        return ""
    if rows.ndim != 2:
        return ""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    halves = (rows / np.where(norms > 0, norms, 1.0)).astype("<f2")
    return f"{HEAD} {halves.shape[1]} {base64.b64encode(halves.tobytes()).decode()}"


def unpacked_vectors(text: str) -> "NDArray[np.float64] | None":
    """The vectors, or None if the text has none."""
    import numpy as np

    head, _, rest = text.partition(" ")
    size, _, content = rest.partition(" ")
    if head != HEAD or not size.isdecimal() or int(size) == 0:
        return None
    try:
        halves = np.frombuffer(base64.b64decode(content, validate=True), dtype="<f2")
        return halves.reshape(-1, int(size)).astype(np.float64)
    except (binascii.Error, ValueError):
        return None


TOKENS_PER_MESSAGE = 8


Exact = Callable[[int, int, int, int, bool], float]
"""(input tokens, output tokens, input tokens read from and written to the cache, in a batch) → dollars"""

LONG_CONTEXT = 100_000
"""input tokens above which providers may charge more; there, the price is looked up instead of multiplied"""


@dataclass(frozen=True, slots=True)
class PriceTag:
    """Dollars per token."""

    input: float
    output: float
    batch_factor: float = 0.5
    cache_read: float | None = None
    """for an input token read from the provider's prompt cache; None: like any other"""
    cache_write: float | None = None
    batch: "PriceTag | None" = None
    """the rates of the batch API, if they are more than a factor"""
    exactly: Exact | None = field(default=None, compare=False)

    def cost(
        self,
        input_tokens: int,
        output_tokens: int,
        *,
        batch: bool = False,
        cache_read: int = 0,
        cache_write: int = 0,
    ) -> float:
        """`cache_read` and `cache_write` are parts of `input_tokens`."""
        if self.exactly is not None and input_tokens > LONG_CONTEXT:
            return self.exactly(input_tokens, output_tokens, cache_read, cache_write, batch)
        if batch and self.batch is not None:
            return self.batch.cost(input_tokens, output_tokens, cache_read=cache_read, cache_write=cache_write)
        cost = input_tokens * self.input + output_tokens * self.output
        if cache_read and self.cache_read is not None:
            cost += cache_read * (self.cache_read - self.input)
        if cache_write and self.cache_write is not None:
            cost += cache_write * (self.cache_write - self.input)
        return cost * (self.batch_factor if batch else 1.0)


FREE = PriceTag(0.0, 0.0)


def expected_tokens(text: str) -> int:
    """The approximate tokens of a text of this length, for plans and rate limits."""
    return (len(text) + 3) // 4


def most_tokens(text: str) -> int:
    """An upper bound of the tokens of a text, for reservations, which must never be too small."""
    if text.isascii():
        return len(text) // 2 + 1
    return len(text.encode("utf-8", "surrogatepass"))


def expected_input(call: Call) -> int:
    tokens = (len(call.system) + 3) // 4
    for message in call.messages:
        tokens += (len(message.text) + 3) // 4 + TOKENS_PER_MESSAGE
    return tokens


def most_input(call: Call) -> int:
    return most_tokens(call.system) + sum(most_tokens(message.text) + TOKENS_PER_MESSAGE for message in call.messages)


def worst_cost(call: Call, tag: PriceTag, *, batch: bool = False) -> float:
    return worst_price(tag, most_input(call), call.most_output, batch=batch)


def worst_price(tag: PriceTag, input_tokens: int, output_tokens: int, *, batch: bool = False) -> float:
    """Assumes that all of the input is written to the provider's prompt cache, which can cost more."""
    written = input_tokens if tag.cache_write is not None and tag.cache_write > tag.input else 0
    return tag.cost(input_tokens, output_tokens, batch=batch, cache_write=written)
