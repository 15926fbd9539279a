"""Distinguishes ordinary language from a reveal: how common a word is, and whether the context marks it as the secret.

A common word ("the sun rose") is a certain hit only if it is quoted, in capitals, a sentence of its own, announced ("my word
is …") or admitted afterwards ("that's my word"). Word frequencies come from the English word list of pyspellchecker, which
counts film subtitles.
"""

import gzip
import re
import tomllib
from functools import cache, lru_cache
from importlib.util import find_spec
from math import log10
from pathlib import Path

from tidepool.engine.studies.secret_game.detectors.normalise import Folded, Span, fold

COMMON = 4.0
"""on Zipf's scale (log10 of occurrences in a billion words): about four thousand words are at least as common"""
FUNCTIONAL = 6.0
"""about 140 words: to, here, not, but"""
INTERJECTION = 5.5
"""words this common are often a sentence of their own (Right. Nothing.), and two can be adjacent by chance (every day)"""
REAL = 2.0
"""rarer words of the list are names and typing errors"""
SHORT = 3
"""letters; a word this short has many meanings"""
_BILLIONS_COUNTED = 1.65


@cache
def _lists() -> dict[str, str]:
    return tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))


@cache
def word_set(name: str) -> frozenset[str]:
    """A list of `words.toml`."""
    return frozenset(_lists()[name].split())


@cache
def word_pairs(name: str) -> dict[str, str]:
    """The counterpart of each word in a list of pairs of `words.toml`."""
    pairs = [pair.split() for pair in _lists()[name].split(",")]
    return {word: other for pair in pairs for word, other in (pair, pair[::-1])}


@cache
def _word_list() -> bytes:
    """Lines such as `"lantern": 2401,`."""
    package = find_spec("spellchecker")
    assert package is not None and package.submodule_search_locations
    return gzip.decompress((Path(package.submodule_search_locations[0]) / "resources" / "en.json.gz").read_bytes())


@lru_cache(maxsize=65_536)
def commonness(word: str) -> float:
    """The frequency on Zipf's scale: 7 for "the", 5 for "dog", 3 for "lantern"; 0 for a word that is not listed."""
    key = b'"%b": ' % word.encode("utf-8", "surrogatepass")
    count = re.match(rb"\d+", _word_list()[start + len(key) :][:20]) if (start := _word_list().find(key)) >= 0 else None
    return log10(int(count[0]) / _BILLIONS_COUNTED) if count else 0.0


def is_real(word: str) -> bool:
    """Whether it is an English word."""
    return commonness(word) >= REAL


def is_ambiguous(phrase: str) -> bool:
    """Whether all of its words are common without meaning a secret. A number in the phrase (route 66) makes it a name."""
    words = re.findall(r"[^\W_]+", phrase)
    if len(words) > 1 and re.search(r"\d", phrase):
        return False
    return bool(words) and all(
        len(word) <= (SHORT if word < "\u3400" else SHORT - 1)
        or commonness(word) >= COMMON
        or word in word_set("homographs")
        for word in words
    )


# -- context --------------------------------------------------------------------------------

