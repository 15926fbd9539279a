"""The secret letter by letter or in parts: M-A-R-I…, with any signs or little words between, "M as in Mike", by a spelling
alphabet, parted (mari gold), backwards, as first letters of lines, sentences or words, or as beginning and end.

A message whose bare letters, run together, do not contain the secret, and in which none of its letters stands alone,
cannot spell it out; two quick searches pass over almost all.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise

from tidepool.engine.studies.secret_game.detectors import initials, phonetic
from tidepool.engine.studies.secret_game.detectors.context import is_announced
from tidepool.engine.studies.secret_game.detectors.exact import find_exact
from tidepool.engine.studies.secret_game.detectors.folding import Folded, Hit, Span, fold, stands_alone
from tidepool.engine.studies.secret_game.detectors.numbers import DIGITS
from tidepool.engine.studies.secret_game.detectors.ordinary_words import FUNCTIONAL, commonness, is_listed
from tidepool.engine.studies.secret_game.detectors.pieces import find_pieces

SHORTEST = 3
SHORTEST_REVERSED = 4
EVERYDAY = 5.5
"""two words so common stand side by side by chance: every day, some time"""
_WORDS_BETWEEN, _SIGNS_BETWEEN = 8, 70
_JOINT = r"[\W_]{0,6}"
_SPACE = re.compile(r"\s{1,2}")
_TIED = re.compile(r"\s{0,2}(?:\.{2,3}|[-_+/|~*·'\"&=>‐‒―⸺()\[\]]+|->)\s{0,2}[*_\"'(\[]{0,2}")
_TOKEN = re.compile(r"[^\W_]+")
_RARITY = "aitesonrhdlcumfpgwybvkxjqz"
"""letters by how seldom they stand alone or begin anything"""
_BACKWARDS = re.compile(
    r"backward|revers|mirror|flip|invert|right to left|wrong way|other way|turn\b.{0,20}\baround|from the end|"
    r"(?:from|starting with|beginning with) (?:the |its )?last|last \w{0,7} ?(?:to|comes|is) (?:the )?first|"
    r"tail first|inside out|ruckwarts|umgekehrt|verkehrt|envers|reves|contrario|tylu|wspak|tersten|наоборот|задом"
)


@dataclass(frozen=True, slots=True)
class _Spelling:
    letters: str
    bare: bytes
    """the letters as they stand in a text from which all signs were removed"""
    tied: re.Pattern[str]
    alone: re.Pattern[str]
    """a letter of it that hardly ever stands alone, alone"""


@dataclass(frozen=True, slots=True)
class _Spellings:
    ways: tuple[_Spelling, ...]
    """forwards and backwards"""
    reverse: str
    """the whole secret from its end, nothing where that is the same"""
    digits: bool


@lru_cache(maxsize=4096)
def _spellings(secret: str) -> _Spellings | None:
    """None where the secret is too short to be told from chance."""
    if any(unicodedata.category(character)[0] == "M" for character in fold(secret)):
        return None  # its letters do not stand by themselves
    letters = "".join(character for character in fold(secret) if character.isalnum())
    digits = letters.isdecimal()
    if len(letters) < (2 if digits else SHORTEST):
        return None
    whole = fold(secret).strip()
    return _Spellings(
        ways=tuple(_spelling(word) for word in dict.fromkeys((letters, letters[::-1]))),
        reverse=whole[::-1] if whole[::-1] != whole and not digits else "",
        digits=digits,
    )


def _spelling(letters: str) -> _Spelling:
    first, *rest = map(re.escape, letters)
    tied = re.compile(_JOINT.join([rf"{first}(?<![^\W_]{first})", *rest]))
    rare = max(letters, key=_RARITY.find)
    alone = re.compile(rf"{re.escape(rare)}(?<![^\W_]{re.escape(rare)})(?![^\W_])")
    return _Spelling(letters, letters.encode("utf-8", "surrogatepass"), tied, alone)


def find_spelled(message: Folded, secret: str) -> Hit | None:
    spellings = _spellings(secret)
    if spellings is None:
        return None
    forwards = spellings.ways[0]
    uncertain: Hit | None = None
    if spellings.digits:
        return (
            _find_digits(message, forwards.letters)
            or _find_digits_backwards(message, forwards.letters)
            or _in_pieces(message, secret)
        )
    for find in (_find_tied, _find_alone):
        for way in spellings.ways:
            if hit := find(message, way, secret):
                if not hit.uncertain:
                    return hit
                uncertain = uncertain or hit
    for hit in (
        phonetic.find(message, forwards.letters),
        _find_backwards(message, spellings),
        initials.find(message, forwards.letters),
    ):
        if hit and not hit.uncertain:
            return hit
        uncertain = uncertain or hit
    return _in_pieces(message, secret) or uncertain


def _in_pieces(message: Folded, secret: str) -> Hit | None:
    found = find_pieces([message], secret)
    return found[1] if found else None


# -- only signs and spaces between ------------------------------------------------------------------------


def _find_tied(message: Folded, way: _Spelling, secret: str) -> Hit | None:
    if way.bare not in message.bare:
        return None
    plain, uncertain = message.plain, None
    for match in _matches(way.tied, plain):
        span = match.span()
        if span[1] - span[0] == len(way.letters) or _is_named(plain, span, secret):
            continue
        sure = _is_spelled_out(message, span)
        if sure:
            return message.hit(span)
        if sure is None:
            uncertain = uncertain or message.hit(span, uncertain=True)
    return uncertain


def _matches(pattern: re.Pattern[str], plain: str) -> Iterator[re.Match[str]]:
    match = pattern.search(plain)
    while match:
        if stands_alone(plain, match.span()):
            yield match
        match = pattern.search(plain, match.start() + 1)


def _is_spelled_out(message: Folded, span: Span) -> bool | None:
    """Letters or parts of the secret with signs between; None where they are ordinary words side by side."""
    plain = message.plain
    said = plain[slice(*span)]
    parts = _TOKEN.findall(said)
    joints = [joint for joint in _TOKEN.split(said) if joint]
    if max(map(len, parts)) == 1:
        return _is_whole_run(plain, span)
    if any(parts_of_one(parts, joints)):
        return False
    if all(map(_TIED.fullmatch, joints)):
        return _is_whole_run(plain, span)
    if not all(_SPACE.fullmatch(joint) or _TIED.fullmatch(joint) for joint in joints) or min(map(len, parts)) < 2:
        return False
    common = [commonness(part) for part in parts]
    if (len(parts) > 2 and min(common) > 0) or max(common) >= FUNCTIONAL:
        return None if is_announced(message, span, said) and max(common) < FUNCTIONAL else False
    return None if min(common) >= EVERYDAY else True


def parts_of_one(parts: list[str], joints: list[str]) -> Iterator[bool]:
    """A single letter that is a word by itself, before a space: a board, I deal."""
    for part, joint in zip(parts, joints, strict=False):
        yield len(part) == 1 and joint.isspace()


def _is_whole_run(plain: str, span: Span) -> bool:
    """Not a part of a longer spelled word, as A-R-T is of P-A-R-T-Y."""
    start, end = span
    before = re.search(r"(?<![^\W_])(\w)([\W_]{1,5})$", plain[max(0, start - 7) : start])
    after = re.match(r"([\W_]{1,5})(\w)(?![^\W_])", plain[end : end + 7])
    inside = re.search(r"[\W_]+", plain[start:end])
    joint = inside.group() if inside else ""
    return not (
        (before and before[2] == joint and not _is_little_word(before[1], joint))
        or (after and after[1] == joint and not _is_little_word(after[2], joint))
    )


def _is_little_word(letter: str, joint: str) -> bool:
    return joint.isspace() and letter in "ai"


def _is_named(plain: str, span: Span, secret: str) -> bool:
    """Where the match is the secret written with its own spaces or hyphens."""
    piece = plain[slice(*span)]
    return find_exact(Folded(piece, piece), secret) is not None


# -- words between ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Letter:
    sign: str
    start: int
    end: int
    token: int
    """its place among the words of the message"""


def _find_alone(message: Folded, way: _Spelling, secret: str) -> Hit | None:
    """Each letter a word of its own, with little words between: it's a C, then an A, then a T."""
    plain = message.plain
    if not way.alone.search(plain):
        return None
    letters = list(_lone_letters(plain))
    if len(letters) < len(way.letters):
        return None
    for first in range(len(letters) - len(way.letters) + 1):
        if letters[first].sign == way.letters[0] and (last := _spells(letters, first, way.letters, plain)):
            return message.hit((letters[first].start, letters[last].end))
    return None


