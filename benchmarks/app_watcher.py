"""The app on a running batch, with a clock in its loop and a hand on its keys:

python -m benchmarks.app_watcher FILE TIMES.json watch|results

Every lag of the loop is noted while the batch runs, and the time from a key to the picture that it makes; the app leaves by
itself when the batch has ended.
"""

import asyncio
import json
import sys
import time
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from textual.events import Key
from textual.screen import Screen

import tidepool.tui.app.app
from tidepool.storage.file import prepare
from tidepool.tui.app.app import TidepoolApp, run_alone
from tidepool.tui.app.screens.base import BatchActions

TICK = 0.005
SETTLED = 1.0
"""seconds for the app to open before its lags count"""
BETWEEN_KEYS = 0.11
KEYS = {"watch": ("down", "down", "up", "pagedown"), "results": ("tab", "down", "down", "up")}


class Watcher(TidepoolApp):
    CSS_PATH = str(Path(tidepool.tui.app.app.__file__).with_name("app.tcss"))

    def __init__(self, path: Path, out: Path, place: str) -> None:
        super().__init__(path)
        self._out, self._place = out, place
        self._lags: list[float] = []
        self._keys: list[float] = []
        self._followed: list[float] = []
        """until the next key may take effect"""
        self._acted = asyncio.Event()
        self._written: float | None = None
        """when the first picture after a key was"""

    def on_mount(self) -> None:
        super().on_mount()
        self.run_worker(self._mind(), group="mind")

    async def _mind(self) -> None:
        while True:
            if await self.current_batch() is not None:
                break
            await asyncio.sleep(0.02)
        await self.switch_mode(self._place)
        await asyncio.sleep(SETTLED)
        keys, pressed = cycle(KEYS[self._place]), time.perf_counter()
        while not self._is_over():
            began = time.perf_counter()
            await asyncio.sleep(TICK)
            self._lags.append(max(0.0, time.perf_counter() - began - TICK))
            if time.perf_counter() > pressed + BETWEEN_KEYS:
                pressed = time.perf_counter()
                self._keys.append(await self._pictured(next(keys)))
        times = {"lags": self._lags, "keys": self._keys, "followed": self._followed}
        self._out.write_text(json.dumps({name: found or [0.0] for name, found in times.items()}))
        self.exit()

    async def _pictured(self, key: str) -> float:
        """Seconds from a key until the picture that it makes is written to the terminal: the first one after its action has run.
        Where nothing is to be drawn, until that is known."""
        began = time.perf_counter()
        self._acted.clear()
        self.post_message(Key(key, None))
        await self._acted.wait()
        await _turn(self.screen.call_after_refresh)
        pictured = (self._written or time.perf_counter()) - began
        await self._typed.join()
        self._followed.append(time.perf_counter() - began)
        return pictured

    async def run_action(self, *arguments: Any) -> bool:
        try:
            return await super().run_action(*arguments)
        finally:
            self._written = None
            self._acted.set()

    def _display(self, screen: "Screen[object]", renderable: RenderableType | None) -> None:
        super()._display(screen, renderable)
        if renderable is not None:
            self._written = self._written or time.perf_counter()

    def _is_over(self) -> bool:
        batch = self.screen.shown_batch if isinstance(self.screen, BatchActions) else None
        return batch is not None and not batch.running and batch.status != "pending"


async def _turn(call: Callable[[Callable[[], None]], object]) -> None:
    over = asyncio.Event()
    call(over.set)
    await over.wait()


def main(path: Path, out: Path, place: str) -> None:
    prepare(path)
    run_alone(Watcher(path, out, place))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
