"""Numbers as people write and say them: 42, forty-two, zweiundvierzig; 1984, nineteen eighty-four; 2,500,000, 2.5 million."""

import re
from collections.abc import Iterator

from tidepool.engine.studies.secret_game.detectors.folding import fold
from tidepool.engine.studies.secret_game.detectors.foreign_numbers import in_words

DIGITS_AT_MOST = 13

_UNITS = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen""".split()
_TENS = ". . twenty thirty forty fifty sixty seventy eighty ninety".split()
_SCALES = (("billion", 10**9), ("million", 10**6), ("thousand", 10**3), ("hundred", 100))
SCALES = frozenset(name for name, _ in _SCALES)
DIGITS = {name: str(digit) for digit, name in enumerate(_UNITS[:10])} | {"oh": "0", "nought": "0", "nil": "0"}
"""the names under which a number is read out digit by digit"""

NAMES = frozenset((*_UNITS, *_TENS[2:], *SCALES))
"""words that a number is made of in English"""

_WRITTEN = re.compile(r"\d{1,3}(?:[,. ']\d{3})+|\d+")


def value_of(text: str) -> int | None:
    """The number that a secret is, in digits or in English words."""
    plain = fold(text).strip()
    if _WRITTEN.fullmatch(plain):
        digits = re.sub(r"\D", "", plain)
        return int(digits) if len(digits) < DIGITS_AT_MOST and (digits[0] != "0" or digits == "0") else None
    said = [word for word in re.split(r"[\s-]+", plain) if word != "and"]
    return _from_pairs(said) or _from_words(said)


def _from_pairs(said: list[str]) -> int | None:
    """Nineteen ninety-four, seven forty-seven, nineteen oh five; or digit by digit."""
    if len(said) > 1 and all(word in DIGITS for word in said):
        digits = "".join(DIGITS[word] for word in said)
        return int(digits) if digits[0] != "0" and len(digits) < DIGITS_AT_MOST else None
    for place in range(1, len(said)):
        first, rest = _from_words(said[:place]), said[place:]
        second = _from_words([word for word in rest if word != "oh"])
        if first is None or second is None or not 1 <= first < 100 or not second < 100:
            continue
        if (rest[0] == "oh" and second < 10) or (rest[0] in NAMES and second >= 10):
            return 100 * first + second
    return None


def _from_words(said: list[str]) -> int | None:
    total = part = 0
    scales = dict(_SCALES)
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
    yield from in_words(value)


def _english(value: int) -> Iterator[str]:
    whole = _cardinal(value)
    yield whole
    yield whole.replace(" and ", " ")
    if whole.startswith("one "):
        yield "a" + whole[3:]
    if 1001 <= value <= 9999 and value % 1000:
        yield _year(value)
    if 1100 <= value <= 9999 and value % 1000 > 99 and value % 100:
        yield from (f"{_cardinal(value // 100)} hundred{joint}{_cardinal(value % 100)}" for joint in (" and ", " "))
    if 100 < value < 1000 and value % 100 > 9:
        yield f"{_cardinal(value // 100)} {_cardinal(value % 100)}"
    yield from ordinals(value)
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


ORDINAL = re.compile(r"(?:\d(?:st|nd|rd)|first|second|third|th)$")
_IRREGULAR = {
    "one": "first",
    "two": "second",
    "three": "third",
    "five": "fifth",
    "eight": "eighth",
    "nine": "ninth",
    "twelve": "twelfth",
}
_FROM_IRREGULAR = {ordinal: cardinal for cardinal, ordinal in _IRREGULAR.items()}
_LEAST_ORDINAL = 13
"""first, second and tenth are said of too much"""


def ordinal_value(plain: str) -> int | None:
    """The place that a secret is: 21 for 21st and twenty-first."""
    if match := re.fullmatch(r"(\d{1,4})(?:st|nd|rd|th)", plain):
        return int(match[1])
    head, last = re.fullmatch(r"(.*?)([a-z]*)", plain, re.DOTALL).groups()  # type: ignore[union-attr]
    if not last.endswith(("th", "st", "nd", "rd")):
        return None
    regular = last[:-4] + "y" if last.endswith("ieth") else last[:-2]
    return value_of(head + _FROM_IRREGULAR.get(last, regular))


def ordinals(value: int, least: int = _LEAST_ORDINAL) -> Iterator[str]:
    """42nd, forty-second."""
    if value < least or value > 9999:
        return
    ending = "th" if value // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")
    yield f"{value}{ending}"
    head, _, last = _cardinal(value).rpartition(" ")
    regular = last[:-1] + "ieth" if last.endswith("y") else last + "th"
    yield f"{head} {_IRREGULAR.get(last, regular)}".strip()


def _year(value: int) -> str:
    century, rest = divmod(value, 100)
    if not rest:
        return f"{_cardinal(century)} hundred"
    return f"{_cardinal(century)} {'oh ' if rest < 10 else ''}{_cardinal(rest)}"
