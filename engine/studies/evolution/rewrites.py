"""Rewrites by a model: the request, the parsing of the reply, and the rules that refuse a rewrite.

A rewrite must neither reveal an answer nor quote a problem. A prompt is tested thousands of times on problems of the search, so
a rewrite that contains an answer would win by cheating. Only new text counts: the text of the original is the user's own. A
label or a short number in a prompt is not a leak ("answer positive or negative", "an hour has 60 minutes"), but an assertion of
THE answer is. A leak that passes cannot affect the final test, since no rewriter sees its problems.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from tidepool.engine.answer_forms import fields_of, text_of
from tidepool.engine.studies.evolution.genome import columns_of, is_fixed, placeholders, split_segments
from tidepool.engine.studies.evolution.problems.problem_set import Problem
from tidepool.engine.studies.evolution.tasks.task import expected_number, numbers_in

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
    """A wrongly answered problem, shown to a model that reflects."""

    question: str
    expected: str
    reply: str


def rewrite_request(kind: str, prompt: str, failures: Sequence[FailedProblem] = ()) -> str:
    """The request to the rewriter; its system prompt is `SYSTEM`."""
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
    """why it is unusable: unusable, too_long, unchanged, refusal"""


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
        return ""  # a tag that is never closed: the reply was cut short, and half an instruction is unusable
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
"""words of a question that do not occur together by chance"""
_TELLING_DIGITS = 3
"""digits of an expected number that does not occur in a prompt by chance"""
_COMMON = {180, 360, 365}
"""numbers of clocks, calendars and angles"""

_WORD = re.compile(r"\w+")
_ANNOUNCED = re.compile(
    r"(?:####|\\boxed\s*\{|\b(?:answer|result|solution|label|sentiment|choice)s?\b[^.\n:=]{0,25}?(?:\bis(?: always)?|\bare|\bbe\b|[:=])"
    r"|\balways\s+(?:answer|reply|respond|say|choose|pick|output|write)\b(?:\s+(?:with|option|choice|the))*)[\s\W]*",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"\b(?:if|when|whenever|unless|where|otherwise|example|instance|such as|like|or)\b", re.IGNORECASE
)


@dataclass(frozen=True)
class Guard:
    """Knows the problems of the search and their answers."""

    problems: Sequence[Problem]

    def refuses(self, text: str, original: str, shown: Sequence[str] = ()) -> str | None:
        """The reason for refusing the rewrite (placeholder, answer, question), or None. `shown` are the expected answers of the
        problems that the rewriter saw."""
        if placeholders(text, self._columns) != placeholders(original, self._columns):
            return PLACEHOLDER
        if self._answers_in(text, shown) - self._answers_in(original, shown):
            return ANSWER
        fresh = set(_windows(text)) - set(_windows(original))
        most = max(2, min(len(self.problems), _LOOKED_AT) // 20)
        return QUESTION if any(0 < self._known_windows[window] <= most for window in fresh) else None

    def _answers_in(self, text: str, shown: Sequence[str]) -> set[str]:
        """Expected answers that a text reveals: long numbers anywhere, and others if the text states, without a condition, that
        they are the answer."""
        values = {round(number.value, 6) for number in numbers_in(text)} & (self._numbers | _values(shown)) - _COMMON
        answers = {f"{value:f}" for value in values if _is_telling(value)}
        for sentence in split_segments(text):
            if not _CONDITION.search(sentence):
                for mark in _ANNOUNCED.finditer(sentence):
                    tail = sentence[mark.end() :].lower()
                    answers |= {
                        one
                        for one in self._answers
                        if tail.startswith(one) and not tail[len(one) : len(one) + 1].isalnum()
                    }
        return answers

    @cached_property
    def _columns(self) -> frozenset[str]:
        return columns_of(self.problems)

    @cached_property
    def _answers(self) -> frozenset[str]:
        return frozenset(problem.answer.lower() for problem in self.problems if problem.answer)

    @cached_property
    def _numbers(self) -> frozenset[float]:
        return _values([problem.answer for problem in self.problems])

    @cached_property
    def _known_windows(self) -> Counter[tuple[str, ...]]:
        problems = self.problems[:_LOOKED_AT]
        return Counter(window for one in problems for window in {*_windows(one.question), *_windows(one.answer)})


def _windows(text: str) -> Iterator[tuple[str, ...]]:
    """Sequences of adjacent words."""
    words = _WORD.findall(text.lower())
    return (tuple(words[start : start + _WINDOW]) for start in range(len(words) - _WINDOW + 1))


def _values(answers: Sequence[str]) -> frozenset[float]:
    return frozenset(round(number.value, 6) for number in map(expected_number, answers) if number is not None)


def _is_telling(value: float) -> bool:
    """For example, 253400 has four significant digits."""
    return len(f"{value:.6f}".rstrip("0").rstrip(".").replace(".", "").strip("0-")) >= _TELLING_DIGITS
