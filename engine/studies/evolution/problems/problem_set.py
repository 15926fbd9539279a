"""The problems prompts are judged by: from a built-in set, or from a JSONL file of questions and answers.

Training and validation problems never share a question: what selects a prompt must not also praise it.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Literal

from tidepool.engine.errors import UsageError, located
from tidepool.engine.streams import stream
from tidepool.engine.studies.evolution.problems.builtin.sets import SETS, draw_question

_TRIES_PER_PROBLEM = 50


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


def problem_set(source: str, training: int, validation: int, seed: int, folder: Path | None = None) -> ProblemSet:
    """At most the sizes asked for; a smaller file is divided in the same proportion. A relative path starts at
    `folder`."""
    if training < 1 or validation < 1:
        told = "evolution.max_problems and evolution.validation_problems must each be at least 1."
        raise UsageError(told, ("evolution", "max_problems" if training < 1 else "validation_problems"))
    if source in SETS:
        found = generate(source, training + validation, stream(seed, "problems", source))
    else:
        with located("evolution", "problems"):
            found = read_problems(source, folder or Path())
        stream(seed, "problems", "file").shuffle(found)
    learned, held_out = split_problems(found, training, validation)
    return ProblemSet(source, learned, held_out)


def split_problems(
    problems: list[Problem], training: int, validation: int
) -> tuple[tuple[Problem, ...], tuple[Problem, ...]]:
    asked = training + validation
    if len(problems) < asked:
        training = min(max(1, round(len(problems) * training / asked)), len(problems) - 1)
        validation = len(problems) - training
    return tuple(problems[:training]), tuple(problems[training : training + validation])


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


def read_problems(source: str, folder: Path = Path()) -> list[Problem]:
    path = folder / source
    if not path.is_file():
        raise UsageError(
            f"evolution.problems is {source!r}: neither a built-in set ({', '.join(SETS)}) nor an "
            "existing file. "
            'Give one of these names, or a JSONL file with {"question": …, "answer": …} on each line.'
        )
    try:
        return parse_problems(path.read_text(encoding="utf-8-sig").split("\n"), source)
    except UnicodeDecodeError as error:
        raise UsageError(f"{source} is not UTF-8 text: {error.reason} at byte {error.start}.") from None


def parse_problems(lines: Iterable[str], source: str) -> list[Problem]:
    """Distinct problems, in the order of the file."""
    answers: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        problem = _parse_line(line, f"{source}, line {number}")
        if answers.setdefault(problem.question, problem.answer) != problem.answer:
            raise UsageError(f"{source}, line {number}: this question stands in the file before with another answer.")
    if len(answers) < 2:
        raise UsageError(
            f"{source} has {len(answers)} different problems; at least 2 are needed, "
            "one to learn from and one held out."
        )
    return [Problem(question, answer) for question, answer in answers.items()]


def _parse_line(line: str, where: str) -> Problem:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        raise UsageError(f"{where}: not JSON. Each line must be one object with a question and an answer.") from None
    if not isinstance(row, dict):
        raise UsageError(f"{where}: not an object. Each line must be one object with a question and an answer.")
    question = _text(row, "question", where)
    answer = _text(row, "answer", where).rpartition("####")[2].strip()
    if not answer:
        raise UsageError(f"{where}: nothing follows the #### in the answer.")
    return Problem(question, answer)


def _text(row: dict[str, object], key: str, where: str) -> str:
    value = row.get(key)
    if value is None:
        raise UsageError(f'{where}: no "{key}". It has {", ".join(sorted(row)) or "no keys at all"}.')
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise UsageError(f'{where}: "{key}" must be text or a number.')
    text = str(value).strip()
    if not text:
        raise UsageError(f'{where}: "{key}" is empty.')
    return text
