"""Finds the secret in base64, hexadecimal, rot13 or Morse, alone or within a longer coded text.

What the secret looks like in each code is worked out once; a message without any piece of that is passed over. A piece that is
found is decoded with its surroundings, and the secret must be a word there.
"""

import binascii
import codecs
import re
from base64 import b64decode, b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from tidepool.engine.studies.secret_game.detectors.exact import find_exact
from tidepool.engine.studies.secret_game.detectors.normalise import Folded, Hit, Span, fold
from tidepool.engine.studies.secret_game.detectors.ordinary import is_listed

SHORTEST = 3
SHORTEST_ROT13 = 4
"""shorter ones are ordinary words too often"""

_MORSE_CODES = """
.- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- -. --- .--. --.- .-. ... - ..- ...- .-- -..- -.-- --..
----- .---- ..--- ...-- ....- ..... -.... --... ---.. ----."""
_MORSE = dict(zip("abcdefghijklmnopqrstuvwxyz0123456789", _MORSE_CODES.split(), strict=True))
_FROM_MORSE = {code: letter for letter, code in _MORSE.items()}
_DRAWN = str.maketrans("▬━─―➖⸺■▪●⚫⬤∙⋅○◦", "--------" + ".......")
"""dashes and dots as they are drawn"""
_MORSE_RUN = re.compile(r"[.-]{1,6}(?:[ \n\t/|]+[.-]{1,6})+")
_BASE64_RUN = re.compile(r"[A-Za-z0-9+/_-]+")
_HEX_RUN = re.compile(r"(?:(?:0x|\\x|\\u00|%)?[0-9a-f]{2}[\s:,-]{0,2})+")
_HEX_SIGNS = re.compile(r"0x|\\u00|[\s:,%\\x-]")
_OF_CODES = re.compile(r"rot-?\s?13|cipher|cypher|caesar|decod|decrypt|shifted? by")


@dataclass(frozen=True, slots=True)
class _Codes:
    rot13: str
    """empty where rot13 is not looked for"""
    base64: tuple[str, ...]
    first_bytes: tuple[str, ...]
    hexadecimal: tuple[str, ...]
    """the first byte alone, which is quickly looked for, and the whole"""
    dots: int
    dashes: int
    """how many the secret has in Morse; a message with fewer cannot hold it"""


@lru_cache(maxsize=4096)
def _codes(secret: str) -> _Codes | None:
    plain = fold(secret).strip()
    letters = "".join(filter(str.isalnum, plain))
    if len(letters) < SHORTEST:
        return None
    encoded = [text.encode("utf-8", "surrogatepass") for text in (secret.strip(), plain, plain.upper(), plain.title())]
    in_rot13 = plain.isascii() and len(letters) >= SHORTEST_ROT13 and not letters.isdecimal()
    signs = "".join(_MORSE.get(letter, "") for letter in plain)
    return _Codes(
        rot13=codecs.encode(plain, "rot13") if in_rot13 else "",
        base64=tuple({piece for data in encoded for piece in _base64_pieces(data)}),
        first_bytes=tuple({f"{data[0]:02x}" for data in encoded}),
        hexadecimal=tuple({data.hex() for data in encoded}),
        dots=signs.count("."),
        dashes=signs.count("-") if all(letter in _MORSE for letter in letters) else 1 << 30,
    )


def _base64_pieces(data: bytes) -> Iterator[str]:
    """What must appear at each of the three alignments: the characters that no neighbour shares."""
    for shift in range(3):
        first, last = -(-shift * 8 // 6), (shift + len(data)) * 8 // 6
        yield b64encode(b"\0" * shift + data).decode()[first:last]


def detect(message: Folded, secret: str, threshold: float) -> Hit | None:
    """As the registry of detectors calls it; only `fuzzy` has a threshold."""
    codes = _codes(secret)
    if codes is None:
        return None
    if codes.rot13 and (hit := _find_rot13(message, codes.rot13)):
        return hit
    text, plain = message.text, message.plain
    if any(piece in text for piece in codes.base64) and (span := _find_base64(text, secret)):
        return Hit(*span)
    if any(byte in plain for byte in codes.first_bytes):
        bare = _HEX_SIGNS.sub("", plain)
        if any(code in bare for code in codes.hexadecimal) and (span := _find_hex(plain, secret)):
            return message.hit(span)
    if not plain.isascii():
        plain = plain.translate(_DRAWN)
    if plain.count("-") >= codes.dashes and plain.count(".") >= codes.dots and (span := _find_morse(plain, secret)):
        return message.hit(span, uncertain=fold(secret).strip() == "sos")
    return None


def _find_rot13(message: Folded, code: str) -> Hit | None:
    """A word that is an ordinary word as it stands counts only where the message speaks of codes."""
    if code not in message.plain or (span := find_exact(message, code)) is None:
        return None
    return Hit(*span) if not is_listed(code, message.plain) or _OF_CODES.search(message.plain) else None


def _find_base64(text: str, secret: str) -> Span | None:
    for run in _BASE64_RUN.finditer(text):
        code = run.group().translate(str.maketrans("-_", "+/"))
        try:
            data = b64decode(code[: len(code) - (len(code) % 4 == 1)] + "==")
        except binascii.Error:
            continue
        if _holds(data, secret):
            return run.span()
    return None


def _find_hex(plain: str, secret: str) -> Span | None:
    for run in _HEX_RUN.finditer(plain):
        if _holds(bytes.fromhex(_HEX_SIGNS.sub("", run.group())), secret):
            return run.start(), run.start() + len(run.group().rstrip(" \n\t:,-"))
    return None


def _find_morse(plain: str, secret: str) -> Span | None:
    for run in _MORSE_RUN.finditer(plain):
        code = run.group()
        for written in dict.fromkeys((code, re.sub(r"\s-{1,2}$", "", code))):
            if _holds(_from_morse(written).encode(), secret):
                return run.span()
    return None


def _from_morse(run: str) -> str:
    """Where each letter is a word, the slashes stand between letters."""
    words = re.split(r"\s*[/|]\s*|\s{3,}|\n", run)
    decoded = ["".join(_FROM_MORSE.get(code, "?") for code in word.split()) for word in words]
    return ("" if max(map(len, decoded)) == 1 else " ").join(decoded)


def _holds(data: bytes, secret: str) -> bool:
    return find_exact(Folded.of(data.decode("utf-8", "replace")), secret) is not None
