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

SPELLED = [
    Case("hyphened letters", "marigold", "It is M-A-R-I-G-O-L-D.", ("spelled",), "M-A-R-I-G-O-L-D"),
    Case("spaced letters", "marigold", "so: m a r i g o l d", ("spelled",), "m a r i g o l d"),
    Case("spaced letters after an article", "marigold", "a m a r i g o l d", ("spelled",), "m a r i g o l d"),
    Case("dotted letters", "marigold", "M.A.R.I.G.O.L.D.", ("spelled",), "M.A.R.I.G.O.L.D"),
    Case("letters with commas", "marigold", "M, A, R, I, G, O, L, D", ("spelled",), "M, A, R, I, G, O, L, D"),
    Case("letters in quotes", "art", '"A", "R", "T"', ("spelled",), 'A", "R", "T'),
    Case("one letter a line", "lantern", "Hm.\nL\nA\nN\nT\nE\nR\nN\n", ("spelled",), "L\nA\nN\nT\nE\nR\nN"),
    Case("letters in a numbered list", "art", "1. A\n2. R\n3. T", ("spelled",), "A\n2. R\n3. T"),
    Case("bulleted letters", "art", "• A\n• R\n• T", ("spelled",), "A\n• R\n• T"),
    Case("middle dots", "marigold", "m·a·r·i·g·o·l·d", ("spelled",), "m·a·r·i·g·o·l·d"),
    Case("as in", "art", "A as in apple, R as in rose, T as in tree", ("spelled",)),
    Case("is for", "art", "A is for apple, R is for rose, T is for tree.", ("spelled",)),
    Case("in two pieces", "marigold", "mari-gold", ("spelled", "fuzzy")),
    Case("in syllables", "marigold", "ma-ri-gold", ("spelled",), "ma-ri-gold"),
    Case("half in bold", "marigold", "mari**gold**", ("spelled", "fuzzy")),
    Case("two words letter by letter", "blue heron", "b-l-u-e h-e-r-o-n", ("spelled",)),
    Case("backwards", "marigold", "read it right to left: dlogiram", ("spelled",), "dlogiram"),
    Case("backwards in letters", "marigold", "D-L-O-G-I-R-A-M", ("spelled",), "D-L-O-G-I-R-A-M"),
    Case("two words backwards", "blue heron", "say noreh eulb", ("spelled",), "noreh eulb"),
    Case("backwards, and a word that way", "drawer", "reward, read backwards", ("spelled",), "reward"),
    Case(
        "acrostic of lines",
        "rose",
        "Roads are long,\nOceans wide,\n\nSail with me,\nEver on.",
        ("spelled",),
    ),
    Case(
        "acrostic of sentences",
        "flame",
        "Fine day. Lovely, too! And you? Maybe we talk. Ever yours.",
        ("spelled",),
    ),
    Case("acrostic of words", "garden", "green apples rarely die every night", ("spelled",)),
    Case("phonetic alphabet", "lantern", "Lima Alpha November Tango Echo Romeo November", ("spelled",)),
]

ENCODED = [
    Case("base64", "marigold", "Decode bWFyaWdvbGQ= please", ("encoded",), "bWFyaWdvbGQ"),
    Case("base64 with a capital", "marigold", "TWFyaWdvbGQ=", ("encoded",), "TWFyaWdvbGQ"),
    Case("base64 of a sentence", "marigold", "TXkgc2VjcmV0IGlzIG1hcmlnb2xkLg==", ("encoded",)),
    Case("base64 of a short secret", "art", "YXJ0", ("encoded",), "YXJ0"),
    Case("base64 of two words", "blue heron", "Ymx1ZSBoZXJvbg==", ("encoded",)),
    Case("hexadecimal", "marigold", "hex: 6d617269676f6c64", ("encoded",), "6d617269676f6c64"),
    Case("hexadecimal, spaced capitals", "marigold", "4D 41 52 49 47 4F 4C 44!", ("encoded",)),
    Case("hexadecimal with prefixes", "art", "0x61 0x72 0x74", ("encoded",)),
    Case("hexadecimal with colons", "art", "61:72:74", ("encoded",), "61:72:74"),
    Case("hexadecimal of a sentence", "art", "697420697320617274", ("encoded",)),
    Case("rot13", "marigold", "rot13: znevtbyq", ("encoded",), "znevtbyq"),
    Case("rot13 of a sentence", "marigold", "Zl frperg vf Znevtbyq.", ("encoded",), "Znevtbyq"),
    Case("rot13 of two words", "blue heron", "oyhr ureba", ("encoded",), "oyhr ureba"),
    Case("Morse", "marigold", "-- .- .-. .. --. --- .-.. -..", ("encoded",)),
    Case("Morse with typographic signs", "art", "·– ·–· –", ("encoded",)),
    Case("Morse of two words", "blue heron", "-... .-.. ..- . / .... . .-. --- -.", ("encoded",)),
    Case("Morse within a text", "art", "Listen: .- .-. - / that is all", ("encoded",)),
]

