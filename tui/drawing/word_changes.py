"""What became of a text, word by word."""

from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Literal

Change = tuple[Literal["kept", "gone", "new"], str]
MOST_WORDS = 1_500
"""of each text: longer ones take seconds to compare"""
MOST_PAIRS = 30_000
"""of equal words, one of each text: more of them is a text that repeats itself, which takes as long"""


def changes(before: str, after: str) -> Iterator[Change]:
    """Stretches of words in the order of the newer text; what is gone stands where it was."""
    old, new = before.split(), after.split()
    often = Counter(old)
    if max(len(old), len(new)) > MOST_WORDS or sum(often[word] for word in new) > MOST_PAIRS:
        yield "new", " ".join(new)
        return
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            yield "kept", " ".join(new[c:d])
            continue
        if b > a:
            yield "gone", " ".join(old[a:b])
        if d > c:
            yield "new", " ".join(new[c:d])
