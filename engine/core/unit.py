"""A unit of a batch: its plan, its own view of the engine, and what it came to.

A story that waits for a provider batch may be let go, and told again when its answer is there: it asks the same under the
same addresses, and what was answered before is handed back to it by step, without building the question anew.
"""

import sqlite3
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from random import Random
from sys import intern
from typing import Any

from tidepool.engine.call import Call, Reply, seed_of, stream
from tidepool.engine.core.context import RunContext
from tidepool.engine.errors import CallFailed, RunError
from tidepool.storage.ledger import Ledger, Remembered
from tidepool.storage.states import Source, UnitStatus

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
    together: int = 0
    """how many units go at its pace, where some wait for others; 0: all of the study"""


@dataclass(frozen=True, slots=True)
class UnitResult:
    """What a unit came to: the value its story returned, or the error that ended it."""

    value: Any = None
    error: str | None = None


_REPLAY = Source.REPLAY.value
_IN_PROGRESS = UnitStatus.IN_PROGRESS.value
_NOTHING: dict[str, sqlite3.Row] = {}
"""shared by the units that remember nothing: a hundred thousand empty dictionaries are not nothing"""


class StoryLetGo(BaseException):
    """Ends a story that waits for a provider batch. It is no failure, so nothing that heals failures may catch it."""


class Unit:
    """A unit's own view of the engine: it asks, draws from its own random stream, and keeps what it finds."""

    __slots__ = ("_ask", "_asked", "_context", "_remembered", "asking", "number", "settled", "together", "told_again")

    def __init__(
        self,
        context: RunContext,
        ask: "Ask",
        number: int,
        remembered: Remembered | None,
        together: int = 0,
        *,
        told_again: bool = False,
    ) -> None:
        self.number = number
        self.together = together
        self.told_again = told_again
        """this run has told its story before, as far as it remembers"""
        self.asking = 0
        """questions of it that are under way"""
        self.settled = remembered is not None and remembered.status != _IN_PROGRESS
        """its end is in the file already: this run only replays it"""
        self._context = context
        self._ask = ask
        self._remembered: dict[str, sqlite3.Row] = remembered.entries if remembered else _NOTHING
        self._asked: list[str] | set[str] = []

    def ask(self, call: Call) -> Coroutine[Any, Any, Reply]:
        return self._tell(call.step) if self.has_told(call.step) else self._ask(self, call)

    def told(self, step: str) -> Reply | None:
        """What was answered before, for a story that is told again: where it is there, nothing is asked nor even built."""
        if not self.told_again or (row := self._remembered.get(step)) is None:
            return None
        _, _, text, error, finish_reason, served_model = row
        if error is not None:
            raise CallFailed(error)
        return Reply(text, 0, 0, 0.0, 0.0, _REPLAY, None, finish_reason, served_model)

    async def _tell(self, step: str) -> Reply:
        reply = self.told(step)
        assert reply is not None
        return reply

    def has_told(self, step: str) -> bool:
        """Whether this run has seen the answer to this step before, so that what follows from it is written already."""
        return self.told_again and step in self._remembered

    def ask_through(self, ask: "Ask") -> None:
        """From now on its questions come to this first: a branch answers some of them itself."""
        self._ask = ask

    def stream(self, *address: object) -> Random:
        return stream(self._context.seed, self.number, *address)

    @property
    def ledger(self) -> Ledger:
        return self._context.ledger

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

    def contradicts(self, call: Call) -> bool:
        """Whether the ledger has another call under this one's address, so that asking it stops the run."""
        row = self._remembered.get(call.step)
        return row is not None and row["key"] != call.key(seed_of(self._context.seed, self.number, call.step))

    def recall(self, step: str) -> sqlite3.Row | None:
        return self._remembered.pop(step, None)


Ask = Callable[[Unit, Call], Coroutine[Any, Any, Reply]]
"""how a unit's questions are answered"""
