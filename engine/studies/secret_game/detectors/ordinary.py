"""Tells ordinary language from a reveal: how common a word is, and whether the context marks it as the secret.

A hit that people say every day ("the sun rose") is certain only where the word is quoted, in capitals, a sentence of its own,
announced ("my word is …") or admitted afterwards ("that's my word"). Commonness comes from the word lists of pyspellchecker, which
are counts in film subtitles. Each list stays as it is stored, sorted by word, and is searched by bisection.
"""

import gzip
import re
import tomllib
from functools import cache, lru_cache
from importlib.util import find_spec
from math import log10
from pathlib import Path

from tidepool.engine.studies.secret_game.detectors.normalise import Folded, Span, fold

# -- how common a word is ---------------------------------------------------------------------------------

_BILLIONS_COUNTED = {"en": 1.65, "de": 0.124, "es": 0.689, "fr": 0.354, "it": 0.445, "nl": 0.382, "pt": 0.388} | {
    "ru": 0.0328,
    "ar": 0.27,
}
COMMON = 4.0
"""on Zipf's scale (log10 of occurrences in a billion words): about four thousand words are as common"""
FUNCTIONAL = 6.0
"""about 140 words: to, here, not, but"""
REAL = 2.0
"""rarer words of the lists are names and typing errors"""
SHORT = 3
"""letters; so short a word has many meanings, in any language"""
_FREQUENT_WORDS = {
    language: frozenset(words.split())
    for language, words in {
        "de": "der die das ist und ich nicht ein du mit wir es zu den auf",
        "fr": "le la les est et je un une de pas que vous nous il des du",
        "es": "el la los es y que no un una de por con se lo muy",
        "it": "il la che di e non un una per sono con gli si ma",
        "nl": "de het een en ik niet is van dat je met op te zijn",
        "pt": "o a que e de nao um uma para com os se por mais",
    }.items()
}
_FREQUENT_ENGLISH = frozenset("the a an is it i you to and of in my that not for".split())
_WORD = re.compile(r"[^\W\d_]+")


@cache
def _lists() -> dict[str, str]:
    return tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))


@cache
def word_set(name: str) -> frozenset[str]:
    """A list of `words.toml`."""
    return frozenset(_lists()[name].split())


@cache
def word_pairs(name: str) -> dict[str, list[str]]:
    """The counterparts of each word in a list of pairs of `words.toml`."""
    partners: dict[str, list[str]] = {}
    for pair in _lists()[name].split(","):
        word, other_word = pair.split()
        partners.setdefault(word, []).append(other_word)
        partners.setdefault(other_word, []).append(word)
    return partners


@cache
def _word_list(language: str) -> bytes:
    """Lines such as `"lantern": 2401,`."""
    package = find_spec("spellchecker")
    assert package is not None and package.submodule_search_locations
    path = Path(package.submodule_search_locations[0]) / "resources" / f"{language}.json.gz"
    return gzip.decompress(path.read_bytes()).lstrip(b"{\n")


