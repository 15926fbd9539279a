"""The app with somebody at its keys: python -m benchmarks.crashes.app_at_work FILE OUT.jsonl SEED

It presses keys at random until it is told to end (SIGTERM), and writes down what its list of batches shows, and when.
"""

import asyncio
import json
import signal
import sys
import time
from pathlib import Path
from random import Random

from tidepool.storage.file import prepare
from tidepool.tui.app.app import TidepoolApp
from tidepool.tui.app.screens.batches import BatchesScreen

KEYS = ("down", "down", "up", "up", "p", "s", "u", "enter", "1", "3", "4", "escape", "x", "tab")
LOOK = 0.3
ARRIVED = 4
"""looks after which a screen that was come back to has read the file anew"""


async def work(path: Path, out: Path, seed: str) -> None:
    prepare(path)
    app, ended, rng = TidepoolApp(path), asyncio.Event(), Random(seed)
    app.beside.start()
    app.counting.start()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    try:
        async with app.run_test(size=(120, 40)) as pilot:
            here = 0
            with out.open("w") as seen:
                while not ended.is_set():
                    _press(app, rng)
                    await asyncio.sleep(LOOK)
                    screen = app.screen
                    here = here + 1 if isinstance(screen, BatchesScreen) else 0
                    if isinstance(screen, BatchesScreen) and here > ARRIVED:
                        shown = {batch.id: batch.status for batch in screen.table._batches}
                        print(json.dumps([time.time(), shown]), file=seen, flush=True)
            await pilot.pause()  # the last keys are taken before the app goes
    finally:
        app.let_go()


def _press(app: TidepoolApp, rng: Random) -> None:
    """Dialogs are left or said yes to; most of the time is spent where the batches are listed."""
    if app.screen.is_modal:
        app.simulate_key(rng.choice(("escape", "enter")))
    elif not isinstance(app.screen, BatchesScreen):
        app.simulate_key("1")
    else:
        app.simulate_key(rng.choice(KEYS))


if __name__ == "__main__":
    asyncio.run(work(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]))
