"""Rewrites by a model: what it is asked, how its reply is read, and which rewrites are refused.

A rewrite must not tell an answer, quote a problem, or ask for something else than the task needs. A prompt is asked
thousands of times on problems that the search knows, so a rewrite that slips an answer in wins by cheating, and one that
changes the form of answers loses for reasons that say nothing about it. Only what is new counts: what the original says
already is the user's own. A label or a number in a prompt is no leak ("answer positive or negative", "an hour has 60
minutes"); an assertion of THE answer is.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
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


@dataclass(frozen=True, slots=True)
class RewriteRequest:
    system: str
    user: str


def rewrite_request(kind: str, prompt: str, failures: Sequence[FailedProblem] = ()) -> RewriteRequest:
    parts = [TASKS[kind], f"<prompt>\n{prompt}\n</prompt>"]
    if any(map(is_fixed, split_segments(prompt))):
        parts.append(KEEP)
    if kind == "reflect":
        parts += map(_shown, failures[:MOST_FAILURES])
    return RewriteRequest(SYSTEM, "\n\n".join(parts))


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
    if fields is not None:
        return ""
    if "<prompt" in reply.lower():
        return ""  # opened and never closed: cut short, and half an instruction is none
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


_LANGUAGES = (
    "French|Spanish|German|Italian|Portuguese|Dutch|Russian|Chinese|Mandarin|Japanese|Korean|Arabic|Hindi|Turkish|Polish|Latin|Greek|"
    "Hebrew|Swedish|Esperanto|Klingon|Pig Latin"
)
_WORKS = r"(?:poem|essay|story|song|haiku|limerick|sonnet|rap|e-?mail|blog post|article|dialogue|screenplay)"
_SAY = r"(?:answer|reply|respond|write|speak|explain|output|give|state|translate)"
_ANSWER = r"(?:answer|result|number|solution)"

_ANY_TASK = (
    rf"\b{_SAY}\b[^.\n]{{0,60}}\b(?:in|into) (?:{_LANGUAGES})\b",
    rf"\b(?:write|compose|tell|respond with|reply with|answer with|create)\s+(?:an?|the)\s+(?:[\w-]+\s+){{0,2}}{_WORKS}\b",
    rf"\b{_SAY}\b[^.\n]{{0,40}}\b(?:as|in the form of) an? (?:[\w-]+ )?{_WORKS}\b",
    r"\bwrite (?:a|an) (?:reply|response|letter|note) to the\b",
    r"\b(?:do not|don't|never)\s+(?:ever\s+)?(?:give|state|reveal|solve|answer|choose|pick|provide|name|use)"
    r"(?:\s+(?:the|a|an|any|one|it|your))?(?:\s+(?:final|correct|right))?(?:\s+(?:answer|problem|question|result|solution|option|label|one))?"
    r"\s*(?:[.;,!:]|$|\band\b|\bonly\b)",
    r"\bask (?:the user|me\b|for (?:more|further) (?:information|detail))|\bclarifying question",
    r"\b(?:code|program|script)\b[^.\n]*\b(?:do not run|without running|and nothing else|only)\b",
)
_BY_TASK = {
    "number": (
        rf"\b{_ANSWER}\b[^.\n]{{0,40}}\b(?:as|in) (?:an? )?(?:roman numerals?|binary|hexadecimal|words|letters)\b",
        r"\binstead of (?:digits|an? (?:single |exact |plain )*number)\b",
        r"\b(?:answer|reply|respond) with (?:only )?(?:yes or no|true or false|an? letter)\b",
    ),
    "label": (
        r"\b(?:rate|score|grade)\b[^.\n]{0,50}\b(?:from|between|out of|on a scale)\b",
        r"\b(?:give|answer|reply|respond|state)\b[^.\n]{0,40}\b(?:a number|a score|probability|percentage|stars)\b",
    ),
}
_BY_TASK["choice"] = _BY_TASK["label"]
_MARKERS = ("####", "\\boxed", "<answer>")
"""by which answers are found; a prompt that asks for one of them must go on asking for one"""


def changes_task(text: str, original: str, kind: str) -> bool:
    if any(marker in original for marker in _MARKERS) and not any(marker in text for marker in _MARKERS):
        return True
    patterns = (*_ANY_TASK, *_BY_TASK.get(kind, ()))
    return any(_asks(pattern, text) and not _asks(pattern, original) for pattern in patterns)


def _asks(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.IGNORECASE | re.MULTILINE) is not None


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
