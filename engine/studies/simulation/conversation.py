"""What was said: lines in order, and how they are joined for reading and export."""

from collections.abc import Iterable
from typing import NamedTuple


class SpokenLine(NamedTuple):
    speaker: str
    text: str
    thought: str | None = None
    """private: stored and exported, never shown to the others"""

    def told(self) -> str:
        """The line with its thought, as exported."""
        thought = f"*{self.thought}* " if self.thought else ""
        return f"{self.speaker}: {thought}{self.text}".rstrip()

    def heard(self) -> str:
        """The line as the others hear it."""
        return f"{self.speaker}: {self.text}".rstrip()


def joined(lines: Iterable[SpokenLine]) -> str:
    """A simulation's content: `Name: text`, with `*thought*` before the text, joined by blank lines."""
    return "\n\n".join(line.told() for line in lines)


def transcript(lines: Iterable[SpokenLine]) -> str:
    """The same without thoughts: what a listener in the room could write down."""
    return "\n\n".join(line.heard() for line in lines)
