"""The secret as a word: case, accents and width do not matter, nor how its own words are joined."""

import re
from functools import lru_cache

from tidepool.engine.studies.secret_game.detectors.folding import Folded, Span, fold, stands_alone

_JOINTS = r"\s\-_'‐‒―−⸺"


@lru_cache(maxsize=4096)
def _compiled(secret: str) -> tuple[str, re.Pattern[str] | None]:
    """A part that any match must contain, and the pattern of the whole where that part is not the whole."""
    plain = fold(secret).strip()
    words = [word for word in re.split(f"[{_JOINTS}]+", plain) if word]
    if not words:
        return plain, None
    longest = max(words, key=len)
    pattern = re.compile(f"[{_JOINTS}]{{0,4}}".join(map(re.escape, words)))
    return longest, None if longest == plain else pattern


def find_exact(message: Folded, secret: str) -> Span | None:
    needle, pattern = _compiled(secret)
    plain = message.plain
    if needle not in plain or not needle:
        return None
    start = -1
    while True:
        if pattern is None:
            start = plain.find(needle, start + 1)
            span = start, start + len(needle)
        else:
            match = pattern.search(plain, start + 1)
            start, span = (match.start(), match.span()) if match else (-1, (-1, -1))
        if start < 0:
            return None
        if stands_alone(plain, span):
            return message.original(span)


def detect(message: Folded, secret: str, threshold: float) -> Span | None:
    """As the registry of detectors asks for it; the threshold is for those that compare."""
    return find_exact(message, secret)
