"""What a rewrite must not do: tell an answer, quote a problem, or ask for something else than the task needs.

A prompt is asked thousands of times on problems that the search knows, so a rewrite that slips an answer in wins by
cheating, and one that changes the form of answers loses for reasons that say nothing about it. Only what is new counts: what
the original says already is the user's own. A label or a number in a prompt is no leak ("answer positive or negative", "an
hour has 60 minutes"); an assertion of THE answer is.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from tidepool.engine.studies.evolution.genome import split_segments
from tidepool.engine.studies.evolution.operators.task_changes import changes_task
from tidepool.engine.studies.evolution.placeholders import columns_of, placeholders
from tidepool.engine.studies.evolution.problems.problem_set import Problem
from tidepool.engine.studies.evolution.tasks.extraction import LETTERS, expected_number, normalised, numbers_in

ANSWER, QUESTION, FORM = "answer", "question", "form"
PLACEHOLDER, ACCEPTED = "placeholder", "accepted"

_LOOKED_AT = 2000
"""problems whose words are known"""
_WINDOW = 7
"""words of a question that nobody writes by chance"""
_FEW_LABELS = 10
_SEVERAL = 3
_TELLING_DIGITS = 4
"""of an expected number that stands in a prompt by no accident"""
_SHOWN_DIGITS = 3
"""the same, where the rewriter was shown it"""
_TELLING_WORD = 4
_COMMON = {10, 12, 20, 24, 30, 50, 52, 60, 90, 100, 180, 360, 365, 500, 1000, 3600}
"""numbers of clocks, calendars and shares"""

_WORD = re.compile(r"\w+")
_MARK = re.compile(
    r"####|\\boxed\s*\{|\b(?:answer|result|solution|label|sentiment|choice)s?\b[^.\n:=]{0,25}?(?:\bis|\bare|\bequals?|\b(?:should|must|will|would) be|[:=])",
    re.IGNORECASE,
)
_CONSTANT = re.compile(
    r"\b(?:always|only ever|every time|each time|in every case|in all cases|whatever)\b", re.IGNORECASE
)
_TOLD = re.compile(
    r"\b(?:answer|reply|respond|say|choose|pick|select|output|return|predict|write)\b(?:\s+(?:with|option|choice|the))*\s*",
    re.IGNORECASE,
)
_APART = re.compile(r"\d(?:[ .,'’_-]?\d){2,20}")
_OPENING = r"[\s\"'“‘(*_`$€£]*"
_NUMBER = re.compile(rf"{_OPENING}(?:exactly |about )?(-?\d[\d,.]*)")
_ENDED = r"[\"'”’)*_`}]*\s*(?:$|[.!;,\n]|(?:in )?every\b|each\b|always\b|in all\b|whatever\b)"
_SOFT = re.compile(
    r"\b(?:if|when|whenever|unless|where|otherwise|in case|as long as|for example|for instance|e\.g|example|such as|like|of the form)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Guard:
    """Knows the problems of the search, and what their answers look like."""

    task: str
    labels: Sequence[str]
    problems: Sequence[Problem]
    strict: bool = True
    """false: only placeholders are looked after"""

    def refuses(self, text: str, original: str, shown: Sequence[str] = ()) -> str | None:
        """Why the rewrite is turned down: placeholder, answer, question, form; None: it is not. `shown` are the expected answers of the
        problems that the rewriter saw."""
        if placeholders(text, self._columns) != placeholders(original, self._columns):
            return PLACEHOLDER
        if not self.strict:
            return None
        if self._tells(text, original, shown):
            return ANSWER
        if self._quotes(text, original):
            return QUESTION
        return FORM if self.kind and changes_task(text, original, self.kind) else None

    @cached_property
    def kind(self) -> str:
        """number, choice, label, text; empty: a task of another kind, whose answers have no form that we know."""
        if self.task != "auto":
            kind = self.task if self.task in ("number", "choice", "label", "text") else ""
        else:
            kind = "number" if all(expected_number(one) is not None for one in self._expected) else "text"
        return "label" if kind == "text" and 2 * len(self._few) <= len(self.problems) and self._few else kind

    @cached_property
    def _columns(self) -> frozenset[str]:
        return columns_of(self.problems)

    @cached_property
    def _expected(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(problem.answer for problem in self.problems))

    @cached_property
    def _few(self) -> tuple[str, ...]:
        """Answers that are given again and again are labels, whatever the task is called."""
        return self._expected if 1 < len(self._expected) <= _FEW_LABELS else ()

    # -- answers --------------------------------------------------------------------------------------------

    def _tells(self, text: str, original: str, shown: Sequence[str]) -> bool:
        match self.kind:
            case "number":
                return self._tells_number(text, original, shown)
            case "choice":
                return self._tells_label(text, original, tuple(LETTERS))
            case "label":
                return self._tells_label(text.casefold(), original.casefold(), self._label_names)
            case "text":
                return self._tells_words(text, original)
        return False

    @cached_property
    def _label_names(self) -> tuple[str, ...]:
        return tuple(label.casefold() for label in (self.labels or self._few))

    @cached_property
    def _numbers(self) -> frozenset[float]:
        found = map(expected_number, self._expected)
        return frozenset(round(one.value, 6) for one in found if one is not None)

    def _tells_number(self, text: str, original: str, shown: Sequence[str]) -> bool:
        seen = {round(one.value, 6) for one in map(expected_number, shown) if one}
        before = {value for value, _ in _asserted_numbers(original)}
        for value, soft in _asserted_numbers(text):
            if value not in before and (not soft or (value in seen and value not in (0, 1))):
                return True
        mentioned = _mentioned(text) - _mentioned(original)
        if any(_digits(one) >= _SHOWN_DIGITS and one not in _COMMON for one in mentioned & seen):
            return True
        known = mentioned & self._numbers
        if any(_digits(one) >= _TELLING_DIGITS for one in known):
            return True
        return sum(one >= 10 and one not in _COMMON for one in known) >= _SEVERAL

    def _tells_label(self, text: str, original: str, labels: Sequence[str]) -> bool:
        return bool(set(_asserted_labels(text, labels)) - set(_asserted_labels(original, labels)))

    def _tells_words(self, text: str, original: str) -> bool:
        words, before = (f" {' '.join(_WORD.findall(one.lower()))} " for one in (text, original))
        named = {f" {' '.join(_WORD.findall(one.lower()))} " for one in self._expected}
        found = [one for one in named if one in words and one not in before]
        if any(len(one.split()) > 1 and len(one) >= 2 * _TELLING_WORD for one in found):
            return True
        if sum(len(one.strip()) >= _TELLING_WORD for one in found) >= _SEVERAL:
            return True
        asserted = [
            normalised(tail.partition(".")[0]) for sentence in split_segments(text) for tail in _tails(sentence)
        ]
        return any(one.strip() in asserted for one in found)

    # -- questions ------------------------------------------------------------------------------------------

    def _quotes(self, text: str, original: str) -> bool:
        fresh = set(_windows(text)) - set(_windows(original))
        return any(0 < self._spoken[window] <= self._shared for window in fresh)

    @cached_property
    def _spoken(self) -> Counter[tuple[str, ...]]:
        """In how many problems words stand together, in the question or in a long answer."""
        found = self.problems[:_LOOKED_AT]
        return Counter(window for one in found for window in {*_windows(one.question), *_windows(one.answer)})

    @property
    def _shared(self) -> int:
        """Questions that may have words in common without these being of one of them."""
        return max(2, min(len(self.problems), _LOOKED_AT) // 20)


def _windows(text: str) -> Iterator[tuple[str, ...]]:
    words = _WORD.findall(text.lower())
    return (tuple(words[start : start + _WINDOW]) for start in range(len(words) - _WINDOW + 1))


def _tails(sentence: str) -> Iterator[str]:
    """What follows where an answer is announced."""
    return (sentence[mark.end() :] for mark in _MARK.finditer(sentence))


def _asserted_numbers(text: str) -> Iterator[tuple[float, bool]]:
    """Numbers that are said to be the answer, and whether only in a case or as an example."""
    for sentence in split_segments(text):
        soft = bool(_SOFT.search(sentence))
        for tail in _tails(sentence):
            number = _NUMBER.match(tail)
            for one in numbers_in(number[1].rstrip(".,")) if number else []:
                yield round(one.value, 6), soft


def _asserted_labels(text: str, labels: Sequence[str]) -> Iterator[str]:
    """Labels of which one alone is said to be the answer, and in every case."""
    for sentence in split_segments(text):
        named = [one for one in labels if re.search(rf"(?<!\w){re.escape(one)}(?!\w)", sentence)]
        if len(named) != 1 or _SOFT.search(sentence):
            continue
        told = re.compile(rf"{_OPENING}(?:always |only )?{_OPENING}(?:option |choice )?{re.escape(named[0])}{_ENDED}")
        always = (sentence[mark.end() :] for mark in _TOLD.finditer(sentence) if _CONSTANT.search(sentence))
        if any(told.match(tail) for tail in (*_tails(sentence), *always)):
            yield named[0]


def _mentioned(text: str) -> set[float]:
    """In digits, also taken apart (1-7-0-8-0, 17.080)."""
    whole = {round(one.value, 6) for one in numbers_in(text)}
    return whole | {float(re.sub(r"\D", "", one[0])) for one in _APART.finditer(text)}


def _digits(value: float) -> int:
    """That say something: of 253400 there are four."""
    return len(f"{value:.6f}".rstrip("0").rstrip(".").replace(".", "").strip("0-"))