def _lone_letters(plain: str) -> Iterator[_Letter]:
    before = ""
    for place, match in enumerate(_TOKEN.finditer(plain)):
        word, start = match.group(), match.start()
        if len(word) == 1 and not (start > 1 and plain[start - 1] == "'" and plain[start - 2].isalnum()):
            letter = _Letter(word, start, match.end(), place)
            if before == "double":
                yield letter
            yield letter
        before = word


def _spells(letters: list[_Letter], first: int, wanted: str, plain: str) -> int | None:
    """The place of the last letter, where those from the first on spell the word; only "a" and "i" may be passed over."""
    place = last = first
    widest = 0
    for sign in wanted[1:]:
        place += 1
        while place < len(letters) and letters[place].sign != sign:
            if letters[place].sign not in "ai" and not letters[place].sign.isdigit():
                return None
            place += 1
        if place == len(letters) or _far(letters[last], letters[place], len(wanted)):
            return None
        widest = max(widest, letters[place].token - letters[last].token)
        last = place
    joint = plain[letters[first].end : letters[first + 1].start]
    for before, after in ((first - 1, first), (last, last + 1)):
        if before >= 0 and after < len(letters) and _goes_on(plain, letters[before], letters[after], widest, joint):
            return None
    return last


def _far(one: _Letter, other: _Letter, size: int) -> bool:
    words = other.token - one.token - 1
    return words > (_WORDS_BETWEEN if size > SHORTEST else 5) or other.start - one.end > _SIGNS_BETWEEN


