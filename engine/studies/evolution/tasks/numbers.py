"""Numbers as people and models write them: signs, separators, fractions, powers, percent, LaTeX, words."""

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

TOLERANCE = 0.001
SHARE = 0.01
"""a given number may differ by this much, and by no more than this share of the expected one"""
_SLACK = 1e-9  # 0.3 and 0.301 are 0.001 apart on paper, and a little more in binary

_GROUPED = r"\d{1,3}(?:(?:,\d{3})+(?!\d)|(?:,\d{2})+,\d{3}(?!\d)|(?:[\u00a0\u2009\u202f ]\d{3})+(?!\d)|(?:['’]\d{3})+(?!\d))(?:\.\d+)?"
_CONTINENTAL = r"\d{1,3}(?:\.\d{3})+,\d+(?!\d)|\d+,\d{1,2}(?![\d,])"
_BARE = r"\d+(?:_\d+)*(?:\.\d+)?|\.\d+"
_DIGITS = rf"(?:{_CONTINENTAL}|{_GROUPED}|{_BARE})(?:[eE][-+−]?\d{{1,3}})?"
_SCALES = {
    "thousand": 1e3,
    "million": 1e6,
    "mio": 1e6,
    "billion": 1e9,
    "trillion": 1e12,
    "millionen": 1e6,
    "millones": 1e6,
    "millions": 1e6,
}
_SHORT = {"k": 1e3, "M": 1e6, "bn": 1e9}
_NUMBER = re.compile(
    rf"(?<![A-Za-z\u00c0-\u024f\d])(?<!\d[.,])(?P<sign>(?:(?<![\w)])|(?<=\b[xX]))[-−–+](?=[\d.$€£]))?(?:[$€£]\s?(?P<inner>[-−])?)?"
    rf"(?P<whole>{_DIGITS})"
    r"(?:\s?/\s?(?P<under>\d+(?:\.\d+)?)(?![\d.]*/)|(?:\s+|\s?-\s?|\s+and\s+)(?P<over>\d+)/(?P<part>\d+)(?!\d))?"
    r"(?:\s?[×x*·]\s?10\s?\^?\s?(?:\{(?P<power>[-−]?\d+)\}|(?P<plain_power>[-−]?\d+))|\s?\^\s?\{?(?P<raised>[-−]?\d{1,3})\}?)?"
    rf"(?:\s(?P<scale>{'|'.join(_SCALES)})\b|(?-i:(?P<short>k|M|bn)\b))?"
    r"(?P<percent>\s?(?:%|percent\b|per cent\b|prozent\b))?"
    r"(?!(?:st|nd|rd|th)\b)",
    re.IGNORECASE,
)  # fmt: skip
_SUPER = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_SUPERSCRIPT = re.compile(r"(?<=10)[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+")
_VULGAR = {
    "½": "1/2",
    "⅓": "1/3",
    "⅔": "2/3",
    "¼": "1/4",
    "¾": "3/4",
    "⅕": "1/5",
    "⅛": "1/8",
    "⅜": "3/8",
    "⅝": "5/8",
    "⅞": "7/8",
    "⅙": "1/6",
}
_LATEX = re.compile(r"\\(?:text|mathrm|mathbf|textbf|mathit|mathsf|operatorname|boxed|fbox|underline)\s*\{([^{}]*)\}")
_FRAC = re.compile(r"(\d)?\\[dt]?frac\s*(?:\{\s*(-?[\d.]+)\s*\}\s*\{\s*(-?[\d.]+)\s*\}|(\d)\s*(\d))")
_SPACES = re.compile(r"\\[,!;:> ]|\{,\}|\\left|\\right|\\displaystyle")

