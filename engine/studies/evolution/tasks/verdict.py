"""What was made of one reply."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Verdict:
    answer: str | None
    """in a canonical form, so that equal answers are equal strings; None: the reply gives none"""
    correct: bool
    length: int = 0
    """of the reply, in tokens"""
    score: float | None = None
    """between 0 and 1, of a scorer that knows more than right and wrong"""
    metrics: Mapping[str, float] = field(default_factory=dict)
    """what else a scorer measured, by name"""

    @property
    def worth(self) -> float:
        return float(self.correct) if self.score is None else self.score

    def columns(self) -> dict[str, Any]:
        """As the file keeps it."""
        details = json.dumps(dict(self.metrics)) if self.metrics else None
        return {"extracted": self.answer, "correct": self.correct, "score": self.worth, "details": details}


Scorer = Callable[[str, str, int], Verdict]
"""(reply, expected answer, length of the reply in tokens) → verdict"""
