"""Which words are everyday language, and how common: what a hit may be besides a secret.

The lists are those of the package pyspellchecker: words of eight languages with how often each was counted in film
subtitles. A list is kept as it is stored, a word a line in order, and searched by halving: nobody pays for a table of it,
and none is opened before a hit asks for it. What a count cannot tell (the verb behind "rose") is in `words.toml`.
"""

import gzip
import re
import tomllib
from functools import cache, lru_cache
from importlib.util import find_spec
from math import log10
from pathlib import Path
from typing import Any

_COUNTED = {
    "en": 1.65,
    "de": 0.124,
    "es": 0.689,
    "fr": 0.354,
    "it": 0.445,
    "nl": 0.382,
    "pt": 0.388,
    "ru": 0.0328,
    "ar": 0.27,
}
"""billions of words that each list was counted from"""
COMMON = 4.0
"""on Zipf's scale (log10 of occurrences in a billion words): some four thousand words are as common"""
FUNCTIONAL = 6.0
"""some hundred and forty words: to, here, not, but"""
REAL = 2.0
"""what is rarer is in the lists as a name or by somebody's hand, and no likely neighbour of a misspelt word"""
SHORT = 3
"""letters; so short a word stands for too much, in any language"""


@cache
def words(name: str) -> Any:
    """A table of `words.toml`."""
    return tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))[name]


@cache
def word_set(name: str) -> frozenset[str]:
    return frozenset(words(name).split())


@cache
def _listed(language: str) -> bytes:
    """Lines such as `"lantern": 2401,`."""
    package = find_spec("spellchecker")
    assert package is not None and package.submodule_search_locations
    place = Path(package.submodule_search_locations[0]) / "resources" / f"{language}.json.gz"
    return gzip.decompress(place.read_bytes()).lstrip(b"{\n")


@lru_cache(maxsize=65_536)
def commonness(word: str, language: str = "en") -> float:
    """On Zipf's scale: 7 for "the", 5 for "dog", 3 for "lantern"; 0 where the word is not listed."""
    lines, sought = _listed(language), b'"%b": ' % word.encode("utf-8", "surrogatepass")
    low, high = 0, len(lines)
    while low < high:
        start = lines.rfind(b"\n", low, (low + high) // 2) + 1 or low
        end = lines.find(b"\n", start)
        line = lines[start : end if end >= 0 else len(lines)]
        if line.startswith(sought):
            return log10(int(line[len(sought) :].strip(b",}\n ")) / _COUNTED[language])
        if line[: line.rfind(b'"')] < sought[:-3]:
            low = end + 1 if end >= 0 else len(lines)
        else:
            high = start
    return 0.0


_LITTLE_WORDS = {
    "de": frozenset("der die das ist und ich nicht ein du mit wir es zu den auf".split()),
    "fr": frozenset("le la les est et je un une de pas que vous nous il des du".split()),
    "es": frozenset("el la los es y que no un una de por con se lo muy".split()),
    "it": frozenset("il la che di e non un una per sono con gli si ma".split()),
    "nl": frozenset("de het een en ik niet is van dat je met op te zijn".split()),
    "pt": frozenset("o a que e de nao um uma para com os se por mais".split()),
}
_LITTLE_ENGLISH = frozenset("the a an is it i you to and of in my that not for".split())
_WORD = re.compile(r"[^\W\d_]+")


@lru_cache(16)
def languages_of(plain: str) -> tuple[str, ...]:
    """The listed language besides English that a text seems to be in, by its little words and its letters; or a few."""
    if not plain.isascii():
        if re.search("[\u0400-\u04ff]", plain):
            return ("ru",)
        if re.search("[\u0600-\u06ff]", plain):
            return ("ar",)
    said = set(_WORD.findall(plain[:2000]))
    enough = 1 if said.isdisjoint(_LITTLE_ENGLISH) else 2
    counts = {name: len(said & little) for name, little in _LITTLE_WORDS.items()}
    return tuple(name for name, count in counts.items() if count >= max(enough, *counts.values()))


def is_listed(word: str, plain: str) -> bool:
    """Whether it is a word of English, or of the language of the text it stands in."""
    return commonness(word) >= REAL or any(commonness(word, language) for language in languages_of(plain))


def is_ordinary(word: str) -> bool:
    """Whether it is a word of everyday English, or too short to be told from one."""
    return len(word) < SHORT or commonness(word) > 0 or word in word_set("also_ordinary")


def is_ambiguous(word: str, plain: str = "") -> bool:
    """Whether people say it all the time, or another word that is written alike, without meaning a secret."""
    if (len(word) <= SHORT and word < "\u0e00") or commonness(word) >= COMMON or word in word_set("homographs"):
        return True
    if word in word_set("said_everywhere"):
        return True
    return any(commonness(word, language) >= COMMON for language in languages_of(plain))
