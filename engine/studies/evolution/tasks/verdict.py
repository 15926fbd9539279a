"""What a marker is handed, and what it makes of one reply."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # reports read verdicts without loading what runs a study
    from tidepool.engine.runtime.unit import Unit

WHY, UNCLEAR = "unmarked", "unclear"
"""in an answer's details: why a reply that was given has no mark, and why no answer could be read from it"""


@dataclass(frozen=True, slots=True)
class Verdict:
    answer: str | None
    """in a canonical form, so that equal answers are equal strings; None: the reply gives none"""
    correct: bool | None
    """None: the reply is unclear, and no judge has marked it"""
    length: int = 0
    """of the reply, in tokens"""
    score: float | None = None
    """between 0 and 1, of a scorer that knows more than right and wrong"""
    metrics: Mapping[str, float] = field(default_factory=dict)
    """what else a scorer measured, by name"""
    unclear: str = ""
    """why no answer could be read from the reply"""

    @property
    def worth(self) -> float:
        """In training, where an unclear reply is not right: no prompt gains by evading."""
        return float(bool(self.correct)) if self.score is None else self.score

    def columns(self) -> dict[str, Any]:
        """As the file keeps it."""
        data = {**self.metrics, **({UNCLEAR: self.unclear} if self.unclear else {})}
        details = json.dumps(data, ensure_ascii=False) if data else None
        score = None if self.correct is None else self.worth
        return {"extracted": self.answer, "correct": self.correct, "score": score, "details": details}


@dataclass(frozen=True, slots=True)
class Unmarked:
    """A reply was given, and whoever marks it could not: missing, never wrong."""

    why: str

    def columns(self) -> dict[str, Any]:
        return {"details": json.dumps({WHY: self.why}, ensure_ascii=False)}


def stored_verdict(columns: Mapping[str, Any], length: int) -> Verdict | Unmarked | None:
    """A mark as the file has it; None where it has none. What was marked stays marked so, however long ago that was."""
    details = _read(columns["details"])  # a metric of a scorer may have any name, but is a number
    unclear = why if isinstance(why := details.get(UNCLEAR), str) else ""
    if columns["correct"] is None and not unclear:
        return Unmarked(str(details[WHY])) if WHY in details else None
    correct = None if columns["correct"] is None else bool(columns["correct"])
    return Verdict(columns["extracted"], correct, length, columns["score"], metrics_in(details), unclear)


def metrics_in(details: Mapping[str, Any]) -> dict[str, float]:
    """Of an answer's details, those that are numbers."""
    return {
        name: float(value)
        for name, value in details.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }


def _read(details: str | None) -> dict[str, Any]:
    """The file may be a stranger's."""
    try:
        data = json.loads(details) if details else {}
    except (ValueError, RecursionError):
        data = {}
    return data if isinstance(data, dict) else {}


Scorer = Callable[[str, str, int], Verdict]
"""(reply, expected answer, length of the reply in tokens) → verdict"""


@dataclass(frozen=True, slots=True)
class SolverReply:
    """A reply that is to be marked."""

    text: str
    length: int
    """in tokens"""
    cut: bool
    """it ended at the most tokens it may have"""
    unit: "Unit"
    step: str
    wave: int
    """of the reply; a judge is asked in the next"""
