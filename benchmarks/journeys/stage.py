"""Where a person sees the app: lines on a screen, keys and a mouse, in tmux or in Chromium."""

import math
import os
import re
import shutil
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

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


TMUX_NAMES = {
    "enter": "Enter", "tab": "Tab", "shift+tab": "BTab", "escape": "Escape", "space": "Space", "backspace": "BSpace",
    "up": "Up", "down": "Down", "left": "Left", "right": "Right", "home": "Home", "end": "End",
    "pageup": "PPage", "pagedown": "NPage",
}  # fmt: skip


def tmux_name(key: str) -> str:
    if key in TMUX_NAMES:
        return TMUX_NAMES[key]
    if key.startswith("ctrl+"):
        return f"C-{key.removeprefix('ctrl+')}"
    return key.upper() if key[0] == "f" and key[1:].isdigit() else key


class TerminalStage(Stage):
    def __init__(
        self, command: Sequence[str], folder: Path, environment: Mapping[str, str], size: tuple[int, int]
    ) -> None:
        if shutil.which("tmux") is None:
            raise Missing("tmux is not installed")
        self.size = size
        self._socket = folder / "tmux"
        outside = {name: value for name, value in environment.items() if name != "TMUX"}
        settings = folder / "tmux.conf"
        settings.write_text('set -g status off\nset -g default-terminal "tmux-256color"\n', encoding="utf-8")
        columns, lines = map(str, size)
        where = ["new-session", "-d", "-x", columns, "-y", lines, "-c", str(folder)]
        self._tmux("-f", str(settings), *where, *command, environment={**outside, "COLORTERM": "truecolor"})

    def _tmux(self, *words: str, environment: Mapping[str, str] | None = None) -> str:
        done = subprocess.run(
            ["tmux", "-S", str(self._socket), *words],
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            env={**(environment or os.environ), "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"},
        )
        return done.stdout

    def screen(self) -> list[str]:
        return self._tmux("capture-pane", "-p").split("\n")[: self.size[1]]

    def press(self, *keys: str) -> None:
        for key in keys:
            self._tmux("send-keys", tmux_name(key))

    def type(self, text: str) -> None:
        self._tmux("send-keys", "-l", text)

    def mouse(self, cell: Cell, clicks: int = 1) -> None:
        place = f"{cell.column + 1};{cell.line + 1}"
        self._tmux("send-keys", "-l", f"\x1b[<35;{place}M")  # it moves there
        for _ in range(clicks):
            self._tmux("send-keys", "-l", f"\x1b[<0;{place}M\x1b[<0;{place}m")

    def wheel(self, cell: Cell, notches: int) -> None:
        button = 65 if notches > 0 else 64
        self._tmux("send-keys", "-l", f"\x1b[<{button};{cell.column + 1};{cell.line + 1}M" * abs(notches))

    def look_closely(self) -> None:
        if "\x1b[38;2;" not in self._tmux("capture-pane", "-e", "-p"):
            raise Lost("The terminal shows no colours.")

    def ended(self) -> bool:
        return not self._tmux("list-sessions")

    def close(self) -> None:
        self._tmux("kill-server")


BROWSER_NAMES = {"up": "ArrowUp", "down": "ArrowDown", "left": "ArrowLeft", "right": "ArrowRight", "ctrl": "Control",
         "pageup": "PageUp", "pagedown": "PageDown"}  # fmt: skip
LINK = re.compile(r"serving (http://127\.0\.0\.1:\d+/\?token=\S+) on ")

KEEP_TERMINAL = """
Object.defineProperty(Object.prototype, "fitAddon", {
  configurable: true,
  set(value) {
    delete Object.prototype.fitAddon;
    this.fitAddon = value;
    window.shown = this.terminal;
  },
});
"""
"""the page keeps its terminal to itself: we take it by the hand when it is made"""
LINES = """() => {
  const buffer = window.shown.buffer.active;
  return Array.from({length: window.shown.rows}, (_, line) => buffer.getLine(line)?.translateToString() ?? "");
}"""
CELL = """() => {
  const cell = window.shown._core._renderService.dimensions.css.cell;
  const box = document.querySelector(".xterm-screen").getBoundingClientRect();
  return {width: cell.width, height: cell.height, x: box.x, y: box.y};
}"""


