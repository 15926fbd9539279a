"""Finds a spelled-out secret: letter by letter with signs or short words between (M-A-R-I…, "a C, then an A", "M as in Mike"),
in parts (mari-gold, light house), backwards, or as the first letters of lines."""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby

from tidepool.engine.studies.secret_game.detectors.exact import find_exact
from tidepool.engine.studies.secret_game.detectors.normalise import WORD, Folded, Hit, Span, fold, stands_alone
from tidepool.engine.studies.secret_game.detectors.ordinary import FUNCTIONAL, INTERJECTION, commonness, is_real

SHORTEST = 3
SHORTEST_REVERSED = 4
SHORTEST_ACROSTIC, CERTAIN_ACROSTIC = 4, 5
_SIGNS = r"[\W_]{1,8}"
_OPEN, _CLOSED = r"(?<![^\W_])(?<!\w')", r"(?![^\W_])"
"""the edges of a separate letter; the s of "it's" is not separate"""
_BETWEEN_LETTERS = rf"(?:{_SIGNS}(?:[^\W_]{{2,20}}|[ai0-9])){{0,8}}?{_SIGNS}"
_BETWEEN_DIGITS = r"[\W_]{1,4}(?:(?:and|then|next|followed by|an?)[\W_]{1,3}){0,2}"
_BACKWARDS = re.compile(
    r"backward|revers|mirror|flip|right to left|other way|turn\b.{0,20}\baround|from the (?:end|last)"
)
_LINE_START = re.compile(r"^[^\w\n]*(?:\d{1,2}[.):]\s?)?[^\w\n]*(\w)", re.MULTILINE)
_OF_INITIALS = re.compile(
    r"initials|first letter|acrosti|left (?:side|edge|margin)|read down|each line|every line|\bpoem"
)


@lru_cache(maxsize=4096)
def _spellings(secret: str) -> list[tuple[str, re.Pattern[str], re.Pattern[str]]]:
    """Patterns forwards and backwards: with each letter as a word of its own, and with signs between some letters."""
    plain = fold(secret)
    letters = "".join(filter(str.isalnum, plain))
    if len(letters) < SHORTEST or any(unicodedata.category(character)[0] == "M" for character in plain):
        return []
    both = dict.fromkeys((letters, letters[::-1]))
    return [(one, _alone(one), re.compile(_OPEN + r"[\W_]{0,6}".join(map(re.escape, one)))) for one in both]


def _alone(letters: str) -> re.Pattern[str]:
    between = _BETWEEN_DIGITS if letters.isdecimal() else _BETWEEN_LETTERS
    singles = []
    for letter, run in groupby(letters):
        sign, count = re.escape(letter), len(list(run))
        repeated = between.join([rf"{_OPEN}{sign}{_CLOSED}"] * count)
        singles.append(rf"(?:{repeated}|double{_SIGNS}{sign}{_CLOSED})" if count == 2 else repeated)
    return re.compile(between.join(singles))


def detect(message: Folded, secret: str, threshold: float) -> Hit | None:
    """The first certain hit, else the first one. This is the interface of the registry; only `fuzzy` uses the threshold."""
    return min(_hits(message, secret), key=lambda hit: hit.uncertain, default=None)


def _hits(message: Folded, secret: str) -> Iterator[Hit]:
    plain, spellings = message.plain, _spellings(secret)
    words = set(message.words)
    for letters, alone, _ in spellings:
        for match in alone.finditer(plain) if words.issuperset(letters) else ():  # nearly always false, and fast
            if not _goes_on(plain, match.span(), letters):
                yield message.hit(match.span())
    if spellings and not spellings[0][0].isdecimal():
        for letters, _, parts in spellings:
            for match in parts.finditer(plain) if letters in message.joined else ():
                if len(match.group()) > len(letters) and stands_alone(plain, match.span()):
                    yield from _parted(message, match.span(), secret)
        yield from _acrostics(message, spellings[0][0])
    if spellings:
        yield from _reversed(message, fold(secret).strip())


def _goes_on(plain: str, span: Span, letters: str) -> bool:
    """Whether the letters are part of a longer spelled word, like A-R-T in P-A-R-T-Y."""
    start, end = span
    letter = r"\d" if letters.isdecimal() else r"[^\W\dai_]"
    before = re.search(rf"{_OPEN}{letter}[\W_]{{1,4}}$", plain[max(0, start - 8) : start])
    return bool(before or re.match(rf"[\W_]{{1,4}}{letter}{_CLOSED}", plain[end : end + 8]))


def _parted(message: Folded, span: Span, secret: str) -> Iterator[Hit]:
    """Parts of the secret with signs or spaces between. Adjacent ordinary words are an uncertain hit, or no hit."""
    text = message.plain[slice(*span)]
    pieces, joints = WORD.findall(text), [joint for joint in WORD.split(text) if joint]
    if find_exact(Folded(text, text), secret) or min(map(len, pieces)) == 1:
        return  # the secret with its own spaces or hyphens; single letters, as in "a board"
    common = [commonness(piece) for piece in pieces]
    if any(map(str.isspace, joints)):
        if max(common) >= FUNCTIONAL or (len(pieces) > 2 and min(common) > 0) or max(map(len, joints)) > 2:
            return
        yield message.hit(span, uncertain=min(common) >= INTERJECTION)
    elif not re.search(r"[.!?,;:]\s", "".join(joints)):
        yield message.hit(span)


def _reversed(message: Folded, secret: str) -> Iterator[Hit]:
    """A reversed secret. If the result is also a word or number, it is uncertain, and requires that the message mentions reversal."""
    reverse = secret[::-1]
    if reverse != secret and (span := find_exact(message, reverse)):
        strange = len(reverse) >= SHORTEST_REVERSED and not reverse.isdecimal() and not is_real(reverse)
        if strange or _BACKWARDS.search(message.plain):
            yield Hit(*span, uncertain=not strange)


def _acrostics(message: Folded, letters: str) -> Iterator[Hit]:
    """First letters of lines. Four letters may be chance, unless the message mentions first letters."""
    plain = message.plain
    if plain.count("\n") < len(letters) - 1:
        return
    places = [match.start(1) for match in _LINE_START.finditer(plain)]
    start = "".join(plain[place] for place in places).find(letters)
    announced = bool(_OF_INITIALS.search(plain))
    if start >= 0 and (announced or len(letters) >= SHORTEST_ACROSTIC):
        span = places[start], places[start + len(letters) - 1] + 1
        yield message.hit(span, uncertain=len(letters) < CERTAIN_ACROSTIC and not announced)
