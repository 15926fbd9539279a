"""The secret in base64, hexadecimal, rot13 or Morse, alone or within a longer coded text.

What the secret looks like in each code is worked out once; a message that contains no piece of that is
passed over without decoding anything. A piece found is decoded with its surroundings, and the secret must
stand there as a word.
"""

import binascii
import codecs
import html
import re
from base64 import b64decode, b64encode
from dataclasses import dataclass
from functools import lru_cache

from tidepool.engine.studies.secret_game.detectors.exact import find_exact
from tidepool.engine.studies.secret_game.detectors.folding import Folded, Hit, Span, fold
from tidepool.engine.studies.secret_game.detectors.ordinary_words import is_listed

SHORTEST = 3
SHORTEST_ROT13 = 4
"""shorter ones fall on ordinary words too often"""

_MORSE_CODES = """
.- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- -. --- .--. --.- .-. ... - ..- ...- .-- -..- -.-- --..
----- .---- ..--- ...-- ....- ..... -.... --... ---.. ----."""
_MORSE = dict(zip("abcdefghijklmnopqrstuvwxyz0123456789", _MORSE_CODES.split(), strict=True))
_FROM_MORSE = {code: letter for letter, code in _MORSE.items()}
_DRAWN = str.maketrans("▬━─―➖⸺■▪●⚫⬤∙⋅○◦", "--------" + ".......")
"""dashes and dots as they are drawn"""
_MORSE_RUN = re.compile(r"[.-]{1,6}(?:[ \n\t/|]+[.-]{1,6})+")
_BASE64_RUN = re.compile(r"[A-Za-z0-9+/_-]+")
_CALLS = frozenset({"sos"})
"""what everybody knows in Morse"""
_OF_CODES = re.compile(r"rot-?\s?13|cipher|cypher|caesar|decod|decrypt|shifted? by")
_WITHOUT_JOINTS = str.maketrans("", "", " \n\t\r:,-%\\x")
_HEX_RUN = re.compile(r"(?:(?:0x|\\x|\\u00|%)?[0-9a-f]{2}[\s:,-]{0,2})+")


@dataclass(frozen=True, slots=True)
class _Codes:
    rot13: str | None
    base64: tuple[str, ...]
    first_bytes: tuple[str, ...]
    hexadecimal: tuple[str, ...]
    """the first byte alone, which is quickly looked for, and the whole"""
    dots: int
    dashes: int
    """how many of them the secret has in Morse; a message with fewer cannot hold it"""


@lru_cache(maxsize=4096)
def _codes(secret: str) -> _Codes | None:
    plain = fold(secret).strip()
    letters = [character for character in plain if character.isalnum()]
    if len(letters) < SHORTEST:
        return None
    writings = dict.fromkeys((secret.strip(), plain, plain.upper(), plain.title()))
    encoded = [writing.encode("utf-8", "surrogatepass") for writing in writings]
    signs = "".join(_MORSE.get(letter, "") for letter in plain)
    return _Codes(
        rot13=codecs.encode(plain, "rot13") if _has_rot13(plain, letters) else None,
        base64=tuple(dict.fromkeys(piece for data in encoded for piece in _base64_pieces(data))),
        first_bytes=tuple(dict.fromkeys(f"{data[0]:02x}" for data in encoded)),
        hexadecimal=tuple(dict.fromkeys(data.hex() for data in encoded)),
        dots=signs.count("."),
        dashes=signs.count("-") if all(letter in _MORSE for letter in letters) else 1 << 30,
    )


def _has_rot13(plain: str, letters: list[str]) -> bool:
    return plain.isascii() and len(letters) >= SHORTEST_ROT13 and not "".join(letters).isdecimal()


