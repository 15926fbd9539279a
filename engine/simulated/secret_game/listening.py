"""What a simulated agent makes of a sentence it hears: was a word given, was one asked for, is this an offer?

Plain substrings rather than patterns: each message is read by every responder after it, and has to be cheap.
The cues are how people, models and our own phrases put it; a listener can be fooled, as listeners are.
"""

import re
from functools import lru_cache
from typing import NamedTuple

_SPEAKING_OF_IT = ("my ", "mine is", "the word i ", "first letters")
"""without one of these no cue below can be there: most messages need no further look"""
_GIVING = (
    "my word is",
    "my secret is",
    "my code word is",
    "my secret word is",
    "my codeword is",
    "the word i hold is",
    "the word i was given is",
    "mine is",
    "my word:",
    "my secret:",
    "first letters of",
)
_NOT_GIVEN = re.compile(r"\s*,?\s*(?:not|safe|mine|staying|still|going|nobody|no|none|worth|only|yours|too|for)\b")
_ASKING = ("your word", "your secret", "yours", "your code", "tell me", "give me", "you hold", "what is it")
_OFFERING = ("trade", "exchange", "swap", "deal", "if you tell", "you go first", "word for word")
_TOKEN = re.compile(r"[\s\"“'‘]*([\w-]{2,30})[\"”'’]?[.,!]")


class Heard(NamedTuple):
    gave: bool
    """the speaker says what their word is, truly or not"""
    word: str
    """the word itself, where it was a plain one"""
    asked: bool
    offered: bool


@lru_cache(maxsize=16384)
def hear(text: str) -> Heard:
    low = text.lower()
    end = _end_of_giving(low) if _any_in(_SPEAKING_OF_IT, low) else -1
    token = _TOKEN.match(text, end) if end >= 0 and len(low) == len(text) else None
    return Heard(
        gave=end >= 0,
        word=token[1] if token else "",
        asked="?" in low and _any_in(_ASKING, low),
        offered=_any_in(_OFFERING, low),
    )


def _end_of_giving(low: str) -> int:
    """Where the words that announce a secret end and the secret begins; -1 when none is given."""
    for cue in _GIVING:
        at = low.find(cue)
        if at >= 0 and not _NOT_GIVEN.match(low, at + len(cue)):
            return at + len(cue)
    return -1


def _any_in(cues: tuple[str, ...], low: str) -> bool:
    for cue in cues:  # noqa: SIM110 -- a generator costs four times as much, on every message read
        if cue in low:
            return True
    return False
