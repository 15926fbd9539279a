"""What is doubtful about a secret as a word, and about two of them."""

import codecs
import re
from collections.abc import Iterator, Sequence

from tidepool.engine.studies.secret_game.detectors.exact import find_exact, inflections, value_of
from tidepool.engine.studies.secret_game.detectors.normalise import Folded, fold
from tidepool.engine.studies.secret_game.detectors.ordinary import REAL, commonness, is_ambiguous_phrase, is_listed

SHORT = 2
"""letters; nothing but the plain word can be looked for"""
SHORT_NUMBER = 10_000
LEAST_SHARED = 3
"""letters of a word that a secret may not share with a name or the rules"""

_WORD = re.compile(r"[^\W_]+")


def stands_in(text: Folded, secret: str) -> bool:
    return find_exact(text, secret) is not None


def doubts_about(secret: str) -> Iterator[str]:
    plain = fold(secret).strip()
    letters = "".join(filter(str.isalnum, plain))
    if (value := value_of(plain)) is not None:
        if value < SHORT_NUMBER:
            yield "is a short number, which stands in prices, dates and years"
        return
    if len(letters) <= SHORT and letters.isascii():
        yield "is too short to be found spelled out, misspelt or in a code"
    elif is_ambiguous_phrase(plain):
        yield "is a word that people say without meaning a secret: most hits would be uncertain"
    if not plain.isascii() or not plain.isalpha() or len(plain) <= SHORT:
        return
    if plain[::-1] != plain and is_listed(plain[::-1], ""):
        yield f"is {plain[::-1]!r} backwards"
    if len(plain) > 3 and commonness(code := codecs.encode(plain, "rot13")) >= REAL:
        yield f"is {code!r} in rot13"


def share_a_word(secret: str, text: str) -> bool:
    """A word of the one stands in the other, as it is or as its plural."""
    said = {word for word in _WORD.findall(fold(text)) if len(word) >= LEAST_SHARED}
    own = {word for word in _WORD.findall(fold(secret)) if len(word) >= LEAST_SHARED and not _is_little(word)}
    return any(form in said for word in own for form in (word, *inflections(word)))


def _is_little(word: str) -> bool:
    """The and: nobody could do without them."""
    return commonness(word) >= 6.0


def taken_for(secret: str, others: Sequence[str], threshold: float) -> int | None:
    """The first of the others that would be found where the secret is said, or the other way round."""
    from tidepool.engine.studies.secret_game.detectors.fuzzy import SHORTEST, likeness

    letters = "".join(_WORD.findall(fold(secret)))
    for place, other in enumerate(others):
        other_letters = "".join(_WORD.findall(fold(other)))
        if stands_in(Folded.of(secret), other) or stands_in(Folded.of(other), secret):
            return place
        if min(len(letters), len(other_letters)) >= SHORTEST and likeness(letters, other_letters) >= threshold:
            return place
    return None
