"""One kind of problem as a text with gaps: it can be drawn from a seed, and read back from the question
alone.

Reading back is what lets a simulated solver work on a problem honestly: it is given the question like any
model, and finds numbers, difficulty and solution in its words.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Any

Values = Mapping[str, Any]
"""what stands in the gaps: whole numbers, or words"""

_GAP = re.compile(r"\{(\w+)\}")
_NUMBER_OR_WORDS = {True: r"\d+", False: r"[A-Za-z]+(?:, [A-Za-z]+)*"}


@dataclass(frozen=True)
class Worked:
    answer: str
    working: str
    """the way to the answer, without the answer itself"""
    mistakes: tuple[str, ...] = ()
    """wrong answers somebody might give; for numbers, near misses are made"""


@dataclass(frozen=True)
class Template:
    kind: str
    """arithmetic, logic or strings"""
    level: int
    """difficulty, 1 to 5"""
    text: str
    draw: Callable[[Random], Values]
    """gaps whose first value is a number are read back as numbers: `a`, `b`, …; the others are words"""
    work: Callable[[Values], Worked]

    def question(self, values: Values) -> str:
        return self.text.format_map(values)

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        sample = self.draw(Random(0))
        seen: set[str] = set()

        def gap(found: re.Match[str]) -> str:
            name = found[1]
            if name in seen:
                return f"(?P={name})"
            seen.add(name)
            return f"(?P<{name}>{_NUMBER_OR_WORDS[isinstance(sample[name], int)]})"

        return re.compile(_GAP.sub(gap, re.sub(r"([.?+*()$])", r"\\\1", self.text)))

    def read(self, question: str) -> Values | None:
        found = self.pattern.fullmatch(question)
        if found is None:
            return None
        return {name: int(text) if text.isdigit() else text for name, text in found.groupdict().items()}


def pick(rng: Random, text: str) -> str:
    """One of the words of a text."""
    return rng.choice(text.split())


PEOPLE = (
    "Amira Bruno Chiara Dmitri Elif Farid Greta Hana Ivo Jonas Kenji Lucia Malik Nora Otto Priya Rosa Sven Tala Umar"
)


def person(rng: Random) -> str:
    return pick(rng, PEOPLE)
