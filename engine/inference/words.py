"""Counts the words of a text, in scripts with and without spaces."""

import re
from collections.abc import Sequence

from tidepool.engine.inference.grouped import Array, numpy

# Scripts written without spaces: there each character counts.
_WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]|[^\s\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+"
)
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")


def words_in(text: str) -> int:
    spaced = text.isascii() or not _UNSPACED.search(text)
    return len(text.split()) if spaced else len(_WORD.findall(text))


def words_in_each(texts: Sequence[bytes]) -> Array:
    """Returns `words_in` of many texts in UTF-8."""
    counts = (words_in(text.decode(errors="replace")) for text in texts)
    return numpy.fromiter(counts, dtype=int, count=len(texts))
