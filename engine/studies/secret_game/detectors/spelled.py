"""The secret letter by letter: M-A-R-I…, spaced, dotted, one letter a line, "M as in Mike", in pieces
(mari-gold), backwards, or as the first letters of lines, sentences or words.

A message whose bare letters, run together, do not contain the secret cannot spell it out; that one quick
search passes over almost all. First letters of ordinary prose spell short words all the time; the shorter
the stretches between them, the longer a secret must be to count.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from tidepool.engine.studies.secret_game.detectors.exact import find_exact
from tidepool.engine.studies.secret_game.detectors.folding import Folded, Span, fold, stands_alone
from tidepool.engine.studies.secret_game.detectors.ordinary_words import reads_either_way

SHORTEST = 3
SHORTEST_REVERSED = 4
SHORTEST_BY_LINE, SHORTEST_BY_SENTENCE, SHORTEST_BY_WORD = 4, 5, 6

_AS_IN = r"(?:\s(?:as in|is for|for|like)\s\w{1,12})?"
_NUMBERED = r"(?:\d{1,2}[.):]\s?)?"
_BETWEEN = rf"{_AS_IN}[\W_]{{1,5}}{_NUMBERED}"
_TIE = r"[-.*_/~|·]{0,3}"

_SIGNS = bytes(code for code in range(128) if not chr(code).isalnum())
_LINE_INITIAL = re.compile(rf"^[^\w\n]*{_NUMBERED}[^\w\n]*(\w)", re.MULTILINE)
_SENTENCE_INITIAL = re.compile(r"(?:^|[.!?][\"')\]*]*\s+)[^\w\s]*(\w)")

_BACKWARDS_HINT = re.compile(r"backward|revers|mirror|flip|inverted|right to left")


@dataclass(frozen=True, slots=True)
class _Spelling:
    letters: str
    bare: bytes
    """the letters as they stand in a text from which all signs were removed"""
    spaced: re.Pattern[str]
    tied: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class _Spellings:
    ways: tuple[_Spelling, ...]
    """forwards and backwards"""
    explained: tuple[str, ...]
    """what a text that says "M as in Mike" must contain"""
    signs: bytes
    by_word: re.Pattern[str] | None
    by_line: int
    by_sentence: int
    """line breaks, and ends of sentences, that an acrostic needs at least"""
    reverse: str
    """the whole secret from its end, nothing where that is the same or too short"""
    reverse_is_common: bool
    """such a word counts only where the message speaks of reading backwards"""


_NEVER = 1 << 30


@lru_cache(maxsize=4096)
def _spellings(secret: str) -> _Spellings | None:
    """None where the secret is too short to be told from chance."""
    letters = "".join(character for character in fold(secret) if character.isalnum())
    if len(letters) < SHORTEST:
        return None
    has_digits = any(map(str.isdigit, letters))
    whole = fold(secret).strip()
    reverse = whole[::-1] if whole[::-1] != whole else ""
    size = len(letters)
    return _Spellings(
        ways=tuple(_spelling(word) for word in dict.fromkeys((letters, letters[::-1]))),
        explained=(
            f"{letters[0]} as in ",
            f"{letters[0]} is for ",
            f"{letters[0]} for ",
            f"{letters[0]} like ",
        ),
        signs=_SIGNS if has_digits else _SIGNS + b"0123456789",
        by_word=_pattern(letters, r"\w*+[\W_]++") if size >= SHORTEST_BY_WORD else None,
        by_line=size - 1 if size >= SHORTEST_BY_LINE else _NEVER,
        by_sentence=size - 1 if size >= SHORTEST_BY_SENTENCE else _NEVER,
        reverse=reverse,
        reverse_is_common=size < SHORTEST_REVERSED or reads_either_way(reverse),
    )


def _spelling(letters: str) -> _Spelling:
    bare = letters.encode("utf-8", "surrogatepass")
    return _Spelling(letters, bare, _pattern(letters, _BETWEEN), _pattern(letters, _TIE))


def _pattern(letters: str, between: str) -> re.Pattern[str]:
    """The letters with something between them.

    That the first one opens a word is checked after it, so the search leaps from one such letter to the next.
    """
    first, *rest = map(re.escape, letters)
    return re.compile(between.join([rf"{first}(?<![^\W_]{first})", *rest]))


def find_spelled(message: Folded, secret: str) -> Span | None:
    spellings = _spellings(secret)
    if spellings is None:
        return None
    plain = message.plain
    span = _find_letters(plain, spellings, secret) or _find_initials(plain, spellings)
    return message.original(span) if span else _find_backwards(message, spellings)


def _find_letters(plain: str, spellings: _Spellings, secret: str) -> Span | None:
    bare = plain.encode("utf-8", "surrogatepass").translate(None, spellings.signs)
    explained = False
    for words in spellings.explained:
        explained = explained or words in plain
    for way in spellings.ways:
        if way.bare not in bare and not explained:
            continue
        for span in _matches(way.tied, plain):
            in_pieces = span[1] - span[0] > len(way.letters)
            if in_pieces and _is_whole_run(plain, span) and not _is_named(plain, span, secret):
                return span
        for span in _matches(way.spaced, plain):
            if _is_whole_run(plain, span):
                return span
    return None


def _matches(pattern: re.Pattern[str], plain: str) -> Iterator[Span]:
    match = pattern.search(plain)
    while match:
        if stands_alone(plain, match.span()):
            yield match.span()
        match = pattern.search(plain, match.start() + 1)


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


def _find_initials(plain: str, spellings: _Spellings) -> Span | None:
    letters = spellings.ways[0].letters
    if plain.count("\n") >= spellings.by_line and (span := _in_initials(_LINE_INITIAL, plain, letters)):
        return span
    ends = plain.count(".") + plain.count("!") + plain.count("?")
    if ends >= spellings.by_sentence and (span := _in_initials(_SENTENCE_INITIAL, plain, letters)):
        return span
    by_word = spellings.by_word and spellings.by_word.search(plain)
    return by_word.span() if by_word else None


def _in_initials(pattern: re.Pattern[str], plain: str, letters: str) -> Span | None:
    places = [match.start(1) for match in pattern.finditer(plain)]
    found = "".join([plain[place] for place in places]).find(letters)
    return None if found < 0 else (places[found], places[found + len(letters) - 1] + 1)


def _find_backwards(message: Folded, spellings: _Spellings) -> Span | None:
    if not spellings.reverse:
        return None
    span = find_exact(message, spellings.reverse)
    if span and spellings.reverse_is_common:
        return span if _BACKWARDS_HINT.search(message.plain) else None
    return span


def detect(message: Folded, secret: str, threshold: float) -> Span | None:
    """As the registry of detectors asks for it; the threshold is for those that compare."""
    return find_spelled(message, secret)
