"""The input and output of a marker, which scores replies."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # reports read verdicts without loading what runs a study
    from tidepool.engine.runtime.unit import Unit

WHY, UNCLEAR = "unmarked", "unclear"
"""keys of an answer's details: why a reply has no mark, and why no answer could be read from it"""


@dataclass(frozen=True, slots=True)
class Verdict:
    answer: str | None
    """in a canonical form, so that equal answers are equal strings; None: the reply has no answer"""
    correct: bool | None
    """None: the reply is unclear, and no judge has scored it"""
    length: int = 0
    """of the reply, in tokens"""
    score: float | None = None
    """between 0 and 1, from a scorer with graded scores"""
    metrics: Mapping[str, float] = field(default_factory=dict)
    """other metrics of a scorer, by name"""
    unclear: str = ""
    """why no answer could be read from the reply"""

    @property
    def worth(self) -> float:
        """The score in training, where an unclear reply counts as wrong, so that evading is no advantage."""
        return float(bool(self.correct)) if self.score is None else self.score

    def columns(self) -> dict[str, Any]:
        """As stored in the file."""
        data = {**self.metrics, **({UNCLEAR: self.unclear} if self.unclear else {})}
        details = json.dumps(data, ensure_ascii=False) if data else None
        score = None if self.correct is None else self.worth
        return {"extracted": self.answer, "correct": self.correct, "score": score, "details": details}


@dataclass(frozen=True, slots=True)
class Unmarked:
    """A reply that could not be scored: its mark is missing, never wrong."""

    why: str

    def columns(self) -> dict[str, Any]:
        return {"details": json.dumps({WHY: self.why}, ensure_ascii=False)}


def stored_verdict(columns: Mapping[str, Any], length: int) -> Verdict | Unmarked | None:
    """The stored mark, or `None`. A stored mark is never replaced, regardless of its age."""
    details = _read(columns["details"])  # a metric of a scorer may have any name, but must be a number
    unclear = why if isinstance(why := details.get(UNCLEAR), str) else ""
    if columns["correct"] is None and not unclear:
        return Unmarked(str(details[WHY])) if WHY in details else None
    correct = None if columns["correct"] is None else bool(columns["correct"])
    numbers = ((name, value) for name, value in details.items() if isinstance(value, int | float))
    metrics = {name: float(value) for name, value in numbers if not isinstance(value, bool)}
    return Verdict(columns["extracted"], correct, length, columns["score"], metrics, unclear)


def _read(details: str | None) -> dict[str, Any]:
    """Tolerates invalid data, since the file may be untrusted."""
    try:
        data = json.loads(details) if details else {}
    except (ValueError, RecursionError):
        data = {}
    return data if isinstance(data, dict) else {}


Scorer = Callable[[str, str, int], Verdict]
"""(reply, expected answer, length of the reply in tokens) → verdict"""


@dataclass(frozen=True, slots=True)
class SolverReply:
    """A reply to be scored."""

    text: str
    length: int
    """in tokens"""
    cut: bool
    """it was cut at its token limit"""
    unit: "Unit"
    step: str
    wave: int
    """wave of the reply; a judge is asked in the next wave"""