_BEFORE, _AFTER = 160, 260
"""how many characters of context are examined"""
_NOUN = r"(?:secret|code ?-?words?|pass ?-?words?|pass ?-?phrase|words?|phrase|term|noun|code|answer|number|name|card|digits)"
_IS = r"(?:\?(?: it's| it is)?|is|was|are|'s|=|:|-+>?|is called|reads|would be|happens to be)"
_FILLER = r"(?:(?:just|simply|really|actually|definitely|certainly|not|the|a|an|called|well|probably)\s+)*"
_OPENS = r"[\s\"'«»„“*_`(\[<]*"
_CLAUSE_END = re.compile(r"[\"'»“*_`)\]>]*\s*(?:$|[^\w\s]|(?:and|but|so|now|okay|ok|what|your|that|lol|haha|if)\b)")
_ANNOUNCED = re.compile(
    rf"\b{_NOUN}\b[^.!?\n]{{0,40}}?\s*{_IS}{_OPENS}{_FILLER}{_OPENS}$"
    rf"|(?:\bmine(?:'s| is)|\b(?:the|my|this) (?:\w+ )?word){_OPENS}{_FILLER}{_OPENS}$"
    r"|(?:tell you|say it|here it is|here you go|here goes|give up|fine|ok|okay|all ?right|confess|reveal|listen)\s*[:,.!-]+"
    rf"{_OPENS}$"
)
_ADMITTED = re.compile(
    rf"\b(?:that|this|it|which|these)(?:'?s| is| was| are)\s+(?:\w+\s+)?(?:my|the|our|what|one of)\s+(?:\w+\s+){{0,3}}?{_NOUN}\b"
    rf"|\b(?:is|was) (?:\w+ )?(?:my|the) {_NOUN}\b"
    rf"|\b(?:told|said|given|gave|found|guessed|revealed|let slip)\b[^.!?\n]{{0,30}}\b(?:my|the|this|that)\s+(?:\w+\s+)?{_NOUN}\b"
    r"|\b(?:on|in) (?:my|the) (?:card|sheet|slip|note|instructions)\b"
    r"|(?:\bnot|n't) (?:supposed|allowed|meant) to (?:say|mention|tell|reveal)|\b(?:told|asked) (?:me )?not to (?:say|mention|tell)"
    r"|\bshould(?:n't| not) (?:have|say)\b|\bw?oops\b|\bforget (?:that )?i said\b|\bsaid too much\b|\bgiven it away\b"
    r"|\b(?:gave|given|assigned|handed) (?:to )?me\b|\bi(?:'m| am|'ve been) (?:hiding|guarding|forbidden)\b"
    r"|\byou(?:'ve| have) (?:just )?(?:got|found) (?:it|my)\b|\byou(?:'re| are) (?:looking for|after)\b|\bthat'?s it\b"
)
_OTHER_SCRIPTS = re.compile(
    fold("секрет|слово|пароль|μυστικο|λεξη|السر|كلمة|סוד|מילה|秘密|密码|暗号|言葉|비밀|단어|शब्द|คำลับ|ความลับ")
)
"""the message mentions a secret, in a writing system in which the wording is not examined further"""
_LIST_NUMBER = re.compile(r"(?:^|\n)\s*$")
_INTRODUCING = frozenset("it is s its a an the ok okay fine well so yes my word secret just oh hm um right".split())
_QUOTES = {
    '"': '"',
    "'": "'",
    "«": "»",
    "»": "«",
    "„": '"“',
    "`": "`",
    "“": '"”',
    "[": "]",
    "<": ">",
    "(": ")",
    "_": "_",
}
_SENTENCE_START = re.compile(r"(?:^|[.!?:\n])\s*[\"'*_(-]*\s*(?:(?:the|a|an|it's|well|so|ok|okay),?\s+)?$")
_SENTENCE_END = re.compile(r"[\"'*_)]*\s*(?:[.!?\n]|$)")
_COUNTS_SOMETHING = re.compile(
    r"(?:\b(?:at|by|until|till|around|about|past|before|after|in|since|from|for|page|chapter|room|gate|bus|line|to|of|old|under|"
    r"over|than)\s+|[$€£¥#])$"
)
_NUMBER_END = re.compile(r"[\"'»)\]]*\s*(?:$|[^\w\s.,/-]|[.,-](?!\d)|(?:lol|haha\w*|but|because|why|right|okay|ok)\b)")


def is_marked(message: Folded, span: Span, word: str) -> bool:
    """Whether the context shows that the hit is meant as the secret."""
    before, after = _around(message.plain, span)
    return (
        is_named(message, span, word)
        or (not message.plain.isascii() and bool(_OTHER_SCRIPTS.search(before + after)))
        or (_is_by_itself(message.plain, span) and not _is_interjection(word) and word not in word_set("after_is"))
        or _is_in_capitals(message, span)
        or (commonness(word) < FUNCTIONAL and bool(_ADMITTED.search(after)))
    )


def is_marked_number(message: Folded, span: Span) -> bool:
    """`is_marked` for a number; False if it counts or dates something: 7 minutes, in 2020."""
    before, after = _around(message.plain, span)
    if is_named(message, span, "") or _ADMITTED.search(after):
        return True
    numbers_a_list = re.match(r"[.)] ", after) and _LIST_NUMBER.search(before)
    return bool(_NUMBER_END.match(after)) and not (numbers_a_list or _COUNTS_SOMETHING.search(before))


def is_named(message: Folded, span: Span, word: str) -> bool:
    """Whether it is announced as the secret, or quoted."""
    before, after = _around(message.plain, span)
    closing = after.lstrip(".,!?")[:1]
    if (closing and closing in _QUOTES.get(before[-1:], "")) or (before.endswith("**") and after.startswith("**")):
        return True
    return word not in word_set("after_is") and bool(_CLAUSE_END.match(after) and _ANNOUNCED.search(before))


def _around(plain: str, span: Span) -> tuple[str, str]:
    start, end = span
    return plain[max(0, start - _BEFORE) : start], plain[end : end + _AFTER]


def _is_interjection(word: str) -> bool:
    """A word or phrase that is often a sentence of its own: Right. No problem!"""
    return min(map(commonness, word.split()), default=0.0) >= (INTERJECTION if " " not in word else 5.0)


def _is_by_itself(plain: str, span: Span) -> bool:
    """The message is only the word, with short introductory words, or the word is a sentence of its own."""
    before, after = _around(plain, span)
    rest = re.findall(r"\w+", f"{before} {after}")
    if len(rest) < 6 and all(word in _INTRODUCING for word in rest):
        return True
    return bool(_SENTENCE_START.search(before) and _SENTENCE_END.match(after))


def _is_in_capitals(message: Folded, span: Span) -> bool:
    """In capitals, while the rest is not."""
    start, end = message.original(span)
    word, around = message.text[start:end], message.text[max(0, start - _BEFORE) : start] + message.text[end:][:_AFTER]
    return word.isupper() and len(word) > 1 and any(map(str.islower, around))
