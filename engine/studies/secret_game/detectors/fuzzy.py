"""The secret misspelt: a word, or as many words as the secret has, that are almost it.

Likeness is the mean of two measures of rapidfuzz, from 0 to 100: `ratio`, which counts what must be
inserted and deleted, and Jaro–Winkler, which forgives swapped letters and slips late in a word. At the
usual threshold of 90 that is about one slip in seven letters.

Language is full of neighbours: stream and steam, contract and contrast. A likeness made of ordinary words
only is therefore no misspelling, and secrets under five letters have too many neighbours to be looked for
at all.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from rapidfuzz import fuzz, process
from rapidfuzz.distance import JaroWinkler

from tidepool.engine.studies.secret_game.detectors.exact import find_exact
from tidepool.engine.studies.secret_game.detectors.folding import Folded, Span, fold
from tidepool.engine.studies.secret_game.detectors.ordinary_words import is_ordinary

SHORTEST = 5

_WORD = re.compile(r"[^\W_]+")
_MARGIN = 15
"""how much less alike the best stretch of a text may be than the best run of whole words in it"""


@lru_cache(maxsize=4096)
def _words(secret: str) -> tuple[str, tuple[str, ...]]:
    words = tuple(_WORD.findall(fold(secret)))
    return "".join(words), words


def find_fuzzy(message: Folded, secret: str, threshold: float) -> Span | None:
    letters, words = _words(secret)
    if len(letters) < SHORTEST:
        return None
    least_ratio = 2 * threshold - 100
    if not fuzz.partial_ratio(" ".join(words), message.plain, score_cutoff=max(1, least_ratio - _MARGIN)):
        return None
    best, found = threshold, None
    for span, said in _likely(message.plain, letters, len(words), least_ratio):
        alike = likeness("".join(said), letters)
        if alike >= best and not all(word in words or is_ordinary(word, words) for word in said):
            piece = message.plain[slice(*span)]
            if not find_exact(Folded(piece, piece), secret):
                best, found = alike, span
    return message.original(found) if found else None


def likeness(said: str, letters: str) -> float:
    return (fuzz.ratio(said, letters) + 100 * JaroWinkler.similarity(said, letters)) / 2


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
