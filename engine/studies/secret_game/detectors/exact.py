"""Finds the secret as a word: in any case, accent or width, with its words joined in any way, in British or American spelling,
in the plural or singular, as a number in digits or English words, and in look-alike letters or digits (m4r1g0ld).

The forms of a secret are worked out once. A word that people often say counts as certain only where its context marks it.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
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
    COMMON,
    commonness,
    is_ambiguous_phrase,
    is_listed,
    is_marked,
    is_marked_number,
    word_pairs,
)

_JOINTS = r"\s\-_'‐‒―−⸺."
_MOST_FOUND = 60
"""places of a message where one form is looked at closely"""
_LONG_NUMBER = re.compile(r"\d{5,}(?<!00)")
"""a number in digits that counts or dates nothing in everyday talk"""
_HIRAGANA = re.compile("[\u3041-\u3096]+")


@dataclass(frozen=True, slots=True)
class Form:
    """One way to write the secret."""

    plain: str
    needle: str
    """a part that any match contains"""
    pattern: re.Pattern[str] | None
    """of the whole, where the needle is not the whole"""
    own: bool
    """as the secret was given"""
    number: bool


@lru_cache(maxsize=4096)
def _forms(secret: str) -> tuple[Form, ...]:
    plain = fold(secret).strip()
    number = value_of(plain)
    joints, others = (_JOINTS, _other_words(plain)) if number is None else (f"{_JOINTS},", writings(number))
    forms = {plain: Form(*_pattern(plain, _JOINTS), own=True, number=number is not None)}
    for form in others:
        if form not in forms:
            forms[form] = Form(*_pattern(form, joints), own=False, number=number is not None)
    return tuple(form for text, form in forms.items() if text)


def _pattern(plain: str, joints: str) -> tuple[str, str, re.Pattern[str] | None]:
    words = [word for word in re.split(f"[{joints}]+", plain) if word]
    longest = max(words, key=len, default=plain)
    if longest == plain:
        return plain, plain, None
    return plain, longest, re.compile(f"[{joints}]{{0,4}}".join(map(re.escape, words)))


def find_exact(message: Folded, secret: str) -> Span | None:
    """Where the secret itself stands, whatever it may mean there."""
    for form in _forms(secret)[:1]:
        for span in _spans(message, form):
            return message.original(span)
    return None


def find_word(message: Folded, secret: str) -> Hit | None:
    """The first certain place of any form, else the first uncertain one."""
    uncertain: Span | None = None
    for form in _forms(secret):
        for span in islice(_spans(message, form), _MOST_FOUND):
            if _is_another_word(message, span, form, secret):
                continue
            if _is_certain(message, span, form, secret):
                return message.hit(span)
            uncertain = uncertain or span
    return message.hit(uncertain, uncertain=True) if uncertain else None


def _spans(message: Folded, form: Form) -> Iterator[Span]:
    plain, start = message.plain, -1
    if form.needle not in plain:
        return
    while True:
        if form.pattern is None:
            start = plain.find(form.needle, start + 1)
            span = start, start + len(form.needle)
        else:
            match = form.pattern.search(plain, start + 1)
            start, span = (match.start(), match.span()) if match else (-1, (-1, -1))
        if start < 0:
            return
        if stands_alone(plain, span):
            yield span


def _is_another_word(message: Folded, span: Span, form: Form, secret: str) -> bool:
    """A part of a larger number (six in sixty-six); or, without the accents of the secret, a common word."""
    if form.number:
        before = re.search(r"([a-z]+)[\s-](?:and )?$", message.plain[max(0, span[0] - 24) : span[0]])
        after = re.match(r"[\s-](?:and )?([a-z]+)", message.plain[span[1] : span[1] + 24])
        return any(word is not None and word[1] in NUMBER_NAMES for word in (before, after))
    if form.own and secret.isascii():
        return False
    word = message.text[slice(*message.original(span))].lower()
    return form.own and word.isascii() and commonness(word) >= COMMON


def _is_certain(message: Folded, span: Span, form: Form, secret: str) -> bool:
    plain = message.plain
    if form.number:
        if form.own and _LONG_NUMBER.fullmatch(form.plain):
            return True
        return not _numbers_a_list(plain, span) and is_marked_number(message, span)
    if _is_short_elsewhere(form.plain):
        if _HIRAGANA.fullmatch(plain[max(0, span[0] - 1) : span[1]]) and span[0]:
            return False  # any two syllables may be in a run of them
        return is_marked(message, span, form.plain)
    words = plain[slice(*span)]
    ambiguous = is_ambiguous_phrase(form.plain, plain) or is_ambiguous_phrase(fold(secret).strip(), plain)
    joined = bool(re.search("[ -]", form.plain)) and words.isalnum() and commonness(words) < COMMON
    doubtful = (ambiguous and not joined) or (form.own and _lost_its_accents(message, span, secret))
    return not doubtful or is_marked(message, span, form.plain)


def _numbers_a_list(plain: str, span: Span) -> bool:
    line = plain.rfind("\n", 0, span[0]) + 1
    return not plain[line : span[0]].strip() and plain[span[1] : span[1] + 1] in (")", ".") and "\n" in plain


def _is_short_elsewhere(plain: str) -> bool:
    """Short, and of a script that has no word list."""
    letters = [letter for letter in plain if letter.isalpha()]
    if plain.isascii() or all(letter < "\u0370" for letter in letters):
        return False
    return len(letters) <= (2 if any(letter >= "\u3400" for letter in letters) else 3)


def _lost_its_accents(message: Folded, span: Span, secret: str) -> bool:
    """Written without the accents of the secret, or with others, and a word so: Bar is no Bär, péché no pêche."""
    start, end = message.original(span)
    word = unicodedata.normalize("NFC", message.text[start:end].casefold())
    if fold(secret) == secret.casefold() or word == unicodedata.normalize("NFC", secret.casefold().strip()):
        return False
    return not word.isascii() or len(word) <= 3 or is_listed(word, message.plain)


# -- other forms of a word --------------------------------------------------------------------------------

_SPELLING_RULES = [
    (re.compile(one), other)
    for one, other in (
        (r"(?<=[a-z]{3})our(?=$|s$|ed$|ing$|able$|ful$|ite$|less$|er$|ers$|y$|hood$)", "or"),
        (r"(?<=[a-z]{3})or(?=$|s$|ed$|ing$|able$|ful$|ite$|less$|er$|ers$|y$|hood$)", "our"),
        (r"(?<=[a-z][b-df-hj-np-tv-z])re(?=$|s$|d$)", "er"),
        (r"(?<=[a-z][bcghtv])er(?=$|s$|ed$)", "re"),
        (r"(?<=[a-z]{3})([iy])s(?=e$|es$|ed$|er$|ers$|ing$|ation$|ations$)", r"\1z"),
        (r"(?<=[a-z]{3})([iy])z(?=e$|es$|ed$|er$|ers$|ing$|ation$|ations$)", r"\1s"),
        (r"(?<=[a-z]{2})ogue(?=$|s$)", "og"),
        (r"(?<=[a-z]{2})og(?=$|s$)", "ogue"),
        (r"(?<=[a-z]{2}en)c(?=e$|es$)", "s"),
        (r"(?<=[a-z]{2}en)s(?=e$|es$)", "c"),
        (r"(?<=[a-z])[ao]e(?=[a-z]{4})", "e"),
        (r"([aeiou][b-df-hj-np-tv-z]+[aeiou])ll(?=ed$|er$|ers$|ing$|or$|ery$)", r"\1l"),
        (r"([aeiou][b-df-hj-np-tv-z]+[aeiou])l(?=ed$|er$|ers$|ing$|or$|ery$)", r"\1ll"),
    )
]
"""British to American and back; what they make is mostly a word in its other spelling, else no word at all"""


def _other_words(plain: str) -> Iterator[str]:
    """Forms of a secret that is no number."""
    spellings = [plain]
    words = plain.split(" ")
    for place, word in enumerate(words):
        value = value_of(word)
        others = spelling_variants(word) if value is None else writings(value)
        spellings += [" ".join([*words[:place], other, *words[place + 1 :]]) for other in others]
    yield from spellings
    for spelling in spellings:
        head, _, last = spelling.rpartition(" ")
        yield from (f"{head} {form}".strip() for form in inflections(last))


@lru_cache(maxsize=65_536)
def spelling_variants(word: str) -> tuple[str, ...]:
    """British for American and the other way round."""
    variants = {rule.sub(other, word) for rule, other in _SPELLING_RULES}
    variants.update(word_pairs("spelling_pairs").get(word, ()))
    return tuple(sorted(variants - {word} - set(word_pairs("different_words").get(word, ()))))


def inflections(word: str) -> Iterator[str]:
    """The plural of an English word, or its singular."""
    if not word.isascii() or not word.isalpha() or len(word) < 3:
        return
    yield from word_pairs("irregular_plurals").get(word, ())
    if word.endswith("y") and word[-2] not in "aeiou":
        yield word[:-1] + "ies"
    elif word.endswith(("s", "x", "z", "ch", "sh")):
        yield word + "es"
    else:
        yield word + "s"
        if word.endswith("o"):
            yield word + "es"
        if word.endswith(("f", "fe")):
            yield word.removesuffix("e")[:-1] + "ves"
    if len(word) < 5 or not word.endswith("s") or word.endswith("ss"):
        return
    if word.endswith("ies"):
        yield word[:-3] + "y"
    elif word.endswith("ves"):
        yield from (form for form in (word[:-3] + "f", word[:-3] + "fe", word[:-1]) if commonness(form))
    elif word.endswith(("xes", "ches", "shes", "sses", "oes")):
        yield word[:-2]
    elif commonness(word[:-1]):
        yield word[:-1]


# -- numbers ----------------------------------------------------------------------------------------------

_MOST_DIGITS = 13
_UNITS = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen""".split()
_TENS = ". . twenty thirty forty fifty sixty seventy eighty ninety".split()
_SCALES = {"billion": 10**9, "million": 10**6, "thousand": 10**3, "hundred": 100}
NUMBER_NAMES = frozenset((*_UNITS, *_TENS[2:], *_SCALES))
_IN_DIGITS = re.compile(r"\d{1,3}(?:[,. ']\d{3})+|\d+")