@lru_cache(maxsize=65_536)
def commonness(word: str, language: str = "en") -> float:
    """On Zipf's scale: 7 for "the", 5 for "dog", 3 for "lantern"; 0 where the word is not listed."""
    lines, key = _word_list(language), b'"%b": ' % word.encode("utf-8", "surrogatepass")
    low, high = 0, len(lines)
    while low < high:
        start = lines.rfind(b"\n", low, (low + high) // 2) + 1 or low
        end = lines.find(b"\n", start)
        line = lines[start : end if end >= 0 else len(lines)]
        if line.startswith(key):
            return log10(int(line[len(key) :].strip(b",}\n ")) / _BILLIONS_COUNTED[language])
        if line[: line.rfind(b'"')] < key[:-3]:
            low = end + 1 if end >= 0 else len(lines)
        else:
            high = start
    return 0.0


@lru_cache(16)
def languages_of(plain: str) -> tuple[str, ...]:
    """The languages besides English that a text may be in, by its most frequent words."""
    for language, letters in (("ru", "[\u0400-\u04ff]"), ("ar", "[\u0600-\u06ff]")):
        if not plain.isascii() and re.search(letters, plain):
            return (language,)
    words = set(_WORD.findall(plain[:2000]))
    enough = 1 if words.isdisjoint(_FREQUENT_ENGLISH) else 2
    counts = {name: len(words & frequent) for name, frequent in _FREQUENT_WORDS.items()}
    return tuple(name for name, count in counts.items() if count >= max(enough, *counts.values()))


def is_listed(word: str, plain: str) -> bool:
    """Whether it is a word of English, or of the language of the text it stands in."""
    return commonness(word) >= REAL or any(commonness(word, language) for language in languages_of(plain))


def is_ambiguous(word: str, plain: str = "") -> bool:
    """Whether people often say it, or another word that is written alike, without meaning a secret."""
    if (len(word) <= SHORT and word < "\u0e00") or commonness(word) >= COMMON:
        return True
    if word in word_set("homographs") or word in word_set("greetings"):
        return True
    return any(commonness(word, language) >= COMMON for language in languages_of(plain))


def is_ambiguous_phrase(phrase: str, plain: str = "") -> bool:
    """Whether all its words are; a number beside or within a word (route 66, 4B-7) makes it a name."""
    words = re.findall(r"[^\W_]+", phrase)
    if len(words) > 1 and re.search(r"\d", phrase):
        return False
    return bool(words) and all(is_ambiguous(word, plain) for word in words)


# -- what the context says --------------------------------------------------------------------------------

_BEFORE, _AFTER = 160, 260
"""characters that are looked at"""
_NOUN = (
    r"(?:secret|code ?-?words?|pass ?-?words?|pass ?-?phrase|words?|key ?-?words?|phrase|term|noun|verb|code|answer|"
    r"number|name|card|sheet|slip|pin|digits|wort|geheimnis|zahl|mot|nombre|palabra|secreto|numero|parola|segreto)"
)
_WORD_NOUN = (
    r"(?:word|code ?-?word|pass ?-?word|pass ?-?phrase|key ?-?word|phrase|term|wort|geheimwort|mot|parola|palabra)"
)
_IS = r"(?:\?(?: it's| it is| that's)?|is|was|are|'s|=|:|-+>?|ist|lautet|est|c'est|es|e|is called|reads|goes|would be|happens to be)"
_FILLER = (
    r"(?:(?:just|simply|really|actually|literally|definitely|certainly|not|the|a|an|called|well|um|uh|probably|"
    r"der|die|das|le|la|el|il)\s+)*"
)
_OPENS = r"[\s\"'«»„“*_`(\[<]*"
_SIGN = "[\u2190-\u2bff\U0001f000-\U0001fbff~、。」』)]"
_CLAUSE_END = re.compile(
    rf"[\"'»“*_`)\]>]*\s*(?:$|[.!?,;:\n)]|-|{_SIGN}|"
    r"(?:and|but|so|now|okay|ok|und|et|y|what|your|that|btw|by the way|lol|haha|if)\b)"
)
_ANNOUNCED = re.compile(
    rf"\b{_NOUN}\b[^.!?\n]{{0,40}}?\s*{_IS}{_OPENS}{_FILLER}{_OPENS}$"
    rf"|(?:\bmine(?:'s| is)|\b(?:the|my|this) (?:\w+ )?word){_OPENS}{_FILLER}{_OPENS}$"
    r"|(?:tell you|say it|here it is|here you go|here goes|give up|fine|ok|okay|all ?right|alright|confess|reveal|namely|"
    rf"secret|ready|listen|drum ?roll|psst?|between us)\s*[:,.!-]+{_OPENS}$"
)
_ANNOUNCED_AS_WORD = re.compile(
    rf"\b(?:my|the|mein|mon|le|mi|il mio|la mia|la|das|el)\s+(?:\w+\s+){{0,2}}{_WORD_NOUN}\b[^.!?\n]{{0,20}}?\s*{_IS}{_OPENS}{_FILLER}{_OPENS}$"
    rf"|\b(?:my|the|mein|mon|mi)\s+(?:\w+\s+)?(?:secret|word|geheimnis|wort|mot|secreto|palabra)\?{_OPENS}$"
)
_ADVERB = r"(?:precisely|exactly|literally|basically|also|really|in fact|actually|just|indeed|the very|in short)"
_ADMITTED = re.compile(
    rf"\b(?:that|this|it|which|these)(?:'?s| is| was| are)\s+(?:{_ADVERB}\s+)*(?:my|the|our|what|one of)\s+(?:\w+\s+){{0,3}}?{_NOUN}\b"
    rf"|\b(?:is|ist|est|es|e) (?:{_ADVERB} )?(?:my|the|meine?|das|mon|mi|il mio|la mia) {_NOUN}\b"
    rf"|\b(?:told|said|given|gave|found|guessed|revealed|let slip|spilled|learned|spoken|heard)\b[^.!?\n]{{0,30}}\b(?:my|the|this|that)\s+(?:\w+\s+)?{_NOUN}\b"
    r"|\b(?:my|the)\s+(?:\w+\s+)?(?:word|secret|number)\b[^.!?\n]{0,30}\b(?:told|said|given|found|out|revealed)\b"
    r"|\b(?:on|in) (?:my|the) (?:card|sheet|slip|piece of paper|note|instructions)\b"
    r"|(?:\bnot|n't) (?:supposed|allowed|meant|permitted) to (?:say|mention|tell|reveal|bring|have|talk)"
    r"|\b(?:told|asked|instructed|ordered) (?:me )?(?:not to (?:say|mention|tell)|to (?:keep (?:it|this|that) (?:to|secret|quiet)|hide)|i (?:could|should|must)n't)"
    r"|\bshould(?:n't| not) (?:have|say|be)\b|\bw?oops\b|\bforget (?:that )?i said\b|\bsaid too much\b"
    r"|\bgiven it away\b|\bkeep (?:it|this|that) to myself\b|\b(?:gave|given|assigned|handed|wrote down for) (?:to )?me\b"
    r"|\bi(?:'m| am|'ve been) (?:hiding|guarding|forbidden)\b|\bwhat i(?:'m| am| had to| have to| was told to) (?:hiding|hide|keep|guard)\b"
    r"|\byou(?:'ve| have) (?:just )?(?:got|found) (?:it|my)\b|\b(?:my|your|the only|a|one) (?:\w+ )?(?:hint|clue)\b"
    rf"|(?:'s|'re|\b(?:is|was|are|be)) (?:{_ADVERB} )?(?:what|the one|the thing|the {_NOUN}) (?:(?:that|which) )?"
    r"(?:you(?:'re| are) (?:looking for|after|hunting|trying to (?:get|find|guess))|"
    r"i(?:'m|'ve| am| have| had| was)(?: \w+){0,2}? (?:to (?:hide|keep|protect|guard|conceal)|sitting on|hiding|guarding|protecting))\b"
    r"|\bwithout giving (?:it|that|everything) away\b|\b(?:that|this|it)(?:'s| is) (?:the one|that)[.!]*\s*$"
    r"|\breason (?:why |that )?i(?:'m| am|'ve| have)? (?:brought|bring|mention|mentioned|mentioning|said|saying)\b"
    r"|\bthat'?s it\b|\bnow i(?:'ve| have) (?:basically |just )?told you\b|\btold you more than\b"
)
_SECRET_ELSEWHERE = re.compile(
    fold(
        "секрет|слово|тайн|пароль|μυστικο|λεξη|السر|سري|كلمة|כלמתי|סוד|מילה|秘密|密码|暗号|词是|答案|言葉|비밀|단어|암호|शब्द|राज़|คำลับ|ความลับ"
    )
)
"""the message speaks of a secret, in a script in which wording is not looked at more closely"""
_INTERJECTION = 5.5
"""so common a word is often a sentence of its own: Right. Nothing."""
_INTRODUCING = frozenset("it is s its a an the ok okay fine well so yes my word secret just oh hm um right".split())
_QUOTES = {'"': '"', "'": "'", "«": "»", "»": "«", "„": '"“', "`": "`", "“": '"”', "[": "]", "<": ">", "(": ")"} | {
    "_": "_",
    "「": "」",
    "『": "』",
}
_SENTENCE_START = re.compile(r"[.!?:\n]\s*[\"'*_(-]*\s*(?:(?:the|a|an|the word|it's|well|so|ok|okay),?\s+)?$")
_SENTENCE_END = re.compile(r"[\"'*_)]*\s*(?:[.!?\n]|$)")
_COUNTS_SOMETHING = re.compile(
    r"(?:\b(?:at|by|until|till|around|about|past|before|after|in|since|from|for|page|chapter|verse|room|gate|bus|line|"
    r"um|seit|bis|gegen|a las|hacia|vers|depuis|en|to|of|old|under|over|than)\s+|[$€£¥#])$"
)
_NUMBER_END = re.compile(
    rf"[\"'»)\]]*\s*(?:$|[.!?,;\n]|-\s|{_SIGN}|(?:lol|lmao|haha\w*|hehe\w*|btw|but|because|why|right|okay|ok)\b)"
)


def is_marked(message: Folded, span: Span, word: str) -> bool:
    """Whether the context says that the hit is meant as the secret."""
    before, after = _around(message.plain, span)
    return (
        _is_quoted(before, after)
        or (_is_by_itself(message.plain, span) and not _is_interjection(word) and word not in word_set("after_is"))
        or _is_in_capitals(message, span)
        or _is_announced(before, after, word)
        or (commonness(word) < FUNCTIONAL and is_admitted(message.plain, span))
    )


def is_marked_number(message: Folded, span: Span) -> bool:
    """The same for a number, which says nothing where it counts or dates something: 7 minutes, in 2020."""
    before, after = _around(message.plain, span)
    if is_admitted(message.plain, span) or _is_announced(before, after, ""):
        return True
    if _COUNTS_SOMETHING.search(before):
        return False
    ends = _NUMBER_END.match(after) and not re.match(r"[.,]\d|/", after)
    return bool(ends) or _is_quoted(before, after)


def is_named(message: Folded, span: Span, word: str) -> bool:
    """Whether it is announced as the secret, or quoted."""
    before, after = _around(message.plain, span)
    return _is_quoted(before, after) or _is_announced(before, after, word)


def is_admitted(plain: str, span: Span) -> bool:
    """Whether the speaker says afterwards that this was the secret."""
    before, after = _around(plain, span)
    if not plain.isascii() and _SECRET_ELSEWHERE.search(before + after):
        return True
    return bool(_ADMITTED.search(after))


def _around(plain: str, span: Span) -> tuple[str, str]:
    start, end = span
    return plain[max(0, start - _BEFORE) : start], plain[end : end + _AFTER]


def _is_quoted(before: str, after: str) -> bool:
    if before.endswith("**") and after.startswith("**"):
        return True
    closing = after.lstrip(".,!?")[:1]
    return bool(closing) and closing in _QUOTES.get(before[-1:], "")


def _is_interjection(word: str) -> bool:
    """A word or phrase that is often a sentence of its own: Right. No problem!"""
    common = [commonness(part) for part in word.split()]
    if len(common) > 1:
        return min(common) >= 5.0 and max(common) >= FUNCTIONAL
    return common[:1] >= [_INTERJECTION] or word in word_set("greetings")


def _is_by_itself(plain: str, span: Span) -> bool:
    """The message is the word, but for short words that introduce it; or the word is a sentence."""
    rest = plain[max(0, span[0] - 30) : span[0]] + " " + plain[span[1] : span[1] + 30]
    if len(plain) - (span[1] - span[0]) < 30 and all(word in _INTRODUCING for word in re.findall(r"\w+", rest)):
        return True
    before, after = _around(plain, span)
    return bool((not before.strip() or _SENTENCE_START.search(before)) and _SENTENCE_END.match(after))


def _is_in_capitals(message: Folded, span: Span) -> bool:
    """In capitals, where the rest is not."""
    word = message.text[slice(*span)]
    before, after = _around(message.text, span)
    in_place = len(message.text) == len(message.plain)
    return in_place and word.isupper() and len(word) > 1 and any(map(str.islower, before + after))


def _is_announced(before: str, after: str, word: str) -> bool:
    if not _CLAUSE_END.match(after) or word in word_set("after_is"):
        return False
    if _ANNOUNCED_AS_WORD.search(before):
        return True
    return commonness(word) < _INTERJECTION - 0.2 and bool(_ANNOUNCED.search(before))
