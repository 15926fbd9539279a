"""Finds a misspelt secret: as many words as the secret has, one more or one less, that are almost the secret.

Similarity, from 0 to 100, is the mean of two measures of rapidfuzz: `ratio`, which counts insertions and deletions, and
Jaro–Winkler, which tolerates swapped letters and errors late in a word. One error in five letters always scores 90 or more.

Many ordinary words resemble each other (stream and steam). So an ordinary word is not a misspelling, or an uncertain one if
it is announced as the secret. Secrets of under five letters resemble too many words and are not searched.
"""

from itertools import islice

from rapidfuzz import fuzz, process
from rapidfuzz.distance import OSA, JaroWinkler

from tidepool.engine.studies.secret_game.detectors.exact import find_word, spelling_variants
from tidepool.engine.studies.secret_game.detectors.normalise import WORD, Folded, Hit, Span, fold
from tidepool.engine.studies.secret_game.detectors.ordinary import is_named, is_real

SHORTEST = 5
_MARGIN = 20
"""how much lower the ratio of the best part of a message may be than that of the best run of whole words in it"""
_MOST_LOOKED_AT = 300
"""how many likely places of a message are examined"""


def detect(message: Folded, secret: str, threshold: float) -> Hit | None:
    """The most similar certain place, else the most similar one."""
    words = WORD.findall(fold(secret))
    letters = "".join(words)
    if len(letters) < SHORTEST or letters.isdecimal():
        return None
    least = max(0.0, 2 * threshold - 100)
    spoken = message.words
    if least > _MARGIN and not fuzz.partial_ratio(letters, message.joined, score_cutoff=least - _MARGIN):
        return None
    best: tuple[bool, float, Span] | None = None
    for width in range(max(1, len(words) - 1), len(words) + 2):
        runs = list(map("".join, zip(*(spoken[place:] for place in range(width)), strict=False)))
        alike = process.extract(letters, runs, scorer=fuzz.ratio, score_cutoff=least, limit=_MOST_LOOKED_AT)
        for run, _, first in alike:
            score = likeness(run, letters)
            span = _span(message.plain, first, width)
            strange = [word for word in spoken[first : first + width] if word not in words and not _is_ordinary(word)]
            piece = message.plain[slice(*span)]
            if score < threshold or find_word(Folded(piece, piece), secret):
                continue
            if strange or is_named(message, span, piece):
                best = max(best or (False, 0.0, span), (bool(strange), score, span))
    return message.hit(best[2], uncertain=not best[0]) if best else None


def _span(plain: str, first: int, width: int) -> Span:
    places = list(islice(WORD.finditer(plain), first, first + width))
    return places[0].start(), places[-1].end()


def likeness(text: str, letters: str) -> float:
    score: float = (fuzz.ratio(text, letters) + 100 * JaroWinkler.similarity(text, letters)) / 2
    slips = OSA.distance(text, letters, score_cutoff=len(letters) // SHORTEST)
    return max(score, 100 - 50 * slips / len(letters)) if slips <= len(letters) // SHORTEST else score


def _is_ordinary(word: str) -> bool:
    return len(word) < 4 or any(map(is_real, (word, *spelling_variants(word))))
