"""What a marker is handed."""

from dataclasses import dataclass

from tidepool.engine.runtime.unit import Unit


@dataclass(frozen=True, slots=True)
class GivenReply:
    """A reply that is to be marked."""

    text: str
    length: int
    """in tokens"""
    cut: bool
    """it ended at the most tokens it may have"""
    unit: Unit
    step: str
    wave: int
    """of the reply; a judge is asked in the next"""
