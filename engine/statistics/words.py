"""How many words a text has, in scripts with and without spaces; of many texts at once where numpy can tell."""

import re
from collections.abc import Sequence

from tidepool.engine.statistics.grouped import Array

# Scripts written without spaces: there each character counts.
_WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]|[^\s\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+"
)
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_FIRST_ODD = 0x3000
"""from here on stand the scripts without spaces, and one more space"""
_SPACES = [place for place in range(128, _FIRST_ODD) if chr(place).isspace()]
_INSIDE = bytes(not chr(byte).isspace() for byte in range(128)) + bytes([1]) * 128
"""of each byte in UTF-8 whether it is within a word, were there no spaces but the first 128 characters'"""


def words_in(text: str) -> int:
    spaced = text.isascii() or not _UNSPACED.search(text)
    return len(text.split()) if spaced else len(_WORD.findall(text))


def words_in_each(texts: Sequence[bytes]) -> Array:
    """The same of many, in UTF-8: a word begins at each byte of one that follows a space."""
    import numpy

    sizes = numpy.fromiter(map(len, texts), dtype=int, count=len(texts)) + 1
    begins = numpy.cumsum(sizes) - sizes
    raw = b"\n".join([b"", *texts, b"", b""])  # so that there is something before each, and behind the last
    inside = numpy.frombuffer(raw.translate(_INSIDE), dtype=numpy.uint8)
    starts = (inside[1:] > inside[:-1]).view(numpy.uint8)
    found = numpy.add.reduceat(starts, begins, dtype=int) if texts else begins
    odd = numpy.unique(numpy.searchsorted(begins, _odd(numpy.frombuffer(raw, dtype=numpy.uint8)) - 1, "right")) - 1
    found[odd] = [words_in(texts[place].decode(errors="replace")) for place in odd.tolist()]
    return found


def _odd(raw: Array) -> Array:
    """Where characters stand that the bytes do not tell of: other spaces, and scripts without any."""
    import numpy

    at = numpy.flatnonzero(raw >= 0xC2)
    lead, second, third = (raw[at + offset].astype(int) for offset in range(3))
    short, long = (lead & 31) << 6 | second & 63, (lead & 15) << 12 | (second & 63) << 6 | third & 63
    character = numpy.where(lead < 0xE0, short, long)
    return at[(lead >= 0xF0) | (character >= _FIRST_ODD) | numpy.isin(character, _SPACES)]
