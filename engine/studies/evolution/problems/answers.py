"""What a reply answers, and whether it is right.

In order: what follows `####`, what follows "answer is", what is boxed, the last number; for an answer in
words, a reply that is nothing but a few words is the answer itself. The last mention of each mark counts:
models change their minds. The expected answer decides whether a number is looked for: `#### Step 1` is a
heading, not an answer.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

from tidepool.engine.registries import SCORERS

TOLERANCE = 0.001
_SLACK = 1e-9  # 0.3 and 0.301 are 0.001 apart on paper, and a little more in binary
_FEW_WORDS = 4
_RIM = " \t\r\n*_`\"'“”$:"

_DIGITS = r"(?:(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d{1,3})?"
_NUMBER = rf"(?:(?<![\w)])[-−+])?(?:[$€£]\s?[-−]?)?{_DIGITS}(?:\s?/\s?\d+(?!\.?\d))?"
_SOME_NUMBER = re.compile(rf"(?<![^\W_])(?<!\d[.,]){_NUMBER}")
_WHOLE_NUMBER = re.compile(rf"{_NUMBER}\s?[%$€£]?\.?")
_HEADING = re.compile(r"(?:step|part|case|method|option)\s*\d|\d+[.)]\s+[^\W\d]", re.IGNORECASE)
_ANSWER_IS = re.compile(r"\banswer(?:\s+is|\s*[:=])\s*:?\s*", re.IGNORECASE)
_LABEL = re.compile(r"^(?:the\s+)?(?:final\s+)?answer(?:\s+is)?\s*[:=]?\s*", re.IGNORECASE)
_BECAUSE = re.compile(r",?\s+(?:because|since)\s.*", re.IGNORECASE | re.DOTALL)
_SENTENCE = re.compile(r"(?:[^.!?\n]|[.](?=\d))*")
_LATEX = re.compile(r"\\(?:text|mathrm|mathbf|textbf|boxed)\s*\{([^{}]*)\}")
_FRAC = re.compile(r"\\[dt]?frac\s*\{(-?\d+)\}\s*\{(-?\d+)\}")
_ARTICLE = re.compile(r"^(?:the|a|an)\s+(?=\S)")


@dataclass(frozen=True, slots=True)
class Verdict:
    answer: str | None
    """in a canonical form, so that equal answers are equal strings; None: the reply gives none"""
    correct: bool
    length: int = 0
    """of the reply, in tokens"""
    score: float | None = None
    """between 0 and 1, of a scorer that knows more than right and wrong"""
    metrics: Mapping[str, float] = field(default_factory=dict)
    """what else a scorer measured, by name"""

    @property
    def worth(self) -> float:
        return float(self.correct) if self.score is None else self.score

    def columns(self) -> dict[str, Any]:
        """As the file keeps it."""
        details = json.dumps(dict(self.metrics)) if self.metrics else None
        return {"extracted": self.answer, "correct": self.correct, "score": self.worth, "details": details}


Scorer = Callable[[str, str, int], Verdict]
"""(reply, expected answer, length of the reply in tokens) → verdict"""


def scorer_named(name: str) -> Scorer:
    """Ours, which looks for the expected answer in the reply, or one of an installed package."""
    scorer: Scorer = SCORERS.named(name or "match")
    return scorer


def judge(reply: str, expected: str, length: int = 0) -> Verdict:
    wanted = number_of(expected)
    answer = extract(reply, numeric=wanted is not None)
    if answer is None:
        return Verdict(None, False, length)
    return Verdict(canonical(answer), matches(answer, expected), length)


def extract(reply: str, numeric: bool = True) -> str | None:
    """The answer as the reply writes it; where a number is wanted, only that number."""
    for candidate in _marked(reply):
        found = _number_text(candidate) if numeric else _bare(candidate)
        if found:
            return found
    if numeric:
        numbers = _SOME_NUMBER.findall(_plain(reply))
        return numbers[-1].strip() if numbers else None
    bare = _bare(reply)
    return bare if bare and len(bare.split()) <= _FEW_WORDS else None


def matches(answer: str, expected: str) -> bool:
    wanted = number_of(expected)
    if wanted is None:
        return normalised(answer) == normalised(expected)
    given = number_of(answer)
    return given is not None and abs(given - wanted) <= TOLERANCE + _SLACK


def canonical(answer: str) -> str:
    number = number_of(answer)
    return normalised(answer) if number is None else f"{round(number, 3) + 0.0:.12g}"


def normalised(text: str) -> str:
    """Case, punctuation at the rim, spacing and a leading article do not matter."""
    folded = " ".join(re.sub(r"[\"'“”‘’`*_]", "", text).casefold().split())
    return _ARTICLE.sub("", folded.strip(" .,;:!?()[]"))


@lru_cache(maxsize=8192)
def number_of(text: str) -> float | None:
    """The value of a text that is a number as a whole: 1,234 · $5.50 · −3 · 3/4 · 12%."""
    plain = _plain(text).strip(" *_`\"':")
    if not _WHOLE_NUMBER.fullmatch(plain):
        return None
    cleaned = re.sub(r"[,$€£%\s]", "", plain).replace("−", "-").rstrip(".")
    try:
        return float(Fraction(cleaned)) if "/" in cleaned else float(cleaned)
    except (ValueError, ZeroDivisionError, OverflowError):
        return None


def _marked(reply: str) -> Iterator[str]:
    """What follows the marks, the strongest mark first, the last mention of each first."""
    if "####" in reply:
        for part in reversed(reply.split("####")[1:]):
            line = part.strip().partition("\n")[0]
            yield _LABEL.sub("", line.strip("#: "))
    for mark in reversed(list(_ANSWER_IS.finditer(reply))):
        sentence = _SENTENCE.match(reply, mark.end())
        yield sentence[0] if sentence else ""
    yield from reversed(list(_boxed(reply)))


def _boxed(reply: str) -> Iterator[str]:
    for start in re.finditer(r"\\boxed\s*\{", reply):
        depth = 1
        for end in range(start.end(), len(reply)):
            depth += {"{": 1, "}": -1}.get(reply[end], 0)
            if depth == 0:
                yield reply[start.end() : end]
                break


def _number_text(candidate: str) -> str | None:
    """The number a marked answer states: behind its last `=`, or else the first it names."""
    text = _plain(candidate).rpartition("=")[2].strip(_RIM)
    found = None if _HEADING.match(text) else _SOME_NUMBER.search(text)
    return found[0].strip() if found else None


def _bare(candidate: str) -> str:
    return _BECAUSE.sub("", _without_latex(candidate)).strip(_RIM + ".")


def _plain(text: str) -> str:
    """Without the LaTeX that hides numbers."""
    if "\\" not in text:
        return text
    text = _without_latex(_FRAC.sub(r"\1/\2", text))
    return text.replace("\\$", "$").replace("\\%", "%").replace("\\,", "").replace("\\!", "")


def _without_latex(text: str) -> str:
    while "\\" in text and (peeled := _LATEX.sub(r"\1", text)) != text:
        text = peeled
    return text
