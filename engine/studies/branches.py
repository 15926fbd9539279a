"""The origin of a branch, and the interface of a kind of study whose conversations can be branched.

Units are numbered redraw by redraw: all conversations once, then all again. With a replacement text, each conversation has two
units per redraw, the control before the altered one. So more redraws of the same text, and another text on the same
conversations, find the earlier replies in the cache."""

import json
import sqlite3
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from tidepool.engine.errors import FileError
from tidepool.storage.batches import batch_numbered
from tidepool.storage.queries.conversations import TalkRow, records_of_batch

if TYPE_CHECKING:
    from tidepool.engine.config.sections import FrozenConfig
    from tidepool.engine.runtime.unit import Unit


Arm = Literal["control", "altered"]
MOST_TIMES = 10_000
"""redraws of each conversation"""
ASSIGNED = "assigned"
"""the model name of a message that the branch sets, so no model was called"""


@dataclass(frozen=True, slots=True)
class Redraw:
    number: int
    """of the unit"""
    conversation: int
    """of the batch that was branched"""
    arm: Arm
    redraw: int
    """from 1"""

    def as_json(self) -> dict[str, Any]:
        """As stored with the unit."""
        return {"conversation": self.conversation, "arm": self.arm, "redraw": self.redraw}


@dataclass(frozen=True, slots=True)
class Origin:
    batch_id: str
    conversations: tuple[int, ...]
    at: str
    """the step that is resampled, such as t4"""
    say: str | None
    """the replacement text in the altered units; None: the step is only resampled"""
    times: int

    @property
    def arms(self) -> tuple[Arm, ...]:
        return ("control",) if self.say is None else ("control", "altered")

    @property
    def units(self) -> int:
        return len(self.conversations) * len(self.arms) * self.times

    @property
    def in_words(self) -> str:
        count = len(self.conversations)
        conversations = f"conversation {self.conversations[0]}" if count == 1 else f"{count:,} conversations"
        how = "resampled" if self.say is None else "resampled, and reworded as often"
        return f"{conversations} of batch {self.batch_id}, {self.at} {how}: {self.times:,} redraws of each"

    def redraws(self) -> Iterator[Redraw]:
        return (self._redraw(number) for number in range(1, self.units + 1))

    def redraw(self, number: int) -> Redraw | None:
        """The redraw with this unit number; a file from another person may have more units."""
        return self._redraw(number) if 1 <= number <= self.units else None

    def _redraw(self, number: int) -> Redraw:
        place, arm = divmod(number - 1, len(self.arms))
        redraw, conversation = divmod(place, len(self.conversations))
        return Redraw(number, self.conversations[conversation], self.arms[arm], redraw + 1)

    def to_json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)


def read_origin(text: object) -> Origin | None:
    """`None` without an origin, or if it is invalid, since the file may be untrusted."""
    if not isinstance(text, str):
        return None
    try:
        data = json.loads(text)
        numbers = tuple(int(number) for number in data["conversations"])
        say = None if data["say"] is None else str(data["say"])
        origin = Origin(str(data["batch_id"]), numbers, str(data["at"]), say, int(data["times"]))
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return origin if numbers and 0 < origin.times <= MOST_TIMES else None


T = TypeVar("T")
TALK, EARLIER, REDRAW = "branch_talk", "branch_earlier", "branch_redraw"
"""names of records: of the batch, the continued conversations and those that they remembered; of a unit, its redraw"""


@dataclass(frozen=True, slots=True)
class OriginAnswer:
    """A stored message of the original batch."""

    step: str
    text: str
    truth: str | None = None
    finish_reason: str | None = None
    served_model: str | None = None
    thought: str | None = None


@dataclass(frozen=True, slots=True)
class OriginTalk:
    number: int
    game: int | None
    round: int | None
    interaction_type: str | None
    participants: tuple[str, ...]
    details: dict[str, Any]
    before: tuple[OriginAnswer, ...]
    """the messages before the resampled turn"""

    @classmethod
    def of(cls, row: TalkRow, before: Iterable[OriginAnswer]) -> "OriginTalk":
        details = json.loads(row.details) if row.details else {}
        names = tuple(json.loads(row.participants))
        return cls(row.number, row.game, row.round, row.interaction_type, names, details, tuple(before))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "OriginTalk":
        before = tuple(OriginAnswer(**answer) for answer in data["before"])
        return cls(**{**data, "participants": tuple(data["participants"]), "before": before})


class FanOut(Protocol):
    """Fan-out inside a conversation, as a run provides it."""

    async def all(self, stories: Iterable[Awaitable[T]]) -> list[T]: ...


Story = Callable[["Unit"], Awaitable[Any]]


class BranchStage(Protocol):
    """The conversations of one batch, ready to be continued."""

    def story(self, talk: OriginTalk) -> Story:
        """The kind's own story of this conversation, with what its speakers knew when it began."""

    def measured(self, talk: OriginTalk, at: str, texts: Mapping[str, str], result: Any) -> Mapping[str, float | None]:
        """Values of `Results.branch_measures`. None: missing; a measure that is left out does not apply to this conversation.

        `texts` are the messages after the branched turn, by step; `result` is the return value of the story.
        """


class BranchKind(Protocol):
    """The branching interface that a kind provides."""

    def steps(self, config: "FrozenConfig") -> Sequence[str]:
        """Its messages in order. Raises a UsageError if the conversations of this batch cannot be branched."""

    def earlier(
        self, connection: sqlite3.Connection, batch_number: int, config: "FrozenConfig", talks: Sequence[TalkRow]
    ) -> list[dict[str, Any]]:
        """Other conversations that these remembered, as JSON."""

    def stage(self, config: "FrozenConfig", earlier: Sequence[Mapping[str, Any]], fan_out: FanOut) -> BranchStage: ...


@dataclass(frozen=True, slots=True)
class Branch:
    """All data that a branch continues from: stored in its own file, or about to be stored."""

    origin: Origin
    talks: Sequence[OriginTalk]
    earlier: Sequence[Mapping[str, Any]]

    def records(self) -> Iterable[tuple[str, int, str]]:
        """(name, position, JSON) of each record."""
        for position, talk in enumerate(self.talks):
            yield TALK, position, json.dumps(asdict(talk), ensure_ascii=False)
        for position, record in enumerate(self.earlier):
            yield EARLIER, position, json.dumps(record, ensure_ascii=False)


def branch_in(connection: sqlite3.Connection, batch_number: int) -> Branch:
    origin = read_origin(batch_numbered(connection, batch_number)["origin"])
    try:
        talks = [OriginTalk.from_json(record) for record in records_of_batch(connection, batch_number, TALK)]
        earlier = list(records_of_batch(connection, batch_number, EARLIER))
    except (ValueError, TypeError, KeyError, RecursionError):
        talks = []
    if origin is None or {talk.number for talk in talks} != set(origin.conversations):
        raise FileError(
            "The conversations that this branch continues cannot be read: the file was changed or is damaged."
        )
    return Branch(origin, talks, earlier)
