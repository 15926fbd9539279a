"""The secret misspelt: a word, or as many words as the secret has, that are almost it.

Likeness is the mean of two measures of rapidfuzz, from 0 to 100: `ratio`, which counts what must be
inserted and deleted, and Jaro–Winkler, which forgives swapped letters and slips late in a word. At the
usual threshold of 90 that is about one slip in seven letters. Short words would fare badly by it, so one slip in
five letters (a letter wrong, missing, too many, or two swapped) always comes to 90 or more.

Language is full of neighbours: stream and steam, contract and contrast. A likeness made of ordinary words
only is therefore no misspelling, or an uncertain one where it is announced as the secret; and secrets under five
letters have too many neighbours to be looked for at all.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from rapidfuzz import fuzz, process
from rapidfuzz.distance import OSA, JaroWinkler

from tidepool.engine.studies.secret_game.detectors.context import is_announced, is_named
from tidepool.engine.studies.secret_game.detectors.exact import find_word
from tidepool.engine.studies.secret_game.detectors.folding import Folded, Hit, Span, fold
from tidepool.engine.studies.secret_game.detectors.ordinary_words import commonness, is_listed, word_set
from tidepool.engine.studies.secret_game.detectors.other_scripts import heard
from tidepool.engine.studies.secret_game.detectors.variants import spelling_variants

SHORTEST = 5

_WORD = re.compile(r"[^\W_]+")
LIKE_BY_EAR = 70
"""from here on a word that sounds the same counts as one slip: elefant"""
_MOST_LOOKED_AT = 300
"""likely places of a message"""
_MARGIN = 15
"""how much less alike the best stretch of a text may be than the best run of whole words in it"""


@lru_cache(maxsize=4096)
def _words(secret: str) -> tuple[str, tuple[str, ...]]:
    words = tuple(_WORD.findall(fold(secret)))
    return "".join(words), words


def find_fuzzy(message: Folded, secret: str, threshold: float) -> Hit | None:
    letters, words = _words(secret)
    if len(letters) < SHORTEST or letters.isdecimal():
        return None
    least_ratio = 2 * threshold - 100
    if not fuzz.partial_ratio(" ".join(words), message.plain, score_cutoff=max(1, least_ratio - _MARGIN)):
        return None
    best: tuple[bool, float] = False, threshold
    found: Span | None = None
    for span, said in islice(_likely(message.plain, letters, len(words), least_ratio), _MOST_LOOKED_AT):
        alike = likeness("".join(said), letters)
        if alike < threshold or (found and (False, alike) < best):
            continue
        certain = _is_misspelt(message, span, said, words)
        piece = message.plain[slice(*span)]
        if certain is not None and (certain, alike) >= best and not find_word(Folded(piece, piece), secret):
            best, found = (certain, alike), span
    return message.hit(found, uncertain=not best[0]) if found else None


def likeness(said: str, letters: str) -> float:
    alike: float = (fuzz.ratio(said, letters) + 100 * JaroWinkler.similarity(said, letters)) / 2
    slips = OSA.distance(said, letters, score_cutoff=len(letters) // SHORTEST)
    if slips <= len(letters) // SHORTEST:
        alike = max(alike, 100 - 50 * slips / len(letters))
    elif alike > LIKE_BY_EAR and heard(said) == heard(letters):
        alike = max(alike, 100 - 50 / SHORTEST)
    return alike


def _is_misspelt(message: Folded, span: Span, said: list[str], words: tuple[str, ...]) -> bool | None:
    """Whether what was said is certainly the secret; None where it is simply another word."""
    strange = [word for word in said if word not in words and not _is_ordinary(word, message.plain)]
    if not strange and any(word in words for word in said) and is_announced(message, span, " ".join(said)):
        return not all(word in words for word in said)
    if not strange:
        return False if is_named(message, span, " ".join(said)) and any(w not in words for w in said) else None
    if any(not commonness(word) for word in strange):
        return True
    return is_announced(message, span, " ".join(said))


def _is_ordinary(word: str, plain: str) -> bool:
    if len(word) < 4 or word in word_set("also_ordinary") or is_listed(word, plain):
        return True
    return any(is_listed(variant, plain) for variant in spelling_variants(word))


def _likely(plain: str, letters: str, size: int, least_ratio: float) -> Iterator[tuple[Span, list[str]]]:
    """Runs of as many words as the secret has, of one more (mari gold) and of one less (blueherron).

    Where the words stand is looked up only when some of them are alike: almost always none is.
    """
    words = _WORD.findall(plain)
    places: list[Span] = []
    for width in range(max(1, size - 1), size + 2):
        runs = words if width == 1 else list(map("".join, zip(*(words[i:] for i in range(width)), strict=False)))
        found = process.extract(letters, runs, scorer=fuzz.ratio, score_cutoff=max(0, least_ratio), limit=None)
        for _, _, first in found:
            places = places or [match.span() for match in _WORD.finditer(plain)]
            last = first + width - 1
            yield (places[first][0], places[last][1]), words[first : last + 1]
