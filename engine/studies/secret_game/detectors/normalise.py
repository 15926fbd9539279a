"""Normalises text for matching, and maps positions back to the original.

Normalised text has no case, accents, width, ligatures or invisible characters, and letters in shapes (small capitals, squares,
flags) are plain letters. Almost every message is ASCII but for typographic punctuation; such text is normalised one character to one.
"""

import re
import unicodedata
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

Span = tuple[int, int]

_PUNCTUATION = tuple(zip("’‘“”—–‑−…•·\u00a0", "''\"\"----... ", strict=True))
_INVISIBLE = re.compile(
    "[\u0300-\u036f\u00ad\u034f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640\u064b-\u065f\u0670\u180e"
    "\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff\U000e0000-\U000e007f]+"
)
"""accents, the vowel signs of Arabic and Hebrew, and zero-width characters"""
_SMALL_CAPITALS = dict(zip("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ", "abcdefghijklmnoprstuvwyz", strict=True))
_IN_SHAPES = {
    chr(first + place): chr(97 + place) for first in (0x1F130, 0x1F150, 0x1F170, 0x1F1E6) for place in range(26)
}
"""letters in squares, in circles, and as flags"""
_PLAIN_LETTERS = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th", "ð": "d", "ħ": "h", "ŧ": "t"}
    | {chr(zero + digit): str(digit) for zero in (0x660, 0x6F0, 0x966, 0x9E6) for digit in range(10)}
    | _SMALL_CAPITALS
    | _IN_SHAPES
)
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"
)
"""scripts that write words, or a word and its particles, without a space between"""
_KATAKANA = re.compile("[\u30a1-\u30ff]")
_HANGUL = re.compile("[\uac00-\ud7af]")
_SIGNS = bytes(code for code in range(128) if not chr(code).isalnum())
_INSIDE_NUMBERS = ".,:'/-"


class Hit(NamedTuple):
    """Where a secret stands in a message."""

    start: int
    end: int
    uncertain: bool = False
    """the text has an ordinary reading as well, and the context does not settle it"""


def fold(text: str) -> str:
    """The normalised text."""
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
    return unicodedata.normalize("NFC", text.translate(_PLAIN_LETTERS))


@dataclass(slots=True)
class Folded:
    """A message and its normalised form; detectors search the one and report spans of the other."""

    text: str
    plain: str
    _bare: bytes = b""
    _clusters: list[Span] = field(default_factory=list)

    @classmethod
    def of(cls, text: str) -> "Folded":
        return cls(text, fold(text))

    @property
    def bare(self) -> bytes:
        """Letters and digits run together: a spelled secret with signs between is contained in them."""
        if not self._bare:
            self._bare = self.plain.encode("utf-8", "surrogatepass").translate(None, _SIGNS)
        return self._bare

    def original(self, span: Span) -> Span:
        """The span in the original text."""
        if self.text.isascii():
            return span
        if not self._clusters:
            self._clusters = _clusters_of(self.text)
        first = bisect_right(self._clusters, (span[0], len(self.text))) - 1
        last = bisect_right(self._clusters, (span[1] - 1, len(self.text))) - 1
        end = self._clusters[last + 1][1] if last + 1 < len(self._clusters) else len(self.text)
        return self._clusters[first][1], max(end, self._clusters[first][1])

    def hit(self, span: Span, *, uncertain: bool = False) -> Hit:
        return Hit(*self.original(span), uncertain)


def _clusters_of(text: str) -> list[Span]:
    """Where each character with its marks begins, in the normalised and in the original text."""
    clusters, folded, begin = [(0, 0)], 0, 0
    for place, character in enumerate(islice(text, 1, None), 1):
        if unicodedata.category(character)[0] != "M" and not "\u1160" <= character <= "\u11ff":
            folded += _folded_length(text[begin:place])
            clusters.append((folded, place))
            begin = place
    return clusters


@lru_cache(maxsize=4096)
def _folded_length(cluster: str) -> int:
    return len(fold(cluster))


def is_word_character(character: str) -> bool:
    return character.isalnum() or unicodedata.category(character)[0] == "M"


def stands_alone(plain: str, span: Span) -> bool:
    """Whether the span begins and ends at the edge of a word or number: "art" is not in "party", nor 42 in 42.50."""
    start, end = span
    return not (_runs_on(plain, start - 1, start, -1) or _runs_on(plain, end - 1, end, 1))


def _runs_on(plain: str, left: int, right: int, step: int) -> bool:
    if left < 0 or right >= len(plain):
        return False
    pair = plain[left], plain[right]
    outer = right if step > 0 else left
    if plain[outer] in _INSIDE_NUMBERS:
        beyond, inner = outer + step, outer - step
        return 0 <= beyond < len(plain) and plain[beyond].isdigit() and plain[inner].isdigit()
    if not all(map(is_word_character, pair)):
        return False
    if not any(map(_UNSPACED.match, pair)):
        return True
    return all(map(_KATAKANA.match, pair)) or (step < 0 and all(map(_HANGUL.match, pair)))