def _goes_on(plain: str, one: _Letter, other: _Letter, widest: int, joint: str) -> bool:
    """Whether two letters belong to one spelled word, as the P and the A of P-A-R-T-Y."""
    if one is other or one.sign.isdigit() or other.sign.isdigit() or other.token - one.token > widest:
        return False
    if one.sign not in "ai" and other.sign not in "ai":
        return True
    return not joint.isspace() and plain[one.end : other.start] == joint


# -- digits -----------------------------------------------------------------------------------------------

_DIGIT_WORDS = re.compile(rf"\d|\b(?:(?:(?:double|triple)[ -])?(?:{'|'.join(DIGITS)})|point)\b")
_MOST_DIGITS = 5000
LONG_NUMBER = 7
"""digits; parted in two, as many are still this number and no other"""
_DIGITS_BETWEEN = re.compile(
    r"(?:[^\w+*×÷=%]|_){0,4}(?:(?:and|then|followed by|next|an?|finally|lastly|last|another|comes|und|dann|puis|et|luego|y|poi)"
    r"\W{1,3}){0,4}"
)
"""what adds or multiplies is a sum, and reads nothing out"""
_AND = re.compile(r"\b(?:and|und|et|y)\b")
_OF_DIGITS = re.compile(r"digit|number|code|dial|order|call|pin\b|combination|ziffer|zahl|chiffre|cifra")


