"""Text without case, accents, width, ligatures and invisible characters, and the way back to the original.

Almost every message is ASCII but for some typographic punctuation. Those are folded one character to one,
which is quick and keeps every position; only foreign letters take the long way, and only a hit pays for
finding its place in the original.
"""

import re
import unicodedata
from bisect import bisect_right
from dataclasses import dataclass, field
from operator import itemgetter
from typing import NamedTuple

Span = tuple[int, int]

_PUNCTUATION = tuple(zip("’‘“”—–‑−…•·\u00a0", "''\"\"----... ", strict=True))
_INVISIBLE = re.compile(
    "[\u0300-\u036f\u00ad\u034f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640\u064b-\u065f\u0670\u180e"
    "\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff\U000e0000-\U000e007f]+"
)
"""accents, the vowel signs of Arabic and Hebrew, and what takes no place at all"""
_WITHOUT_ACCENT = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th", "ð": "d", "ħ": "h", "ŧ": "t"}
    | {chr(zero + digit): str(digit) for zero in (0x660, 0x6F0, 0x966, 0x9E6) for digit in range(10)}
)
"""letters that have no accent to lose, and the digits of other scripts"""
_JOINED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"
)
"""scripts that set words, or a word and its particles, without a space between"""
_KATAKANA = re.compile("[\u30a1-\u30ff]")
_HANGUL = re.compile("[\uac00-\ud7af]")
_SIGNS = bytes(code for code in range(128) if not chr(code).isalnum())
_IN_A_NUMBER = ".,:'/-"
_STRETCH = 1_000
_CUT = re.compile("[ -~\u0410-\u044f\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff]")
"""characters before which a text can be cut and each part folded alone: none of them joins what stands before it"""


class Hit(NamedTuple):
    """Where a secret stands in a message."""

    start: int
    end: int
    uncertain: bool = False
    """it is an ordinary reading as well, and nothing about it says which"""


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
    return unicodedata.normalize("NFC", text.translate(_WITHOUT_ACCENT))


@dataclass(slots=True)
class Folded:
    """A message and its folded form; detectors search the one and report spans of the other."""

    text: str
    plain: str
    _data: bytes = b""
    _bare: bytes = b""
    _cuts: list[Span] = field(default_factory=list)

    @classmethod
    def of(cls, text: str) -> "Folded":
        return cls(text, fold(text))

    @property
    def data(self) -> bytes:
        if not self._data:
            self._data = self.plain.encode("utf-8", "surrogatepass")
        return self._data

    @property
    def bare(self) -> bytes:
        """Letters and digits run together: what spells a secret with signs between contains it here."""
        if not self._bare:
            self._bare = self.data.translate(None, _SIGNS)
        return self._bare

    @property
    def in_place(self) -> bool:
        """Whether a position in the one is the same in the other."""
        return len(self.text) == len(self.plain)

    def original(self, span: Span) -> Span:
        if self.text.isascii():
            return span
        begin, folded = self._stretch(span[0])
        if self.in_place and fold(self.text[begin : span[1]])[span[0] - folded :] == self.plain[slice(*span)]:
            return span
        return self._place(span[0]), self._place(span[1])

    def _place(self, position: int) -> int:
        begin, folded = self._stretch(position)
        after = bisect_right(self._cuts, begin, key=itemgetter(0))
        end = self._cuts[after][0] if after < len(self._cuts) else len(self.text)
        prefixes = range(begin, end + 1)
        found = bisect_right(prefixes, position - folded, key=lambda end: len(fold(self.text[begin:end])))
        return begin + found - 1

    def _stretch(self, position: int) -> Span:
        """Where the stretch that holds a folded position begins, in the text and folded: a long text is folded once, not for
        every hit."""
        if not self._cuts:
            begin = folded = 0
            self._cuts.append((0, 0))
            while cut := _CUT.search(self.text, begin + _STRETCH):
                folded += len(fold(self.text[begin : cut.start()]))
                begin = cut.start()
                self._cuts.append((begin, folded))
        return self._cuts[bisect_right(self._cuts, position, key=itemgetter(1)) - 1]

    def hit(self, span: Span, *, uncertain: bool = False) -> Hit:
        return Hit(*self.original(span), uncertain)


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
    if plain[outer] in _IN_A_NUMBER:
        beyond, inner = outer + step, outer - step
        return 0 <= beyond < len(plain) and plain[beyond].isdigit() and plain[inner].isdigit()
    if not all(map(is_word_character, pair)):
        return False
    if not any(map(_JOINED.match, pair)):
        return True
    return all(map(_KATAKANA.match, pair)) or (step < 0 and all(map(_HANGUL.match, pair)))
