"""A module of ours in a process of its own, which answers a line with a line. One that has died is started anew."""

import subprocess
import sys

from tidepool.tui.app.launching import environment


class LineProcess:
    def __init__(self, module: str) -> None:
        self._module = module
        self._process: subprocess.Popen[str] | None = None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        self.end()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", self._module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            env=environment(),
        )

    def answer(self, line: str) -> str | None:
        """Waits for it, in whatever thread; None where the process ended instead."""
        if not self.running:
            self.start()
        process = self._process
        assert process and process.stdin and process.stdout
        try:
            process.stdin.write(line + "\n")
            process.stdin.flush()
            said = process.stdout.readline()
            if said.endswith("\n"):  # else it was cut off in the middle
                return said
        except (OSError, ValueError):
            pass
        self.end()
        return None

    def kill(self) -> None:
        """From any thread: whoever waits for an answer gets none."""
        process = self._process
        if process is not None:
            process.kill()

    def end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
