"""What was paid for, or may have been, and is no call's answer: late, repeated, unusable or cut off.

A live call is written here before it leaves and taken out when its row is written, so that a process that dies leaves
a list of what it may have bought. Such rows have numbers of their own, below zero and falling: SQLite numbers all other
rows upwards from the highest there is, so the two never meet.
"""

import time
from dataclasses import dataclass
from itertools import count
from random import SystemRandom

from sqlalchemy import bindparam
from sqlmodel import col, delete

from tidepool.storage import tables
from tidepool.storage.ledger import Ledger
from tidepool.storage.sql import compile_statement, insert_into

_COLUMNS = (
    *("batch_number", "order_id", "unit_id", "step", "text"),
    *("input_tokens", "output_tokens", "cost_usd", "at", "reason"),
)
_ADD = insert_into(tables.Surplus, *_COLUMNS)
_LEAVING = insert_into(tables.Surplus, "id", *_COLUMNS)
_ARRIVED = compile_statement(delete(tables.Surplus).where(col(tables.Surplus.id) == bindparam("id")), rank=1)


@dataclass(frozen=True, slots=True)
class Surplus:
    """A reply that nobody used, or an attempt that may have been charged."""

    order_id: str
    """the provider batch that brought it; of a live call its provider"""
    address: tuple[int, str]
    """of the call: its unit's id and the step"""
    text: str
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    reason: str | None = None
    """None: it came too late"""


class SurplusBook:
    """The surplus of one batch in the file."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._numbers = count(-SystemRandom().randrange(2**61, 2**62), -1)

    def add(self, surplus: Surplus, *, usage_missing: bool = False) -> None:
        self._ledger.writer.put(_ADD, self._row(surplus))
        figures = (surplus.input_tokens, surplus.output_tokens, surplus.cost_usd)
        self._ledger.tally.bought_in_vain(*figures, unusable=surplus.reason is not None, usage_missing=usage_missing)

    def leaving(self, surplus: Surplus) -> int:
        """A live call is about to leave; the number is what `arrived` takes."""
        number = next(self._numbers)
        self._ledger.writer.outside += 1
        self._ledger.writer.put(_LEAVING, (number, *self._row(surplus)))
        return number

    def arrived(self, number: int) -> None:
        self._ledger.writer.outside -= 1
        self._ledger.writer.put(_ARRIVED, (number,))

    def _row(self, surplus: Surplus) -> tuple[object, ...]:
        unit, step = surplus.address
        return (
            self._ledger.batch_number,
            surplus.order_id,
            unit,
            step,
            surplus.text,
            surplus.input_tokens,
            surplus.output_tokens,
            surplus.cost_usd,
            time.time(),
            surplus.reason,
        )
