"""Where a branch was taken from, and which redraw each of its units is.

Units are numbered redraw by redraw: all conversations once, then all again. With a sentence to say, each conversation has
two units a redraw, the control before the altered one. So the same sentence with more redraws, and another sentence on the
same conversations, find in the cache what was bought before.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

Arm = Literal["control", "altered"]
MOST_TIMES = 10_000
"""redraws of each conversation"""
ASSIGNED = "assigned"
"""stands in place of a model at a message that nobody was asked for, because the branch says it"""


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
        """As the unit keeps it."""
        return {"conversation": self.conversation, "arm": self.arm, "redraw": self.redraw}


@dataclass(frozen=True, slots=True)
class Origin:
    batch_id: str
    conversations: tuple[int, ...]
    at: str
    """the step that is drawn again, such as t4"""
    say: str | None
    """what is said there in the altered units; None: it is only drawn again"""
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
        talks = f"conversation {self.conversations[0]}" if count == 1 else f"{count:,} conversations"
        how = "drawn again" if self.say is None else "drawn again, and said otherwise as often"
        return f"{talks} of batch {self.batch_id}, {self.at} {how}: {self.times:,} redraws of each"

    def redraws(self) -> Iterator[Redraw]:
        number = 0
        for redraw in range(1, self.times + 1):
            for conversation in self.conversations:
                for arm in self.arms:
                    number += 1
                    yield Redraw(number, conversation, arm, redraw)

    def to_json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)


def read_origin(text: object) -> Origin | None:
    """None where there is none, or none that can be read: the file may be a stranger's."""
    if not isinstance(text, str):
        return None
    try:
        found = json.loads(text)
        numbers = tuple(int(one) for one in found["conversations"])
        say = None if found["say"] is None else str(found["say"])
        origin = Origin(str(found["batch_id"]), numbers, str(found["at"]), say, int(found["times"]))
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return origin if numbers and 0 < origin.times <= MOST_TIMES else None
