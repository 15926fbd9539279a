"""An order for a provider batch, and the decisions about it that need no provider: how to cut, what to do with rests."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING

from engine.prices import expected_input
from engine.providers.provider import OrderBounds, OrderResult, OrderSlip

if TYPE_CHECKING:
    from engine.tide import Pending

SMALL_REMAINDER = 10
SMALL_SHARE = 0.02

Address = tuple[int, str]


@dataclass(slots=True, eq=False)
class Order:
    slip: OrderSlip
    provider: str
    addresses: dict[Address, str]
    """the calls that are still open, each with its custom id"""
    wave: int
    surplus: dict[Address, str] = field(default_factory=dict)
    """calls that were answered another way: what comes for them is paid for, recorded, and not used"""
    attempt: int = 1
    remote_id: str | None = None
    reserved: float = 0.0
    """what it may cost in all, as its row says"""
    held: float = 0.0
    """reserved before a restart: given back when the order closes, since no story holds it"""
    waiting: "dict[Address, Pending]" = field(default_factory=dict)
    """the parked stories by what they wait for; after a restart they come one by one"""
    results: dict[str, OrderResult] | None = None
    """set when the provider is done: by custom id"""
    started: float = field(default_factory=time.monotonic)

    @property
    def can_settle(self) -> bool:
        """The provider is done, and whoever waits for it has come."""
        return self.results is not None and len(self.waiting) == len(self.addresses)


def custom_id(key: bytes) -> str:
    return key.hex()


def address_of(pending: "Pending") -> Address:
    return pending.unit.number, pending.call.step


def content_hash(pendings: "Sequence[Pending]") -> str:
    digest = blake2b(digest_size=16)
    for pending in pendings:
        digest.update(pending.key)
    return digest.hexdigest()


def order_id(batch_id: str, content: str, attempt: int) -> str:
    """The same order of the same batch has the same id, whoever makes it and however often."""
    return blake2b(f"{batch_id}/{content}/{attempt}".encode(), digest_size=12).hexdigest()


def is_small(remainder: int, ordered: int) -> bool:
    """A small remainder goes live; a large one is worth an order of its own."""
    return remainder <= max(SMALL_REMAINDER, int(ordered * SMALL_SHARE))


def split(pendings: "Sequence[Pending]", batch_size: int, bounds: OrderBounds) -> "list[list[Pending]]":
    """Cuts a wave into orders within the provider's bounds, in the order in which the calls were asked."""
    orders: list[list[Pending]] = []
    size = tokens = 0
    for pending in pendings:
        call = pending.call
        call_bytes = 400 + 2 * (len(call.system) + sum(len(message.text) + 40 for message in call.messages))
        call_tokens = expected_input(call) + call.max_tokens
        full = not orders or len(orders[-1]) >= min(batch_size, bounds.max_calls)
        full = full or size + call_bytes > bounds.max_bytes
        full = full or bool(bounds.max_tokens and tokens + call_tokens > bounds.max_tokens)
        if full:
            orders.append([])
            size = tokens = 0
        orders[-1].append(pending)
        size += call_bytes
        tokens += call_tokens
    return orders
