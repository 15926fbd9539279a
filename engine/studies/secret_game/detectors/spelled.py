"""Finds the secret spelled out: letter by letter with signs or short words between (M-A-R-I…, "a C, then an A", "M as in Mike"),
in parts (mari-gold, light house), backwards, or as the first letters of lines.

A message whose letters, run together, do not contain the secret, and in which its rarest letter does not stand alone, cannot
spell it. These two quick searches pass over almost all messages.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

from tidepool.engine.studies.secret_game.detectors.exact import find_exact
from tidepool.engine.studies.secret_game.detectors.normalise import Folded, Hit, Span, fold, stands_alone
from tidepool.engine.studies.secret_game.detectors.ordinary import (
    FUNCTIONAL,
    commonness,
    is_admitted,
    is_listed,
    is_named,
)

SHORTEST = 3
SHORTEST_REVERSED = 4
EVERYDAY = 5.5
"""two words so common stand side by side by chance: every day, some time"""
_SIGNS = r"[\W_]{1,8}"
_OPEN, _CLOSED = r"(?<![^\W_])(?<!\w')", r"(?![^\W_])"
"""the edges of a letter that stands alone; the s of "it's" does not"""
_BETWEEN_LETTERS = rf"(?:{_SIGNS}(?:[^\W_]{{2,20}}|[ai0-9])){{0,8}}?{_SIGNS}"
_BETWEEN_DIGITS = r"[\W_]{1,4}(?:(?:and|then|next|followed by|an?)[\W_]{1,3}){0,2}"
_SPACE = re.compile(r"\s{1,2}")
_TIE = re.compile(r"\s{0,2}(?:\.{2,3}|[-_+/|~*·'\"&=>‐‒―⸺()\[\]]+|->)\s{0,2}[*_\"'(\[]{0,2}")
_TOKEN = re.compile(r"[^\W_]+")
_RARITY = "aitesonrhdlcumfpgwybvkxjqz"
"""letters by how seldom they stand alone"""


@dataclass(frozen=True, slots=True)
class _Spelling:
    letters: str
    bare: bytes
    parts: re.Pattern[str]
    """with signs between some of the letters"""
    alone: re.Pattern[str]
    """each letter a word of its own"""
    rare: re.Pattern[str]
    """its rarest letter, alone"""


@lru_cache(maxsize=4096)
def _spellings(secret: str) -> tuple[_Spelling, ...]:
    """Forwards and backwards; none where the secret is too short, or its letters do not stand by themselves."""
    plain = fold(secret)
    letters = "".join(filter(str.isalnum, plain))
    if len(letters) < SHORTEST or any(unicodedata.category(character)[0] == "M" for character in plain):
        return ()
    return tuple(map(_spelling, dict.fromkeys((letters, letters[::-1]))))


def _spelling(letters: str) -> _Spelling:
    first, *rest = map(re.escape, letters)
    in_parts = re.compile(r"[\W_]{0,6}".join([rf"{first}(?<![^\W_]{first})", *rest]))
    between = _BETWEEN_DIGITS if letters.isdecimal() else _BETWEEN_LETTERS
    singles = []
    for letter, run in groupby(letters):
        sign, count = re.escape(letter), len(list(run))
        single = rf"{_OPEN}{sign}{_CLOSED}"
        repeated = between.join([single] * count)
        singles.append(rf"(?:{repeated}|double{_SIGNS}{sign}{_CLOSED})" if count == 2 else repeated)
    rare = re.escape(max(letters, key=_RARITY.find))
    return _Spelling(
        letters,
        letters.encode("utf-8", "surrogatepass"),
        in_parts,
        re.compile(between.join(singles)),
        re.compile(rf"{rare}(?<![^\W_]{rare})(?![^\W_])"),
    )


def detect(message: Folded, secret: str, threshold: float) -> Hit | None:
    """As the registry of detectors calls it; only `fuzzy` has a threshold."""
    spellings, uncertain = _spellings(secret), None
    if not spellings:
        return None
    for hit in _hits(message, spellings, secret):
        if hit and not hit.uncertain:
            return hit
        uncertain = uncertain or hit
    return uncertain


def _hits(message: Folded, spellings: tuple[_Spelling, ...], secret: str) -> Iterator[Hit | None]:
    for spelling in spellings:
        yield _find_letters(message, spelling)
    if not spellings[0].letters.isdecimal():
        for spelling in spellings:
            yield _find_parts(message, spelling, secret)
        yield _find_acrostic(message, spellings[0].letters)
    yield _find_backwards(message, secret)


# -- letter by letter -------------------------------------------------------------------------------------


def _find_letters(message: Folded, spelling: _Spelling) -> Hit | None:
    plain = message.plain
    if not spelling.rare.search(plain):
        return None
    for match in spelling.alone.finditer(plain):
        if not _goes_on(plain, match.span(), spelling.letters):
            return message.hit(match.span())
    return None


def _goes_on(plain: str, span: Span, letters: str) -> bool:
    """Whether the letters are a part of a longer spelled word, as A-R-T is of P-A-R-T-Y."""
    start, end = span
    if letters.isdecimal():
        return not stands_alone(plain, span) or bool(
            re.search(r"\d[\W_]{0,4}$", plain[max(0, start - 5) : start])
            or re.match(r"[\W_]{0,4}\d", plain[end : end + 5])
        )
    tokens, joints = _TOKEN.findall(plain[start:end]), set(_TOKEN.split(plain[start:end])[1:-1])
    words_between = len(tokens) > len(letters)
    between = _BETWEEN_LETTERS if words_between and len(letters) > SHORTEST else _SIGNS
    before = re.search(rf"{_OPEN}(?P<letter>[^\W\d_])(?P<joint>{between})$", plain[max(0, start - 40) : start])
    after = re.match(rf"(?P<joint>{between})(?P<letter>[^\W\d_]){_CLOSED}", plain[end : end + 40])
    for near in (before, after):
        if near and (near["letter"] not in "ai" or (joints == {near["joint"]} and not near["joint"].isspace())):
            return True
    return False


# -- in parts ---------------------------------------------------------------------------------------------


def _find_parts(message: Folded, spelling: _Spelling, secret: str) -> Hit | None:
    if spelling.bare not in message.bare:
        return None
    plain, uncertain, start = message.plain, None, -1
    while match := spelling.parts.search(plain, start + 1):
        start, span = match.start(), match.span()
        if not stands_alone(plain, span) or len(match.group()) == len(spelling.letters):
            continue
        if find_exact(Folded(match.group(), match.group()), secret):
            continue  # the secret with its own spaces or hyphens
        certain = _are_parts(message, span)
        if certain:
            return message.hit(span)
        if certain is None:
            uncertain = uncertain or message.hit(span, uncertain=True)
    return uncertain


def _are_parts(message: Folded, span: Span) -> bool | None:
    """Parts of the secret with signs or spaces between; None where they are ordinary words side by side."""
    text = message.plain[slice(*span)]
    pieces = _TOKEN.findall(text)
    joints = [joint for joint in _TOKEN.split(text) if joint]
    if max(map(len, pieces)) == 1:
        return not _goes_on(message.plain, span, "".join(pieces))
    if any(len(piece) == 1 and joint.isspace() for piece, joint in zip(pieces, joints, strict=False)):
        return False  # a board, I deal
    if all(map(_TIE.fullmatch, joints)):
        return not _goes_on(message.plain, span, "".join(pieces))
    if not all(_SPACE.fullmatch(joint) or _TIE.fullmatch(joint) for joint in joints) or min(map(len, pieces)) < 2:
        return False
    common = [commonness(piece) for piece in pieces]
    if (len(pieces) > 2 and min(common) > 0) or max(common) >= FUNCTIONAL:
        marked = is_named(message, span, text) or is_admitted(message.plain, span)
        return None if marked and max(common) < FUNCTIONAL else False
    return None if min(common) >= EVERYDAY else True


# -- backwards --------------------------------------------------------------------------------------------

_BACKWARDS = re.compile(
    r"backward|revers|mirror|flip|invert|right to left|wrong way|other way|turn\b.{0,20}\baround|from the end|"
    r"(?:from|starting with|beginning with) (?:the |its )?last|last \w{0,7} ?(?:to|comes|is) (?:the )?first|"
    r"ruckwarts|envers|al reves|al contrario"
)


def _find_backwards(message: Folded, secret: str) -> Hit | None:
    """A reverse that is a word or a number too is uncertain, and only where the message speaks of reading backwards."""
    plain, whole = message.plain, fold(secret).strip()
    reverse = whole[::-1]
    if reverse == whole or not (span := find_exact(message, reverse)):
        return None
    if len(reverse) >= SHORTEST_REVERSED and not reverse.isdecimal() and not is_listed(reverse, plain):
        return Hit(*span)
    if not _BACKWARDS.search(plain):
        return None
    return Hit(*span, uncertain=True)


# -- acrostics --------------------------------------------------------------------------------------------

SHORTEST_ACROSTIC, CERTAIN_ACROSTIC = 4, 5
_LINE_START = re.compile(r"^[^\w\n]*(?:\d{1,2}[.):]\s?)?[^\w\n]*(\w)", re.MULTILINE)
_OF_INITIALS = re.compile(
    r"initials|first letter|acrosti|left (?:side|edge|margin)|read (?:down|only)|top to bottom|each line|every line|\bpoem|\bverse"
)


def _find_acrostic(message: Folded, letters: str) -> Hit | None:
    """First letters of lines; four of them may be chance, unless the message speaks of first letters."""
    plain = message.plain
    if plain.count("\n") < len(letters) - 1:
        return None
    places = [match.start(1) for match in _LINE_START.finditer(plain)]
    start = "".join(plain[place] for place in places).find(letters)
    announced = bool(_OF_INITIALS.search(plain))
    if start < 0 or (len(letters) < SHORTEST_ACROSTIC and not announced):
        return None
    span = places[start], places[start + len(letters) - 1] + 1
    return message.hit(span, uncertain=len(letters) < CERTAIN_ACROSTIC and not announced)
