"""The command, which kills itself (-9) just before a statement: `python -m tests.support.killed_at SQL …`, SQL being a part of it."""

import sys
from typing import Any

from tests.support.killed import die
from tidepool.storage.file import WatchedConnection

_execute = WatchedConnection.execute


def _until(connection: WatchedConnection, *arguments: Any) -> Any:
    return die() if sys.argv[1] in arguments[0] else _execute(connection, *arguments)


if __name__ == "__main__":
    from tidepool.tui.command.main import main

    WatchedConnection.execute = _until  # type: ignore[method-assign]
    sys.exit(main(sys.argv[2:]))
