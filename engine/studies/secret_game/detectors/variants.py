"""The other forms under which a secret is the same word: British and American spelling, its plural, another alphabet's
writing of its letters, a number in words."""

import re
from collections.abc import Iterator
from functools import lru_cache

from tidepool.engine.studies.secret_game.detectors.endings import KNOWN, SHORTEST_STEM
from tidepool.engine.studies.secret_game.detectors.folding import fold
from tidepool.engine.studies.secret_game.detectors.foreign_numbers import value_in_words
from tidepool.engine.studies.secret_game.detectors.numbers import ordinal_value, ordinals, value_of, writings
from tidepool.engine.studies.secret_game.detectors.ordinary_words import commonness, word_set, words

_RULES = [
    (re.compile(of_one), of_the_other)
    for of_one, of_the_other in (
        (r"(?<=[a-z]{3})our(?=$|s$|ed$|ing$|able$|ful$|ite$|less$|er$|ers$|y$|hood$)", "or"),
        (r"(?<=[a-z]{3})or(?=$|s$|ed$|ing$|able$|ful$|ite$|less$|er$|ers$|y$|hood$)", "our"),
        (r"(?<=[a-z][b-df-hj-np-tv-z])re(?=$|s$|d$)", "er"),
        (r"(?<=[a-z][bcghtv])er(?=$|s$|ed$)", "re"),
        (r"(?<=[a-z]{3})is(?=e$|es$|ed$|er$|ers$|ing$|ation$|ations$)", "iz"),
        (r"(?<=[a-z]{3})iz(?=e$|es$|ed$|er$|ers$|ing$|ation$|ations$)", "is"),
        (r"(?<=[a-z]{2}l)ys(?=e$|es$|ed$|er$|ing$)", "yz"),
        (r"(?<=[a-z]{2}l)yz(?=e$|es$|ed$|er$|ing$)", "ys"),
        (r"(?<=[a-z]{2})ogue(?=$|s$)", "og"),
        (r"(?<=[a-z]{2})og(?=$|s$)", "ogue"),
        (r"(?<=[a-z]{2}en)c(?=e$|es$)", "s"),
        (r"(?<=[a-z]{2}en)s(?=e$|es$)", "c"),
        (r"([aeiou][b-df-hj-np-tv-z]+[aeiou])ll(?=ed$|er$|ers$|ing$|or$|ery$)", r"\1l"),
        (r"([aeiou][b-df-hj-np-tv-z]+[aeiou])l(?=ed$|er$|ers$|ing$|or$|ery$)", r"\1ll"),
        (r"(?<=[a-z])[ao]e(?=[a-z]{4})", "e"),
    )
]
"""what they make is mostly a word in its other spelling, else no word at all, which nobody will say"""
_NO_VARIANTS = frozenset(("timber timbre", "timbre timber", "michael michel", "license lisense"))
_IRREGULAR = dict(
    pair.split()
    for pair in (
        "mouse mice,louse lice,goose geese,foot feet,tooth teeth,man men,woman women,child children,ox oxen,die dice,"
        "person people,penny pence,cactus cacti,fungus fungi,nucleus nuclei,radius radii,axis axes,crisis crises,oasis oases,"
        "thesis theses,phenomenon phenomena,criterion criteria,datum data,index indices,matrix matrices,vertex vertices,"
        "larva larvae,antenna antennae,octopus octopi,quiz quizzes"
    ).split(",")
)
_SINGULAR = {many: one for one, many in _IRREGULAR.items()}
_UMLAUTS = (("ä", "ae"), ("ö", "oe"), ("ü", "ue"), ("å", "aa"), ("ø", "oe"), ("æ", "ae"), ("ñ", "ny"))


@lru_cache(maxsize=65_536)
def spelling_variants(word: str) -> tuple[str, ...]:
    """British for American and the other way round."""
    made = {rule.sub(other, word) for rule, other in _RULES} - {word}
    return tuple(sorted({*_pairs().get(word, ()), *(form for form in made if f"{word} {form}" not in _NO_VARIANTS)}))


@lru_cache(maxsize=1)
def _pairs() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for pair in words("pairs").replace("\n", " ").split(","):
        one, other = pair.split()
        found[one] = (*found.get(one, ()), other)
        found[other] = (*found.get(other, ()), one)
    return found


def inflections(word: str) -> Iterator[str]:
    """Its plural, or its singular; the -ed and -ing of a verb, where they cannot be another word's."""
    if not word.isascii() or not word.isalpha() or len(word) < 3:
        return
    yield from _plurals(word)
    yield from _singulars(word)
    if len(word) >= SHORTEST_STEM and not commonness(word + "e"):
        stem = word.removesuffix("e")
        forms = (word + "ed", word + "ing", stem + "ed", stem + "ing", word + word[-1] + "ed", word + word[-1] + "ing")
        yield from (form for form in forms if commonness(form) and stem not in ("", form))


def _plurals(word: str) -> Iterator[str]:
    if word in _IRREGULAR:
        yield _IRREGULAR[word]
    if word.endswith("y") and word[-2] not in "aeiou":
        yield word[:-1] + "ies"
    elif word.endswith(("s", "x", "z", "ch", "sh")):
        yield word + "es"
    elif word.endswith("fe"):
        yield word[:-2] + "ves"
    else:
        yield word + "s"
        if word.endswith("f"):
            yield word[:-1] + "ves"
        if word.endswith("o"):
            yield word + "es"
        if word.endswith(("eau", "eu")):
            yield word + "x"
        if len(word) > SHORTEST_STEM and word.endswith(("o", "al")) and commonness(word) < KNOWN:
            form = word[:-1] + ("i" if word.endswith("o") else "ux")
            yield from [form] * (not commonness(form))


def _singulars(word: str) -> Iterator[str]:
    if word in _SINGULAR:
        yield _SINGULAR[word]
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


def foreign_endings(word: str) -> frozenset[str]:
    """What may follow the word in a language that bends it; none where the word is short or of a script that does not."""
    if len(word) < SHORTEST_STEM:
        return frozenset()
    if word.isascii():
        return word_set("latin_endings")
    if "\u0370" <= word[-1] <= "\u03ff":
        return word_set("greek_endings")
    return word_set("cyrillic_endings") if "\u0400" <= word[-1] <= "\u04ff" else frozenset()


def respelled(secret: str) -> Iterator[str]:
    """The secret with its umlauts written out: Mueller for Müller."""
    text = secret.casefold()
    for letter, letters in _UMLAUTS:
        text = text.replace(letter, letters)
    if (plain := fold(text)) != fold(secret):
        yield plain


def foreign_value(plain: str) -> int | None:
    """Of a number in the words of another language, unless it is an English word too (quince)."""
    return value_in_words(plain) if " " in plain or "-" in plain or not commonness(plain) else None


def numbers_in_words(plain: str) -> Iterator[str]:
    """Other ways to write a secret that is a number, or in which a number stands as a word of its own."""
    value = value_of(plain)
    value = foreign_value(plain) if value is None else value
    if value is not None:
        yield from (way for way in writings(value) if way != plain)
        return
    if (place := ordinal_value(plain)) is not None:
        yield from (way for way in ordinals(place, least=1) if way != plain)
        return
    parts = re.split(r"[\s\-_]+|(?<=[a-z])(?=\d)|(?<=\d)(?=[a-z])", plain)
    values = [value_of(part) for part in parts]
    for place, number in enumerate(values):
        if number is not None:
            for way in writings(number):
                if way != parts[place] and way.isascii():
                    yield " ".join([*parts[:place], way, *parts[place + 1 :]])
