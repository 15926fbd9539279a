r"""Finds the answer that a reply gives, and compares it with the expected one.

Three places count, in this order: the JSON field `answer`; the last marker (`####`, `Answer:`, "the answer is", `\boxed{}`,
`<answer>`) followed by an answer; the whole reply. In the whole reply, the last number counts, or the last option or label
unless the reply starts with one. Free text without a marker must be a few words at the end. If each message asks for the form
(`AnswerTask.line`), or the reply was cut at its token limit, the whole reply does not count. The rules are few on purpose, so
that a reader of results can apply them by hand. A reply that fits none of them is unclear.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any, NamedTuple

from tidepool.engine.studies.evolution.problems.problem_set import Problem
from tidepool.engine.studies.evolution.tasks.verdict import Verdict

if TYPE_CHECKING:
    from tidepool.engine.studies.evolution.config import EvolutionSettings

LETTERS = "ABCDEFGH"
"""letters of choices, if the problem does not list any"""
TOLERANCE = 0.001
SHARE = 0.01
"""a given number may differ by this much, and by at most this share of the expected one"""
_SLACK = 1e-9  # 0.3 and 0.301 are 0.001 apart on paper, and a little more in binary
_READ = 20_000
"""how many characters at the end of a reply are read"""
_FEW_WORDS = 6
"""maximum words in a line that is an answer without a marker"""
_SENTENCE_WORDS = 12
"""maximum words in a last line that states an answer"""
_MOST_MARKERS = 20
"""how many markers are tried, from the end"""
_LONGEST_ANSWER = 1000
"""how many characters after a marker are read"""

_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_NEXT_QUESTION = re.compile(r"\n[^\S\n]*(?:Question|Q)\s?:", re.IGNORECASE)
"""a model that asks itself another question also answers it"""
_FIELD = re.compile(r'"(?:answer|label|choice)"\s*:\s*(?=\S)', re.IGNORECASE)
_MARKER = re.compile(
    r"(?P<box>\\(?:boxed|fbox)\s?\{)"
    r"|\#{4,}+|<answer>|\b(?:answer|label|choice)\b[\"*_)]{0,4}(?:\s+is\b|\s{0,3}[:=])",
    re.IGNORECASE,
)
_RIM = " \t\r\n*_`\"'“”‘’$:#.!"
_SENTENCE_END = re.compile(r"[.!?](?:[\"'”’)*_]*\s|$)|</answer>", re.IGNORECASE)
_REASON = re.compile(r"(?:,?\s(?:because|since|which)\b|\s\().*", re.DOTALL | re.IGNORECASE)
_SUBJECT = re.compile(r"^.*(?:\bis\b|:)\s+(?=\S)", re.DOTALL)
"""in a sentence that states an answer"""
_EITHER = re.compile(r"\sor\s", re.IGNORECASE)
_SCALED = re.compile(r"\s*(?:hundred|thousand|million|billion|dozen)\b", re.IGNORECASE)
"""such a word after a number changes its value"""
_BOLD = re.compile(r"\*\*([^*\n]+)\*\*")


# -- Places -----------------------------------------------------------------------------------------------------


class Place(NamedTuple):
    """A part of a reply that may contain its answer."""

    text: str
    marked: bool
    """false: the whole reply, whose end counts"""


def places(reply: str, *, only_marked: bool = False) -> Iterator[Place]:
    """The places to read, in their order. `only_marked`: only what follows the last marker."""
    text = _NEXT_QUESTION.split(_THOUGHT.sub(" ", reply[-_READ:]).lstrip(), maxsplit=1)[0]
    if (field := _answer_field(text)) is not None:
        yield Place(field, True)
        return
    for marker in reversed(list(_MARKER.finditer(text))[-_MOST_MARKERS:]):
        line = text[marker.end() : marker.end() + _LONGEST_ANSWER].lstrip(_RIM).partition("\n")[0]
        end = _SENTENCE_END.search(line)
        marked = (
            _in_braces(text, marker.end())
            if marker["box"]
            else line[: end.start()]
            if end and not only_marked
            else line
        )
        yield Place(marked, True)
        if only_marked:
            return
    if not only_marked:
        yield Place(text, False)


def _answer_field(text: str) -> str | None:
    """The last JSON field `answer`; empty if it is null."""
    for field in reversed(list(_FIELD.finditer(text))[-_MOST_MARKERS:]):
        try:
            value, _ = json.JSONDecoder(strict=False).raw_decode(text, field.end())
        except (ValueError, RecursionError):
            continue
        return "" if value is None else value if isinstance(value, str) else json.dumps(value)
    return None


def _in_braces(text: str, start: int) -> str:
    """Up to the brace that closes the box; empty if it is not closed."""
    depth = 1
    for brace in re.finditer(r"[{}]", text[start : start + _LONGEST_ANSWER]):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return text[start : start + brace.start()]
    return ""


# -- Numbers ----------------------------------------------------------------------------------------------------

_NUMBER = re.compile(
    r"(?<![A-Za-z\d])(?<!\d[.,])(?P<sign>(?<![\w)])[-−](?=[\d.$€£]))?(?:[$€£]\s?(?P<inner>[-−])?)?"
    r"(?P<digits>(?:\d{1,3}(?:[,_\u00a0\u2009\u202f ’']\d{3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+)(?!,\d)"
    r"(?:[eE](?P<exponent>[-+−]?\d{1,3})|\s?[×x*·]\s?10\s?\^\s?\{?(?P<power>[-−]?\d{1,3})\}?)?"
    r"(?:\s?/\s?(?P<under>\d+(?:\.\d+)?)(?![\d.]*/)|\s(?P<over>\d+)/(?P<part>\d+)(?!\d))?"
    r"(?P<percent>\s?(?:%|percent\b|per cent\b))?"
    r"(?!(?:st|nd|rd|th)\b)"
)
_FRACTION = re.compile(r"(\d?)\\[dt]?frac\s?(?:\{\s?(-?[\d.]+)\s?\}\s?\{\s?([\d.]+)\s?\}|(\d)\s?(\d))")
_LATEX = re.compile(r"\\(?:text|mathrm|mathbf|textbf)\s?\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class Number:
    """A number in a text, with its place."""

    value: float
    percent: bool
    start: int
    end: int


def plain(text: str) -> str:
    """Removes LaTeX that hides numbers and words."""
    if "\\" not in text and "{,}" not in text:
        return text
    text = _FRACTION.sub(lambda hit: f"{hit[1] and hit[1] + ' '}{hit[2] or hit[4]}/{hit[3] or hit[5]}", text)
    text = _LATEX.sub(r"\1", text.replace("{,}", ","))
    for sign, written in (("\\times", "×"), ("\\cdot", "·"), ("\\$", "$"), ("\\%", "%"), ("\\,", ""), ("\\!", "")):
        text = text.replace(sign, written)
    return text


def numbers_in(text: str) -> list[Number]:
    """Every number of a text, in order."""
    return [number for number in map(_read_number, _NUMBER.finditer(text)) if number is not None]


def _read_number(match: re.Match[str]) -> Number | None:
    exponent = (match["exponent"] or match["power"] or "0").replace("−", "-")
    try:
        value = float(re.sub(r"[^\d.]", "", match["digits"])) * 10.0 ** int(exponent)
        if match["under"]:
            value /= float(match["under"])
        elif match["part"]:
            value += int(match["over"]) / int(match["part"])
    except (ValueError, ZeroDivisionError, OverflowError):
        return None
    negative = match["sign"] or match["inner"]
    return Number(-value if negative else value, bool(match["percent"]), match.start(), match.end())


def number_answer(reply: str, *, only_marked: bool = False) -> Number | None:
    """The first number after a marker (of a sum, the first after its last `=`), else the last number of the reply."""
    for text, marked in places(reply, only_marked=only_marked):
        text = plain(text)
        if not marked:
            return next(reversed(numbers_in(text)), None)
        before, _, after = text.rpartition("=")
        if numbers := numbers_in(after) or numbers_in(before):
            several = len({number.value for number in numbers}) > 1
            either = several and (only_marked or _EITHER.search(text[numbers[0].start :]))
            scaled = only_marked and _SCALED.match(after or before, numbers[0].end)
            return None if either or scaled else numbers[0]
    return None


@lru_cache(maxsize=8192)
def expected_number(text: str) -> Number | None:
    """The value of an expected answer: one number, with a currency or a unit but no other number."""
    bare = plain(text).strip(" *_`\"':.")
    numbers = numbers_in(bare)
    if len(numbers) != 1:
        return None
    before, after = bare[: numbers[0].start].strip(), bare[numbers[0].end :].strip(" .")
    unit = re.fullmatch(r"(?:[^\W\d]|[°²³/$€£%'’.\s-]){0,30}", after) is not None and len(after.split()) <= 3
    return numbers[0] if unit and re.fullmatch(r"[a-zA-Z]?\s?[=≈]?|[A-Z]{3}", before) else None


def same_number(number: Number, expected: Number) -> bool:
    """Equal values, or one of them in percent of the other."""
    pairs = [(number.value, expected.value)]
    if number.percent and not expected.percent:
        pairs.append((number.value / 100, expected.value))
    if expected.percent and not number.percent:
        pairs.append((number.value, expected.value / 100))
    return any(_near(left, right) for left, right in pairs)


def _near(value: float, expected: float) -> bool:
    away = abs(value - expected)
    return (away <= TOLERANCE + _SLACK and away <= SHARE * abs(expected) + _SLACK) or value == expected


def format_number(number: Number) -> str:
    """In a canonical form."""
    if abs(number.value) >= TOLERANCE or not number.value:
        return f"{round(number.value, 3) + 0.0:.12g}"
    return f"{number.value:.4g}"


# -- Options, labels and words ----------------------------------------------------------------------------------


def choice_answer(reply: str, choices: Mapping[str, str], *, only_marked: bool = False) -> str | None:
    """The first letter after a marker, or of the reply; else the last letter of the reply; else the text of an option."""
    letters = "".join(choices) or LETTERS
    first = re.compile(rf"\W*(?:option\s+|choice\s+)?\W*([{letters}])(?![\w'’])", re.IGNORECASE)
    opening = re.compile(rf"\W*([{letters}])\W{{0,3}}(?:[).:\]]\s|\n|$)", re.IGNORECASE)
    # A capital A before a small word is an article, except after "option" or in a statement.
    alone = re.compile(rf"(?<![\w'’])(?:(?<=option )|(?!A\s+(?!is\b)[a-z]))([{letters}])(?![\w'’])")
    by_text = {normalised(text): letter for letter, text in choices.items() if text.strip()}
    for text, marked in places(reply, only_marked=only_marked):
        if only_marked and _EITHER.search(text) and len(set(alone.findall(text))) > 1:
            return None
        if letter := (first if marked else opening).match(text):
            return letter[1].upper()
        if not marked and (letters_found := alone.findall(text)):
            return str(letters_found[-1])
        if option := _mentioned(normalised(plain(text)), tuple(by_text), first=marked):
            return by_text[option]
    return None


def label_answer(reply: str, labels: Sequence[str], *, only_marked: bool = False) -> str | None:
    """The first label after a marker, or at the start of the reply; else the last one in the reply."""
    folded = {label.casefold(): label for label in labels}
    for text, marked in places(reply, only_marked=only_marked):
        shown = plain(text).casefold().lstrip(_RIM)
        if only_marked and folded and len(set(_names_pattern(tuple(folded)).findall(shown))) > 1:
            return None
        opens = bool(folded) and _names_pattern(tuple(folded)).match(shown) is not None
        if label := _mentioned(shown, tuple(folded), first=marked or opens):
            return folded[label]
    return None


def _mentioned(text: str, names: tuple[str, ...], *, first: bool) -> str | None:
    mentions = _names_pattern(names).findall(text) if names else []
    return (mentions[0] if first else mentions[-1]) if mentions else None


@lru_cache(maxsize=512)
def _names_pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    """Prefers the longest of names with the same beginning."""
    longest_first = sorted(names, key=len, reverse=True)
    return re.compile(rf"(?<!\w)({'|'.join(map(re.escape, longest_first))})(?!\w)")


def text_answer(reply: str, *, only_marked: bool = False) -> str | None:
    """The words after a marker, else the last words in bold or the last line, if it is short."""
    for text, marked in places(reply, only_marked=only_marked):
        if not marked:
            lines = text.strip().splitlines()
            bold = _BOLD.findall(text)
            text = bold[-1] if bold else lines[-1] if lines and len(lines[-1].split()) <= _SENTENCE_WORDS else ""
        text = text[: end.start()] if marked and (end := _SENTENCE_END.search(text)) else text
        words = _REASON.sub("", plain(text).strip(_RIM)).strip(_RIM)
        if not marked:
            words = _SUBJECT.sub("", words).strip(_RIM)
        if words and not _EITHER.search(words) and (marked or len(words.split()) <= _FEW_WORDS):
            return words
    return None


def normalised(text: str) -> str:
    """Ignores case, outer punctuation, spacing and a leading article."""
    folded = " ".join(re.sub(r"[\"'“”‘’`*_]", "", plain(text)).casefold().split())
    return re.sub(r"^(?:the|a|an)\s+(?=\S)", "", re.sub(r"\s*,\s*", ", ", folded).strip(" .,;:!?()[]"))


def match(reply: str, expected: str, length: int = 0) -> Verdict:
    """Matches by the expected answer: a number, or words."""
    return AnswerTask("auto").mark(reply, Problem("", expected), length)


FORM = 'End your reply with a line that begins with "Answer:" and holds only '
_HOLDS = {
    "number": "a number.",
    "choice": "the letter of the option.",
    "label": "one of the labels.",
    "text": "your answer, in a few words.",
}
UNCLEAR = "no answer could be read from the reply"


def task_of(settings: "EvolutionSettings") -> "AnswerTask":
    asks_form = settings.answer_form == "line" and settings.task != "judge" and not settings.scorer
    return AnswerTask(settings.task, tuple(settings.labels), asks_form)


@dataclass(frozen=True, slots=True)
class AnswerTask:
    """Reads the answer that a reply commits to, and compares it with the expected one."""

    name: str
    """number, choice, label, text; auto: number or text, by the expected answer"""
    labels: Sequence[str] = ()
    line: bool = False
    """the message asks for the answer on a separate line, and only a marked answer is read"""

    def message(self, text: str, problem: Problem) -> str:
        """The user's message, with the sentence that asks for the form. It is not part of a prompt, so no mutation can remove it."""
        return f"{text}\n\n{FORM}{_HOLDS[self.kind(problem.answer)]}" if self.line else text

    def mark(self, reply: str, problem: Problem, length: int = 0, *, cut: bool = False) -> Verdict:
        answer, correct = self._read(reply, problem, self.line or cut)
        return Verdict(answer, correct, length) if answer else Verdict(None, None, length, unclear=UNCLEAR)

    def _read(self, reply: str, problem: Problem, only_marked: bool) -> tuple[str | None, bool]:
        expected = problem.answer
        match self.kind(expected):
            case "number":
                number, wanted = number_answer(reply, only_marked=only_marked), expected_number(expected)
                return format_number(number) if number else None, bool(
                    number and wanted and same_number(number, wanted)
                )
            case "choice":
                choices = choices_of(problem.fields)
                letter = choice_answer(reply, choices, only_marked=only_marked)
                return letter, letter is not None and letter == letter_of(expected, choices)
            case "label":
                label = label_answer(reply, self.labels, only_marked=only_marked)
                return label, label is not None and label.casefold() == expected.strip().casefold()
        words = text_answer(reply, only_marked=only_marked)
        return words and normalised(words), words is not None and normalised(words) == normalised(expected)

    def kind(self, expected: str) -> str:
        if self.name != "auto":
            return self.name
        return "text" if expected_number(expected) is None else "number"

    def impossible(self, problem: Problem) -> str | None:
        """Why no reply could ever be right; None if one could."""
        expected = problem.answer
        match self.kind(expected):
            case "number" if expected_number(expected) is None:
                return f"the expected answer {expected!r} is not a number"
            case "choice" if letter_of(expected, choices_of(problem.fields)) is None:
                return f"the expected answer {expected!r} is not one of the choices"
            case "label" if expected.strip().casefold() not in [label.casefold() for label in self.labels]:
                return f"the expected answer {expected!r} is not one of the labels"
        return None


def choices_of(fields: Mapping[str, Any]) -> dict[str, str]:
    """Choices by letter, from a list or from an object by letters."""
    choices = fields.get("choices", fields.get("options"))
    if isinstance(choices, Mapping):
        by_letter = {str(letter).strip("().: ").upper(): text for letter, text in choices.items()}
    else:
        by_letter = dict(zip(ascii_uppercase, choices, strict=False)) if isinstance(choices, list) else {}
    return {letter: str(text) for letter, text in by_letter.items() if text is not None}


def letter_of(expected: str, choices: Mapping[str, str]) -> str | None:
    """The letter of an expected answer that is a letter, the text of a choice, or its index from 0."""
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
