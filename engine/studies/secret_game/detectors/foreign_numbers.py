"""Numbers in the words of other languages, 0 to 9999: zweiundvierzig, trescientos sesenta y ocho, quatre-vingt-quatorze.

Folded, and parted by a space wherever a writer may part or join: who looks for them allows for both.
"""

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import product

MOST = 9999
_NAMES = {
    "german": """null eins zwei drei vier funf sechs sieben acht neun zehn elf zwolf dreizehn vierzehn funfzehn sechzehn
        siebzehn achtzehn neunzehn zwanzig dreissig vierzig funfzig sechzig siebzig achtzig neunzig hundert tausend""",
    "dutch": """nul een twee drie vier vijf zes zeven acht negen tien elf twaalf dertien veertien vijftien zestien
        zeventien achttien negentien twintig dertig veertig vijftig zestig zeventig tachtig negentig honderd duizend""",
    "french": """zero un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept
        dix-huit dix-neuf vingt trente quarante cinquante soixante soixante-dix quatre-vingt quatre-vingt-dix cent mille""",
    "spanish": """cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciseis
        diecisiete dieciocho diecinueve veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa cien mil""",
    "italian": """zero uno due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici quindici
        sedici diciassette diciotto diciannove venti trenta quaranta cinquanta sessanta settanta ottanta novanta cento mille""",
    "portuguese": """zero um dois tres quatro cinco seis sete oito nove dez onze doze treze quatorze quinze dezesseis
        dezessete dezoito dezenove vinte trinta quarenta cinquenta sessenta setenta oitenta noventa cem mil""",
    "polish": """zero jeden dwa trzy cztery piec szesc siedem osiem dziewiec dziesiec jedenascie dwanascie trzynascie
        czternascie pietnascie szesnascie siedemnascie osiemnascie dziewietnascie dwadziescia trzydziesci czterdziesci
        piecdziesiat szescdziesiat siedemdziesiat osiemdziesiat dziewiecdziesiat sto tysiac""",
    "russian": """ноль один два три четыре пять шесть семь восемь девять десять одиннадцать двенадцать тринадцать
        четырнадцать пятнадцать шестнадцать семнадцать восемнадцать девятнадцать двадцать тридцать сорок пятьдесят
        шестьдесят семьдесят восемьдесят девяносто сто тысяча""",
}
"""0 to 20, the tens, a hundred, a thousand"""
_HUNDREDS = {
    "spanish": """ciento doscientos trescientos cuatrocientos quinientos seiscientos setecientos ochocientos novecientos""",
    "portuguese": """cento duzentos trezentos quatrocentos quinhentos seiscentos setecentos oitocentos novecentos""",
    "polish": """sto dwiescie trzysta czterysta piecset szescset siedemset osiemset dziewiecset""",
    "russian": """сто двести триста четыреста пятьсот шестьсот семьсот восемьсот девятьсот""",
}
"""where a hundred is not simply counted"""
_THOUSANDS = {
    "polish": ("tysiac", "tysiace", "tysiecy"),
    "russian": ("тысяча", "тысячи", "тысяч"),
}
"""one, two to four, five and more"""
_ALSO = {
    "german": (("funf", "fuenf"), ("zwolf", "zwoelf")),
    "french": (("soixante dix", "septante"), ("quatre vingt dix", "nonante")),
    "portuguese": (
        ("quatorze", "catorze"),
        ("dezesseis", "dezasseis"),
        ("dezessete", "dezassete"),
        ("dezenove", "dezanove"),
    ),
}
"""the same in another country, or on a keyboard without the letter"""
_BY_HUNDREDS = ("german", "dutch", "french")
"""whose years are counted in hundreds: neunzehnhundertvierundneunzig"""
_JOINTS = {"german": (" ", " und "), "dutch": (" ", " en "), "portuguese": (" e ", " ")}
_JOINED_BY = frozenset("und en et y e".split())
LITTLE = frozenset("un uno um een elf once".split())
"""numbers that are articles or other words too"""


@cache
def names() -> frozenset[str]:
    """All words that such a number is made of."""
    listed = (*_NAMES.values(), *_HUNDREDS.values(), *(" ".join(forms) for forms in _THOUSANDS.values()))
    also = (other for pairs in _ALSO.values() for _, other in pairs)
    return frozenset(
        word for line in (*listed, *also, "cents hundert mila tausend") for word in re.findall(r"\w+", line)
    )


def in_words(value: int) -> Iterator[str]:
    if 0 <= value <= MOST:
        for language in _NAMES:
            yield from _in(language, value)


