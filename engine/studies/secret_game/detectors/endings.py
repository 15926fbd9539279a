"""What a language that bends its words hangs on them: kitapları, talossa, metsässä, książkami, किताबें.

An ending counts only in a text of its language, which a few little words tell.
"""

import re
from functools import cache, lru_cache
from itertools import product

from tidepool.engine.studies.secret_game.detectors.folding import fold
from tidepool.engine.studies.secret_game.detectors.ordinary_words import commonness, word_set

SHORTEST_STEM = 4
KNOWN = 3.0
"""a word as common in English as this is English"""
_LITTLE_WORDS = {
    "turkish": """bir ve bu da de cok icin ama ne mi mu degil ben sen o var yok dun bugun ile gibi daha sana bana benim
        baska sey evet hayir kadar sonra""",
    "finnish": """ja on ei se etta en olen oli mina sina han ovat mutta kun niin myos tama siina kanssa voi nyt sitten jos
        vain ole eilen vihje sinulle""",
    "hungarian": "a az es nem hogy egy van volt de meg is csak ez ha mar nekem neked vagy mint akkor en te most tegnap",
    "polish": "i w nie to jest sie na z ze do jak ale co tak moje moj ja ty bardzo juz tylko dla jestem wczoraj po",
    "czech": "a je v na se to ze ne s do jak ale co tak moje muj ja ty velmi uz jen pro jsem vcera po byl",
    "swedish": "och jag det att en ett ar som inte pa med for har till den du om men min mitt vi igar var",
    "norwegian": "og jeg det at en et er som ikke pa med for har til den du om men min mitt vi gar var af",
}
"""folded"""
_ENGLISH = frozenset("the is it you and of my that not i was are this".split())
_ENOUGH = 2
_WORD = re.compile(r"[^\W\d_]+")


def _chains(*links: str) -> frozenset[str]:
    return frozenset("".join(chain) for chain in product(*([*link.split(), ""] for link in links))) - {""}


@cache
def _endings(language: str) -> frozenset[str]:
    match language:
        case "turkish":
            return _chains(
                "lar ler",
                "im um m in un n i u si su imiz umuz miz muz iniz unuz niz nuz lari leri",
                "i u e a yi yu ye ya ni nu ne na de da te ta nde nda den dan ten tan nden ndan in un nin nun la le yla yle dir dur tir tur",
            )
        case "finnish":
            return _chains(
                "i j t",
                "n a ta tta ssa sta lla lta lle na ksi tta an en in on un hin hun han den tten ten ja ihin",
                "ni si nsa mme nne",
                "kin kaan han ko pa",
            )
        case "hungarian":
            return _chains(
                "ok ek ak k om em am m od ed ad d a e ja je unk",
                "t ot et at ban ben ba be bol rol tol ra re nak nek val vel hoz hez ig on en n ert al el",
            )
        case "polish" | "czech":
            return frozenset("a u owi em ie y e i ow om ami ach o om ovi ech u ou ami mi um ze".split())
        case "swedish" | "norwegian":
            return _chains("en et n t er ar or r na ene erna arna orna", "s")
        case _:
            return frozenset()


_EVERY = 12
"""letters of the longest ending that is looked at"""


@lru_cache(maxsize=32)
def languages_that_bend(plain: str) -> tuple[str, ...]:
    """In which of them a text seems to be; none that has more little words of English."""
    said = set(_WORD.findall(plain[:2000]))
    counts = {name: len(said.intersection(fold(little).split())) for name, little in _LITTLE_WORDS.items()}
    least = max(_ENOUGH, len(said & _ENGLISH) + 1, max(counts.values()) - 1)
    return tuple(name for name, count in counts.items() if count >= least)


def is_bent(word: str, ending: str, plain: str) -> bool:
    """Whether the ending makes another form of the word in the language of the text."""
    if len(ending) > _EVERY:
        return False
    if "\u0900" <= word[-1] <= "\u097f":
        return ending in word_set("devanagari_endings")
    if len(word) < SHORTEST_STEM or not word.isascii():
        return False
    return any(ending in _endings(language) for language in languages_that_bend(plain))


def stems(word: str) -> tuple[str, ...]:
    """What an ending is hung on where it is not the word itself: järve- of järvi, kitab- of kitap, punaise- of punainen."""
    if len(word) <= SHORTEST_STEM or not word.isascii() or not word.isalpha() or commonness(word) >= KNOWN:
        return ()
    if word.endswith("nen"):
        return (word[:-3] + "se",)
    softened = {"i": "e", "p": "b", "k": "g"}.get(word[-1])
    return (word[:-1] + softened,) if softened and (word[-1] == "i" or word[-2] in "aeiou") else ()
