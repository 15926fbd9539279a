"""Which words a reply commits to."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from tidepool.engine.studies.evolution.tasks.numbers import plain
from tidepool.engine.studies.evolution.tasks.statements import (
    Said,
    after_correction,
    boxed,
    committing,
    said,
    sentences,
    unreal,
)

_FEW_WORDS = 6
_ESSAY = 40
"""words: of so long a reply without a mark only a sentence that concludes is an answer"""
_THEREFORE = re.compile(
    r"\W*(?:so|therefore|thus|hence|in (?:short|conclusion|summary)|finally|overall|conclusion)\b", re.IGNORECASE
)
_ARTICLE = re.compile(r"^(?:the|a|an)\s+(?=\S)")
_TAIL = re.compile(
    r"(?:,?\s+(?:because|since|which|who|as|and (?:not|published)|in which|where)\b.*|,\s+(?:of course|naturally|obviously|i (?:think|believe|guess))\b.*|,\s+(?:the|an?|not|one of|as|also|i)\s+\w{2,}(?!.*,).*|\s+\(.*\)?|\s+[–—-]\s.*|;.*|\s+(?:followed|published|and was|is correct|is the answer|is right|it is)\b.*)$",
    re.IGNORECASE | re.DOTALL,
)
_PREDICATE = re.compile(
    r"(?:\b(?:is|it['’]s|that['’]s|was|are|were|be|been|called|named|by|reads?|lautet|ist|es|est|becomes?|spells?)\b|[:=→])[\s\"'“*_`]+",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"^(?:it'?s|it is|that'?s|that is|this is|i'?d say|i think(?: it'?s)?|probably|so|therefore|thus|hence)\b[\s,:]*(?:it'?s |it is )?",
    re.IGNORECASE,
)
_SUBJECT = re.compile(
    r"((?:\S+\s+){1,5}?)(?:is|was|are|were|has|have|had|wrote|did|will|won|must|came|comes|finished|painted|discovered|invented)\b(?!\s+not\b|n't)",
    re.IGNORECASE,
)
_ADVERB = re.compile(
    r"^(?:actually|really|in fact|probably|indeed|simply|just|most likely|definitely)\s+", re.IGNORECASE
)
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+(.+)$", re.MULTILINE)
_DOUBT = re.compile(
    r"\b(?:possibly|maybe|perhaps|either)\b.*\b(?:possibly|maybe|perhaps|or)\b", re.IGNORECASE | re.DOTALL
)
_BUT = re.compile(r"(?:,\s+|\b)but\b|;", re.IGNORECASE)
_NOT_BUT = re.compile(r"\bnot\s+[^,.;]{1,40}?,?\s+but\s+(?:rather\s+)?", re.IGNORECASE)
_BOLD = re.compile(r"\*\*([^*\n]+)\*\*|__([^_\n]+)__")
_EMOJI = re.compile("[\U0001f000-\U0001faff\u2600-\u27bf\ufe0f]+")
_RIM = " \t\r\n*_`\"'“”‘’$:.!"


def text_answer(reply: str, expected: str = "", *, cut: bool = False) -> str | None:
    """What it says the answer is. A sentence says it in one of two places ("the capital is Paris", "Paris is the capital"):
    where one of them is what is expected, that is meant."""
    found = said(reply, cut=cut)
    if found.given is not None:
        return _bare(found.given) or None
    corrected = after_correction(found.text)
    if corrected != found.text and len(corrected.split()) > 1:
        readings = list(_readings(Said(corrected.lstrip(" ,.:;-–—"), None, cut)))
        if answer := _meant(readings, expected):
            return answer
    return _meant(list(_readings(found)), expected)


class _Reading(NamedTuple):
    text: str
    likely: bool
    """else it is meant only where it is what is expected"""


def _meant(readings: list[_Reading], expected: str) -> str | None:
    stated = [(answer, one.likely) for one in readings if (answer := _stated(one.text))]
    wanted = normalised(expected)
    expected_one = (answer for answer, _ in stated if normalised(answer) == wanted)
    return next(expected_one, next((answer for answer, likely in stated if likely), None))


def _readings(found: Said) -> Iterator[_Reading]:
    """The readings of the one statement that counts."""
    for candidate in (*found.marked(), *reversed(boxed(found.text))):
        marked = next(iter(sentences(candidate)), "")
        if _stated(marked):
            yield _Reading(marked, True)
            return
    told = sentences(found.text)
    if not told or (found.undecided and (found.cut or len(found.text.split()) > 3)) or _DOUBT.search(found.text):
        return
    if len(bullets := _BULLET.findall(found.text)) > 1:
        yield _Reading(", ".join(_bare(one) for one in bullets), False)
    opening = _bare(_OPEN.sub("", told[0]))
    emphasised = [one for one in told if _BOLD.search(one)]
    if len(emphasised) == 1 and len(_BOLD.findall(emphasised[0])) == 1 and len(found.text.split()) <= _ESSAY:
        yield from _places(emphasised[0])
        return
    if ": " not in opening and not told[0].endswith((":", "?")) and len(opening.split()) <= 3 and _stated(opening):
        yield _Reading(opening, True)
        yield from _places(told[0])
        return
    essay = len(found.text.split()) > _ESSAY
    for sentence in reversed(committing(found.text)):
        if unreal(sentence) and _BUT.search(sentence):
            *_, sentence = _BUT.split(sentence)
        if not unreal(sentence) and (not essay or _THEREFORE.match(sentence) or _BOLD.search(sentence)):
            readings = list(_places(sentence))
            yield from readings
            if any(one.likely and _stated(one.text) for one in readings):
                return


def _places(sentence: str) -> Iterator[_Reading]:
    """Where a sentence says its answer: in bold, behind its last verb or colon, as its subject, as a whole."""
    *_, main = _BUT.split(_NOT_BUT.sub("", sentence))
    bold = [first or second for first, second in _BOLD.findall(main)]
    if len(bold) == 1:
        yield _Reading(bold[0], True)
    for match in reversed(list(_PREDICATE.finditer(main))):
        yield _Reading(main[match.end() :], True)
    opened = _OPEN.sub("", main.strip())
    if subject := _SUBJECT.match(opened):
        yield _Reading(subject[1], False)
    yield _Reading(opened, len(opened.split()) <= 4)


def _stated(text: str) -> str | None:
    """A few words, and not two of them to choose from."""
    answer = _ADVERB.sub("", _bare(_NOT_BUT.sub("", text)))
    if not answer or re.search(r"\s(?:or|oder|ou)\s", answer):
        return None
    listed = "," in answer and all(len(part.split()) <= 3 for part in answer.split(","))
    return answer if listed or len(answer.split()) <= _FEW_WORDS else None


def _bare(text: str) -> str:
    shown = _EMOJI.sub("", plain(text)).strip(_RIM)
    return (_TAIL.sub("", shown).strip(_RIM) or shown).strip(", ")


def normalised(text: str) -> str:
    """Case, punctuation at the rim, spacing and a leading article do not matter."""
    folded = " ".join(re.sub(r"[\"'“”‘’`*_]", "", plain(text)).casefold().split())
    return _ARTICLE.sub("", re.sub(r"\s*,\s*", ", ", folded).strip(" .,;:!?()[]"))
