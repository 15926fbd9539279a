"""The app on a running batch, with a clock in its loop: python -m benchmarks.app_watcher FILE LAGS.json

Every lag of the loop is noted while the batch runs; the app leaves by itself when the batch has ended.
"""

import asyncio
import json
import sys
import time
from pathlib import Path

import tidepool.tui.app.app
from tidepool.storage.file import prepare
from tidepool.tui.app.app import TidepoolApp
from tidepool.tui.app.screens.watch import WatchScreen

TICK = 0.005
SETTLED = 1.0
"""seconds for the app to open before its lags count"""


class Watcher(TidepoolApp):
    CSS_PATH = str(Path(tidepool.tui.app.app.__file__).with_name("app.tcss"))

    def __init__(self, path: Path, out: Path) -> None:
        super().__init__(path)
        self._out = out
        self._lags: list[float] = []

    def on_mount(self) -> None:
        super().on_mount()
        self.run_worker(self._mind(), group="mind")

    async def _mind(self) -> None:
        while True:
            if await self.current_batch() is not None:
                break
            await asyncio.sleep(0.02)
        await self.switch_mode("watch")
        await asyncio.sleep(SETTLED)
        while not self._is_over():
            began = time.perf_counter()
            await asyncio.sleep(TICK)
            self._lags.append(max(0.0, time.perf_counter() - began - TICK))
        self._out.write_text(json.dumps(self._lags or [0.0]))
        self.exit()

    def _is_over(self) -> bool:
        batch = self.screen.shown_batch if isinstance(self.screen, WatchScreen) else None
        return batch is not None and not batch.running and batch.status != "pending"


def main(path: Path, out: Path) -> None:
    prepare(path)
    app = Watcher(path, out)
    app.alone = True
    app.beside.start()
    app.counting.start()
    try:
        app.run()
    finally:
        app.let_go()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
