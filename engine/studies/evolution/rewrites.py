"""Rewrites by a model: what it is asked, how its reply is read, and which rewrites are refused.

A rewrite must neither tell an answer nor quote a problem. A prompt is asked thousands of times on problems that the search
knows, so a rewrite that slips an answer in wins by cheating. Only what is new counts: what the original says already is the
user's own. A label or a short number in a prompt is no leak ("answer positive or negative", "an hour has 60 minutes"); an
assertion of THE answer is.
"""

import re
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from tidepool.engine.answer_forms import fields_of, text_of
from tidepool.engine.studies.evolution.genome import columns_of, is_fixed, placeholders, split_segments
from tidepool.engine.studies.evolution.problems.problem_set import Problem
from tidepool.engine.studies.evolution.tasks.task import LETTERS, expected_number, normalised, numbers_in

REWRITES = ("rephrase", "shorten", "elaborate", "reflect")
MOST_WORDS, MOST_LETTERS = 250, 10_000
MOST_FAILURES = 4
_REPLY_SHOWN = 400

SYSTEM = (
    "You edit instructions that are given to a language model before it solves a problem. "
    "The same instructions serve many different problems, so they must not mention any single one. "
    "Reply with the new instructions between <prompt> and </prompt>, and nothing else."
)

TASKS = {
    "rephrase": "Rephrase these instructions in other words. Keep what they mean and about their length.",
    "shorten": "Shorten these instructions. Keep what matters most, and leave out the rest.",
    "elaborate": "Elaborate these instructions: add one or two sentences that help to find right answers.",
    "reflect": "With these instructions the problems below were answered wrongly. Find out what went wrong, "
    "and improve the instructions so that such mistakes become rarer.",
}

KEEP = (
    "Keep the names in braces, such as {question}, each as often as they are there: data are put in their place. Keep a line --- "
    "where it stands: what follows is the message with the question, what comes before is said once and for all."
)

