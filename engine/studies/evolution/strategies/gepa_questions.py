"""What GEPA's thread asks the study, and what it is answered. What it asks together goes out together."""

from dataclasses import dataclass

from tidepool.engine.studies.evolution.operators.rewrites import FailedProblem

MINIBATCH = 3
"""problems of a reflection, as GEPA has it by default"""
PROPOSALS = 8
"""reflections at once, each on a parent and a minibatch of its own"""


@dataclass(frozen=True, slots=True)
class Exam:
    """Answered with a Result for each place."""

    prompt: str
    places: tuple[int, ...]
    """of the training problems"""


@dataclass(frozen=True, slots=True)
class Result:
    share: float | None
    """of right replies; None: none came back"""
    failure: FailedProblem | None = None


@dataclass(frozen=True, slots=True)
class Reflection:
    """Answered with a new prompt, or None."""

    prompt: str
    failures: tuple[FailedProblem, ...]


@dataclass(frozen=True, slots=True)
class Turn:
    """Asked between two iterations; answered with the number of proposals to make now, 0 at the end of the search."""


Question = tuple[Exam, ...] | tuple[Reflection, ...] | Turn
"""several of a kind are answered with as many answers"""
