"""What a batch came to, in the words of its kind: all that the statistics of a design know of a study.

A kind lists its outcomes from a config alone, so hypotheses can be checked before anything is bought. Its values are those
of the view `measures`. A kind that lists its measures has effects, intervals and tests by that.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tidepool.engine.inference.intervals import Interval

Sections = Mapping[str, Any]
"""a config's plain values by section"""
UNBOUNDED = (-math.inf, math.inf)
PERCENT = "%"
"""the unit of shares: they are read as 0 to 1 and told in per cent"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    name: str
    """as a hypothesis writes it"""
    words: str
    """what it is, as the title of a table has it"""
    unit: str = ""
    bounds: Interval = UNBOUNDED
    per_talk: bool = True
    """False: one number a batch"""
    about: str = ""
    """a path of the config, such as `agents.Ada`: shown where a factor sets something under it; empty: always"""
    asked_only: bool = False
    """shown only where a hypothesis names it"""
    described_only: bool = False
    """shown by cell, and in no effect that no hypothesis names"""
    also: tuple[str, ...] = ()
    """other ways to write its name"""
    digits: int = 1

    @property
    def scale(self) -> float:
        return 100.0 if self.unit == PERCENT else 1.0


class Talk(NamedTuple):
    """A talk, or whatever else is independent of the others within a batch."""

    number: int
    """its place in the plan: talks of this number are matched in all cells of a replicate"""
    game: int = 0
    scenario: int = 0
    """0 without one"""
    drawn: str = ""
    """who met, and over what: talks of one number where it differs are no matched talks; empty: not known"""
    members: tuple[str, ...] = ()
    """who was sampled, such as entities: conversations that share one are not independent"""
    cast: tuple[str, ...] = ()
    """who took part, also where the talk failed"""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchValues:
    """What one batch came to. A value that is None is missing: never a zero."""

    talks: Sequence[Talk] = ()
    by_talk: Mapping[str, Sequence[float | None]] = field(default_factory=dict)
    """by outcome, one value for each of the talks"""
    of_batch: Mapping[str, float | None] = field(default_factory=dict)
    """outcomes that are one number a batch"""
    linked: bool = False
    """the talks of a game hang together, by memory or by what is kept"""
    sampled: bool = False
    """conversations share who was sampled, such as entities"""


class PlannedValues(NamedTuple):
    number: float
    """talks, or what else is independent, that tell of an outcome"""
    each: float = 1.0
    """values in one of them, such as the sides of a talk"""


class PlannedRivals(NamedTuple):
    """Two that a batch compares within itself."""

    words: str
    outcome: str
    number: float
    """of talks that tell of either"""
    alike: str
    """both are in one talk (`correlation`), face the same problem (`matched`), or never meet (empty)"""
    tests: int = 1
    """of the family that the report corrects, of which this is one"""
    games: int = 0
    """that link their talks; 0: none is linked"""
    scenarios: int = 0
    """that repeat, of those that tell of either"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedBatch:
    """What a batch of a config will have to count, before it is run."""

    counted: str
    """what its values are of, in the plural"""
    outcomes: Mapping[str, PlannedValues]
    sizes: Mapping[str, int]
    """keys of the config that all of it grows with, and what they are now; none: it cannot be told by a key"""
    rivals: Sequence[PlannedRivals] = ()
    games: int = 1
    linked: bool = False
    """the talks of a game hang together"""
    scenarios: int = 0
    """that repeat"""
    entities: int = 0
    """that the batch's own intervals count instead of talks"""


def number(value: Any) -> float | None:
    """A value of the file; a stranger's may hold what is no number."""
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def find_outcome(outcomes: Sequence[Outcome], name: str) -> Outcome | None:
    wanted = " ".join(name.split()).casefold()
    for outcome in outcomes:
        if wanted in (outcome.name.casefold(), *(other.casefold() for other in outcome.also)):
            return outcome
    return None