def chromium() -> str | None:
    return next((path for name in ("chromium", "chromium-browser") if (path := shutil.which(name))), None)


def browser_name(key: str) -> str:
    parts = [BROWSER_NAMES.get(part, part.capitalize() if len(part) > 1 else part) for part in key.split("+")]
    return "+".join(parts)


class BrowserStage(Stage):
    def __init__(
        self, command: Sequence[str], folder: Path, environment: Mapping[str, str], size: tuple[int, int]
    ) -> None:
        try:
            from playwright.sync_api import sync_playwright
        except ImportError:
            raise Missing("playwright is not installed") from None
        if (found := chromium()) is None:
            raise Missing("chromium is not installed")
        self.size = size
        self.faults: list[str] = []
        self._server = subprocess.Popen(
            [*command, "web", "--port", "0"], stderr=subprocess.PIPE, text=True, env=environment, cwd=folder
        )
        self._playing: Any = None
        try:
            link = self._link()
            self._playing = sync_playwright().start()
            browser = self._playing.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
            self._page = browser.new_page(viewport={"width": 1200, "height": 800})
            self._open(link)
        except BaseException:
            self.close()
            raise

    def _link(self) -> str:
        assert self._server.stderr is not None
        said = self._server.stderr.readline()
        link = LINK.search(said)
        if link is None:
            self._server.kill()
            raise Lost(f"`tidepool web` does not serve: {said}{self._server.stderr.read()}")
        return link[1]

    def _open(self, link: str) -> None:
        page = self._page
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.route(lambda address: not address.startswith("http://127.0.0.1:"), lambda route: route.abort())
        page.add_init_script(KEEP_TERMINAL)
        page.goto(link)
        page.wait_for_selector(".xterm-screen")
        self.wait(lambda: bool(page.evaluate("() => document.body.classList.contains('-first-byte')")), "first picture")
        self._fit()

    def _fit(self) -> None:
        """A window in which the terminal has just the size that is wanted."""
        columns, lines = self.size
        seen = self._page.evaluate(CELL)
        width, height = math.ceil(columns * seen["width"]), math.ceil(lines * seen["height"])
        self._page.set_viewport_size({"width": width, "height": height})
        self.wait(
            lambda: self._page.evaluate("() => [window.shown.cols, window.shown.rows]") == [columns, lines], "fit"
        )

    def screen(self) -> list[str]:
        return [str(line) for line in self._page.evaluate(LINES)]

    def press(self, *keys: str) -> None:
        for key in keys:
            self._page.keyboard.press(browser_name(key))

    def type(self, text: str) -> None:
        self._page.keyboard.type(text)

    def mouse(self, cell: Cell, clicks: int = 1) -> None:
        self._page.mouse.click(*self._pixel(cell), click_count=clicks)

    def wheel(self, cell: Cell, notches: int) -> None:
        self._page.mouse.move(*self._pixel(cell))
        for _ in range(abs(notches)):
            self._page.mouse.wheel(0, 120 if notches > 0 else -120)

    def _pixel(self, cell: Cell) -> tuple[float, float]:
        seen = self._page.evaluate(CELL)
        return seen["x"] + (cell.column + 0.5) * seen["width"], seen["y"] + (cell.line + 0.5) * seen["height"]

    def look_closely(self) -> None:
        if self.faults:
            raise Lost(f"The page has faults: {self.faults}")

    def ended(self) -> bool:
        return bool(self._page.evaluate("() => document.body.classList.contains('-closed')"))

    def close(self) -> None:
        if self._playing is not None:
            self._playing.stop()
        self._server.terminate()
        self._server.wait()
