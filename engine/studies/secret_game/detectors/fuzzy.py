"""Finds the secret misspelt: as many words as the secret has, one more or one less, that are almost it.

Likeness, from 0 to 100, is the mean of two measures of rapidfuzz: `ratio`, which counts insertions and deletions, and Jaro–Winkler,
which forgives swapped letters and slips late in a word. One slip in five letters always counts as 90 or more.

Language is full of neighbours (stream and steam), so ordinary words are no misspelling, or an uncertain one where they are
announced as the secret. Secrets under five letters have too many neighbours to be looked for.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from rapidfuzz import fuzz, process
from rapidfuzz.distance import OSA, JaroWinkler

from tidepool.engine.studies.secret_game.detectors.exact import find_word, spelling_variants
from tidepool.engine.studies.secret_game.detectors.normalise import Folded, Hit, Span, fold
from tidepool.engine.studies.secret_game.detectors.ordinary import commonness, is_admitted, is_listed, is_named

SHORTEST = 5

_WORD = re.compile(r"[^\W_]+")
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
    best_span: Span | None = None
    for span, tokens in islice(_likely(message.plain, letters, len(words), least_ratio), _MOST_LOOKED_AT):
        score = likeness("".join(tokens), letters)
        if score < threshold or (best_span and (False, score) < best):
            continue
        certain = _is_misspelt(message, span, tokens, words)
        piece = message.plain[slice(*span)]
        if certain is not None and (certain, score) >= best and not find_word(Folded(piece, piece), secret):
            best, best_span = (certain, score), span
    return message.hit(best_span, uncertain=not best[0]) if best_span else None


def likeness(text: str, letters: str) -> float:
    score: float = (fuzz.ratio(text, letters) + 100 * JaroWinkler.similarity(text, letters)) / 2
    slips = OSA.distance(text, letters, score_cutoff=len(letters) // SHORTEST)
    if slips <= len(letters) // SHORTEST:
        score = max(score, 100 - 50 * slips / len(letters))
    return score


def _is_misspelt(message: Folded, span: Span, tokens: list[str], words: tuple[str, ...]) -> bool | None:
    """Whether what was said is certainly the secret; None where it is simply another word."""
    announced = is_named(message, span, " ".join(tokens)) or is_admitted(message.plain, span)
    strange = [word for word in tokens if word not in words and not _is_ordinary(word, message.plain)]
    if not strange and any(word in words for word in tokens) and announced:
        return not all(word in words for word in tokens)
    if not strange:
        return False if is_named(message, span, " ".join(tokens)) and any(w not in words for w in tokens) else None
    if any(not commonness(word) for word in strange):
        return True
    return announced


def _is_ordinary(word: str, plain: str) -> bool:
    if len(word) < 4 or is_listed(word, plain):
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
        matches = process.extract(letters, runs, scorer=fuzz.ratio, score_cutoff=max(0, least_ratio), limit=None)
        for _, _, first in matches:
            places = places or [match.span() for match in _WORD.finditer(plain)]
            last = first + width - 1
            yield (places[first][0], places[last][1]), words[first : last + 1]
