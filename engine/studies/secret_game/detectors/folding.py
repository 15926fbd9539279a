"""Text without case, accents, width, ligatures and invisible characters, and the way back to the original.

Almost every message is ASCII but for some typographic punctuation. Those are folded one character to one,
which is quick and keeps every position; only foreign letters take the long way, and only a hit pays for
finding its place in the original.
"""

import re
import unicodedata
from bisect import bisect_right
from dataclasses import dataclass

Span = tuple[int, int]

_PUNCTUATION = tuple(zip("’‘“”—–‑−…•·\u00a0", "''\"\"----... ", strict=True))
_INVISIBLE = re.compile("[\u0300-\u036f\u00ad\u034f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff]+")
_JOINED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"
)
"""scripts that set words, or a word and its particles, without a space between"""


def fold(text: str) -> str:
    if text.isascii():
        return text.lower()
    for sign, plain in _PUNCTUATION:
        text = text.replace(sign, plain)
    if text.isascii():
        return text.lower()
    text = _INVISIBLE.sub("", unicodedata.normalize("NFKD", text))
    if text.isascii():
        return text.lower()
    text = _INVISIBLE.sub("", unicodedata.normalize("NFKD", text.casefold()))
    return unicodedata.normalize("NFC", text)


@dataclass(frozen=True, slots=True)
class Folded:
    """A message and its folded form; detectors search the one and report spans of the other."""

    text: str
    plain: str

    @classmethod
    def of(cls, text: str) -> "Folded":
        return cls(text, fold(text))

    def original(self, span: Span) -> Span:
        if len(self.text) == len(self.plain) and fold(self.text[: span[1]])[span[0] :] == self.plain[slice(*span)]:
            return span

        def place(position: int) -> int:
            prefixes = range(len(self.text) + 1)
            return bisect_right(prefixes, position, key=lambda end: len(fold(self.text[:end]))) - 1

        return place(span[0]), place(span[1])


def is_word_character(character: str) -> bool:
    return character.isalnum() or unicodedata.category(character)[0] == "M"


def stands_alone(plain: str, span: Span) -> bool:
    """Whether the span begins and ends at the edge of a word, so that "art" is not found in "party"."""
    start, end = span
    return not (_runs_on(plain, start - 1, start) or _runs_on(plain, end - 1, end))


def _runs_on(plain: str, left: int, right: int) -> bool:
    if left < 0 or right >= len(plain):
        return False
    pair = plain[left], plain[right]
    return all(is_word_character(character) and not _JOINED.match(character) for character in pair)
