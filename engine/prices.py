"""What calls cost: resolved once for each model, used for plans, reservations and bills alike."""

from collections.abc import Callable
from dataclasses import dataclass, field

from tidepool.engine.call import Call

TOKENS_PER_MESSAGE = 8


Exact = Callable[[int, int, int, int, bool], float]
"""(input tokens, output tokens, of the input read from and written to the cache, in a batch) → dollars"""

LONG_CONTEXT = 100_000
"""input tokens above which providers may charge more: there the price is looked up, not multiplied"""


@dataclass(frozen=True, slots=True)
class PriceTag:
    """Dollars for one token."""

    input: float
    output: float
    batch_factor: float = 0.5
    cache_read: float | None = None
    """for an input token read from the provider's prompt cache; None: like any other"""
    cache_write: float | None = None
    batch: "PriceTag | None" = None
    """the rates of the batch API, where they are more than a factor"""
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
    """About as many tokens as a text of this length has: for plans and paces."""
    return (len(text) + 3) // 4


def most_tokens(text: str) -> int:
    """No fewer tokens than a text can have: for reservations, which must never be too small."""
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
    """All of the input may have to be written to the provider's prompt cache, which can cost more."""
    written = input_tokens if tag.cache_write is not None and tag.cache_write > tag.input else 0
    return tag.cost(input_tokens, output_tokens, batch=batch, cache_write=written)
