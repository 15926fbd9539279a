"""When the machine itself stood still: a proof about milliseconds must not blame the code for it, nor hide behind it."""

import threading
import time

TICK = 0.005
"""seconds between two looks at the clock"""
LATE = 0.02
"""seconds by which a look must come late to count"""


class StallWatch:
    """A thread that does nothing but look at the clock. It sees what its process sees: a core that was taken away."""

    def __init__(self) -> None:
        self.stalls: list[tuple[float, float]] = []
        """from when to when nothing moved, on the clock that all processes of a machine share"""
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._watch, name="stalls", daemon=True)
            self._thread.start()

    def end(self) -> None:
        self._ended.set()

    def _watch(self) -> None:
        last = time.monotonic()
        while not self._ended.wait(TICK):
            now = time.monotonic()
            if now - last > TICK + LATE:
                self.stalls.append((last, now))
            last = now
