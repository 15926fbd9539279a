"""The command, which kills itself (-9) at a named moment of an order's life: `python -m tests.support.killed MOMENT …`.

Moments inside the process that no server can see: `before-intent`, `after-intent`, `before-create`, `before-book`
(created, its answer received and not written down), `while-recording` (half of the answers put), `before:SQL` (just before the
first statement with these words).
"""

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from tidepool.engine.runtime.batch_lifecycle import BatchLifecycle
from tidepool.engine.runtime.provider_batch import Settlement
from tidepool.storage.file import LimitedConnection
from tidepool.storage.purchases import ProviderBatchBook


def die(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _before(owner: Any, name: str, nth: int = 1) -> None:
    """Dies instead of the nth call of a method."""
    method, calls = getattr(owner, name), iter(range(1, 10**9))

    def counted(*arguments: Any, **named: Any) -> Any:
        return die() if next(calls) == nth else method(*arguments, **named)

    setattr(owner, name, counted)


def _before_statement(part: str) -> None:
    execute = LimitedConnection.execute

    def until(connection: LimitedConnection, *arguments: Any) -> Any:
        return die() if part in arguments[0] else execute(connection, *arguments)

    LimitedConnection.execute = until  # type: ignore[method-assign]


MOMENTS: dict[str, Callable[[], None]] = {
    "before-intent": lambda: _before(BatchLifecycle, "_intend"),
    "after-intent": lambda: _before(BatchLifecycle, "_upload"),
    "before-create": lambda: _before(BatchLifecycle, "_created"),
    "before-book": lambda: _before(ProviderBatchBook, "created"),
    "while-recording": lambda: _before(Settlement, "record", nth=8),
}

if __name__ == "__main__":
    moment, _, statement = sys.argv[1].partition(":")
    _before_statement(statement) if statement else MOMENTS[moment]()
    from tidepool.tui.command.main import main

    sys.exit(main(sys.argv[2:]))
