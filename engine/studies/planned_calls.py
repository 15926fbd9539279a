"""What a study will ask, before anything is called: how many calls in which wave, of which model, and how many of them
at the same moment."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from tidepool.engine.config import ceilings
from tidepool.engine.config.sections import Reasons, reasoning_of
from tidepool.engine.errors import UsageError


@dataclass(frozen=True, slots=True)
class PlannedCalls:
    """Equal calls of one wave: so many of them, with so many tokens each."""

    wave: int
    model: str
    calls: int
    input_tokens: int
    output_tokens: int
    rounds: int = 1
    """so often one after another, an equal part of the calls each time: rounds that wait for one another"""
    joins: int = 0
    """the wave of the next round that they leave with, where that round does not wait for them; 0: none"""
    operation: str = "chat"
    """as of the call: what is no chat always goes live"""

    @property
    def together(self) -> float:
        """How many are asked at the same moment."""
        return self.calls / self.rounds


REASONING_NOTE = "Reasoning is taken to use all of its room, {:,} tokens a reply."


@dataclass(frozen=True, slots=True)
class Plan:
    units: int
    calls: tuple[PlannedCalls, ...]
    notes: tuple[str, ...] = field(default=())
    """what the numbers rest on, where they are estimates"""
    warnings: tuple[str, ...] = field(default=())
    """what the study cannot be asked well, told before it is run and logged with it"""

    def __post_init__(self) -> None:
        if self.units > ceilings.UNITS:
            raise UsageError(
                f"The batch would have {self.units:,} units, and {ceilings.UNITS:,} are the most: make it smaller, or "
                "several batches of it."
            )


def with_reasoning(plan: Plan, settings: Reasons) -> Plan:
    """The plan where every model of a section reasons: its reasoning is taken to use all of its room."""
    room = reasoning_of(settings).get("max_reasoning_tokens", 0)
    if not room:
        return plan
    calls = (
        replace(one, output_tokens=one.output_tokens + room) if one.operation == "chat" else one for one in plan.calls
    )
    return replace(plan, calls=tuple(calls), notes=(*plan.notes, REASONING_NOTE.format(room)))


def merged(calls: Iterable[PlannedCalls]) -> tuple[PlannedCalls, ...]:
    """One entry for each wave, model and number of rounds, tokens averaged."""
    same: dict[tuple[int, str, int, int, str], list[PlannedCalls]] = defaultdict(list)
    for one in calls:
        same[one.wave, one.model, one.rounds, one.joins, one.operation].append(one)
    return tuple(_averaged(same[key]) for key in sorted(same))


def _averaged(equal: list[PlannedCalls]) -> PlannedCalls:
    count = sum(one.calls for one in equal)
    asked = sum(one.calls * one.input_tokens for one in equal) // count
    replied = sum(one.calls * one.output_tokens for one in equal) // count
    return replace(equal[0], calls=count, input_tokens=asked, output_tokens=replied)
