"""Words that must not raise a false alarm, from `words.toml` beside this file."""

import tomllib
from collections.abc import Collection
from functools import cache
from pathlib import Path

_ENDINGS = ("s", "es", "ed", "ing", "er", "ly", "y", "est")
_ENDINGS_AFTER_E = ("d", "r", "n", "st")
"""taken from take, but no latern from later"""


@cache
def _words(name: str) -> frozenset[str]:
    lists = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
    return frozenset(lists[name].split())


def is_ordinary(word: str, except_for: Collection[str] = ()) -> bool:
    """Whether it is an everyday word, or one with an ending. Forms of the words in `except_for` are not."""
    words = _words("ordinary")
    if word in words or len(word) < 4:
        return word not in except_for
    stems = [word.removesuffix(ending) for ending in _ENDINGS if word.endswith(ending)]
    stems += [word.removesuffix(ending) for ending in _ENDINGS_AFTER_E if word.endswith(f"e{ending}")]
    return any(stem in words and stem not in except_for for stem in stems)


def reads_either_way(word: str) -> bool:
    return word in _words("either_way")