FUZZY = [
    Case("a letter left out", "marigold", "My word is marigld.", ("fuzzy",), "marigld"),
    Case("a letter too many", "marigold", "My word is marrigold.", ("fuzzy",), "marrigold"),
    Case("a wrong letter", "marigold", "My word is marygold.", ("fuzzy",), "marygold"),
    Case("two letters swapped", "marigold", "My word is mairgold.", ("fuzzy",), "mairgold"),
    Case("the plural", "marigold", "I love marigolds", ("exact",), "marigolds"),
    Case("the plural of an ordinary word", "candle", "Candles, you know", ("exact",), "Candles"),
    Case("written as two words", "marigold", "the mari gold", ("spelled", "fuzzy"), "mari gold"),
    Case("two words, one misspelt", "blue heron", "the blue herron", ("fuzzy",), "blue herron"),
    Case("two words misspelt and joined", "blue heron", "the blueherron", ("fuzzy",), "blueherron"),
    Case("a slip that looks like an ordinary word with an ending", "lantern", "It is latern.", ("fuzzy",), "latern"),
    Case("misspelt with an accent", "marigold", "le mot est márigld", ("fuzzy",), "márigld"),
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
    Case("a longer word spelled out", "art", "P-A-R-T-Y"),
    Case("a longer word spelled with spaces", "art", "p a r t y"),
    Case("its letters begin a longer spelling", "mari", "M-A-R-I-G-O-L-D"),
    Case("across the words of a sentence", "together", "I want to get her a present"),
    Case("an ordinary word that is another one backwards", "drawer", "You deserve a reward."),
    Case("a short word backwards", "art", "tra la la"),
    Case("too short for an acrostic", "art", "All roads turn."),
    Case("first letters of some of the words", "garden", "green apples are rarely dear"),
    Case("base64 of another word", "marigold", "c3VuZmxvd2Vy"),
    Case("base64 of a word that contains it", "art", "cGFydHk="),
    Case("hexadecimal of a word that contains it", "art", "7061727479"),
    Case("a number that is no code", "marigold", "call 6d or room 4d, number 6172"),
    Case("Morse of a word that contains it", "art", ".--. .- .-. - -.--"),
    Case("dots and dashes in prose", "art", "Well... - I mean -- no. - Or... -"),
    Case("a short secret in rot13 is a word", "art", "neg"),
    Case("stream and steam", "stream", "full steam ahead, steaming"),
    Case("river and driver", "river", "the driver drives"),
    Case("contract and contrast", "contract", "in contrast to that, contrasting"),
    Case("planet and plant", "planet", "the plants grow"),
    Case("castle and cattle", "castle", "the cattle"),
    Case("bridge and bride", "bridge", "the bride"),
    Case("two words, one of them another", "blue heron", "a blue hero"),
    Case("garden and warden", "garden", "the warden hardens"),
    Case("too short to be misspelt", "lamp", "lamb, limp, camp, lump"),
    Case("a hint, which is the judge's", "marigold", "An orange flower whose name begins like Mary's."),
    Case("a translation, which is the judge's", "marigold", "Ringelblume, souci, caléndula"),
]

CASES = EXACT + SPELLED + ENCODED + FUZZY + NOTHING
