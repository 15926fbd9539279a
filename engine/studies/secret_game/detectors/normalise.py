"""Normalises text for matching, and maps positions back to the original.

Normalised text has no case, accents, width, ligatures or invisible characters. Most messages are ASCII except for typographic
punctuation. Others are normalised character by character.
"""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

Span = tuple[int, int]

_PUNCTUATION = str.maketrans("’‘“”—–‑−…•·\u00a0", "''\"\"----... ")
_INVISIBLE = re.compile(
    "[\u0300-\u036f\u00ad\u034f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640\u064b-\u065f\u0670\u180e"
    "\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff\U000e0000-\U000e007f]+"
)
"""accents, the vowel signs of Arabic and Hebrew, and zero-width characters"""
_PLAIN_LETTERS = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th", "ð": "d", "ħ": "h", "ŧ": "t"}
)
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"
)
"""scripts that write words, or a word and its particles, without spaces"""
WORD = re.compile(r"[^\W_]+")
_SEPARATED = bytes(code if code < 128 and chr(code).isalnum() else ord(" ") for code in range(256))
_INSIDE_NUMBERS = ".,:'/-"


class Hit(NamedTuple):
    """Where a secret occurs in a message."""

    start: int
    end: int
    uncertain: bool = False
    """the text also has an ordinary reading, and the context does not decide"""


def fold(text: str) -> str:
    """The normalised text."""
    text = text if text.isascii() else text.translate(_PUNCTUATION)
    return text.lower() if text.isascii() else "".join(map(_fold_character, text))


@lru_cache(maxsize=4096)
def _fold_character(character: str) -> str:
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", character).casefold())
    return unicodedata.normalize("NFC", _INVISIBLE.sub("", decomposed).translate(_PLAIN_LETTERS))


@dataclass(slots=True)
class Folded:
    """A message and its normalised form. Detectors search the normalised form and report spans of the original."""

    text: str
    plain: str
    _starts: list[int] = field(default_factory=list)
    """where each character of the original begins in the normalised form"""
    _words: list[str] = field(default_factory=list)
    _joined: str = ""

    @property
    def words(self) -> list[str]:
        """The runs of letters and digits."""
        if not self._words:
            ascii_only = self.plain.isascii()  # nearly always, and several times as fast
            separated = self.plain.encode().translate(_SEPARATED).decode().split() if ascii_only else []
            self._words = separated if ascii_only else WORD.findall(self.plain)
        return self._words

    @property
    def joined(self) -> str:
        """All letters and digits, without anything between them."""
        self._joined = self._joined or "".join(self.words)
        return self._joined

    @classmethod
    def of(cls, text: str) -> "Folded":
        return cls(text, fold(text))

    def original(self, span: Span) -> Span:
        """The span in the original text."""
        if self.text.isascii():
            return span
        self._starts = self._starts or list(accumulate((len(fold(one)) for one in self.text), initial=0))
        return max(0, bisect_right(self._starts, span[0]) - 1), bisect_left(self._starts, span[1])

    def hit(self, span: Span, *, uncertain: bool = False) -> Hit:
        return Hit(*self.original(span), uncertain)


def stands_alone(plain: str, span: Span) -> bool:
    """Whether the span begins and ends at the edge of a word or number: "art" is not in "party", nor 42 in 42.50."""
    start, end = span
    return not (_runs_on(plain, start, start - 1, -1) or _runs_on(plain, end - 1, end, 1))


def _runs_on(plain: str, inner: int, outer: int, step: int) -> bool:
    if not 0 <= outer < len(plain):
        return False
    if plain[outer] in _INSIDE_NUMBERS:
        beyond = outer + step
        return 0 <= beyond < len(plain) and plain[beyond].isdigit() and plain[inner].isdigit()
    pair = plain[inner], plain[outer]
    return all(map(is_word_character, pair)) and not any(map(_UNSPACED.match, pair))


def is_word_character(character: str) -> bool:
    return character.isalnum() or unicodedata.category(character)[0] == "M"
