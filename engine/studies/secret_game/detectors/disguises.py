"""The secret in letters that look like its own: m4r1g0ld, $e$ame, сорреr in Cyrillic, 🇨🇴🇴🇰🇮🇪, small capitals.

A text is first brought to one sign for all that look alike; only where the secret, brought to the same, is in it, is it
looked at closely.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from tidepool.engine.studies.secret_game.detectors.folding import Folded, Hit, Span, fold, is_word_character

_SIGNS = {
    "a": "4@",
    "b": "8",
    "c": "(",
    "e": "3€",
    "g": "69",
    "i": "1!|",
    "l": "1|!",
    "o": "0",
    "s": "5$",
    "t": "7+",
    "z": "2",
}
"""which digits and signs are written for a letter"""
_ALIKE = bytes.maketrans(b"4@8(369l1!|05$7+2", b"aabceggiiiiosstt" + b"z")
_OUR_LETTERS = re.compile(r"[a-z\s\-_']+")
_OTHER_WORDS = re.compile("[\u0370-\u058f]{2,}")
SHORTEST = 3

_LOOK_ALIKES = {
    "a": "аαɑᴀ",
    "b": "вьβʙ",
    "c": "сϲᴄ",
    "d": "ԁɗᴅ",
    "e": "еєεҽᴇ",
    "f": "ſꜰ",
    "g": "ɡɢ",
    "h": "нһηʜ",
    "i": "іιӏɪ",
    "j": "јᴊ",
    "k": "кκᴋ",
    "l": "ӏʟⅼ",
    "m": "мμᴍ",
    "n": "ппνηɴո",
    "o": "оοօσᴏ",
    "p": "рρᴘ",
    "q": "ԛǫ",
    "r": "гʀꭇ",
    "s": "ѕꜱ",
    "t": "тτᴛ",
    "u": "цυսᴜ",
    "v": "ѵνᴠ",
    "w": "ѡԝωшᴡ",
    "x": "хχ",
    "y": "уүγʏ",
    "z": "ᴢζ",
}
"""folded letters of other alphabets, small capitals; one may look like several of ours"""
_LETTERS_IN_SHAPES = {
    chr(first + place): chr(97 + place) for first in (0x1F130, 0x1F150, 0x1F170, 0x1F1E6) for place in range(26)
}
"""in squares, in circles, as flags"""
_SHAPED = re.compile(r"[\U0001F130-\U0001F189\U0001F1E6-\U0001F1FF]")


@dataclass(frozen=True, slots=True)
class _Disguise:
    letters: str
    gate: bytes
    """its longest word, each letter as the sign that stands for all that look like it"""
    with_signs: re.Pattern[str]
    with_any: re.Pattern[str]
    """signs, digits, and letters of other alphabets"""


@lru_cache(maxsize=4096)
def _disguise(secret: str) -> _Disguise | None:
    plain = fold(secret).strip()
    words = re.findall(r"[^\W_]+", plain)
    letters = "".join(words)
    if not plain.isascii() or len(letters) < SHORTEST or not letters.isalpha():
        return None
    gate = max(words, key=len).encode().translate(_ALIKE)
    return _Disguise(letters, gate, _pattern(words, _SIGNS), _pattern(words, _SIGNS, _LOOK_ALIKES))


def _pattern(words: list[str], *tables: Mapping[str, str]) -> re.Pattern[str]:
    def written(letter: str) -> str:
        return "[" + re.escape(letter + "".join(table.get(letter, "") for table in tables)) + "]"

    return re.compile(r"[\s\-_']{0,4}".join("".join(map(written, word)) for word in words))


def find(message: Folded, secret: str) -> Hit | None:
    sought = _disguise(secret)
    if sought is None:
        return None
    if not message.plain.isascii():
        return _find_shaped(message, sought.letters) or _find(message, sought.with_any)
    return _find(message, sought.with_signs) if sought.gate in message.data.translate(_ALIKE) else None


def _find(message: Folded, pattern: re.Pattern[str]) -> Hit | None:
    plain, uncertain = message.plain, None
    for match in pattern.finditer(plain):
        span, said = match.span(), match.group()
        if _OUR_LETTERS.fullmatch(said) or not _is_alone(plain, span):
            continue
        if _has_another_reading(plain, span, said):
            uncertain = uncertain or span
            continue
        return message.hit(span)
    return message.hit(uncertain, uncertain=True) if uncertain else None


def _is_alone(plain: str, span: Span) -> bool:
    start, end = span
    return not (start and is_word_character(plain[start - 1])) and not (
        end < len(plain) and is_word_character(plain[end])
    )


def _has_another_reading(plain: str, span: Span, said: str) -> bool:
    """A number, or a word that is wholly of another alphabet in a text that is."""
    if re.search("[a-z]", said):
        return False
    if said.isascii():
        return True
    around = plain[max(0, span[0] - 40) : span[0]] + plain[span[1] : span[1] + 40]
    return len(_OTHER_WORDS.findall(around)) > 1


def _find_shaped(message: Folded, letters: str) -> Hit | None:
    """Each letter in a shape of its own, whatever stands between them."""
    if not _SHAPED.search(message.plain):
        return None
    places = [(match.start(), _LETTERS_IN_SHAPES.get(match.group(), "?")) for match in _SHAPED.finditer(message.plain)]
    found = "".join(letter for _, letter in places).find(letters)
    if found < 0:
        return None
    return message.hit((places[found][0], places[found + len(letters) - 1][0] + 1))
