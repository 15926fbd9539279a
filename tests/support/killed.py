"""The command, which kills itself (-9) at a named moment of an order's life: `python -m tests.support.killed MOMENT …`.

Moments inside the process that no server can see: `before-intent`, `after-intent`, `before-create`, `before-book`
(created, its answer received and not written down), `while-recording` (half of the answers put), and of a local job
`while-starting` (its keeper is on its way).
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from tidepool.engine.batching.creation import BatchCreation
from tidepool.engine.batching.settlement import Settlement
from tidepool.engine.providers.local_jobs import batches
from tidepool.storage.provider_batches import ProviderBatchBook


def die(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _before(owner: Any, name: str, nth: int = 1) -> None:
    """Dies instead of the nth call of a method."""
    method, calls = getattr(owner, name), iter(range(1, 10**9))

    def counted(*arguments: Any, **named: Any) -> Any:
        return die() if next(calls) == nth else method(*arguments, **named)

    setattr(owner, name, counted)


def _while_starting() -> None:
    def begun(command: list[str], **named: Any) -> None:
        subprocess.Popen(command, **{key: value for key, value in named.items() if key != "timeout"})
        die()

    batches.subprocess = SimpleNamespace(run=begun, DEVNULL=subprocess.DEVNULL, PIPE=subprocess.DEVNULL)  # type: ignore[attr-defined]


MOMENTS: dict[str, Callable[[], None]] = {
    "before-intent": lambda: _before(BatchCreation, "_intend"),
    "after-intent": lambda: _before(BatchCreation, "_upload"),
    "before-create": lambda: _before(BatchCreation, "_created"),
    "before-book": lambda: _before(ProviderBatchBook, "created"),
    "while-recording": lambda: _before(Settlement, "record", nth=8),
    "while-starting": _while_starting,
}

if __name__ == "__main__":
    MOMENTS[sys.argv[1]]()
    from tidepool.tui.command.main import main

    sys.exit(main(sys.argv[2:]))
