"""What GEPA's thread asks the study, and what it is answered."""

from dataclasses import dataclass

from engine.evolution.rewrites import Failure


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
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class Reflection:
    """Answered with a new prompt, or None."""

    prompt: str
    failures: tuple[Failure, ...]


@dataclass(frozen=True, slots=True)
class Turn:
    """Asked between two iterations; answered with True at the end of the search."""


Question = Exam | Reflection | Turn
