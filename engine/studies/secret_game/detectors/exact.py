"""Finds the secret as a word: in any case, accent or width, with its words joined in any way, in British or American spelling,
in the plural or singular, and in look-alike letters or digits (m4r1g0ld).

The forms of a secret are computed once. A common word is a certain hit only if its context marks it.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from tidepool.engine.studies.secret_game.detectors.normalise import (
    Folded,
    Hit,
    Span,
    fold,
    is_word_character,
    stands_alone,
)
from tidepool.engine.studies.secret_game.detectors.ordinary import (
    is_ambiguous,
    is_marked,
    is_marked_number,
    is_real,
    word_pairs,
)

_JOINTS = r"\s\-_'‐‒―−⸺.,"
_MOST_FOUND = 60
"""how many places of a message are examined closely for one form"""
_MOST_DIGITS = 12
LONG_NUMBER = 10_000
"""smaller numbers occur in prices, dates and years"""


@lru_cache(maxsize=4096)
def _forms(secret: str) -> dict[str, re.Pattern[str]]:
    """The patterns of the secret, its original form first."""
    plain = fold(secret).strip()
    value = value_of(plain)
    others = _other_words(plain) if value is None else (str(value), f"{value:,}")
    return {form: _pattern(form) for form in (plain, *others) if form}


def _pattern(plain: str) -> re.Pattern[str]:
    words = [word for word in re.split(f"[{_JOINTS}]+", plain) if word]
    return re.compile(f"[{_JOINTS}]{{0,4}}".join(map(re.escape, words)) or re.escape(plain))


def find_exact(message: Folded, secret: str) -> Span | None:
    """Where the secret itself occurs, regardless of its meaning there."""
    pattern = next(iter(_forms(secret).values()), None)
    span = next(_spans(message.plain, pattern), None) if pattern else None
    return span and message.original(span)


def _spans(plain: str, pattern: re.Pattern[str]) -> Iterator[Span]:
    return (match.span() for match in pattern.finditer(plain) if stands_alone(plain, match.span()))


def detect(message: Folded, secret: str, threshold: float) -> Hit | None:
    """The interface of the registry of detectors; only `fuzzy` uses the threshold."""
    hit = find_word(message, secret)
    return hit if hit and not hit.uncertain else _find_disguised(message, secret) or hit


def find_word(message: Folded, secret: str) -> Hit | None:
    """The first certain hit of any form, else the first uncertain one."""
    uncertain: Span | None = None
    for form, pattern in _forms(secret).items():
        for span in islice(_spans(message.plain, pattern), _MOST_FOUND):
            if _is_certain(message, span, form, secret):
                return message.hit(span)
            uncertain = uncertain or span
    return message.hit(uncertain, uncertain=True) if uncertain else None


def _is_certain(message: Folded, span: Span, form: str, secret: str) -> bool:
    if (number := value_of(form)) is not None:
        return number >= LONG_NUMBER or is_marked_number(message, span)
    accented = fold(secret) != secret.lower()
    lost = accented and message.text[slice(*message.original(span))].lower() != secret.strip().lower()
    return not (lost or is_ambiguous(form)) or is_marked(message, span, form)


def value_of(plain: str) -> int | None:
    """The value of a text of digits."""
    digits = re.sub(r"[,. ']", "", plain)
    return int(digits) if digits.isdecimal() and len(digits) <= _MOST_DIGITS and digits[0] != "0" else None


# -- other forms of a word --------------------------------------------------------------------------------

_ENDINGS = r"(?=$|s$|ed$|ing$|er$|ers$|y$|hood$|able$|ful$|ite$|less$)"
_SPELLING_RULES = [
    (re.compile(one), other)
    for one, other in (
        (rf"(?<=[a-z]{{3}})our{_ENDINGS}", "or"),
        (rf"(?<=[a-z]{{3}})or{_ENDINGS}", "our"),
        (r"(?<=[a-z][b-df-hj-np-tv-z])re(?=$|s$|d$)", "er"),
        (r"(?<=[a-z][bcghtv])er(?=$|s$|ed$)", "re"),
        (r"(?<=[a-z]{3})([iy])s(?=e$|es$|ed$|er$|ers$|ing$|ation$|ations$)", r"\1z"),
        (r"(?<=[a-z]{3})([iy])z(?=e$|es$|ed$|er$|ers$|ing$|ation$|ations$)", r"\1s"),
        (r"(?<=[a-z]{2})ogue(?=$|s$)", "og"),
        (r"(?<=[a-z]{2})og(?=$|s$)", "ogue"),
        (r"(?<=[a-z]{2}en)c(?=e$|es$)", "s"),
        (r"(?<=[a-z]{2}en)s(?=e$|es$)", "c"),
        (r"([aeiou][b-df-hj-np-tv-z]+[aeiou])ll(?=ed$|er$|ers$|ing$|or$|ery$)", r"\1l"),
        (r"([aeiou][b-df-hj-np-tv-z]+[aeiou])l(?=ed$|er$|ers$|ing$|or$|ery$)", r"\1ll"),
    )
]
"""British to American and back; the result is usually the word in its other spelling, else not a word"""


def _other_words(plain: str) -> Iterator[str]:
    """Variants with one word in the other spelling, or with the last word in the plural or singular."""
    words = plain.split(" ")
    for place, word in enumerate(words):
        others = (*spelling_variants(word), *(inflections(word) if place == len(words) - 1 else ()))
        yield from (" ".join([*words[:place], other, *words[place + 1 :]]) for other in others)


@lru_cache(maxsize=65_536)
def spelling_variants(word: str) -> tuple[str, ...]:
    """British to American spelling and the reverse."""
    variants = {rule.sub(other, word) for rule, other in _SPELLING_RULES}
    return tuple(sorted({*variants, word_pairs("spelling_pairs").get(word, word)} - {word}))


def inflections(word: str) -> Iterator[str]:
    """The plural of an English word, or its singular."""
    if not word.isascii() or not word.isalpha() or len(word) < 3:
        return
    if word in word_pairs("irregular_plurals"):
        yield word_pairs("irregular_plurals")[word]
    yield word[:-1] + "ies" if word[-1] == "y" else f"{word}es" if re.search("(?:[sxzo]|[cs]h)$", word) else f"{word}s"
    for ending, singular in (("ies", "y"), ("es", ""), ("s", "")):
        if len(word) > 4 and word.endswith(ending) and is_real(word.removesuffix(ending) + singular):
            yield word.removesuffix(ending) + singular


# -- look-alike letters -----------------------------------------------------------------------------------

_LOOK_ALIKES = """
a4@аα b8вβ c(с d e3€еε g69 hнη iі l1|! mм nп o0оοσ pрρ rг s5$ѕ t7+т uυ wω xх yуγ z2ζ
"""
_SKELETON = str.maketrans({sign: group[0] for group in _LOOK_ALIKES.split() for sign in group[1:]} | {"i": "l"})
"""look-alike characters, by the letter that they resemble"""
_SHORTEST = 3


def _find_disguised(message: Folded, secret: str) -> Hit | None:
    """Finds look-alike letters of other alphabets, digits and signs. Digits alone are uncertain."""
    letters = fold(secret).strip()
    if len(letters) < _SHORTEST or not (letters.isascii() and letters.replace(" ", "").isalpha()):
        return None
    plain, uncertain = message.plain, None
    wanted, skeleton, end = letters.translate(_SKELETON), message.plain.translate(_SKELETON), 0
    while (start := skeleton.find(wanted, end)) >= 0:
        end = start + len(wanted)
        replaced = [sign for sign, letter in zip(plain[start:end], letters, strict=True) if sign != letter]
        edges = plain[max(0, start - 1) : start] + plain[end : end + 1]
        if not replaced or any("a" <= sign <= "z" for sign in replaced) or any(map(is_word_character, edges)):
            continue
        if re.search("[a-z]", plain[start:end]):
            return message.hit((start, end))
        uncertain = uncertain or message.hit((start, end), uncertain=True)
    return uncertain
