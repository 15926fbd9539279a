"""Shared code of the conversation kinds: asks a judge, and plans by rehearsal.

A rehearsal runs a conversation's own coroutine on a unit that answers each call itself, with a text of the expected or of the
maximum length, and counts the calls. Nothing is sent or stored. A plan rehearses some conversations and scales their calls to all.
"""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any, TypeVar, cast

from tidepool.engine.call import Call, Reply, expected_input, most_input
from tidepool.engine.errors import CallFailed
from tidepool.engine.runtime.plans import PlannedCalls, Sizing, UsualTokens, is_simulated
from tidepool.engine.runtime.unit import Unit
from tidepool.engine.studies.branches import Story

T = TypeVar("T")


async def ask_judge(
    unit: Unit, call: Callable[[], Call], read: Callable[[Reply], T], put: Callable[[T | None], object]
) -> T | None:
    """Stores and returns the parsed reply of the judge, or None. A conversation is complete without its verdict."""
    found: T | None
    try:
        found = read(await unit.ask(call()))
    except CallFailed:
        found = None
    if not unit.settled:
        put(found)
    return found


class OneByOne:
    """Fan-out for code that never waits."""

    async def all(self, stories: Iterable[Awaitable[T]]) -> list[T]:
        return [await story for story in stories]


class _RehearsedUnit:
    """A unit that is already settled: its story asks, and stores nothing."""

    settled = rehearsed = True

    def __init__(self, number: int, answer: Callable[[Call], str]) -> None:
        self.number = number
        self._answer = answer

    async def ask(self, call: Call) -> Reply:
        return Reply(self._answer(call))


def rehearse(story: Story, answer: Callable[[Call], str], number: int = 0) -> None:
    """Passes every call of the story to `answer`, in order."""

    async def whole() -> Any:
        return await story(cast("Unit", _RehearsedUnit(number, answer)))

    coroutine = whole()
    try:
        coroutine.send(None)
    except StopIteration:
        return
    finally:
        coroutine.close()
    raise AssertionError("a rehearsed story must never wait")


def sized(call: Call, usual: UsualTokens, sizing: Sizing) -> tuple[int, int]:
    """Input and output tokens of a call."""
    if sizing.worst:
        return most_input(call), call.most_output
    reasoning = 0 if is_simulated(call.model) else call.max_reasoning_tokens // 2
    return expected_input(call), sizing.reply(call.model, usual, call.max_tokens) + reasoning


def reply_text(call: Call, usual: UsualTokens, sizing: Sizing) -> str:
    """The text of a reply, since later requests repeat it."""
    return "xxxx" * sizing.reply(call.model, usual, call.max_tokens)


MOST_REHEARSED = 100
ENOUGH_READ, MOST_READ = 6_000, 200_000
"""messages over all rehearsed conversations; every call reads those before it"""


def rehearsed_number(units: int, messages: int, participants: int) -> int:
    """The number of conversations to rehearse: enough for each participant to take part, unless they are long."""
    enough = max(participants, ENOUGH_READ // (messages * (messages + 10)))
    return max(1, min(units, MOST_REHEARSED, enough, MOST_READ // messages**2))


class Rehearsal:
    """The calls of some conversations, which represent all."""

    def __init__(
        self,
        sizing: Sizing,
        usual: Callable[[Call], UsualTokens],
        speeches: Callable[[int, str], int] | None = None,
    ) -> None:
        """`speeches`: how often a speaker speaks in a wave, over all conversations; None: all speakers are alike."""
        self.sizing = sizing
        self._usual = usual
        self._speeches = speeches
        self._stories = 0
        self._calls: dict[int, dict[tuple[str, str], list[tuple[int, int, int]]]] = {}
        """by wave, model and speaker: tokens of the request, of remembered conversations, and of the reply"""

    def play(
        self,
        story: Story,
        remembered: Callable[[Call], int] = lambda call: 0,
        text: Callable[[Call, str], str] = lambda call, reply: reply,
    ) -> None:
        """`remembered`: input tokens that the story's requests omit; `text`: formats a reply."""

        def answer(call: Call) -> str:
            usual, speaker = self._usual(call), (call.speaker or "") if self._speeches else ""
            tokens_in, tokens_out = sized(call, usual, self.sizing)
            speakers = self._calls.setdefault(call.wave, defaultdict(list))
            speakers[call.model, speaker].append((tokens_in, remembered(call), tokens_out))
            return (
                "" if call.form else text(call, reply_text(call, usual, self.sizing))
            )  # a judge's reply is in no later request

        self._stories += 1
        rehearse(story, answer)

    def planned(self, units: int) -> Iterator[PlannedCalls]:
        """Scales the calls to so many conversations. The maximum of a part is its longest request, not the mean."""
        for wave, speakers in sorted(self._calls.items()):
            calls = list(speakers.values())
            weights = list(map(len, calls))
            total = units * sum(weights) / self._stories
            if self._speeches:
                known = [self._speeches(wave, who) if who else len(own) for (_, who), own in speakers.items()]
                weights = known if any(known) else weights
            ends = [round(total * end / sum(weights)) for end in accumulate(weights, initial=0)]
            longest = self.sizing.worst and units > self._stories
            for (model, _), own, (first, last) in zip(speakers, calls, pairwise(ends), strict=True):
                if first < last:
                    yield PlannedCalls(wave, model, last - first, *_tokens(own, longest=longest))


def _tokens(calls: Sequence[tuple[int, int, int]], *, longest: bool) -> tuple[int, int]:
    """Input tokens of one call, rounded up, and its output tokens."""
    requests, remembered, replies = zip(*calls, strict=True)
    request = max(requests) * len(calls) if longest else sum(requests)
    return -(-(request + sum(remembered)) // len(calls)), max(replies)
