"""Finds the secret in base64, hexadecimal, rot13 or Morse, alone or within a longer coded text.

Decodes each run of characters that may contain the secret, and searches the result for it as a word.
"""

import binascii
import codecs
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable
from functools import lru_cache

from tidepool.engine.studies.secret_game.detectors.exact import find_exact
from tidepool.engine.studies.secret_game.detectors.normalise import Folded, Hit, fold
from tidepool.engine.studies.secret_game.detectors.ordinary import is_real

SHORTEST = 3
SHORTEST_ROT13 = 4
"""shorter secrets match ordinary words too often"""

_MORSE_CODES = """
.- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- -. --- .--. --.- .-. ... - ..- ...- .-- -..- -.-- --..
----- .---- ..--- ...-- ....- ..... -.... --... ---.. ----."""
_FROM_MORSE = dict(zip(_MORSE_CODES.split(), "abcdefghijklmnopqrstuvwxyz0123456789", strict=True))
_MORSE_RUN = re.compile(r"[.-]{1,6}(?:[ \n\t/|]+[.-]{1,6})+")
_BASE64_RUN = re.compile(r"[A-Za-z0-9+/_-]{4,}")
_HEX_RUN = re.compile(r"(?:(?:0x|\\x|\\u00|%)?[0-9a-f]{2}[\s:,-]{0,2}){3,}")
_HEX_SIGN = "(?:0?x|u00)?"
_HEX_SIGNS = re.compile(r"0x|\\u00|[\s:,%\\x-]")
_OF_CODES = re.compile(r"rot-?\s?13|cipher|caesar|decod|shifted? by")


def detect(message: Folded, secret: str, threshold: float) -> Hit | None:
    """The interface of the registry of detectors; only `fuzzy` uses the threshold."""
    plain = fold(secret).strip()
    letters = "".join(filter(str.isalnum, plain))
    if len(letters) < SHORTEST:
        return None
    code = codecs.encode(plain, "rot13") if plain.isascii() and len(letters) >= SHORTEST_ROT13 else plain
    # A code that is also an ordinary word counts only if the message mentions codes.
    counts = code != plain and (not is_real(code) or _OF_CODES.search(message.plain))
    if counts and (span := find_exact(message, code)):
        return Hit(*span)
    hit = None
    if any(piece in message.text for piece in _base64_pieces(secret.strip())):
        exactly = Folded(message.text, message.text)
        hit = _decoded(exactly, secret, _BASE64_RUN.finditer(message.text), _from_base64)
    if hit is None and _hex_start(secret.strip()[:SHORTEST]).search(message.joined):
        runs = _HEX_RUN.finditer(message.plain)
        hit = _decoded(message, secret, runs, lambda run: bytes.fromhex(_HEX_SIGNS.sub("", run)))
    if hit is None and message.plain.count(".") + message.plain.count("-") >= len(letters):
        hit = _decoded(message, secret, _MORSE_RUN.finditer(message.plain), _from_morse)
    return hit


@lru_cache(maxsize=4096)
def _hex_start(start: str) -> re.Pattern[str]:
    """Finds the codes of these characters, in either case, in a text without signs, much faster than `_HEX_RUN` does."""
    forms = ({fold(one), one.lower(), one.upper()} for one in start)
    codes = (
        "|".join(sorted(_HEX_SIGN.join(f"{byte:02x}" for byte in one.encode("utf-8", "surrogatepass")) for one in form))
        for form in forms
    )
    return re.compile(_HEX_SIGN.join(f"(?:{code})" for code in codes))


def _decoded(message: Folded, secret: str, runs: Iterable[re.Match[str]], decode: Callable[[str], bytes]) -> Hit | None:
    for run in runs:
        if find_exact(Folded.of(decode(run.group()).decode("utf-8", "replace")), secret):
            return Hit(*message.original((run.start(), run.start() + len(run.group().rstrip(" \n\t:,")))))
    return None


@lru_cache(maxsize=4096)
def _base64_pieces(secret: str) -> frozenset[str]:
    """The parts that must appear at each of the three alignments: the characters that do not depend on their neighbours."""
    pieces = set()
    for text in (secret, secret.lower(), secret.upper(), secret.title()):
        data = text.encode("utf-8", "surrogatepass")
        for shift in range(3):
            first, last = -(-shift * 8 // 6), (shift + len(data)) * 8 // 6
            pieces.add(b64encode(b"\0" * shift + data).decode()[first:last])
    return frozenset(pieces)


def _from_base64(run: str) -> bytes:
    code = run.translate(str.maketrans("-_", "+/"))
    try:
        return b64decode(code[: len(code) - (len(code) % 4 == 1)] + "==")
    except binascii.Error:
        return b""


def _from_morse(run: str) -> bytes:
    """If each letter is a word of its own, slashes separate letters."""
    words = re.split(r"\s*[/|]\s*|\s{3,}|\n", run)
    decoded = ["".join(_FROM_MORSE.get(code, "?") for code in word.split()) for word in words]
    return ("" if max(map(len, decoded)) == 1 else " ").join(decoded).encode()
