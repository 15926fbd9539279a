"""The problems prompts are judged by, and the built-in sets of them.

No two splits share a question: what selects a prompt must not also praise it. Problems of one's own files come in by
`taking_in`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from random import Random
from typing import Any, Literal, TypeVar

from tidepool.engine.errors import UsageError
from tidepool.engine.streams import stream
from tidepool.engine.studies.evolution.problems.builtin import draw_question

_TRIES_PER_PROBLEM = 50

T = TypeVar("T")

Split = Literal["search", "choose", "judge"]
"""what a problem is for: prompts are bred by the first, the champion is picked by the second, and judged by the third"""


@dataclass(frozen=True, slots=True)
class Problem:
    question: str
    answer: str
    fields: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """what else its line has: choices, tests, a source"""


@dataclass(frozen=True, slots=True)
class ProblemSet:
    name: str
    training: tuple[Problem, ...]
    validation: tuple[Problem, ...]
    choosing: tuple[Problem, ...] = ()
    """empty: the training problems pick the champion too"""


def problem_set(name: str, training: int, validation: int, seed: int, choosing: int = 0) -> ProblemSet:
    """Of a built-in set, exactly the sizes asked for."""
    if training < 1 or validation < 1:
        told = "evolution.max_problems and evolution.validation_problems must each be at least 1."
        raise UsageError(told, ("evolution", "max_problems" if training < 1 else "validation_problems"))
    found = generate(name, training + validation + choosing, stream(seed, "problems", name))
    return ProblemSet(name, *split_problems(found, training, validation, choosing))


def split_problems(problems: Sequence[T], *sizes: int) -> tuple[tuple[T, ...], ...]:
    """Parts of these sizes, the first one to search by. Of too few problems the others keep their size up to half of what
    is left, and the search has the rest: asking for more of it than there is does not shorten the held-out part."""
    lengths, left = [0] * len(sizes), len(problems)
    for place in (*range(1, len(sizes)), 0):
        unneeded = left - sizes[0] - sum(sizes[place + 1 :]) if place else left
        lengths[place] = min(sizes[place], max(left // 2, unneeded))
        left -= lengths[place]
    ends = accumulate(lengths)
    return tuple(tuple(problems[end - length : end]) for end, length in zip(ends, lengths, strict=True))


def generate(set_name: str, count: int, rng: Random) -> list[Problem]:
    """Distinct problems; the templates are drawn evenly, so the order carries no meaning."""
    found: dict[str, Problem] = {}
    for _ in range(count * _TRIES_PER_PROBLEM):
        if len(found) == count:
            return list(found.values())
        question, answer = draw_question(set_name, rng)
        found.setdefault(question, Problem(question, answer))
    raise UsageError(
        f"The built-in problems {set_name!r} do not have {count} different questions (about {len(found)}). "
        "Lower evolution.max_problems or evolution.validation_problems, or take the set 'mixed'.",
        ("evolution", "max_problems"),
    )