def value_of(text: str) -> int | None:
    """The number that a text is, in digits or in English words."""
    plain = fold(text).strip()
    if _IN_DIGITS.fullmatch(plain):
        digits = re.sub(r"\D", "", plain)
        return int(digits) if len(digits) < _MOST_DIGITS and (digits[0] != "0" or digits == "0") else None
    words = [word for word in re.split(r"[\s-]+", plain) if word != "and"]
    halves = [(_sum_of(words[:place]), _sum_of(words[place:])) for place in range(1, len(words))]
    values = [_sum_of(words), *(100 * high + low for high, low in halves if high is not None and low is not None)]
    spoken = plain.replace("-", " ")
    return next((value for value in values if value is not None and spoken in writings(value)), None)


def _sum_of(words: list[str]) -> int | None:
    total = part = 0
    for word in words:
        if word in _UNITS:
            part += _UNITS.index(word)
        elif word in _TENS[2:]:
            part += 10 * _TENS.index(word)
        elif word == "hundred":
            part = max(part, 1) * 100
        elif word in _SCALES:
            total, part = total + max(part, 1) * _SCALES[word], 0
        else:
            return None
    return total + part


def writings(value: int) -> list[str]:
    """The number in digits and in English words."""
    grouped = f"{value:,}"
    cardinal = _cardinal(value)
    forms = [str(value), *(grouped.replace(",", sign) for sign in ",. '"), cardinal, cardinal.replace(" and ", " ")]
    if cardinal.startswith("one "):
        forms.append(f"a{cardinal.removeprefix('one')}")
    if 1000 < value < 10_000 and value % 1000:
        century, rest = divmod(value, 100)
        year = f"{'oh ' if rest < 10 else ''}{_cardinal(rest)}" if rest else "hundred"
        forms += [f"{_cardinal(century)} {year}", f"{_cardinal(century)} hundred and {_cardinal(rest)}"]
    elif 100 < value < 1000 and value % 100 > 9:
        forms.append(f"{_cardinal(value // 100)} {_cardinal(value % 100)}")
    if value > 99:
        digits = [_UNITS[int(digit)] for digit in str(value)]
        forms += [" ".join(digits), " ".join("oh" if name == "zero" else name for name in digits)]
    return forms


