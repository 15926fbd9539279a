"""Rewrites by a model: what it is asked, how its reply is read, and which rewrites are refused.

A rewrite must neither tell an answer nor quote a problem. A prompt is asked thousands of times on problems that the search
knows, so a rewrite that slips an answer in wins by cheating. Only what is new counts: what the original says already is the
user's own. A label or a short number in a prompt is no leak ("answer positive or negative", "an hour has 60 minutes"); an
assertion of THE answer is.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from tidepool.engine.answer_forms import fields_of, text_of
from tidepool.engine.studies.evolution.genome import columns_of, is_fixed, placeholders, split_segments
from tidepool.engine.studies.evolution.problems.problem_set import Problem
from tidepool.engine.studies.evolution.tasks.task import LETTERS, expected_number, numbers_in

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
        told = self._long_answers(text, shown) - self._long_answers(original, shown)
        if told or self._announced(text) - self._announced(original):
            return ANSWER
        fresh = set(_windows(text)) - set(_windows(original))
        most = max(2, min(len(self.problems), _LOOKED_AT) // 20)
        return QUESTION if any(0 < self._known_windows[window] <= most for window in fresh) else None

    @cached_property
    def _columns(self) -> frozenset[str]:
        return columns_of(self.problems)

    @cached_property
    def _expected(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(problem.answer for problem in self.problems))

    @cached_property
    def _labels(self) -> tuple[str, ...]:
        """Answers that are given again and again; naming them all is no leak, announcing one is."""
        few = self._expected if 1 < len(self._expected) <= min(_FEW_LABELS, len(self.problems) // 2) else ()
        labels = LETTERS if self.task == "choice" else self.labels or few
        return tuple(label for label in labels if expected_number(label) is None)

    @cached_property
    def _numbers(self) -> frozenset[float]:
        return _values(self._expected)

    def _long_answers(self, text: str, shown: Sequence[str]) -> set[str]:
        """Expected answers too long to be in a text by accident: numbers, also taken apart (1-7-0-8-0, 17.080), and words."""
        spellings = (re.sub(r"\D", "", match[0]) for match in _APART.finditer(text))
        numbers = {round(number.value, 6) for number in numbers_in(text)} | {float(digits) for digits in spellings}
        found = {f"{value:f}" for value in numbers & (self._numbers | _values(shown)) - _COMMON if _telling(value)}
        if not self._labels and self.task in ("auto", "text"):
            spoken = _spoken(text)
            words = (_spoken(answer) for answer in self._expected if expected_number(answer) is None)
            found |= {answer for answer in words if len(answer.strip()) >= _TELLING_LETTERS and answer in spoken}
        return found

    def _announced(self, text: str) -> set[str]:
        """Numbers, and expected words that stand alone, of which a text says that they are the answer, under no condition."""
        announced: set[str] = set()
        for sentence in split_segments(text):
            tails = [sentence[mark.end() :] for mark in _ANNOUNCED.finditer(sentence)]
            if not tails or _CONDITION.search(sentence):
                continue
            numbers = (_NUMBER.match(tail) for tail in tails)
            announced |= {number[1].rstrip(".,") for number in numbers if number and self._numbers}
            flags = 0 if self.task == "choice" else re.IGNORECASE
            words = (answer for answer in self._labels or self._expected if expected_number(answer) is None)
            named = [one for one in words if re.search(rf"(?<!\w){re.escape(one)}(?!\w)", sentence, flags)]
            if len(named) == 1:
                pattern = rf"\W*(?:always |only |option |choice )*\W*{re.escape(named[0])}(?!\w)"
                announced |= set(named) if any(re.match(pattern, tail, flags) for tail in tails) else set()
        return announced

    @cached_property
    def _known_windows(self) -> Counter[tuple[str, ...]]:
        problems = self.problems[:_LOOKED_AT]
        return Counter(window for one in problems for window in {*_windows(one.question), *_windows(one.answer)})


def _windows(text: str) -> Iterator[tuple[str, ...]]:
    """Words that stand together."""
    words = _WORD.findall(text.lower())
    return (tuple(words[start : start + _WINDOW]) for start in range(len(words) - _WINDOW + 1))


def _spoken(text: str) -> str:
    return f" {' '.join(_WORD.findall(text.lower()))} "


def _values(answers: Sequence[str]) -> frozenset[float]:
    return frozenset(round(number.value, 6) for number in map(expected_number, answers) if number is not None)


def _telling(value: float) -> bool:
    """Of 253400 four digits say something."""
    return len(f"{value:.6f}".rstrip("0").rstrip(".").replace(".", "").strip("0-")) >= _TELLING_DIGITS
