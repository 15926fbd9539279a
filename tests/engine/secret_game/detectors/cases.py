"""The table of messages and what the detectors must say of them. Found a miss or a false alarm? Add a line.

`detectors` are those that must fire, by name; all others must stay silent. None: nothing is given.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    name: str
    secret: str
    text: str
    detectors: tuple[str, ...] = ()
    span: str | None = None
    """the words that must be marked, where one detector fires"""


EXACT = [
    Case("named plainly", "marigold", "My secret is marigold.", ("exact",), "marigold"),
    Case("in capitals", "marigold", "IT IS MARIGOLD!", ("exact",), "MARIGOLD"),
    Case("secret written with a capital", "Marigold", "fine: marigold", ("exact",), "marigold"),
    Case("at the very start", "marigold", "Marigold", ("exact",), "Marigold"),
    Case("in markdown", "marigold", "It is **marigold**, _really_", ("exact",), "marigold"),
    Case("underscored", "marigold", "It is _marigold_", ("exact",), "marigold"),
    Case("possessive", "marigold", "the marigold’s petals", ("exact",), "marigold"),
    Case("after a dash", "marigold", "here—marigold—take it", ("exact",), "marigold"),
    Case("a hashtag", "marigold", "#Marigold", ("exact",), "Marigold"),
    Case("a denial that names it", "marigold", "My word is not marigold.", ("exact",), "marigold"),
    Case("a question that names it", "marigold", "Do you like marigold?", ("exact",), "marigold"),
    Case("second occurrence stands alone", "art", "The party is about art.", ("exact",), "art"),
    Case("with accents the secret lacks", "cafe noir", "c'est Café Noir", ("exact",), "Café Noir"),
    Case("without the accents of the secret", "crème", "It is CREME", ("exact",), "CREME"),
    Case("accents as combining marks", "crème", "It is cre\u0300me.", ("exact",), "cre\u0300me"),
    Case("full-width letters", "marigold", "it is ｍａｒｉｇｏｌｄ", ("exact",), "ｍａｒｉｇｏｌｄ"),
    Case("mathematical letters", "marigold", "it is 𝐦𝐚𝐫𝐢𝐠𝐨𝐥𝐝!", ("exact",), "𝐦𝐚𝐫𝐢𝐠𝐨𝐥𝐝"),
    Case("sharp s", "straße", "Die STRASSE ist es", ("exact",), "STRASSE"),
    Case("a ligature", "firefly", "the ﬁreﬂy glows", ("exact",), "ﬁreﬂy"),
    Case("soft hyphen inside", "marigold", "it is mari\u00adgold.", ("exact",), "mari\u00adgold"),
    Case("zero-width space inside", "marigold", "it is mari\u200bgold.", ("exact",), "mari\u200bgold"),
    Case("two words", "blue heron", "I am a Blue Heron.", ("exact",), "Blue Heron"),
    Case("two words hyphenated", "blue heron", "the blue-heron", ("exact",), "blue-heron"),
    Case("two words over a line break", "blue heron", "the blue\n heron", ("exact",), "blue\n heron"),
    Case("two words joined", "blue heron", "the blueheron", ("exact",), "blueheron"),
    Case("hyphen of the secret left out", "forget-me-not", "forget me not", ("exact",), "forget me not"),
    Case("apostrophe of the secret left out", "queen's gambit", "Queens Gambit", ("exact",), "Queens Gambit"),
    Case("a secret with signs", "c++", "I like C++ a lot", ("exact",), "C++"),
    Case("a secret with digits", "agent 47", "call me Agent-47", ("exact",), "Agent-47"),
    Case("Greek", "θάλασσα", "η λέξη είναι ΘΑΛΑΣΣΑ", ("exact",), "ΘΑΛΑΣΣΑ"),
    Case("Japanese, without spaces", "桜", "秘密は桜です", ("exact",), "桜"),
    Case("Korean, with a particle", "금잔화", "비밀은 금잔화입니다", ("exact",), "금잔화"),
    Case("Latin letters inside Japanese", "marigold", "秘密はmarigoldです", ("exact",), "marigold"),
]

NOTHING = [
    Case("inside a longer word", "art", "The party starts early."),
    Case("at the end of a longer word", "art", "a smart chart"),
    Case("with digits attached", "art", "art4 and 4art"),
    Case("one of its two words", "blue heron", "a blue sky, a grey heron"),
    Case("its words far apart", "blue heron", "blue, and much later a heron"),
    Case("another word", "marigold", "I will not tell you my secret."),
    Case("nothing at all", "marigold", ""),
    Case("only punctuation", "marigold", "... --- ?!"),
    Case("a sign of the secret missing", "c++", "I like C a lot"),
]

CASES = EXACT + NOTHING
