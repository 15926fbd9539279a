"""What a hostile case came to: as the command said it, as the file holds it, as the server's own books have it."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.emulator.books import Purchase

SECRETS = ("marigold", "lantern")
"""what the agents keep; the emulator's thoughts hold both, its answers neither"""
MILLION = 1_000_000
PRICES = {"openai": (0.15, 0.60), "anthropic": (0.10, 0.50), "ollama": (0.0, 0.0)}
"""dollars for a million tokens of the models that are asked, input and output"""
DEAREST = 0.01
"""dollars that no single call of these studies can cost: 300 tokens of reply, a prompt of a page"""


@dataclass(slots=True)
class Seen:
    provider: str
    alike: bool
    """no seed is sent, so that questions cannot be told apart: the calls of the study are counted in their place"""
    code: int | None
    """None: it had to be ended"""
    summary: dict[str, Any] | None
    stderr: str
    log: list[str]
    messages: list[dict[str, Any]]
    units: list[dict[str, Any]]
    outcomes: list[dict[str, Any]]
    purchases: list[Purchase]
    traffic: Counter[str]
    words: tuple[str, ...]
    """the oddities that the server was to show"""
    strayed: list[Mapping[str, str]]
    leaks: list[str]
    seconds: float
    wrongs: list[str] = field(default_factory=list)

    @property
    def hung(self) -> bool:
        return self.code is None

    @property
    def status(self) -> str:
        return str(self.summary["status"]) if self.summary else ""

    @property
    def reason(self) -> str:
        told = (self.summary or {}).get("reason") or self.stderr[-300:]
        return str(told).replace("\n", " ")

    def tells(self, pattern: str) -> bool:
        return any(re.search(pattern, text, re.IGNORECASE) for text in (*self.log, self.stderr, *self.errors))

    @property
    def errors(self) -> list[str]:
        return [unit["error"] for unit in self.units if unit["error"]]

    @property
    def first_error(self) -> str:
        return next(iter(self.errors), "")

    # findings

    @property
    def missing(self) -> int:
        return sum(unit["status"] != "completed" for unit in self.units)

    @property
    def kept(self) -> float:
        return 1 - self.missing / len(self.units) if self.units else 0.0

    @property
    def revealed(self) -> int:
        return sum(bool(side["revealed"]) for side in self.outcomes)

    @property
    def blank(self) -> int:
        return sum(not (message["content"] or "").strip() for message in self.messages)

    @property
    def betraying(self) -> int:
        return sum(any(secret in (message["content"] or "") for secret in SECRETS) for message in self.messages)

    # books

    @property
    def struck(self) -> int:
        """How often the server was odd."""
        return sum(count for name, count in self.traffic.items() if name.partition(":")[2] in self.words)

    @property
    def sold(self) -> int:
        return len(self.purchases)

    @property
    def bought(self) -> int:
        return int(self.summary["calls"]["bought"]) if self.summary else 0

    @property
    def cost(self) -> float | None:
        return self.summary["cost_usd"] if self.summary else None

    @property
    def ratio(self) -> float:
        """Purchases ÷ questions, by the server's books."""
        asked = len({(purchase.model, purchase.content) for purchase in self.purchases})
        if self.alike and self.summary:
            asked = self.summary["calls"]["total"]
        return self.sold / asked if asked else 1.0

    @property
    def charged(self) -> float:
        """What the server would charge, by the tokens it has counted itself."""
        price_in, price_out = PRICES[self.provider]
        return sum(
            (price_in * one.input_tokens + price_out * one.output_tokens)
            / MILLION
            * (0.5 if one.transport == "batch" else 1.0)
            for one in self.purchases
        )

    @property
    def dearest(self) -> float:
        return DEAREST * max(1, self.bought)
