"""A program in a terminal of its own: what it draws is read all the time, as a real terminal does."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

SIZE = (120, 36)
_STEERING = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[\]P].*?(?:\x07|\x1b\\)|\x1b.", re.S)


class Terminal:
    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        size: tuple[int, int] = SIZE,
        folder: Path | None = None,
    ) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self._drawn = bytearray()
        self._began = time.perf_counter()
        self._process = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            cwd=folder,
            env={**environment, "TERM": "xterm-256color", "COLORTERM": "truecolor"},
        )
        os.close(slave)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        try:
            while drawn := os.read(self._master, 65_536):
                self._drawn += drawn
                del self._drawn[:-1_000_000]
        except OSError:
            pass  # the program has left its terminal

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def drawn(self) -> str:
        return self._drawn.decode("utf-8", "replace")

    def shown(self) -> str:
        """All words that were drawn so far."""
        return _STEERING.sub("", self.drawn)

    def until(self, words: str, seconds: float) -> float:
        """Waits so many seconds at most; returns the seconds from the start until the words are drawn."""
        deadline = time.perf_counter() + seconds
        while words not in self.shown():
            if time.perf_counter() > deadline or self._process.poll() is not None:
                raise TimeoutError(f"{words!r} was never drawn, but:\n{self.shown()[-2_000:]}")
            time.sleep(0.01)
        return time.perf_counter() - self._began

    def press(self, keys: str) -> None:
        """Keys as a terminal sends them; what was drawn before is forgotten, so that `until` waits for what they do."""
        self._drawn.clear()
        os.write(self._master, keys.encode())

    def ended(self, seconds: float) -> int:
        """Waits for the program's end and returns its exit code."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"it did not end; it drew:\n{self.shown()[-2_000:]}") from None

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._reader.join(5)
        os.close(self._master)
