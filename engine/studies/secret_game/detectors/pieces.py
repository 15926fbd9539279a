"""The secret in pieces that the speaker hands out one by one: "it begins with mari" … "and it ends in gold".

A piece is a part of the secret that stands as a word, in a message that speaks of parts, beginnings, ends or letters, and
there in the place of what is named: after "with", "is" or a colon, in quotes, or as a sentence. Pieces in the order of the
secret give it away with the last one; so do a beginning and an end that meet, in any order.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise

from tidepool.engine.studies.secret_game.detectors.folding import Folded, Hit, Span, fold, stands_alone
from tidepool.engine.studies.secret_game.detectors.numbers import DIGITS
from tidepool.engine.studies.secret_game.detectors.ordinary_words import is_listed

SHORTEST = 3
_OF_PARTS = re.compile(
    r"\b(?:begin|start|first|1st|second|2nd|third|3rd|fourth|4th|fifth|5th|\dth|last|next|end|ends|ending|final|finish|"
    r"part|half|front|back|middle|rest|letter|digit|number|word|piece|syllable|then|goes|comes|prefix|suffix|open|clos|tail|remain|follow|plus|initial|beginn|fang|"
    r"head|chunk|bit\b|clue|hint|\d ?(?:/|of) ?\d\b|leading|trailing|tack|append|glue|attach|combine|complet|missing|stick|add\b|other\b|anfang|mitte|schluss|milieu|medio|mezzo|"
    r"comeca|koniec|poczat|srodek|slut|borjar|slutar|середин|конец|начал|"
    r"hort|ende|erste|zweite|letzte|teil|halfte|buchstab|commence|finit|debut|fin|premier|second|dernier|moitie|partie|lettre|"
    r"empieza|termina|primer|segund|ultim|mitad|parte|letra|inizia|finisce|prim|meta|zaczyna|konczy|pierwsz|drug|czesc|"
    r"начина|конча|оканчива|перв|втор|послед|част|букв|половин)"
)
_NAMED_HERE = re.compile(
    r"(?:(?:\b(?:with|in|is|are|was|by|as|ist|sind|lautet|est|es|mit|auf|par|con|en|por|na|sie na|на|it|goes|comes|then|and|finally|first|next|last|like|take|stick|add|append|tack|glue|attach|put|"
    r"with an?|is an?|letter|letters|digit|digits)|'s(?: an?)?|[:=?.!,;>\u2190-\u21ff-])\s*[\"'«„“*_`(]*|[\"'«„“*_`(]|^\s*)$"
)
_NAMED_AFTER = re.compile(
    r"[\"'»“*_`)]*(?:[.,!?;:]|\s*[\u2190-\u2bff\U0001f000-\U0001fbff)]|\s+(?:like|as|at|is the|is how|is where|comes|goes|an\b|auf|(?:on|to|at|in) the (?:very )?(?:end|start|front|back|beginning))|\s*(?:$|\n|-))"
)
_ENDS = re.compile(
    r"(?:\bends?\b|ending|\blast\b|final|\bfinish|\btail\b|\bsecond half\b|\bback half\b|\bother half\b|\bthe rest\b|suffix|\bclos|schluss|zweite halfte|"
    r"seconde moitie|segunda mitad|koniec|конец|hort|endet|finit|termina|finisce|konczy|конча|оканчива)[^.!?\n]{0,25}$"
)
_LEFT_OPEN = re.compile(r"^\s*(?:\.\.|[-+])|(?:\.\.|[-+])\s*$")
"""a word that something goes before or after: lap… …top"""
_ONE_WORD = re.compile(r"[\W_]*[^\W_]+[^\w\n]*(?:\n|$)")
"""nothing else is said, or not on this line"""
_NAMED_DIGIT = re.compile(rf"\b(?:{'|'.join(DIGITS)})\b")
_OF_DIGITS = re.compile(r"digit|number|figure|\bpin\b|\bcode\b")
_HOW_MANY = re.compile(
    r"\b(first|last|next|other|final|middle|all) (?:two|three|four|five|six|[2-6])\b|\b(?:\d|two|three|four|five|six) digits?\b"
)
_TOKEN = re.compile(r"[^\W_]+")
_FEW_WORDS = 5
_MOST_TOKENS = 3000


@dataclass(frozen=True, slots=True)
class _Piece:
    message: int
    ways: tuple[str, ...]
    """what it may be read as"""
    span: Span
    ends: bool
    """it was named as the end of the secret"""
    alone: bool = False
    """letters by themselves: where others came before them, they are of a longer word"""


@lru_cache(maxsize=4096)
def _gate(secret: str) -> tuple[str, re.Pattern[str], re.Pattern[str]] | None:
    """The letters, a beginning of them that stands as a word, and their last one at the end of a word."""
    if any(unicodedata.category(character)[0] == "M" for character in fold(secret)):
        return None  # its letters do not stand by themselves
    letters = "".join(character for character in fold(secret) if character.isalnum())
    if len(letters) < SHORTEST:
        return None
    rest = ""
    for letter in reversed(letters[1:-1]):
        rest = f"(?:{re.escape(letter)}{rest})?"
    first = re.escape(letters[0])
    beginning = re.compile(rf"{first}(?<![^\W_]{first})(?<![^\W_]'{first}){rest}(?![^\W_])")
    return letters, beginning, re.compile(rf"{re.escape(letters[-1])}(?![^\W_])")


def find_pieces(messages: Sequence[Folded], secret: str) -> tuple[int, Hit] | None:
    """Which of the messages completes the secret, and where in it the last piece stands."""
    gate = _gate(secret)
    if gate is None:
        return None
    letters, beginning, last = gate
    if letters.isdecimal() and _may_be_named(messages, letters):
        messages = [Folded(message.text, _in_digits(message.plain)) for message in messages]
    for message in messages:
        if beginning.search(message.plain):
            break
    else:
        return None
    if not any(_has_ending(message.plain, letters, last) for message in messages):
        return None
    reached, ending, strayed = {0: 0}, 0, False
    for piece in _pieces(messages, letters):
        extended = False
        for place in sorted(reached, reverse=True):
            for text in piece.ways:
                if letters.startswith(text, place) and (place or not (piece.alone and strayed)):
                    end = place + len(text)
                    reached[end] = max(reached.get(end, 0), reached[place] + 1)
                    extended = True
        strayed = strayed or (piece.alone and not extended)
        if piece.ends:
            ending = max(ending, *(len(text) * letters.endswith(text) for text in piece.ways))
        if reached.get(len(letters), 0) > 1 or (ending > 1 and max(reached) + ending >= len(letters)):
            return piece.message, messages[piece.message].hit(piece.span)
    return None


def _may_be_named(messages: Sequence[Folded], letters: str) -> bool:
    """Whether the talk is of digits, and has the name of the first or the last one."""
    names = [name for name, digit in DIGITS.items() if digit in (letters[0], letters[-1])]
    if not any(name in message.plain for message in messages for name in names):
        return False
    return any(_OF_DIGITS.search(message.plain) for message in messages)


def _in_digits(plain: str) -> str:
    """Digits for their names, everything in its place: "the last two are seven and six" says 7 and 6."""
    plain = _HOW_MANY.sub(lambda match: (match[1] or "digit").ljust(len(match[0])), plain)
    return _NAMED_DIGIT.sub(lambda match: DIGITS[match[0]].ljust(len(match[0])), plain)


def _has_ending(plain: str, letters: str, last: re.Pattern[str]) -> bool:
    """Whether an end of the secret stands as a word."""
    for match in last.finditer(plain):
        word = re.search(r"[^\W_]*$", plain[max(0, match.end() - len(letters)) : match.end()])
        if word and letters.endswith(word.group()) and not _is_contracted(plain, match.end() - len(word.group())):
            return True
    return False


def _pieces(messages: Sequence[Folded], letters: str) -> Iterator[_Piece]:
    for number, message in enumerate(messages):
        plain = message.plain
        tokens = list(islice(_TOKEN.finditer(plain), _MOST_TOKENS))
        speaks_of_parts = bool(_OF_PARTS.search(plain)) or (len(tokens) < 3 and bool(_LEFT_OPEN.search(plain)))
        alone = [token for token in tokens if len(token.group()) == 1 and not _is_contracted(plain, token.start())]
        if alone and (speaks_of_parts or _spells_something(alone, plain) or len(tokens) < _FEW_WORDS):
            yield _letters(number, plain, alone)
        for match in tokens:
            text, (start, end) = match.group(), match.span()
            if not 1 < len(text) < len(letters) or text not in letters:
                continue
            bare = match is tokens[0] and len(messages) > 1 and len(text) >= SHORTEST and _ONE_WORD.match(plain)
            if bare or (speaks_of_parts and _is_named(plain, start, end, text)):
                yield _Piece(number, (text,), (start, end), bool(_ENDS.search(plain[max(0, start - 40) : start])))


def _letters(number: int, plain: str, alone: Sequence[re.Match[str]]) -> _Piece:
    """All letters and digits that stand alone in a message: with "a" and "I", and without, for they are words too."""
    every = "".join(token.group() for token in alone)
    last = alone[-1].span()
    ends = bool(_ENDS.search(plain[max(0, last[0] - 40) : last[0]]))
    return _Piece(
        number, tuple(filter(None, dict.fromkeys((every, re.sub("[ai]", "", every))))), last, ends, alone=True
    )


def _is_contracted(plain: str, start: int) -> bool:
    """The s of it's."""
    return start > 1 and plain[start - 1] == "'" and plain[start - 2].isalnum()


def _is_named(plain: str, start: int, end: int, text: str) -> bool:
    if text.isdigit() and not stands_alone(plain, (start, end)):
        return False
    if not text.isdigit() and not is_listed(text, plain):
        return True
    before, after = plain[max(0, start - 40) : start], plain[end : end + 20]
    return bool(_NAMED_HERE.search(before)) and bool(_NAMED_AFTER.match(after))


def _spells_something(alone: Sequence[re.Match[str]], plain: str) -> bool:
    """Two letters beside each other with a sign or a space between."""
    return any(
        other.start() - one.end() < 4 and not plain[one.end() : other.start()].isalnum()
        for one, other in pairwise(alone)
    )
