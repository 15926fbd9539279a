"""A unit of a batch: its plan, its view of the engine, and its pending calls."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tidepool.engine.call import Call, Reply, stream
from tidepool.engine.errors import RunError
from tidepool.engine.runtime.context import RunContext
from tidepool.storage.ledger import Ledger, Remembered
from tidepool.storage.purchases import Address
from tidepool.storage.states import UnitStatus, sequence_number_of


@dataclass(slots=True)
class PendingCall:
    """A call that was asked and is not answered yet."""

    unit_id: int
    """of the unit that asks, whichever batch of the run it belongs to"""
    call: Call
    key: bytes
    seed: int
    asked_at: float
    reserved: float = 0.0
    """what the budget holds for it"""
    in_flight_id: int = 0
    """the number under which the file knows that it left; 0: it did not"""

    @property
    def unit_number(self) -> int:
        return sequence_number_of(self.unit_id)

    @property
    def address(self) -> Address:
        return self.unit_id, self.call.step


@dataclass(slots=True)
class CollectedCall(PendingCall):
    """A pending call whose story is parked until a provider batch answers it."""

    future: "asyncio.Future[Reply | None]" = field(kw_only=True)
    """its reply; None: its story is to buy it live"""


@dataclass(frozen=True, slots=True)
class UnitPlan:
    """A unit to run: its story, and what the file says about it."""

    sequence_number: int
    story: "Callable[[Unit], Awaitable[Any]]"
    participants: Sequence[str] = ()
    game: int | None = None
    round: int | None = None
    interaction_type: str | None = None
    details: str | None = None
    awaited: bool = False
    """another unit, or the study, reads its result"""
    together: int = 0
    """how many units go at its pace, where some wait for others; 0: all of the study"""


@dataclass(frozen=True, slots=True)
class UnitResult:
    """What a unit came to: the value its story returned, or the error that ended it."""

    value: Any = None
    error: str | None = None


_IN_PROGRESS = UnitStatus.IN_PROGRESS.value
_NOTHING: dict[str, sqlite3.Row] = {}
"""shared by the units that remember nothing: a hundred thousand empty dictionaries are not nothing"""


class Unit:
    """A unit's own view of the engine: it asks, draws from its own random stream, and keeps what it finds."""

    __slots__ = (
        "_ask",
        "_context",
        "_remembered",
        "_steps",
        "measured",
        "number",
        "settled",
        "together",
    )

    def __init__(
        self,
        context: RunContext,
        ask: "Ask",
        number: int,
        remembered: Remembered | None,
        together: int = 0,
    ) -> None:
        self.number = number
        self.together = together
        self.settled = remembered is not None and remembered.status != _IN_PROGRESS
        """its end is in the file already: this run only replays it"""
        self.measured = 0
        """values that it has measured"""
        self._context = context
        self._ask = ask
        self._remembered: dict[str, sqlite3.Row] = remembered.entries if remembered else _NOTHING
        self._steps: set[str] = set()

    def ask(self, call: Call) -> Coroutine[Any, Any, Reply]:
        return self._ask(self, call)

    def ask_through(self, ask: "Ask") -> None:
        """From now on its questions come to this first: a branch answers some of them itself."""
        self._ask = ask

    def measure(self, name: str, value: float | None, of: str | None = None, cluster: str | None = None) -> None:
        """Keeps what was measured, of one participant or of the unit as a whole. None: it could not be measured.

        Values with the same cluster are not independent of one another.
        """
        if not self.settled:
            values = {"measure": name, "participant": of, "value": value, "cluster": cluster}
            self.ledger.put_measure(self.number, self.measured, values)
        self.measured += 1

    def stream(self, *address: object) -> Random:
        return stream(self._context.seed, self.number, *address)

    @property
    def ledger(self) -> Ledger:
        return self._context.ledger

    def claim_step(self, step: str) -> None:
        if step in self._steps:
            raise RunError(f"Unit {self.number} asked twice under the address {step!r}: this is a bug in the study.")
        self._steps.add(step)

    def remembers(self, step: str) -> bool:
        """Whether the ledger has this step, so that asking it is a replay."""
        return step in self._remembered

    def recall(self, step: str) -> sqlite3.Row | None:
        return self._remembered.pop(step, None)


Ask = Callable[[Unit, Call], Coroutine[Any, Any, Reply]]
"""how a unit's questions are answered"""
