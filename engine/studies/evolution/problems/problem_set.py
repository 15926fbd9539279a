"""The problems that evaluate prompts, and the built-in sets of them.

No two splits share a question: a problem that selects a prompt must not also test it. Problems from the user's files are read
by `inputs`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from random import Random
from typing import Any, Literal, TypeVar

from tidepool.engine.call import stream
from tidepool.engine.errors import UsageError

Values = Mapping[str, Any]
"""values for the gaps: whole numbers, or words"""

_GAP = re.compile(r"\{(\w+)\}")
_NUMBER_OR_WORD = {True: r"\d+", False: "[A-Za-z]+"}


@dataclass(frozen=True)
class WorkedAnswer:
    answer: str
    working: str
    """the solution path, without the answer itself"""
    mistakes: tuple[str, ...] = ()
    """plausible wrong answers; for numbers, near misses are generated"""


Gap = str | tuple[int, int] | Sequence[int] | Callable[..., Any]
"""words to choose from, the first and last of whole numbers, numbers to choose from, or a function of the values drawn before"""


@dataclass(frozen=True)
class Template:
    level: int
    """difficulty, 1 to 5"""
    text: str
    gaps: Mapping[str, Gap]
    """drawn in this order; two names: two different words. Not all of them appear in the text"""
    work: Callable[..., WorkedAnswer]
    """of the values, by name"""

    def draw(self, rng: Random) -> Values:
        values: dict[str, Any] = {}
        for name, gap in self.gaps.items():
            if isinstance(gap, str):
                names, words = name.split(), gap.split()
                values |= zip(names, rng.sample(words, 2) if len(names) > 1 else [rng.choice(words)], strict=True)
            elif isinstance(gap, tuple):
                values[name] = rng.randint(*gap)
            elif callable(gap):
                drawn = gap(**values)
                values[name] = rng.randint(*drawn) if isinstance(drawn, tuple) else drawn
            else:
                values[name] = rng.choice(gap)
        return values

    def question(self, values: Values) -> str:
        return self.text.format_map(values)

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        sample = self.draw(Random(0))
        seen: set[str] = set()

        def gap(match: re.Match[str]) -> str:
            name = match[1]
            if name in seen:
                return f"(?P={name})"
            seen.add(name)
            return f"(?P<{name}>{_NUMBER_OR_WORD[isinstance(sample[name], int)]})"

        return re.compile(_GAP.sub(gap, re.sub(r"([.?+*()$])", r"\\\1", self.text)))

    def read(self, question: str) -> Values | None:
        match = self.pattern.fullmatch(question)
        if match is None:
            return None
        return {name: int(text) if text.isdigit() else text for name, text in match.groupdict().items()}


_PEOPLE = (
    "Amira Bruno Chiara Dmitri Elif Farid Greta Hana Ivo Jonas Kenji Lucia Malik Nora Otto Priya Rosa Sven Tala Umar"
)
_THINGS = "apples marbles stamps shells postcards buttons candles pencils walnuts tickets"
_GOODS = "notebooks lamps mugs baskets kites chairs puzzles scarves clocks brushes"


def _worked(answer: int, working: str) -> WorkedAnswer:
    return WorkedAnswer(str(answer), working)


ARITHMETIC = (
    Template(
        1,
        "{who} has {a} {thing} and finds {b} more. How many {thing} does {who} have now?",
        {"who": _PEOPLE, "a": (3, 40), "b": (2, 30), "thing": _THINGS},
        lambda a, b, **_: _worked(a + b, f"Begin with {a} and add {b}."),
    ),
    Template(
        1,
        "{who} had {a} {thing} and gave {b} of them away. How many {thing} are left?",
        {"a": (12, 60), "who": _PEOPLE, "b": lambda a, **_: (2, a - 3), "thing": _THINGS},
        lambda a, b, **_: _worked(a - b, f"Begin with {a} and take away {b}."),
    ),
    Template(
        2,
        "{who} puts {thing} into {a} rows with {b} in each row. How many {thing} are there in all?",
        {"who": _PEOPLE, "a": (3, 12), "b": (3, 12), "thing": _GOODS},
        lambda a, b, **_: _worked(a * b, f"There are {a} rows of {b}, so multiply {a} by {b}."),
    ),
    Template(
        2,
        "{who} shares {a} {thing} equally among {b} friends. How many {thing} does each friend get?",
        {"each": (3, 15), "b": (2, 9), "a": lambda each, b, **_: each * b, "who": _PEOPLE, "thing": _THINGS},
        lambda a, b, **_: _worked(a // b, f"Divide {a} by {b}."),
    ),
    Template(
        3,
        "A shop gets {a} boxes with {b} {thing} each and sells {c} of the {thing} to {who}. "
        "How many {thing} does the shop still have?",
        {"a": (3, 14), "b": (5, 16), "c": lambda a, b, **_: (2, a * b - 2), "who": _PEOPLE, "thing": _GOODS},
        lambda a, b, c, **_: _worked(a * b - c, f"{a} times {b} is {a * b}. Take away {c}."),
    ),
    Template(
        3,
        "{who} buys {a} {thing} at {b} coins each and pays with {c} coins. How many coins does {who} get back?",
        {
            "b": (3, 14),
            "a": (3, 9),
            "back": (2, 30),
            "c": lambda a, b, back, **_: a * b + back,
            "who": _PEOPLE,
            "thing": _GOODS,
        },
        lambda a, b, c, **_: _worked(c - a * b, f"All of them cost {a} times {b}, so {a * b}. Subtract that from {c}."),
    ),
    Template(
        4,
        "{who} drives {a} hours at {b} kilometres an hour and then {c} hours at {d} kilometres an hour. "
        "How many kilometres is the whole journey?",
        {"a": (2, 6), "b": (40, 90), "c": (2, 5), "d": (45, 95), "who": _PEOPLE},
        lambda a, b, c, d, **_: _worked(
            a * b + c * d, f"The first part is {a * b} kilometres, the second {c * d}. Add them."
        ),
    ),
    Template(
        4,
        "{who} orders {a} {thing} with a list price of {b} coins each, at a discount of {c} percent. "
        "How many coins does {who} pay?",
        {
            "units": (4, 30),
            "b": lambda units, **_: 20 * units,
            "c": [5, 10, 15, 20, 25, 30, 40],
            "who": _PEOPLE,
            "a": (2, 9),
            "thing": _GOODS,
        },
        lambda a, b, c, **_: _worked(
            a * b * (100 - c) // 100, f"The list price of all is {a * b}. Take {c} percent off."
        ),
    ),
    Template(
        4,
        "{who} is {a} times as old as {other}, who is {b}. How old will {who} be in {c} years?",
        {
            "b": (3, 12),
            "a": (2, 5),
            "c": (3, 15),
            "who other": "Amira Bruno Chiara Elif Jonas Nora Priya Sven",
        },
        lambda a, b, c, **_: _worked(a * b + c, f"Now the age is {a * b}. Add {c} years."),
    ),
    Template(
        5,
        "A workshop makes {a} {thing} an hour, works {b} hours a day, "
        "and throws away {d} spoiled {thing} every day. How many good {thing} does it make in {c} days?",
        {"a": (12, 48), "b": (5, 9), "c": (3, 12), "d": lambda a, **_: (5, 2 * a), "thing": _GOODS},
        lambda a, b, c, d, **_: _worked(
            (a * b - d) * c, f"A day brings {a * b}; {a * b - d} are good. Multiply by {c}."
        ),
    ),
    Template(
        5,
        "A tank gains {a} litres a minute through one pipe and loses {b} litres a minute through another. "
        "It starts empty. After how many minutes does it hold {c} litres?",
        {"a": (14, 40), "b": (3, 11), "minutes": (6, 30), "c": lambda a, b, minutes: (a - b) * minutes},
        lambda a, b, c, **_: _worked(c // (a - b), f"It gains {a - b} litres a minute. Divide {c} by that."),
    ),
    Template(
        5,
        "{who} sells {a} {thing} at {b} coins and {c} {thing} at {d} coins, "
        "and pays {e} coins for the stall. How many coins has {who} earned?",
        {"a": (12, 60), "b": (3, 9), "c": (11, 50), "d": (2, 8), "who": _PEOPLE, "e": (20, 60), "thing": _THINGS},
        lambda a, b, c, d, e, **_: _worked(
            a * b + c * d - e, f"The sales are {a * b} and {c * d}. Add them and subtract {e}."
        ),
    ),
)


SETS: dict[str, tuple[Template, ...]] = {
    "arithmetic": ARITHMETIC,
    "arithmetic-easy": tuple(one for one in ARITHMETIC if one.level <= 2),
    "arithmetic-hard": tuple(one for one in ARITHMETIC if one.level >= 4),
}


@dataclass(frozen=True)
class Recognised:
    """A question traced back to its template."""

    kind: str
    level: int
    worked: WorkedAnswer


@lru_cache(maxsize=16384)
def recognise(question: str) -> Recognised | None:
    """None for a question that is not from a built-in set."""
    for template in ARITHMETIC:
        values = template.read(question.strip())
        if values is not None:
            return Recognised("arithmetic", template.level, template.work(**values))
    return None


_TRIES_PER_PROBLEM = 50

T = TypeVar("T")

Split = Literal["search", "judge"]
"""the use of a problem: `search` problems train prompts, `judge` problems test the champion"""


@dataclass(frozen=True, slots=True)
class Problem:
    question: str
    answer: str
    fields: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """the other columns of its row: choices, tests, a source"""


@dataclass(frozen=True, slots=True)
class ProblemSet:
    name: str
    training: tuple[Problem, ...]
    validation: tuple[Problem, ...]


def problem_set(name: str, training: int, validation: int, seed: int) -> ProblemSet:
    """Of a built-in set, exactly the requested sizes."""
    problems = generate(name, training + validation, stream(seed, "problems", name))
    return ProblemSet(name, *split_problems(problems, training, validation))


def split_problems(problems: Sequence[T], search: int, judge: int) -> tuple[tuple[T, ...], tuple[T, ...]]:
    """Parts of these sizes. If there are too few problems, the held-out part keeps its size up to half of them, and the search
    gets the rest. So a search size above the available number does not shorten the held-out part."""
    held_out = min(judge, max(len(problems) // 2, len(problems) - search))
    searched = min(search, len(problems) - held_out)
    return tuple(problems[:searched]), tuple(problems[searched : searched + held_out])


def generate(set_name: str, count: int, rng: Random) -> list[Problem]:
    """Distinct problems. The templates are drawn evenly, so the order has no meaning."""
    problems: dict[str, Problem] = {}
    for _ in range(count * _TRIES_PER_PROBLEM):
        if len(problems) == count:
            return list(problems.values())
        template = rng.choice(SETS[set_name])
        values = template.draw(rng)
        question = template.question(values)
        problems.setdefault(question, Problem(question, template.work(**values).answer))
    raise UsageError(
        f"The built-in problems {set_name!r} do not have {count} different questions, only about {len(problems)}. "
        "Lower evolution.max_problems or evolution.validation_problems.",
        ("evolution", "max_problems"),
    )
