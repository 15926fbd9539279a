"""What a simulated voice says, and what it meant by it."""

from typing import NamedTuple


class Spoken(NamedTuple):
    text: str
    truth: str | None = None
    """what was planted, kept out of band: no story reads it"""
