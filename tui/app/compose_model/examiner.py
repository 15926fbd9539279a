"""The app's end of the examination, which runs in a process of its own: one at a time, and one that takes long is given
up for a newer text."""

import asyncio
import json
from pathlib import Path

from tidepool.tui.app.compose_model.examining import Complaint, Examined
from tidepool.tui.app.worker_process.line_process import LineProcess

PATIENCE_SECONDS = 1.0
"""how long a newer text waits for an older one"""


class Examiner:
    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self.process = LineProcess("tidepool.tui.app.compose_model.examining")

    async def examine(self, text: str, folder: Path, database: Path) -> Examined:
        await self._take_turn()
        line = json.dumps({"text": text, "folder": str(folder), "database": str(database)})
        job = asyncio.ensure_future(asyncio.to_thread(self._ask, line))
        job.add_done_callback(lambda _: self._turn.release())
        return await asyncio.shield(job)

    async def _take_turn(self) -> None:
        while True:
            try:
                await asyncio.wait_for(self._turn.acquire(), PATIENCE_SECONDS)
                return
            except TimeoutError:
                self.process.kill()

    def _ask(self, line: str) -> Examined:
        if (said := self.process.answer(line)) is not None:
            return Examined.from_json(json.loads(said))
        return Examined(
            (Complaint((), "The plan could not be worked out: its process ended. Change something to retry."),)
        )

    def close(self) -> None:
        self.process.kill()
        if not self._turn.locked():
            self.process.end()