def _find_digits(message: Folded, wanted: str) -> Hit | None:
    """A number read out digit by digit; a short one only where the talk is of digits."""
    plain = message.plain
    if not re.search(r"\d\W|\b(?:one|two|three|four|five|six|seven|eight|nine|zero|oh)\b", plain):
        return None
    run, spans = "", list[Span]()
    for match in [*islice(_DIGIT_WORDS.finditer(plain), _MOST_DIGITS), None]:
        joins = match and spans and _goes_on_in_digits(plain, spans[-1], match.span())
        if spans and not joins:
            if run == wanted and (len(spans) < len(run) or any(one[1] < other[0] for one, other in pairwise(spans))):
                span = spans[0][0], spans[-1][1]
                if len(wanted) >= LONG_NUMBER or not re.fullmatch(r"\d+[.,:'/-]?\d*", plain[slice(*span)]):
                    sure = len(wanted) > 2 or bool(_OF_DIGITS.search(plain)) or "point" in plain[slice(*span)]
                    return message.hit(span, uncertain=not sure)
            run, spans = "", []
        said = match.group() if match else ""
        if match and said == "point" and spans:
            spans[-1] = spans[-1][0], match.end()
        elif match and said != "point":
            times = 2 if said.startswith("double") else 3 if said.startswith("triple") else 1
            run += DIGITS.get(re.split("[ -]", said)[-1], said[-1]) * times
            spans.append(match.span())
    return None


def _goes_on_in_digits(plain: str, one: Span, other: Span) -> bool:
    """Digits one by one with anything little between; 44 and 71 are two numbers."""
    if one[1] == other[0]:
        return True
    if not _DIGITS_BETWEEN.fullmatch(plain, one[1], other[0]):
        return False
    longer = plain[one[0] - 1 : one[0]].isdigit() or plain[other[1] : other[1] + 1].isdigit()
    return not (longer and _AND.search(plain, one[1], other[0]))


# -- from the end -----------------------------------------------------------------------------------------


def _find_backwards(message: Folded, spellings: _Spellings) -> Hit | None:
    """What is a word that way too counts where the talk is of reading it backwards; said so alone, it may be chance."""
    reverse, plain = spellings.reverse, message.plain
    if not reverse or (reverse if reverse.isalnum() else max(_TOKEN.findall(reverse), key=len)) not in plain:
        return None
    span = find_exact(message, reverse)
    if span is None:
        return None
    if len(reverse) >= SHORTEST_REVERSED and not is_listed(reverse, plain):
        return Hit(*span)
    if not _BACKWARDS.search(plain):
        return None
    for match in islice(re.finditer(re.escape(reverse), plain), 20):
        if _is_told_backwards(plain, match.span()):
            return message.hit(match.span())
    return Hit(*span, uncertain=True)


def _find_digits_backwards(message: Folded, digits: str) -> Hit | None:
    """Any number is one from its end too, so the talk must be of that."""
    reverse, plain = digits[::-1], message.plain
    if len(digits) < SHORTEST or reverse == digits or reverse not in plain or not _BACKWARDS.search(plain):
        return None
    for match in islice(re.finditer(reverse, plain), 20):
        if stands_alone(plain, match.span()):
            return message.hit(match.span(), uncertain=not _is_told_backwards(plain, match.span()))
    return None


def _is_told_backwards(plain: str, span: Span) -> bool:
    """Whether the talk is of reading this very word the other way."""
    start, end = span
    before, after = plain[max(0, start - 80) : start], plain[end : end + 200]
    said_after = [part for part in re.split(r"[.!?\n]", after) if part.strip()][:3]
    refers = any(
        _BACKWARDS.search(part) and re.search(r"\b(?:that|this|it|me|my|word|noun|verb)\b", part) for part in said_after
    )
    quoted = before[-1:] in ("'", '"') and after[:1] in ("'", '"', ",")
    beside = re.match(rf"\W{{0,3}}(?:(?:read|spelled|spelt|but|only) )?(?:{_BACKWARDS.pattern})", after)
    announced = re.search(
        rf"(?:{_BACKWARDS.pattern})\w*(?:\s?[:=]|[^.!?:\n]{{0,24}}\b(?:is|reads|gives)\b)\W*$", before
    )
    return refers or quoted or bool(beside or announced)


def detect(message: Folded, secret: str, threshold: float) -> Hit | None:
    """As the registry of detectors asks for it; the threshold is for those that compare."""
    return find_spelled(message, secret)
