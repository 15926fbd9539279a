"""Which held-out problems the finalists solve: what the champion won over the best seed prompt, what it lost, and which
problems are hard for all."""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

from tidepool.engine.statistics.typed import Statistics
from tidepool.storage.queries.learning import problem_texts, shares_right

SPLIT = "judge"
MOST_HARD = 8


@dataclass(frozen=True)
class HardProblem(Statistics):
    problem: int
    """its number in its split"""
    question: str
    gold: str
    right: float
    """the share that all finalists together have right, or their mean score"""
    champion: float | None
    baseline: float | None


@dataclass(frozen=True)
class ProblemStatistics(Statistics):
    split: str
    compared: int
    """problems that both were answered"""
    won: tuple[int, ...]
    """problems on which the champion does better than the best seed prompt"""
    lost: tuple[int, ...]
    """the other way"""
    binary: bool
    """every problem is solved or not: one reply each, and no scores between"""
    hardest: tuple[HardProblem, ...]
    """none that everybody has right"""


def problem_statistics(
    connection: sqlite3.Connection, batch_number: int, finalists: Mapping[str, str]
) -> ProblemStatistics | None:
    """None where the finalists were not judged, or before answers were kept. `finalists`: role → genome id."""
    shares = shares_right(connection, batch_number, SPLIT, tuple(finalists.values()))
    if not shares:
        return None
    ours, theirs = (shares.get(finalists.get(role, ""), {}) for role in ("champion", "baseline"))
    both = sorted(ours.keys() & theirs.keys())
    by_problem: dict[int, list[float]] = {}
    for found in shares.values():
        for problem, share in found.items():
            by_problem.setdefault(problem, []).append(share)
    right = {problem: fmean(found) for problem, found in by_problem.items()}
    hardest = sorted((share, problem) for problem, share in right.items() if share < 1)[:MOST_HARD]
    texts = problem_texts(connection, batch_number, SPLIT, [problem for _, problem in hardest])
    return ProblemStatistics(
        SPLIT,
        len(both),
        tuple(problem for problem in both if ours[problem] > theirs[problem]),
        tuple(problem for problem in both if ours[problem] < theirs[problem]),
        all(share in (0, 1) for found in (ours, theirs) for share in found.values()),
        tuple(
            HardProblem(problem, *texts.get(problem, ("", "")), share, ours.get(problem), theirs.get(problem))
            for share, problem in hardest
        ),
    )