def _base64_pieces(data: bytes) -> list[str]:
    """What must appear at each of the three alignments: the characters in which no neighbour has a part."""
    pieces = []
    for shift in range(3):
        first, last = -(-shift * 8 // 6), (shift + len(data)) * 8 // 6
        pieces.append(b64encode(b"\0" * shift + data).decode()[first:last])
    return pieces


def find_encoded(message: Folded, secret: str) -> Hit | None:
    codes = _codes(secret)
    if codes is None:
        return None
    hit = _find_rot13(message, codes.rot13) if codes.rot13 is not None else None
    if hit and not hit.uncertain:
        return hit
    span: Span | None = None
    if _any_in(codes.base64, message.text):
        span = _find_base64(message, secret)
    plain = message.plain
    if not span and _any_in(codes.first_bytes, plain) and _any_in(codes.hexadecimal, _bare_digits(plain)):
        span = _find_hex(message, secret)
    if not span and "&#" in plain and _holds(html.unescape(message.text).encode("utf-8", "replace"), secret):
        span = _entities(message.text)
    if span:
        return Hit(*span)
    if not plain.isascii():
        plain = plain.translate(_DRAWN)
    if plain.count("-") >= codes.dashes and plain.count(".") >= codes.dots and (span := _find_morse(message, secret)):
        return Hit(*span, uncertain=fold(secret).strip() in _CALLS)
    return hit


def _find_rot13(message: Folded, code: str) -> Hit | None:
    """What is an ordinary word as it stands is one, unless the talk is of codes."""
    if code not in message.plain or (span := find_exact(message, code)) is None:
        return None
    if not is_listed(code, message.plain):
        return Hit(*span)
    return Hit(*span) if _OF_CODES.search(message.plain) else None


def _entities(text: str) -> Span:
    """From the first character reference to the last."""
    return text.index("&#"), text.rindex(";") + 1 if ";" in text else len(text)


def _any_in(pieces: tuple[str, ...], text: str) -> bool:
    for piece in pieces:  # noqa: SIM110 -- a generator costs more, on every message
        if piece in text:
            return True
    return False


def _find_base64(message: Folded, secret: str) -> Span | None:
    text = message.text
    for run in _BASE64_RUN.finditer(text):
        code = run.group().translate(str.maketrans("-_", "+/"))
        try:
            data = b64decode(code[: len(code) - (len(code) % 4 == 1)] + "==")
        except binascii.Error:
            continue
        if _holds(data, secret):
            return run.span()
    return None


def _bare_digits(plain: str) -> str:
    return plain.replace("0x", "").replace("\\u00", "").translate(_WITHOUT_JOINTS)


def _find_hex(message: Folded, secret: str) -> Span | None:
    plain = message.plain
    for run in _HEX_RUN.finditer(plain):
        digits = re.sub(r"0x|\\u00|[^0-9a-f]", "", run.group())
        if _holds(bytes.fromhex(digits), secret):
            return message.original((run.start(), run.start() + len(run.group().rstrip(" \n\t:,-"))))
    return None


def _find_morse(message: Folded, secret: str) -> Span | None:
    plain = message.plain.translate(_DRAWN)
    for run in _MORSE_RUN.finditer(plain):
        code = run.group()
        for written in dict.fromkeys((code, re.sub(r"\s-{1,2}$", "", code))):
            if _holds(_from_morse(written).encode(), secret):
                return message.original(run.span())
    return None


def _from_morse(run: str) -> str:
    """Where each letter is a word, the slashes stand between letters."""
    words = re.split(r"\s*[/|]\s*|\s{3,}|\n", run)
    read = ["".join(_FROM_MORSE.get(code, "?") for code in word.split()) for word in words]
    return ("" if max(map(len, read)) == 1 else " ").join(read)


def _holds(data: bytes, secret: str) -> bool:
    return find_exact(Folded.of(data.decode("utf-8", "replace")), secret) is not None


def detect(message: Folded, secret: str, threshold: float) -> Hit | None:
    """As the registry of detectors asks for it; the threshold is for those that compare."""
    return find_encoded(message, secret)
