"""Embedding vectors as the text of a reply, and back: unit vectors in half precision, in base64.

Replies are kept in the study's file. As decimal numbers a vector takes four times the room, and thousands of
environment steps with a model encoder would fill hundreds of megabytes. What half precision takes away is less than
what the models themselves vary by.
"""

import base64
import binascii
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

HEAD = "float16"


def packed_vectors(vectors: "Sequence[Sequence[float]]") -> str:
    """Rows that are no vectors of one length give an empty text, which nobody reads as vectors."""
    import numpy as np

    try:
        rows = np.asarray(vectors, dtype=np.float64)
    except (ValueError, TypeError):
        return ""
    if rows.ndim != 2:
        return ""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    halves = (rows / np.where(norms > 0, norms, 1.0)).astype("<f2")
    return f"{HEAD} {halves.shape[1]} {base64.b64encode(halves.tobytes()).decode()}"


def unpacked_vectors(text: str) -> "NDArray[np.float64] | None":
    """The vectors, or None where the text does not hold any."""
    import numpy as np

    head, _, rest = text.partition(" ")
    size, _, content = rest.partition(" ")
    if head != HEAD or not size.isdecimal() or int(size) == 0:
        return None
    try:
        halves = np.frombuffer(base64.b64decode(content, validate=True), dtype="<f2")
        return halves.reshape(-1, int(size)).astype(np.float64)
    except (binascii.Error, ValueError):
        return None
