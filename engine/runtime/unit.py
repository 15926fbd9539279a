"""A unit of a batch: its plan, its interface to the engine, and its pending calls."""

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
from tidepool.storage.tables import Measure


@dataclass(slots=True)
class PendingCall:
    """A call that is not answered yet."""

    unit_id: int
    """the unit that asks, in whichever batch of the run"""
    call: Call
    key: bytes
    seed: int
    asked_at: float
    reserved: float = 0.0
    """the amount that the budget reserves for it"""
    in_flight_id: int = 0
    """its number in the file's list of calls in flight; 0: it was not sent"""

    @property
    def unit_number(self) -> int:
        return sequence_number_of(self.unit_id)

    @property
    def address(self) -> Address:
        return self.unit_id, self.call.step


@dataclass(slots=True)
class CollectedCall(PendingCall):
    """A pending call whose unit is parked until a provider batch answers it."""

    future: "asyncio.Future[Reply | None]" = field(kw_only=True)
    """its reply; None: the unit has to send it live"""


@dataclass(frozen=True, slots=True)
class UnitPlan:
    """A unit to run: its coroutine, and the columns of its row."""

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
    """number of units with the same timing, if some wait for others; 0: all units of the study"""


@dataclass(frozen=True, slots=True)
class UnitResult:
    """The result of a unit: the value that its coroutine returned, or the error that ended it."""

    value: Any = None
    error: str | None = None


_IN_PROGRESS = UnitStatus.IN_PROGRESS.value
_NOTHING: dict[str, sqlite3.Row] = {}
"""shared by units without stored answers, since a hundred thousand empty dictionaries take memory"""


class Unit:
    """A unit's interface to the engine: it asks, has its own random stream, and records measures."""

    rehearsed = False

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
        """its end is already in the file, so this run only replays it"""
        self.measured = 0
        """number of measured values"""
        self._context = context
        self._ask = ask
        self._remembered: dict[str, sqlite3.Row] = remembered.entries if remembered else _NOTHING
        self._steps: set[str] = set()

    def ask(self, call: Call) -> Coroutine[Any, Any, Reply]:
        return self._ask(self, call)

    def ask_through(self, ask: "Ask") -> None:
        """Sends the unit's calls through another function from now on: a branch answers some of them itself."""
        self._ask = ask

    def measure(self, name: str, value: float | None, of: str | None = None, cluster: str | None = None) -> None:
        """Stores a measured value of one participant, or of the unit as a whole. None: it could not be measured.

        Values with the same cluster are not independent.
        """
        if not self.settled:
            values = {"measure": name, "participant": of, "value": value, "cluster": cluster}
            self.ledger.put(Measure, self.number, position=self.measured, **values)
        self.measured += 1

    def stream(self, *address: object) -> Random:
        return stream(self._context.seed, self.number, *address)

    @property
    def ledger(self) -> Ledger:
        return self._context.ledger

    def claim_step(self, step: str) -> None:
        if step in self._steps:
            raise RunError(
                f"Unit {self.number} used the address {step!r} for two requests. This is a bug in the study; please report it."
            )
        self._steps.add(step)

    def remembers(self, step: str) -> bool:
        """Whether the ledger has this step, so that asking it is a replay."""
        return step in self._remembered

    def recall(self, step: str) -> sqlite3.Row | None:
        return self._remembered.pop(step, None)


Ask = Callable[[Unit, Call], Coroutine[Any, Any, Reply]]
"""answers a unit's calls"""
