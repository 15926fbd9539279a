"""A call that waits for its answer: to be bought live, or gathered with others until its wave leaves."""

import asyncio
from dataclasses import dataclass, field
from typing import Protocol

from tidepool.engine.call import Call, Reply
from tidepool.storage.purchases import Address
from tidepool.storage.states import sequence_number_of


@dataclass(slots=True)
class Pending:
    """A call that was asked and is not answered yet."""

    unit_id: int
    """of the unit that asks, whichever batch of the run it belongs to"""
    call: Call
    key: bytes
    seed: int
    asked_at: float
    reserved: float = 0.0
    """what the budget holds for it"""
    under_way: int = 0
    """the number under which the file knows that it left; 0: it did not"""

    @property
    def unit_number(self) -> int:
        return sequence_number_of(self.unit_id)

    @property
    def address(self) -> Address:
        return self.unit_id, self.call.step


class Asker(Protocol):
    asking: int
    """questions of it that are under way"""


@dataclass(slots=True)
class Gathered(Pending):
    """A pending call whose story is parked until a provider batch answers it."""

    future: "asyncio.Future[Reply | None]" = field(kw_only=True)
    """its reply; None: its story is to buy it live"""
    unit: Asker = field(kw_only=True)
    """whose story it is"""
