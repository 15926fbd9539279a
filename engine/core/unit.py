"""A unit of a batch: its plan, its own view of the engine, what it came to, and a call of it that waits to be bought."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from random import Random
from sys import intern
from typing import TYPE_CHECKING, Any

from tidepool.engine.call import Call, Reply
from tidepool.engine.errors import RunError
from tidepool.engine.streams import stream
from tidepool.storage.ledger import Ledger, Remembered

if TYPE_CHECKING:
    from tidepool.engine.core.batch_run import BatchRun

FEW_STEPS = 16
"""most units ask no more than this, and a short list takes a fifth of the memory of a set"""


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


@dataclass(frozen=True, slots=True)
class UnitResult:
    """What a unit came to: the value its story returned, or the error that ended it."""

    value: Any = None
    error: str | None = None


@dataclass(slots=True)
class Pending:
    """A call that waits to be bought, and the parked story that waits for it."""

    unit: "Unit"
    call: Call
    key: bytes
    seed: int
    asked_at: float
    future: "asyncio.Future[Reply | None]"
    """its reply; None: its story is to buy it live"""
    reserved: float = 0.0


_NOTHING: dict[str, sqlite3.Row] = {}
"""shared by the units that remember nothing: a hundred thousand empty dictionaries are not nothing"""


class Unit:
    """A unit's own view of the engine: it asks, draws from its own random stream, and keeps what it finds."""

    __slots__ = ("_asked", "_remembered", "_run", "number", "settled")

    def __init__(self, run: "BatchRun", number: int, remembered: Remembered | None) -> None:
        self.number = number
        self.settled = remembered is not None and remembered.status in ("completed", "failed")
        """its end is in the file already: this run only replays it"""
        self._run = run
        self._remembered: dict[str, sqlite3.Row] = remembered.entries if remembered else _NOTHING
        self._asked: list[str] | set[str] = []

    def ask(self, call: Call) -> Coroutine[Any, Any, Reply]:
        return self._run.ask(self, call)

    def stream(self, *address: object) -> Random:
        return stream(self._run.seed, self.number, *address)

    @property
    def ledger(self) -> Ledger:
        return self._run.ledger

    def take_address(self, step: str) -> None:
        asked = self._asked
        if step in asked:
            raise RunError(f"Unit {self.number} asked twice under the address {step!r}: this is a bug in the study.")
        if isinstance(asked, set):
            asked.add(step)
        elif len(asked) < FEW_STEPS:
            asked.append(intern(step))
        else:
            self._asked = {*asked, step}

    def remembers(self, step: str) -> bool:
        """Whether the ledger has this step, so that asking it is a replay."""
        return step in self._remembered

    def recall(self, step: str) -> sqlite3.Row | None:
        return self._remembered.pop(step, None)
