"""How many calls one server should have at once, found by trying: more only as long as more comes out.

A server answers so many calls in parallel and queues the rest (OLLAMA_NUM_PARALLEL, which it does not tell). A long
queue there gains nothing, binds calls to a slow server and runs into timeouts. So the number doubles while the output
keeps step, settles at one more than what still helped, and is tried again now and then.
"""

FIRST = 2
GAIN = 1.3
"""output must grow by this factor for a doubling to count as help"""
HOLD = 12
"""windows for which a found number is kept before more is tried again"""


class Parallelism:
    def __init__(self, ceiling: int) -> None:
        self.ceiling = ceiling
        self.limit = min(FIRST, ceiling)
        self._helped = 0
        """the largest number that still brought more"""
        self._best = 0.0
        self._held = 0
        self._start_window()

    def change(self, ceiling: int) -> None:
        self.ceiling = ceiling
        self.limit = min(self.limit, ceiling)

    def done(self, work: float, now: float, full: bool) -> None:
        """A call came back with so much work in it; `full`: the server had as many calls as it may."""
        if not full:
            self._start_window()
            return
        if not self._count:
            self._since = now
        else:
            self._work += work
        self._count += 1
        enough = 2 * self.limit if self._held else self.limit
        if self._count > enough and now > self._since:
            self._judge(self._work / (now - self._since))
            self._start_window()

    def failed(self) -> None:
        """Busy, or too slow: half of it must do for a while."""
        self.limit = self._helped = max(1, self.limit // 2)
        self._held = HOLD
        self._best = 0.0
        self._start_window()

    def _judge(self, output: float) -> None:
        if self._held:
            self._held -= 1
            self._best = output
            if not self._held:
                self.limit = min(self.ceiling, 2 * max(1, self._helped))
            return
        if output >= self._best * GAIN:
            self._best, self._helped = output, self.limit
            self.limit = min(self.ceiling, self.limit * 2)
        else:
            self.limit = min(self.ceiling, self._helped + 1)
            self._held = HOLD

    def _start_window(self) -> None:
        self._count = 0
        self._work = 0.0
        self._since = 0.0
