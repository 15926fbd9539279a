"""The app's end of the examination, which runs in a process of its own: one at a time, and one that takes long is given
up for a newer text."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

from tui.composing.examining import Complaint, Examined
from tui.launching import environment

PATIENCE_SECONDS = 1.0
"""how long a newer text waits for an older one"""


class Examiner:
    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._turn = asyncio.Lock()
        self._closed = False

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
                self._give_up()

    def _ask(self, line: str) -> Examined:
        process = self._process
        if process is None or process.poll() is not None:
            process = self._start()
        assert process.stdin and process.stdout
        try:
            process.stdin.write(line + "\n")
            process.stdin.flush()
            if said := process.stdout.readline():
                return Examined.from_json(json.loads(said))
        except (OSError, ValueError):
            pass
        self._end()
        return Examined(
            (Complaint((), "The plan could not be worked out: its process ended. Change something to retry."),)
        )

    def _start(self) -> "subprocess.Popen[str]":
        self._end()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "tui.composing.examining"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            env=environment(),
        )
        return self._process

    def _give_up(self) -> None:
        if self._process is not None:
            self._process.kill()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()

    def close(self) -> None:
        self._give_up()
        if not self._turn.locked():
            self._end()
