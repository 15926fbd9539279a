"""The secret in another alphabet: Москва for Moskva, sakura for さくら, سلام for Salaam.

Nobody writes a foreign word in one way only, so both sides are romanised and brought to what the ear keeps: sh, sch and
shch are one sound, y, j and i another. Scripts that leave vowels out are compared by their consonants. A likeness that is
an ordinary word of its own is uncertain.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from tidepool.engine.studies.secret_game.detectors.context import is_announced, is_named
from tidepool.engine.studies.secret_game.detectors.folding import Folded, Hit, Span, fold
from tidepool.engine.studies.secret_game.detectors.ordinary_words import (
    COMMON,
    commonness,
    is_ambiguous,
    is_listed,
    word_set,
)

SHORTEST = 3
_ALIKE = 82
"""likeness of 100 of two words by ear"""
_BY_EAR = [
    (re.compile(written), heard)
    for written, heard in (
        (r"shch|sch|sh", "s"),
        (r"zh", "z"),
        (r"kh|ch(?=[aou])", "h"),
        (r"tch|tz|tsts?|zz|cz", "c"),
        (r"ph", "f"),
        (r"th", "t"),
        (r"ck|q|c(?![eiy])", "k"),
        (r"x", "ks"),
        (r"w", "v"),
        (r"oo|ou", "u"),
        (r"[yje]", "i"),
        (r"o", "u"),
        (r"(.)\1+", r"\1"),
    )
]
_LATIN_WORD = re.compile(r"(?<![^\W_])[a-z]+(?![^\W_])")
_FOREIGN_WORD = re.compile(r"[^\W\d_a-z]+")
_ABJAD = re.compile("[\u0590-\u06ff\u0900-\u0dff]")
_HANGUL = re.compile("[\uac00-\ud7af]")
_UNVOICED = str.maketrans("gbdr", "kptl")
_HAN = re.compile("[\u3400-\u9fff]{2,}")
_KANA = re.compile("[\u3040-\u30ff]")
_MOST_WORDS = 4000


@lru_cache(1_000)
def heard(romanised: str) -> str:
    text = re.sub(r"[^a-z]", "", romanised)
    for written, sound in _BY_EAR:
        text = written.sub(sound, text)
    return text


def consonants(sounds: str) -> str:
    return re.sub(r"[aeiouv]|h$", "", sounds)


def romanised(text: str) -> str:
    from anyascii import anyascii

    return fold(text if text.isascii() else anyascii(text))


@lru_cache(maxsize=65_536)
def sound_of(word: str) -> tuple[str, str]:
    """By ear, and its consonants alone. Korean does not tell g from k."""
    sounds = heard(romanised(word))
    if _HANGUL.search(word):
        sounds = sounds.translate(_UNVOICED)
    return sounds, consonants(sounds)


@lru_cache(maxsize=4096)
def _romanised_secret(secret: str) -> tuple[str, str, str, bool]:
    """Romanised, by ear, its consonants, and whether its script leaves vowels out."""
    plain = fold(secret).strip()
    letters = re.sub(r"[^a-z]", "", romanised(plain))
    return letters, heard(letters), consonants(heard(letters)), bool(_ABJAD.search(plain))


def find(message: Folded, secret: str) -> Hit | None:
    plain = message.plain
    if _is_latin(secret):
        return None if plain.isascii() else _find_in_another_script(message, secret)
    return _find_romanised(message, secret)


@lru_cache(maxsize=4096)
def _is_latin(secret: str) -> bool:
    return fold(secret).isascii()


def _find_in_another_script(message: Folded, secret: str) -> Hit | None:
    """The secret is written in Latin letters, the message is not."""
    letters, sounds, bones, _ = _romanised_secret(secret)
    if len(letters) > SHORTEST and _HAN.search(message.plain) and (span := _in_characters(message.plain, letters)):
        return message.hit(span, uncertain=not is_announced(message, span, letters))
    if len(sounds) < SHORTEST or not _FOREIGN_WORD.search(message.plain):
        return None
    for span, word in _foreign_words(message.plain):
        said, skeleton = sound_of(word)
        if skeleton[:1] != bones[:1] and not _HANGUL.match(word):
            continue
        vague = bool(_ABJAD.match(word))
        if vague:
            same = len(bones) >= SHORTEST and skeleton == bones
        else:
            same = said == sounds or (bool(_HANGUL.match(word)) and said == sounds.translate(_UNVOICED))
            whole = not _HANGUL.match(message.plain, span[1])
            same = same or (whole and _sound_alike(said, sounds) and commonness(letters) < COMMON)
        if same:
            chance = (vague and len(bones) == SHORTEST) or (
                is_ambiguous(letters) and is_listed(message.plain[slice(*span)], message.plain)
            )
            return message.hit(span, uncertain=chance and not is_named(message, span, letters))
    return None


def _in_characters(plain: str, letters: str) -> Span | None:
    """Chinese characters, two or more, that are read so; others are read alike, so that alone says little."""
    for run in islice(_HAN.finditer(plain), _MOST_WORDS):
        read = [re.sub(r"[^a-z]", "", _reading(character)) for character in run.group()]
        for first in range(len(read) - 1):
            if letters.startswith(read[first]):
                for last in range(first + 2, min(first + 5, len(read)) + 1):
                    if "".join(read[first:last]) == letters:
                        return run.start() + first, run.start() + last
    return None


_reading = lru_cache(maxsize=8192)(romanised)


def _foreign_words(plain: str) -> Iterator[tuple[Span, str]]:
    for place, match in enumerate(_FOREIGN_WORD.finditer(plain)):
        if place > _MOST_WORDS:
            return
        word = match.group()
        if _KANA.search(word):
            for run in re.finditer("[\u3041-\u3096]+|[\u30a1-\u30ff]+", word):
                yield (match.start() + run.start(), match.start() + run.end()), run.group()
            continue
        yield match.span(), word
        if _HANGUL.match(word):
            for size in range(1, min(5, len(word) - 1)):
                if word[-size:] in word_set("korean_particles"):
                    yield (match.start(), match.end() - size), word[:-size]
        if "\u0590" <= word[0] <= "\u06ff":
            script = "hebrew" if word[0] < "\u0600" else "arabic"
            for prefix in word_set(f"{script}_prefixes"):
                if word.startswith(prefix) and len(word) - len(prefix) >= SHORTEST:
                    yield (match.start() + len(prefix), match.end()), word[len(prefix) :]


def _find_romanised(message: Folded, secret: str) -> Hit | None:
    """The secret is of another script, the message writes it in Latin letters."""
    letters, sounds, bones, vowelless = _romanised_secret(secret)
    if len(letters) < SHORTEST:
        return None
    by_syllable = bool(re.search("[\u3400-\u9fff\uac00-\ud7af]", fold(secret)))
    korean = bool(_HANGUL.search(unicodedata.normalize("NFC", secret)))
    if korean:
        sounds = sounds.translate(_UNVOICED)
    first = bones[:1]
    firsts = (
        first,
        *(sign for sign in "gkbpdtrl" if korean and sign.translate(_UNVOICED) == first.translate(_UNVOICED)),
    )
    uncertain: Span | None = None
    for span, word in _latin_words(message.plain):
        said, skeleton = sound_of(word)
        if skeleton[:1] not in firsts:
            continue
        if korean:
            said = said.translate(_UNVOICED)
        if by_syllable or not message.plain[slice(*span)].isalpha():
            same = said == sounds and len(word) > SHORTEST
        elif vowelless:
            same = skeleton == bones and len(bones) > 2 and (len(bones) > 3 or len(word) > 4)
        else:
            same = _sound_alike(said, sounds)
        if not same:
            continue
        if len(word) > SHORTEST and not is_listed(word, message.plain) and (not commonness(word) or word == letters):
            return message.hit(span)
        spelt_so = word == letters or (korean and said == sounds)
        if spelt_so and is_announced(message, span, word):
            return message.hit(span)
        if spelt_so or is_announced(message, span, word):
            uncertain = uncertain or span
    return message.hit(uncertain, uncertain=True) if uncertain else None


def _latin_words(plain: str) -> Iterator[tuple[Span, str]]:
    """Each word, and each two side by side as one."""
    before: re.Match[str] | None = None
    for place, match in enumerate(_LATIN_WORD.finditer(plain)):
        if place > _MOST_WORDS:
            return
        yield match.span(), match.group()
        if before and match.start() - before.end() == 1:
            yield (before.start(), match.end()), before.group() + match.group()
        before = match


def _sound_alike(one: str, other: str) -> bool:
    if one == other:
        return True
    if not one or min(len(one), len(other)) < 4 or abs(len(one) - len(other)) > 2 or one[0] != other[0]:
        return False
    from rapidfuzz import fuzz

    return fuzz.ratio(one, other) >= _ALIKE
