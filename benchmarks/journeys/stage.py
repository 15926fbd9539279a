"""A place where a person sees the app and acts: lines that are shown, keys, and a mouse."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

PATIENCE = 90.0
"""seconds; a machine that does much else at the same time is no failure"""
LOOK_SECONDS = 0.05


class Missing(Exception):
    """What the stage is made of is not on this machine."""


class Lost(AssertionError):
    """What should have been seen was not; its words show the screen."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A place on the screen, counted from nought."""

    column: int
    line: int


class Stage(ABC):
    size: tuple[int, int]
    """columns and lines"""

    @abstractmethod
    def screen(self) -> list[str]:
        """The lines shown now."""

    @abstractmethod
    def press(self, *keys: str) -> None:
        """Keys by the names that the app gives them: `ctrl+r`, `f5`, `shift+tab`, `4`."""

    @abstractmethod
    def type(self, text: str) -> None:
        """Letters, one after another."""

    @abstractmethod
    def mouse(self, cell: Cell, clicks: int = 1) -> None:
        """The left button, pressed and released at a place."""

    @abstractmethod
    def wheel(self, cell: Cell, notches: int) -> None:
        """Turned at a place: down, or up by notches below zero."""

    @abstractmethod
    def look_closely(self) -> None:
        """Whatever else can be seen here than lines: nothing of it may be wrong."""

    @abstractmethod
    def ended(self) -> bool:
        """Whether the app is gone, and nothing more is to be seen of it."""

    @abstractmethod
    def close(self) -> None:
        """Leaves nothing behind."""

    def click(self, words: str, *, after: str = "", clicks: int = 1) -> None:
        """Waits for the words and clicks on their middle; `after` names words that stand before them, above or on their line."""
        places: list[Cell] = []

        def there() -> bool:
            places[:] = found(self.screen(), words, after)
            return bool(places)

        self.wait(there, f"{words!r}{f' after {after!r}' if after else ''} to click on")
        self.mouse(places[0], clicks)

    def until(self, *words: str) -> None:
        """Waits until all of the words stand on the screen."""
        self.wait(lambda: all(word in "\n".join(self.screen()) for word in words), " and ".join(map(repr, words)))

    def until_ended(self) -> None:
        self.wait(self.ended, "the end of the app")

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > deadline:
                raise Lost(f"No {what} in {PATIENCE:.0f} s. The screen shows:\n{framed(self.screen())}")
            time.sleep(LOOK_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def found(lines: list[str], words: str, after: str = "") -> list[Cell]:
    """Where the words stand, top to bottom; with `after`, only what comes later in reading than its first place."""
    start = (0, 0)
    if after:
        first = next(((line, text.find(after)) for line, text in enumerate(lines) if after in text), None)
        if first is None:
            return []
        start = (first[0], first[1] + len(after))
    return [
        Cell(column + len(words) // 2, line)
        for line, text in enumerate(lines)
        if line >= start[0] and (column := text.find(words, start[1] if line == start[0] else 0)) >= 0
    ]


def framed(lines: list[str]) -> str:
    return "\n".join(f"│{line.rstrip()}" for line in lines)
