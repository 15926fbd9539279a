"""Texts to unit vectors.

The built-in encoder hashes words and pairs of neighbouring words into a fixed number of cells with a sign. It
is *lexical*: it sees which words are used, not what they mean, so "car" and "automobile" have nothing in
common. It needs no model, no download and no training, is the same on every machine, and costs well under 0.2
ms a query.

Model encoders (Ollama, OpenAI) are asked with one `embed` call for many texts, whose reply is read here.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from tidepool.engine.call import unpacked_vectors

Vectors = NDArray[np.float32]

HASHING_DIMENSIONS = 256
_WORD = re.compile(r"[^\W_]+")
_PAIR_WEIGHT = 0.5


class HashingEncoder:
    def __init__(self, dimensions: int = HASHING_DIMENSIONS) -> None:
        self.dimensions = dimensions

    def encode(self, texts: Sequence[str]) -> Vectors:
        """One unit vector a text; a text without a word is the zero vector."""
        cells: list[int] = []
        weights: list[float] = []
        for row, text in enumerate(texts):
            offset = row * self.dimensions
            for feature, weight in _features(text).items():
                code = _code(feature)
                cells.append(offset + (code >> 1) % self.dimensions)
                weights.append(weight if code & 1 else -weight)
        size = len(texts) * self.dimensions
        flat = np.bincount(np.array(cells, dtype=np.intp), weights=np.array(weights), minlength=size)
        return unit_length(flat.reshape(len(texts), self.dimensions).astype(np.float64))


def _features(text: str) -> dict[str, float]:
    """Words weigh by the root of how often they occur, so that repeating a word pays little."""
    words = _WORD.findall(text.lower())
    counts: dict[str, float] = {}
    for word in words:
        counts[word] = counts.get(word, 0.0) + 1.0
    features = {word: count**0.5 for word, count in counts.items()}
    for left, right in pairwise(words):
        features[f"{left} {right}"] = _PAIR_WEIGHT
    return features


@lru_cache(maxsize=65536)
def _code(feature: str) -> int:
    return crc32(feature.encode("utf-8", "surrogatepass"))


def unit_length(vectors: NDArray[np.floating]) -> Vectors:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(norms > 0, norms, 1.0), dtype=np.float32)


def read_vectors(reply: str, count: int) -> Vectors | None:
    """The unit vectors in a model encoder's reply, one a text asked; None when they are not there."""
    vectors = unpacked_vectors(reply)
    if vectors is None or len(vectors) != count or not np.isfinite(vectors).all():
        return None
    return unit_length(vectors)
