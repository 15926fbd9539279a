"""What calls cost: resolved once for each model, used for plans, reservations and bills alike."""

from dataclasses import dataclass

from engine.call import Call

TOKENS_PER_MESSAGE = 8


@dataclass(frozen=True, slots=True)
class PriceTag:
    """Dollars for one token."""

    input: float
    output: float
    batch_factor: float = 0.5

    def cost(self, input_tokens: int, output_tokens: int, *, batch: bool = False) -> float:
        return (input_tokens * self.input + output_tokens * self.output) * (self.batch_factor if batch else 1.0)


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


def worst_cost(call: Call, tag: PriceTag, *, batch: bool = False) -> float:
    tokens = most_tokens(call.system) + sum(most_tokens(message.text) + TOKENS_PER_MESSAGE for message in call.messages)
    return tag.cost(tokens, call.max_tokens, batch=batch)
