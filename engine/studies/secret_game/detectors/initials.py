"""The secret as the first letters of lines, of sentences or of words.

First letters of ordinary prose spell short words all the time. So the shorter the stretches between them, the longer a
secret must be to count; a little shorter it is uncertain; and where the talk is of first letters, any length will do.
"""

import re
from functools import lru_cache

from tidepool.engine.studies.secret_game.detectors.folding import Folded, Hit, Span

CERTAIN_BY_LINE = CERTAIN_BY_SENTENCE = 5
CERTAIN_BY_WORD = 6
SHORTEST = 4
SHORTEST_ANNOUNCED = 3

_LINE = re.compile(r"^[^\w\n]*(?:\d{1,2}[.):]\s?)?[^\w\n]*(\w)", re.MULTILINE)
_SENTENCE = re.compile(r"(?:^|[.!?][\"')\]*]*\s+)[^\w\s]*(\w)")
_SET_OFF = re.compile(r"[*_(\[<]\w[*_)\]>]")
_ANNOUNCED = re.compile(
    r"initials|first letter|acrosti|left (?:side|edge|margin)|read (?:down|only)|top to bottom|sentence opening|"
    r"capitals|beginnings|\bpoem|\bverses?\b|gedicht|poeme|\bpoema|poesia|wiersz|стих|each (?:word|line)|every (?:word|line)|anfangsbuchstab|premieres? lettres?|"
    r"primeras? letras?|pierwsz\w+ liter|перв\w+ букв"
)


@lru_cache(maxsize=4096)
def _by_word(letters: str) -> re.Pattern[str]:
    """That the first letter opens a word is checked after it, so the search leaps from one such letter to the next."""
    first, *rest = map(re.escape, letters)
    return re.compile(r"[^\W_]{0,40}+[\W_]{1,40}+".join([rf"{first}(?<![^\W_]{first})", *rest]))


def find(message: Folded, letters: str) -> Hit | None:
    size, plain = len(letters), message.plain
    by_word = _by_word(letters).search(plain)
    if by_word and by_word.end() - by_word.start() < 3 * size:
        by_word = None  # hardly more than the letters themselves
    if by_word and (size >= CERTAIN_BY_WORD or (size >= SHORTEST and _ANNOUNCED.search(plain))):
        return message.hit(by_word.span())
    if plain.count("\n") >= size - 1 and (span := _in_initials(_LINE, plain, letters)):
        return _hit(message, span, size, CERTAIN_BY_LINE)
    ends = plain.count(".") + plain.count("!") + plain.count("?")
    if ends >= size - 1 and (span := _in_initials(_SENTENCE, plain, letters)):
        return _hit(message, span, size, CERTAIN_BY_SENTENCE)
    return message.hit(by_word.span(), uncertain=True) if by_word and size >= SHORTEST else None


def _hit(message: Folded, span: Span, size: int, certain: int) -> Hit | None:
    announced = _ANNOUNCED.search(message.plain)
    if size < (SHORTEST_ANNOUNCED if announced else SHORTEST):
        return None
    return message.hit(span, uncertain=size < certain and not announced and not _stand_out(message.plain, span))


def _stand_out(plain: str, span: Span) -> bool:
    """Whether the first of the letters and the last are set off from their words: **H**appy."""
    return all(_SET_OFF.fullmatch(plain, place - 1, place + 2) for place in (span[0], span[1] - 1))


def _in_initials(pattern: re.Pattern[str], plain: str, letters: str) -> Span | None:
    places = [match.start(1) for match in pattern.finditer(plain)]
    found = "".join([plain[place] for place in places]).find(letters)
    return None if found < 0 else (places[found], places[found + len(letters) - 1] + 1)
