"""A real browser: Chromium on the page of `tidepool web`, with its keys and its mouse.

What is shown is read from the page's own terminal, xterm.js: it is what its canvas draws.
"""

import math
import re
import shutil
import struct
import subprocess
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.journeys.stage import Cell, Lost, Missing, Stage

NAMES = {"up": "ArrowUp", "down": "ArrowDown", "left": "ArrowLeft", "right": "ArrowRight", "ctrl": "Control",
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
    parts = [NAMES.get(part, part.capitalize() if len(part) > 1 else part) for part in key.split("+")]
    return "+".join(parts)


def different_rows(png: bytes) -> int:
    """How many rows of a picture's pixels differ from the others: of an empty one, next to none."""
    place, packed, width, height = 8, b"", 0, 0
    while place < len(png):
        (length,) = struct.unpack(">I", png[place : place + 4])
        name, body = png[place + 4 : place + 8], png[place + 8 : place + 8 + length]
        if name == b"IHDR":
            width, height = struct.unpack(">II", body[:8])
        packed += body if name == b"IDAT" else b""
        place += length + 12
    pixels = zlib.decompress(packed)
    row = len(pixels) // height if width else 1
    return len({pixels[start : start + row] for start in range(0, len(pixels), row)})


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
        self._folder = folder
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
        rows = different_rows(self._page.screenshot())
        if rows < self.size[1]:
            raise Lost(f"The page is blank: {rows} rows of its pixels differ.")

    def ended(self) -> bool:
        return bool(self._page.evaluate("() => document.body.classList.contains('-closed')"))

    def close(self) -> None:
        if self._playing is not None:
            self._playing.stop()
        self._server.terminate()
        self._server.wait()
