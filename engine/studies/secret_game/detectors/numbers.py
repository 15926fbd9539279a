"""Numbers as people write and say them: 42, forty-two, zweiundvierzig; 1984, nineteen eighty-four; 2,500,000, 2.5 million."""

import re
from collections.abc import Iterator

from tidepool.engine.studies.secret_game.detectors.folding import fold

DIGITS_AT_MOST = 13

_UNITS = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen""".split()
_TENS = ". . twenty thirty forty fifty sixty seventy eighty ninety".split()
_SCALES = (("billion", 10**9), ("million", 10**6), ("thousand", 10**3), ("hundred", 100))
DIGITS = {name: str(digit) for digit, name in enumerate(_UNITS[:10])} | {"oh": "0", "nought": "0", "nil": "0"}
"""the names under which a number is read out digit by digit"""

NAMES = frozenset((*_UNITS, *_TENS[2:], *(name for name, _ in _SCALES)))
"""words that a number is made of in English"""

_OTHERS = {
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
_WRITTEN = re.compile(r"\d{1,3}(?:[,. ']\d{3})+|\d+")


def value_of(text: str) -> int | None:
    """The number that a secret is, in digits or in English words."""
    plain = fold(text).strip()
    if _WRITTEN.fullmatch(plain):
        digits = re.sub(r"\D", "", plain)
        return int(digits) if len(digits) < DIGITS_AT_MOST and (digits[0] != "0" or digits == "0") else None
    return _from_words(plain)


def _from_words(plain: str) -> int | None:
    total = part = 0
    scales = dict(_SCALES)
    said = [word for word in re.split(r"[\s-]+", plain) if word != "and"]
    if not said:
        return None
    for place, word in enumerate(said):
        if word in _UNITS:
            part += _UNITS.index(word)
        elif word in _TENS[2:]:
            part += 10 * _TENS.index(word)
        elif word == "a" and not place and len(said) > 1:
            part = 1
        elif word == "hundred":
            part = max(part, 1) * 100
        elif word in scales:
            total, part = total + max(part, 1) * scales[word], 0
        else:
            return None
    return total + part


def writings(value: int) -> Iterator[str]:
    """Other ways to put the number, folded; words of a way are parted by one space."""
    yield str(value)
    if value >= 1000:
        grouped = f"{value:,}"
        yield from (grouped, grouped.replace(",", "."), grouped.replace(",", " "), grouped.replace(",", "'"))
    yield from _english(value)
    if value < 100:
        for language in _OTHERS:
            yield from _foreign(language, value)
    elif value in (100, 1000):
        yield from (names.split()[28 if value == 100 else 29] for names in _OTHERS.values())


def _english(value: int) -> Iterator[str]:
    whole = _cardinal(value)
    yield whole
    yield whole.replace(" and ", " ")
    if whole.startswith("one "):
        yield "a" + whole[3:]
    if 1001 <= value <= 9999 and value % 1000:
        yield _year(value)
    for name, scale in _SCALES[:3]:
        if value >= scale:
            parts = f"{value / scale:g}"
            if len(parts) <= 6 and float(parts) * scale == value:
                yield f"{parts} {name}"
                yield f"{parts}{name[0]}" if name != "thousand" else f"{parts}k"
            if value % scale == scale // 2:
                yield f"{_cardinal(value // scale)} and a half {name}"
                yield f"{_cardinal(value // scale)} point five {name}"


def _cardinal(value: int) -> str:
    if value < 20:
        return _UNITS[value]
    if value < 100:
        return _TENS[value // 10] + (f" {_UNITS[value % 10]}" if value % 10 else "")
    name, scale = next((name, scale) for name, scale in _SCALES if value >= scale)
    rest = value % scale
    joint = " and " if scale == 100 or rest < 100 else " "
    return f"{_cardinal(value // scale)} {name}" + (joint + _cardinal(rest) if rest else "")


def _year(value: int) -> str:
    century, rest = divmod(value, 100)
    if not rest:
        return f"{_cardinal(century)} hundred"
    return f"{_cardinal(century)} {'oh ' if rest < 10 else ''}{_cardinal(rest)}"


def _foreign(language: str, value: int) -> Iterator[str]:
    names = _OTHERS[language].split()
    tens, unit = divmod(value, 10)
    if value <= 20 or not unit:
        yield names[value if value <= 20 else 18 + tens].replace("-", " ")
        return
    ten, one = names[18 + tens], names[unit]
    match language:
        case "german":
            yield f"{one.removesuffix('s') if unit == 1 else one}und{ten}"
        case "dutch":
            yield f"{one}en{ten}"
        case "french":
            if tens in (7, 9):
                ten, one = names[17 + tens], names[10 + unit]
            yield f"{ten} {one}".replace("-", " ")
            if unit == 1:
                yield f"{ten} et {one}".replace("-", " ")
        case "spanish":
            yield f"veinti{one}" if tens == 2 else f"{ten} y {one}"
        case "italian":
            yield (ten[:-1] if unit in (1, 8) else ten) + one
        case "portuguese":
            yield f"{ten} e {one}"
        case _:
            yield f"{ten} {one}"