_TAGGED = re.compile(r"<prompt>(.*?)(</prompt>|\Z)", re.DOTALL | re.IGNORECASE)
_FENCED = re.compile(r"```[^\n`]*\n(.*?)```", re.DOTALL)
_TALK = re.compile(r"^(?:sure|certainly|of course|here(?:'s| is| are)|okay|ok)\b[^\n:]{0,80}[:.!]\s*\n", re.IGNORECASE)
_REFUSAL = re.compile(
    r"\b(?:i(?:'m| am) (?:sorry|unable|not able)|i can(?:no|')t (?:help|assist|do|comply)|as an ai\b)",
    re.IGNORECASE,
)
_TAG = re.compile(r"</?(?:prompt|problem|reply|expected)\b[^>]*>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FailedProblem:
    """A problem that was answered wrongly, shown to a model that reflects."""

    question: str
    expected: str
    reply: str


def rewrite_request(kind: str, prompt: str, failures: Sequence[FailedProblem] = ()) -> str:
    """What the rewriter is asked, with `SYSTEM` as its system prompt."""
    sections = [TASKS[kind], f"<prompt>\n{prompt}\n</prompt>"]
    if any(map(is_fixed, split_segments(prompt))):
        sections.append(KEEP)
    if kind == "reflect":
        sections += map(_shown, failures[:MOST_FAILURES])
    return "\n\n".join(sections)


@dataclass(frozen=True, slots=True)
class Rewrite:
    text: str = ""
    """the new prompt"""
    refused: str | None = None
    """why there is none: unusable, too_long, unchanged, refusal"""


def read_rewrite(reply: str, original: str, *, cut: bool = False) -> Rewrite:
    text = _TAG.sub(" ", _inner(reply, cut))
    text = "\n".join(" ".join(line.split()) for line in text.splitlines() if line.strip()).strip(' \n"“”`')
    words = len(text.split())
    if words < 2:
        return Rewrite(refused="unusable")
    if words > MOST_WORDS or len(text) > MOST_LETTERS:
        return Rewrite(refused="too_long")
    if text == original.strip():
        return Rewrite(refused="unchanged")
    return Rewrite(refused="refusal") if _REFUSAL.search(text) else Rewrite(text)


def _inner(reply: str, cut: bool) -> str:
    fields, tagged = fields_of(reply), [text for text, closed in _TAGGED.findall(reply) if closed]
    if formed := text_of((fields or {}).get("prompt")):
        return formed
    if tagged:
        return str(tagged[-1])
    if fields is not None or "<prompt" in reply.lower():
        return ""  # a tag that is never closed: cut short, and half an instruction is none
    fenced = _FENCED.findall(reply)
    if fenced:
        return str(fenced[-1])
    return "" if cut else _TALK.sub("", reply.strip() + "\n")


def _shown(failure: FailedProblem) -> str:
    reply = _TAG.sub(" ", failure.reply)
    if len(reply) > _REPLY_SHOWN:
        reply = "… " + reply[-_REPLY_SHOWN:]
    return (
        f"<problem>\n{failure.question}\n</problem>\n"
        f"<reply>\n{reply}\n</reply>\n"
        f"<expected>\n{failure.expected}\n</expected>"
    )


ANSWER, QUESTION, PLACEHOLDER, ACCEPTED = "answer", "question", "placeholder", "accepted"

_LOOKED_AT = 2000
"""problems whose words are known"""
_WINDOW = 7
"""words of a question that nobody writes by chance"""
_FEW_LABELS = 10
"""different answers of a problem set whose answers are labels"""
_TELLING_DIGITS = 3
"""of an expected number that stands in a prompt by no accident"""
_TELLING_LETTERS = 8
_COMMON = {180, 360, 365}
"""numbers of clocks, calendars and angles"""

_WORD = re.compile(r"\w+")
_ANNOUNCED = re.compile(
    r"####|\\boxed\s*\{|\b(?:answer|result|solution|label|sentiment|choice)s?\b[^.\n:=]{0,25}?(?:\bis|\bare|\bequals?|\bbe\b|[:=])"
    r"|\balways\s+(?:answer|reply|respond|say|choose|pick|output|write)\b(?:\s+(?:with|option|choice|the))*",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[\s\"'“‘(*_`$€£]*(?:exactly |about )?(-?\d[\d,.]*)")
_APART = re.compile(r"\d(?:[ .,'’_-]?\d){2,20}")
_CONDITION = re.compile(
    r"\b(?:if|when|whenever|unless|where|otherwise|in case|example|instance|such as|like)\b", re.IGNORECASE
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
        """Why the rewrite is turned down: placeholder, answer, question; None: it is not. `shown` are the expected answers of the
        problems that the rewriter saw."""
        if placeholders(text, self._columns) != placeholders(original, self._columns):
            return PLACEHOLDER
        if not self.strict:
            return None
        if self._reveals_number(text, original, shown) or self._reveals_words(text, original):
            return ANSWER
        return QUESTION if self._quotes(text, original) else None

    @cached_property
    def _columns(self) -> frozenset[str]:
        return columns_of(self.problems)

    @cached_property
    def _expected(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(problem.answer for problem in self.problems))

    @cached_property
    def _labels(self) -> tuple[str, ...]:
        """Answers that are given again and again; naming them all is no leak, announcing one is."""
        if self.task == "choice":
            return tuple(LETTERS)
        few = self._expected if 1 < len(self._expected) <= min(_FEW_LABELS, len(self.problems) // 2) else ()
        return tuple(label.casefold() for label in self.labels or few if expected_number(label) is None)

    @cached_property
    def _numbers(self) -> frozenset[float]:
        return _values(self._expected)

    def _reveals_number(self, text: str, original: str, shown: Sequence[str]) -> bool:
        seen = _values(shown)
        if not self._numbers and not seen:
            return False
        fresh = (_mentioned(text) - _mentioned(original)) & (self._numbers | seen) - _COMMON
        if any(_digits(number) >= _TELLING_DIGITS for number in fresh):
            return True
        return bool(_announced_numbers(text, seen) - _announced_numbers(original, seen))

    def _reveals_words(self, text: str, original: str) -> bool:
        if self._labels:
            return bool(self._announced_labels(text) - self._announced_labels(original))
        if self.task not in ("auto", "text"):
            return False
        after, before = _spoken(text), _spoken(original)
        tails = [normalised(tail.partition(".")[0]) for sentence in split_segments(text) for tail in _tails(sentence)]
        for answer in self._expected:
            words = _spoken(answer)
            is_new = expected_number(answer) is None and words in after and words not in before
            if is_new and (len(words.strip()) >= _TELLING_LETTERS or words.strip() in tails):
                return True
        return False

    def _announced_labels(self, text: str) -> set[str]:
        """Labels of which one alone is said to be the answer, and under no condition."""
        announced = set()
        for sentence in split_segments(text if self.task == "choice" else text.casefold()):
            named = [label for label in self._labels if re.search(rf"(?<!\w){re.escape(label)}(?!\w)", sentence)]
            pattern = rf"\W*(?:always |only |option |choice )*\W*{re.escape(named[0])}(?!\w)" if len(named) == 1 else ""
            if (
                pattern
                and not _CONDITION.search(sentence)
                and any(re.match(pattern, tail) for tail in _tails(sentence))
            ):
                announced.add(named[0])
        return announced

    def _quotes(self, text: str, original: str) -> bool:
        """Words that stand together in a few problems alone, in the question or in a long answer."""
        fresh = set(_windows(text)) - set(_windows(original))
        most = max(2, min(len(self.problems), _LOOKED_AT) // 20)
        return any(0 < self._known_windows[window] <= most for window in fresh)

    @cached_property
    def _known_windows(self) -> Counter[tuple[str, ...]]:
        problems = self.problems[:_LOOKED_AT]
        return Counter(window for one in problems for window in {*_windows(one.question), *_windows(one.answer)})


def _windows(text: str) -> Iterator[tuple[str, ...]]:
    words = _WORD.findall(text.lower())
    return (tuple(words[start : start + _WINDOW]) for start in range(len(words) - _WINDOW + 1))


def _spoken(text: str) -> str:
    return f" {' '.join(_WORD.findall(text.lower()))} "


def _tails(sentence: str) -> Iterator[str]:
    """What follows where an answer is announced."""
    return (sentence[mark.end() :] for mark in _ANNOUNCED.finditer(sentence))


def _values(answers: Sequence[str]) -> frozenset[float]:
    return frozenset(round(number.value, 6) for number in map(expected_number, answers) if number is not None)


def _announced_numbers(text: str, seen: Container[float]) -> set[float]:
    """Numbers that are said to be the answer; under a condition or as an example only those that the rewriter saw."""
    announced = set()
    for sentence in split_segments(text):
        for tail in _tails(sentence):
            number = _NUMBER.match(tail)
            for parsed in numbers_in(number[1].rstrip(".,")) if number else []:
                value = round(parsed.value, 6)
                if not _CONDITION.search(sentence) or (value in seen and value not in (0, 1)):
                    announced.add(value)
    return announced


def _mentioned(text: str) -> set[float]:
    """In digits, also taken apart (1-7-0-8-0, 17.080)."""
    whole = {round(number.value, 6) for number in numbers_in(text)}
    return whole | {float(re.sub(r"\D", "", match[0])) for match in _APART.finditer(text)}


def _digits(value: float) -> int:
    """That say something: of 253400 there are four."""
    return len(f"{value:.6f}".rstrip("0").rstrip(".").replace(".", "").strip("0-"))
