"""The measures of a batch as the statistics of a design see them, independent of the kind.

A kind lists its outcomes from a config alone, so hypotheses can be checked before the first request is sent. Their values are
those of the view `measures`. A kind that lists its measures gets effects, intervals and tests.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tidepool.engine.inference.intervals import Interval

Sections = Mapping[str, Any]
"""a config's scalar values by section"""
UNBOUNDED = (-math.inf, math.inf)
PERCENT = "%"
"""the unit of shares, which are stored as 0 to 1 and shown in percent"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    name: str
    """its name in a hypothesis"""
    words: str
    """its description, as in the title of a table"""
    unit: str = ""
    bounds: Interval = UNBOUNDED
    per_talk: bool = True
    """False: one number per batch"""
    about: str = ""
    """a config path, such as `agents.Ada`. The outcome is shown if a factor sets a key under it. Empty: always shown"""
    asked_only: bool = False
    """shown only where a hypothesis names it"""
    described_only: bool = False
    """shown by cell, and in no effect unless a hypothesis names it"""
    also: tuple[str, ...] = ()
    """other spellings of its name"""
    digits: int = 1

    def __post_init__(self) -> None:
        if self.unit == PERCENT and not 0 <= self.bounds[0] <= self.bounds[1] <= 1:
            raise ValueError(f"{self.name}: values with the unit % are shares from 0 to 1. Set bounds=(0.0, 1.0).")

    @property
    def scale(self) -> float:
        return 100.0 if self.unit == PERCENT else 1.0


class Talk(NamedTuple):
    """A conversation, or another unit that is independent of the others within a batch."""

    number: int
    """its number in the plan: conversations of this number are matched in all cells of a replicate"""
    game: int = 0
    scenario: int = 0
    """0 without one"""
    drawn: str = ""
    """who met, and over what. Conversations of the same number are matched only if it is equal. Empty: unknown"""
    members: tuple[str, ...] = ()
    """who was sampled, such as entities: conversations that share one are not independent"""
    cast: tuple[str, ...] = ()
    """who was measured, and everybody if the conversation failed"""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchValues:
    """The values of one batch. A value of None is missing, never zero."""

    talks: Sequence[Talk] = ()
    by_talk: Mapping[str, Sequence[float | None]] = field(default_factory=dict)
    """by outcome, one value for each conversation"""
    of_batch: Mapping[str, float | None] = field(default_factory=dict)
    """outcomes that are one number per batch"""
    linked: bool = False
    """memory or collected secrets link the conversations of a game"""
    sampled: bool = False
    """conversations share sampled participants, such as entities"""


class PlannedValues(NamedTuple):
    number: float
    """conversations, or other independent units, that have a value of the outcome"""
    each: float = 1.0
    """values in one of them, such as the sides of a conversation"""


class PlannedRivals(NamedTuple):
    """Two participants that a batch compares within itself."""

    words: str
    outcome: str
    number: float
    """conversations that have a value of either"""
    alike: str
    """both are in one conversation (`correlation`), have the same problem (`matched`), or never meet (empty)"""
    tests: int = 1
    """number of tests that the report corrects together"""
    games: int = 0
    """number of games that link their conversations; 0: conversations are not linked"""
    scenarios: int = 0
    """number of repeated scenarios, among the conversations with a value of either"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedBatch:
    """The units that a batch will count, before it is run."""

    counted: str
    """the name of the units, in the plural"""
    outcomes: Mapping[str, PlannedValues]
    sizes: Mapping[str, int]
    """config keys that scale the whole batch, and their current values; empty: no key scales it"""
    rivals: Sequence[PlannedRivals] = ()
    games: int = 1
    linked: bool = False
    """the conversations of a game are linked"""
    scenarios: int = 0
    """number of repeated scenarios"""
    entities: int = 0
    """number of entities, if the intervals of the batch count them instead of conversations"""


def number(value: Any) -> float | None:
    """Returns a number from the file, or None for other values of an untrusted file."""
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def find_outcome(outcomes: Sequence[Outcome], name: str) -> Outcome | None:
    wanted = " ".join(name.split()).casefold()
    for outcome in outcomes:
        if wanted in (outcome.name.casefold(), *(other.casefold() for other in outcome.also)):
            return outcome
    return None
