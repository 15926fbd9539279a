"""How the replies of a study are marked: by the kind of answer that its problems expect."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidepool.engine.studies.evolution.problems.problem_set import Problem
from tidepool.engine.studies.evolution.tasks.extraction import (
    LETTERS,
    choice_answer,
    expected_number,
    format_number,
    label_answer,
    normalised,
    number_answer,
    same_number,
    text_answer,
)
from tidepool.engine.studies.evolution.tasks.python_task import impossible_tests
from tidepool.engine.studies.evolution.tasks.verdict import Verdict


def match(reply: str, expected: str, length: int = 0) -> Verdict:
    """By what is expected: a number, or words."""
    return AnswerTask("auto").mark(reply, Problem("", expected), length)


@dataclass(frozen=True, slots=True)
class AnswerTask:
    """Looks in a reply for the answer that it commits to, and compares that with the expected one."""

    name: str
    """number, choice, label, text; auto: number or text, by what is expected"""
    labels: Sequence[str] = ()

    def mark(self, reply: str, problem: Problem, length: int = 0, *, cut: bool = False) -> Verdict:
        answer, correct = self._read(reply, problem, cut)
        return Verdict(answer, correct, length)

    def _read(self, reply: str, problem: Problem, cut: bool) -> tuple[str | None, bool]:
        expected = problem.answer
        match self.kind(expected):
            case "number":
                number, wanted = number_answer(reply, cut=cut), expected_number(expected)
                return format_number(number) if number else None, bool(
                    number and wanted and same_number(number, wanted)
                )
            case "choice":
                choices = choices_of(problem.fields)
                letter = choice_answer(reply, choices, cut=cut)
                return letter, letter is not None and letter == letter_of(expected, choices)
            case "label":
                label = label_answer(reply, self.labels, cut=cut)
                return label, label is not None and label.casefold() == expected.strip().casefold()
        words = text_answer(reply, cut=cut)
        return words and normalised(words), words is not None and normalised(words) == normalised(expected)

    def kind(self, expected: str) -> str:
        if self.name != "auto":
            return self.name
        return "text" if expected_number(expected) is None else "number"

    def impossible(self, problem: Problem) -> str | None:
        """Why no reply could ever be right; None: one could."""
        expected = problem.answer
        match self.kind(expected):
            case "python":
                return impossible_tests(problem)
            case "number" if expected_number(expected) is None:
                return f"the expected answer {expected!r} is no number"
            case "choice" if letter_of(expected, choices_of(problem.fields)) is None:
                return f"the expected answer {expected!r} is none of the choices"
            case "label" if expected.strip().casefold() not in [label.casefold() for label in self.labels]:
                return f"the expected answer {expected!r} is none of the labels"
        return None


def choices_of(fields: Mapping[str, Any]) -> dict[str, str]:
    """By letter; from a list, from an object by letters, or in the layout of Hugging Face: {"label": […], "text": […]}."""
    found = fields.get("choices", fields.get("options"))
    if isinstance(found, Mapping) and isinstance(found.get("text"), list):
        letters = found.get("label")
        named = letters if isinstance(letters, list) and all(str(one) in LETTERS for one in letters) else LETTERS
        return {str(letter): str(text) for letter, text in zip(named, found["text"], strict=False)}
    if isinstance(found, Mapping):
        return {str(letter).strip("().: ").upper(): str(text) for letter, text in found.items()}
    if isinstance(found, list):
        return {letter: str(text) for letter, text in zip(LETTERS, found, strict=False)}
    return {}


def letter_of(expected: str, choices: Mapping[str, str]) -> str | None:
    """Of an expected answer that is a letter, the text of a choice, or its place from 0 on."""
    bare = expected.strip().strip("().:[] ")
    known = choices or dict.fromkeys(LETTERS, "")
    if bare.upper() in known:
        return bare.upper()
    for letter, text in choices.items():
        if normalised(text) == normalised(expected):
            return letter
    if choices and re.fullmatch(r"\d", bare) and int(bare) < len(choices):
        return list(choices)[int(bare)]
    return None
