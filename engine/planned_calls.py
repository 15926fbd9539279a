"""What a study will ask, before anything is called: how many calls in which wave, of which model, and how many of them
at the same moment."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from tidepool.engine.call import expected_tokens, most_tokens
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
    operation: str = "chat"
    """as of the call: what is no chat always goes live"""

    @property
    def together(self) -> float:
        """How many are asked at the same moment."""
        return self.calls / self.rounds


REASONING_NOTE = "Reasoning is expected to use half of its room of {:,} tokens a reply, and all of it at most."


@dataclass(frozen=True, slots=True)
class UsualTokens:
    """Tokens that a reply usually has: a guess for models of providers; of simulated ones it is known."""

    of_a_model: int
    simulated: int

    def by(self, model: str) -> int:
        return self.simulated if is_simulated(model) else self.of_a_model


@dataclass(frozen=True, slots=True)
class Sizing:
    """How long texts and replies are taken to be: as they usually are, or as they can be at most.

    The worst is counted as the budget reserves it: a known text by its letters, a reply by its most tokens. What was
    replied and is read again counts twice then, since other models may divide it otherwise.
    """

    worst: bool

    def text(self, text: str) -> int:
        return most_tokens(text) if self.worst else expected_tokens(text)

    def longest(self, texts: Iterable[str]) -> int:
        """Of several texts that may stand in a place: their mean, or the longest."""
        sizes = [self.text(text) for text in texts]
        return 0 if not sizes else max(sizes) if self.worst else sum(sizes) // len(sizes)

    def reply(self, model: str, usual: UsualTokens, max_tokens: int, settings: Reasons | None = None) -> int:
        """Output tokens; `settings` say how much room it has to reason."""
        reasoning = reasoning_of(settings).get("max_reasoning_tokens", 0) if settings else 0
        if self.worst:
            return max_tokens + reasoning
        return min(usual.by(model), max_tokens) + (0 if is_simulated(model) else reasoning // 2)

    def read_again(self, model: str, usual: UsualTokens, max_tokens: int) -> int:
        """A reply as a part of a later request: without what was only thought."""
        reply = self.reply(model, usual, max_tokens)
        return 2 * reply if self.worst else reply


EXPECTED, MOST = Sizing(worst=False), Sizing(worst=True)


def is_simulated(model: str) -> bool:
    return model.partition(":")[0] == "simulated"


@dataclass(frozen=True, slots=True)
class Plan:
    units: int
    calls: tuple[PlannedCalls, ...]
    """what is expected"""
    notes: tuple[str, ...] = field(default=())
    """what the numbers rest on, where they are estimates"""
    warnings: tuple[str, ...] = field(default=())
    """what the study cannot be asked well, told before it is run and logged with it"""
    at_most: tuple[PlannedCalls, ...] = field(default=())
    """the worst case, whatever is replied and in whichever waves; empty: the kind does not say"""
    call_cap: int | None = None
    """no more calls than this, where the kinds of call in `at_most` cannot all reach their most at once"""

    def __post_init__(self) -> None:
        if self.units > ceilings.UNITS:
            raise UsageError(
                f"The batch would have {self.units:,} units, and {ceilings.UNITS:,} are the most: make it smaller, or "
                "several batches of it."
            )

    @property
    def calls_expected(self) -> int:
        return sum(planned.calls for planned in self.calls)

    @property
    def calls_at_most(self) -> int | None:
        """None: the kind does not say."""
        if self.calls and not self.at_most:
            return None
        most = sum(planned.calls for planned in self.at_most)
        return most if self.call_cap is None else min(most, self.call_cap)

    @property
    def exact(self) -> bool:
        """Whether it is known before how many calls there will be."""
        return self.calls_expected == self.calls_at_most


def merge_plans(plans: Sequence[Plan]) -> Plan:
    """What several batches will take that run side by side."""
    if len(plans) == 1:
        return plans[0]
    caps = [plan.call_cap for plan in plans]
    return Plan(
        units=sum(plan.units for plan in plans),
        calls=merged(one for plan in plans for one in plan.calls),
        notes=tuple(dict.fromkeys(note for plan in plans for note in plan.notes)),
        warnings=tuple(dict.fromkeys(words for plan in plans for words in plan.warnings)),
        at_most=merged(one for plan in plans for one in plan.at_most) if all(plan.at_most for plan in plans) else (),
        call_cap=None if None in caps else sum(filter(None, caps)),
    )


def reasoning_notes(settings: Reasons) -> tuple[str, ...]:
    reasoning = reasoning_of(settings).get("max_reasoning_tokens", 0)
    return (REASONING_NOTE.format(reasoning),) if reasoning else ()


def merged(calls: Iterable[PlannedCalls]) -> tuple[PlannedCalls, ...]:
    """One entry for each wave, model and number of rounds, tokens averaged."""
    same: dict[tuple[int, str, int, str], list[PlannedCalls]] = defaultdict(list)
    for planned in calls:
        same[planned.wave, planned.model, planned.rounds, planned.operation].append(planned)
    result_calls = []
    for _, equal in sorted(same.items()):
        count = sum(planned.calls for planned in equal)
        input_tokens = sum(planned.calls * planned.input_tokens for planned in equal) // count
        output_tokens = sum(planned.calls * planned.output_tokens for planned in equal) // count
        result_calls.append(replace(equal[0], calls=count, input_tokens=input_tokens, output_tokens=output_tokens))
    return tuple(result_calls)