@lru_cache(maxsize=256)
def value_in_words(plain: str) -> int | None:
    """The number that these words are in one of the languages."""
    bare = re.sub(r"[\W_]+", "", plain)
    for language in _NAMES:
        if _is_made_of(bare, _parts(language)):
            for value in range(MOST + 1):
                if any(form.replace(" ", "") == bare for form in _in(language, value)):
                    return value
    return None


@cache
def _parts(language: str) -> frozenset[str]:
    said = {
        word
        for value in (*range(101), *range(100, MOST + 1, 100))
        for form in _in(language, value)
        for word in form.split()
    }
    return frozenset(said | _JOINED_BY)


def _is_made_of(bare: str, parts: frozenset[str]) -> bool:
    reached = {0}
    for end in range(1, min(len(bare), 80) + 1):
        if any(bare[start:end] in parts for start in reached):
            reached.add(end)
    return bool(bare) and len(bare) in reached


def _in(language: str, value: int) -> Iterator[str]:
    yield from dict.fromkeys(_with_other_words(language, value))


def _with_other_words(language: str, value: int) -> Iterator[str]:
    for form in _by_thousands(language, value):
        yield form
        for word, other in _ALSO.get(language, ()):
            if word in form:
                yield form.replace(word, other)
    if language in _BY_HUNDREDS and 1100 <= value < 2000:
        count = _names(language)[value // 100]
        yield from _joined(language, [f"{count} {_names(language)[28]}"], value % 100)


def _by_thousands(language: str, value: int) -> Iterator[str]:
    thousands, rest = divmod(value, 1000)
    hundreds, small = divmod(rest, 100)
    if value < 100:
        yield from _small(language, value)
        return
    large = _thousands(language, thousands) if thousands else [""]
    middle = _hundreds(language, hundreds, small) if hundreds else [""]
    heads = [f"{one} {other}".strip() for one, other in product(large, middle)]
    if language == "portuguese" and thousands and hundreds:
        heads += [f"{one} e {other}" for one, other in product(large, middle)]
    yield from _joined(language, heads, small)


def _joined(language: str, heads: list[str], small: int) -> Iterator[str]:
    if not small:
        yield from heads
        return
    for head, joint, tail in product(heads, _JOINTS.get(language, (" ",)), _small(language, small)):
        yield head + joint + tail


@cache
def _names(language: str) -> tuple[str, ...]:
    return tuple(name.replace("-", " ") for name in _NAMES[language].split())


def _thousands(language: str, count: int) -> list[str]:
    name = _names(language)[29]
    if language in _THOUSANDS:
        form = _THOUSANDS[language][0 if count == 1 else 1 if count < 5 else 2]
        number = "две" if (language, count) == ("russian", 2) else _names(language)[count]
        return [form] if count == 1 else [f"{number} {form}"]
    if count == 1:
        return [name, f"ein {name}"] if language == "german" else [name]
    return [f"{_names(language)[count]} {'mila' if language == 'italian' else name}"]


def _hundreds(language: str, count: int, small: int) -> list[str]:
    name = _names(language)[28]
    if language in _HUNDREDS:
        return [name if count == 1 and not small else _HUNDREDS[language].split()[count - 1]]
    if count == 1:
        return [name, f"ein {name}"] if language == "german" else [name]
    counted = f"{_names(language)[count]} {name}"
    return [counted, counted + "s"] if language == "french" else [counted]


def _small(language: str, value: int) -> Iterator[str]:
    names = _names(language)
    tens, unit = divmod(value, 10)
    if value <= 20 or not unit:
        yield names[value if value <= 20 else 18 + tens]
        if (language, value) == ("french", 80):
            yield "quatre vingts"
        return
    ten, one = names[18 + tens], names[unit]
    match language:
        case "german":
            yield f"{one.removesuffix('s') if unit == 1 else one}und{ten}"
        case "dutch":
            yield f"{one}en{ten}"
        case "french":
            yield from _french(names, tens, unit)
        case "spanish":
            yield f"veinti{one}" if tens == 2 else f"{ten} y {one}"
        case "italian":
            yield (ten[:-1] if unit in (1, 8) else ten) + one
        case "portuguese":
            yield f"{ten} e {one}"
        case _:
            yield f"{ten} {one}"


def _french(names: tuple[str, ...], tens: int, unit: int) -> Iterator[str]:
    """By twenties in France, by tens (septante) in Belgium and Switzerland."""
    ten, one = (names[17 + tens], names[10 + unit]) if tens in (7, 9) else (names[18 + tens], names[unit])
    yield f"{ten} {one}"
    if unit == 1:
        yield f"{ten} et {one}"
    if tens in (7, 9):
        yield f"{'septante' if tens == 7 else 'nonante'} {'et ' if unit == 1 else ''}{names[unit]}"