_UNITS = dict(zip(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split(),
    range(20), strict=True,
))  # fmt: skip
_TENS = dict(zip("twenty thirty forty fifty sixty seventy eighty ninety".split(), range(20, 100, 10), strict=True))
_PARTS = {
    "half": 2,
    "halves": 2,
    "third": 3,
    "thirds": 3,
    "quarter": 4,
    "quarters": 4,
    "fourth": 4,
    "fourths": 4,
    "fifth": 5,
    "fifths": 5,
    "eighths": 8,
    "tenths": 10,
}
_MULTIPLES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "dozen": 12}
_WORD = re.compile(r"[a-z]+")
NUMBER_WORD = re.compile(
    rf"\b(?:minus |negative )?(?:{'|'.join((*_UNITS, *_TENS))}|(?:a|an) (?:{'|'.join((*_MULTIPLES, *_PARTS))}))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Number:
    value: float
    percent: bool
    start: int
    end: int


@lru_cache(maxsize=8192)
def plain(text: str) -> str:
    """Without what hides numbers: LaTeX, superscripts, fractions in one letter, a solution's sums between angles."""
    for sign, fraction in _VULGAR.items():
        text = text.replace(sign, f" {fraction}")
    text = re.sub(r"<<[^<>]*>>", "", _SUPERSCRIPT.sub(lambda power: "^" + power[0].translate(_SUPER), text))
    if "\\" in text or "{,}" in text:
        text = _SPACES.sub(lambda sign: "," if sign[0] == "{,}" else "", text)
        text = _FRAC.sub(
            lambda frac: (f"{frac[1]} " if frac[1] else "") + f"{frac[2] or frac[4]}/{frac[3] or frac[5]}", text
        )
        while (peeled := _LATEX.sub(r"\1", text)) != text:
            text = peeled
        text = text.replace("\\$", "$").replace("\\%", "%").replace("\\times", "×").replace("\\cdot", "·")
    return text


def numbers_in(text: str) -> list[Number]:
    """Every number of a text without hidden ones, in order."""
    found = (_read(match) for match in _NUMBER.finditer(text))
    return [number for number in found if number is not None]


def _read(match: re.Match[str]) -> Number | None:
    digits = match["whole"]
    if not digits.isdecimal():
        digits = re.sub(r"[\u00a0\u2009\u202f '’_]", "", digits).replace("−", "-")
    if (
        "," in digits
        and re.fullmatch(r"\d{1,3}(?:\.\d{3})*,\d+(?:[eE].*)?", digits)
        and not re.fullmatch(r"\d{1,3}(?:,\d{3})+", digits)
    ):
        digits = digits.replace(".", "").replace(",", ".")
    try:
        value = float(digits.replace(",", ""))
        if match["under"]:
            value /= float(match["under"])
        elif match["part"]:
            value += float(Fraction(int(match["over"]), int(match["part"])))
        value = value ** int(match["raised"].replace("−", "-")) if match["raised"] else value
        power = match["power"] or match["plain_power"]
        value *= 10.0 ** int(power.replace("−", "-")) if power else 1.0
    except (ValueError, ZeroDivisionError, OverflowError):
        return None
    value *= _SCALES[match["scale"].lower()] if match["scale"] else _SHORT.get(match["short"] or "", 1.0)
    minus = (match["sign"] or "").strip() in ("-", "−", "–") or bool(match["inner"])
    return Number(-value if minus else value, bool(match["percent"]), match.start(), match.end())


@lru_cache(maxsize=8192)
def expected_number(text: str) -> Number | None:
    """What an expected answer means as a number: one number, with a currency or a unit but no other number beside it."""
    bare = plain(text).strip(" *_`\"':.")
    found = numbers_in(bare)
    if len(found) != 1:
        return None
    before, after = bare[: found[0].start].strip(), bare[found[0].end :].strip(" .")
    unit = re.fullmatch(r"(?:[^\W\d]|[°²³/$€£%'’.\s-]){0,30}", after) is not None and len(after.split()) <= 3
    return found[0] if unit and re.fullmatch(r"[a-zA-Z]?\s?[=≈]?|[A-Z]{3}", before) else None


@lru_cache(maxsize=8192)
def whole_number(text: str) -> Number | None:
    """A text that is a number and nothing else: 1,234 · $5.50 · −3 · 3/4 · 12%."""
    bare = plain(text).strip(" *_`\"':").rstrip(".").strip()
    found = numbers_in(bare)
    return (
        found[0]
        if len(found) == 1 and not bare[: found[0].start] and bare[found[0].end :].strip() in ("", "$", "€", "£")
        else None
    )


def same(given: Number, expected: Number) -> bool:
    """As values, or one of them as per cent of the other."""
    pairs = [(given.value, expected.value)]
    if given.percent and not expected.percent:
        pairs.append((given.value / 100, expected.value))
    if expected.percent and not given.percent:
        pairs.append((given.value, expected.value / 100))
    return any(_near(ours, theirs) for ours, theirs in pairs)


def _near(given: float, expected: float) -> bool:
    away = abs(given - expected)
    return (away <= TOLERANCE + _SLACK and away <= SHARE * abs(expected) + _SLACK) or given == expected


def written(number: Number) -> str:
    """In a canonical form."""
    return (
        f"{round(number.value, 3) + 0.0:.12g}"
        if abs(number.value) >= TOLERANCE or not number.value
        else f"{number.value:.4g}"
    )


def in_words(text: str) -> Number | None:
    """The number that a text begins with in English words: seventy-two · one thousand five hundred · one half."""
    words = _WORD.findall(text.lower().replace("-", " "))
    total, current, used, minus = 0, 0, 0, False
    for place, word in enumerate(words):
        if word in ("minus", "negative") and not used:
            minus = True
        elif word in _UNITS or word in _TENS:
            current += _UNITS.get(word, _TENS.get(word, 0))
            used = place + 1
        elif (
            word in ("a", "an")
            and not used
            and words[place + 1 : place + 2]
            and words[place + 1] in {*_MULTIPLES, *_PARTS}
        ):
            current, used = 1, place + 1
        elif word in _MULTIPLES and used:
            times = _MULTIPLES[word]
            current = max(1, current) * times
            if times >= 1000:
                total, current = total + current, 0
            used = place + 1
        elif word in _PARTS and used and 0 < current < 20 and not total:
            return Number((-1 if minus else 1) * current / _PARTS[word], False, 0, len(text))
        elif word == "and" and used:
            if words[place + 1 : place + 2] == ["a"] and (part := _PARTS.get("".join(words[place + 2 : place + 3]))):
                return Number((-1 if minus else 1) * (total + current + 1 / part), False, 0, len(text))
        elif used or word not in (
            "exactly",
            "about",
            "only",
            "just",
            "roughly",
            "approximately",
            "simply",
            "the",
            "that",
        ):
            break
    return Number(float((-1 if minus else 1) * (total + current)), False, 0, len(text)) if used else None
