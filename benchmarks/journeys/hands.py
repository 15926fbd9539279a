"""How a person steers the app: by keys alone, or by the mouse alone, which clicks into a field before it is typed into."""

import re
import time
from abc import ABC, abstractmethod

from benchmarks.journeys.stage import LOOK_SECONDS, PATIENCE, Cell, Lost, Stage, framed

KINDS = ("secret_game", "simulation", "evolution", "mutation")
"""as they stand beside each other in Compose"""
SETTLED_SECONDS = 0.7
"""so long one looks before one scrolls on"""
STILL_SECONDS = 0.4
"""so long a cursor stands before one trusts it"""
HAND_SECONDS = 0.3
"""from the mouse to the keys"""
SCROLLS = 8
"""then it is tried from the top again"""


class Hand(ABC):
    """The acts of a journey; each waits until it is seen to be done."""

    size: tuple[int, int]

    def __init__(self, stage: Stage) -> None:
        self.stage = stage

    @abstractmethod
    def go(self, place: str) -> None:
        """To one of the six screens: `4 Results`."""

    @abstractmethod
    def compose(self, kind: str, name: str) -> None: ...

    @abstractmethod
    def unfold(self, group: str) -> None: ...

    @abstractmethod
    def fill(self, label: str, value: str) -> None: ...

    @abstractmethod
    def run(self) -> None: ...

    @abstractmethod
    def panel(self, name: str) -> None:
        """One of the panels of the results, to the right of the one that is open."""

    @abstractmethod
    def scroll(self) -> None: ...

    @abstractmethod
    def top(self) -> None: ...

    @abstractmethod
    def export(self, target: str) -> None: ...

    @abstractmethod
    def leave(self) -> None: ...

    def written(self, label: str, value: str) -> None:
        def there() -> bool:
            return any(re.search(rf"{label} +▏{value} ", line) for line in self.stage.screen())

        self.stage.wait(there, f"{value} in {label}")

    def find(self, words: str) -> None:
        """Scrolls down until the words are seen: what is still worked out may come meanwhile."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            for _ in range(SCROLLS):
                if self._seen(words):
                    return
                self.scroll()
            self.top()
        raise Lost(f"No {words!r}, however far one scrolls. The screen shows:\n{framed(self.stage.screen())}")

    def _seen(self, words: str) -> bool:
        deadline = time.monotonic() + SETTLED_SECONDS
        while words not in "\n".join(self.stage.screen()):
            if time.monotonic() > deadline:
                return False
            time.sleep(LOOK_SECONDS)
        return True


class Keys(Hand):
    size = (80, 24)
    STEPS = 30
    """of the tab key, at most, to a field"""

    def go(self, place: str) -> None:
        self.stage.press(place[0])

    def compose(self, kind: str, name: str) -> None:
        self.stage.until("Study name", "f5 Question ✓")
        self.stage.press("shift+tab", *["right"] * KINDS.index(kind))
        self.stage.until(name)
        self.stage.press("f5")
        self.stage.until("▌ Study name")

    def unfold(self, group: str) -> None:
        self.stage.press("f3")
        self.stage.until(f"▾ {group}")

    def fill(self, label: str, value: str) -> None:
        for _ in range(self.STEPS):
            before = self._cursor()
            if any(f"▌ {label} " in line for line in before):
                break
            self.stage.press("tab")
            self._moved(before)
        self.stage.until(f"▌ {label} ")
        self.stage.press("ctrl+u")
        self.stage.type(value)
        self.written(label, value)

    def _moved(self, before: list[str]) -> None:
        """A screen that is just being drawn may have two cursors, or none: it counts once it stands still."""
        self.stage.wait(lambda: self._cursor() != before, f"other field than {before}")
        seen, since = self._cursor(), time.monotonic()
        while time.monotonic() - since < STILL_SECONDS:
            time.sleep(LOOK_SECONDS)
            if (now := self._cursor()) != seen:
                seen, since = now, time.monotonic()

    def _cursor(self) -> list[str]:
        """Where it stands; on the head of a group it is seen by colour alone."""
        return [line for line in self.stage.screen() if "▌" in line]

    def run(self) -> None:
        self.stage.press("ctrl+r")

    def panel(self, name: str) -> None:
        self.stage.press("tab")

    def scroll(self) -> None:
        self.stage.press("pagedown")

    def top(self) -> None:
        self.stage.press("home")

    def export(self, target: str) -> None:
        self.stage.press("e")
        self.stage.until("folder with results.json")
        self.stage.type(target)
        self.stage.until(target)
        self.stage.press("enter")

    def leave(self) -> None:
        self.stage.press("ctrl+q")


class Mouse(Hand):
    size = (160, 48)
    MIDDLE = Cell(60, 24)
    NOTCHES = 4

    def go(self, place: str) -> None:
        self.stage.click(place)

    def compose(self, kind: str, name: str) -> None:
        self.stage.until("Study name", "f5 Question ✓")
        self.stage.click(kind.replace("_", " ").capitalize(), after="kind ")
        self.stage.until(name)

    def unfold(self, group: str) -> None:
        self.stage.click(f"▸ {group}")
        self.stage.until(f"▾ {group}")

    def fill(self, label: str, value: str) -> None:
        self.stage.click("▏", after=f" {label} ")
        held = re.compile(rf" {label} +▏(\S+)")
        shown = next(found[1] for line in self.stage.screen() if (found := held.search(line)))
        self.stage.until(f"▌ {label}")
        self._replace(shown, value, after=f" {label} ")
        self.written(label, value)

    def _replace(self, held: str, text: str, after: str) -> None:
        self.stage.click(held, after=after, clicks=2)
        time.sleep(HAND_SECONDS)
        self.stage.type(text)

    def run(self) -> None:
        self.stage.click("^r Run")

    def panel(self, name: str) -> None:
        self.stage.click(name, after="Overview")

    def scroll(self) -> None:
        self.stage.wheel(self.MIDDLE, self.NOTCHES)

    def top(self) -> None:
        self.stage.wheel(self.MIDDLE, -self.NOTCHES * SCROLLS)

    def export(self, target: str) -> None:
        self.stage.click("e Export")
        self.stage.until("folder with results.json")
        (batch,) = re.findall(r" · ([0-9a-f]{12}) · ", "\n".join(self.stage.screen()))
        self._replace(batch, target, after="folder with results.json")
        self.stage.until(target)
        self.stage.click("Export", after=target)

    def leave(self) -> None:
        self.stage.click("^q Quit")


HANDS: dict[str, type[Hand]] = {"keys": Keys, "mouse": Mouse}