def _cardinal(value: int) -> str:
    if value < 20:
        return _UNITS[value]
    if value < 100:
        return _TENS[value // 10] + (f" {_UNITS[value % 10]}" if value % 10 else "")
    name, scale = next((name, scale) for name, scale in _SCALES.items() if value >= scale)
    rest = value % scale
    joint = " and " if scale == 100 or rest < 100 else " "
    return f"{_cardinal(value // scale)} {name}" + (joint + _cardinal(rest) if rest else "")


# -- look-alike letters -----------------------------------------------------------------------------------

_LOOK_ALIKES = """
a4@аαɑ b8вьβ c(сϲ dԁɗ e3€еєεҽ fſ g69ɡ hнһη iіι jј kкκ l1|!ӏⅼ mмμ nпνո o0оοօσ pрρ qԛ rгꭇ s5$ѕ t7+тτ uцυս vѵ wѡԝωш xхχ yуүγ z2ζ
"""
_SKELETON = str.maketrans(
    {sign: group[0] for group in _LOOK_ALIKES.split() for sign in group[1:]} | {"i": "l", "і": "l", "ι": "l"}
)
"""one letter for all that look like it"""
_OTHER_ALPHABET = re.compile("[\u0370-\u058f]{2,}")
_SHORTEST = 3


def _find_disguised(message: Folded, secret: str) -> Hit | None:
    """In look-alike letters of other alphabets, and in digits and signs."""
    letters = fold(secret).strip()
    if len(letters) < _SHORTEST or not (letters.isascii() and letters.replace(" ", "").isalpha()):
        return None
    plain, skeleton, start, uncertain = message.plain, message.plain.translate(_SKELETON), -1, None
    while (start := skeleton.find(letters.translate(_SKELETON), start + 1)) >= 0:
        span = start, start + len(letters)
        word = plain[slice(*span)]
        replaced = [sign for sign, letter in zip(word, letters, strict=True) if sign != letter]
        if (
            not replaced
            or any("a" <= sign <= "z" for sign in replaced)
            or any(is_word_character(sign) for sign in plain[max(0, start - 1) : start] + plain[span[1] : span[1] + 1])
        ):
            continue
        around = plain[max(0, start - 40) : start] + plain[span[1] : span[1] + 40]
        in_other_alphabet = len(_OTHER_ALPHABET.findall(around)) > 1
        if re.search("[a-z]", word) or not (word.isascii() or in_other_alphabet):
            return message.hit(span)
        uncertain = uncertain or span
    return message.hit(uncertain, uncertain=True) if uncertain else None


def detect(message: Folded, secret: str, threshold: float) -> Hit | None:
    """As the registry of detectors calls it; only `fuzzy` has a threshold."""
    hit = find_word(message, secret)
    if hit and not hit.uncertain:
        return hit
    return _find_disguised(message, secret) or hit
