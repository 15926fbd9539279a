"""The command, which kills itself (-9) at a named moment of an order's life: `python -m tests.support.killed MOMENT …`.

Moments inside the process that no server can see: `before-intent`, `after-intent`, `before-create`, `before-book`
(created, its answer received and not written down), `while-recording` (half of the answers put).
"""

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from tidepool.engine.runtime.batch_creation import BatchCreation
from tidepool.engine.runtime.open_jobs import Settlement
from tidepool.storage.provider_batches import ProviderBatchBook


def die(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _before(owner: Any, name: str, nth: int = 1) -> None:
    """Dies instead of the nth call of a method."""
    method, calls = getattr(owner, name), iter(range(1, 10**9))

    def counted(*arguments: Any, **named: Any) -> Any:
        return die() if next(calls) == nth else method(*arguments, **named)

    setattr(owner, name, counted)


MOMENTS: dict[str, Callable[[], None]] = {
    "before-intent": lambda: _before(BatchCreation, "_intend"),
    "after-intent": lambda: _before(BatchCreation, "_upload"),
    "before-create": lambda: _before(BatchCreation, "_created"),
    "before-book": lambda: _before(ProviderBatchBook, "created"),
    "while-recording": lambda: _before(Settlement, "record", nth=8),
}

if __name__ == "__main__":
    MOMENTS[sys.argv[1]]()
    from tidepool.tui.command.main import main

    sys.exit(main(sys.argv[2:]))
