"""Serves the API: without a token only on loopback.

It ends with its signal. Requests in progress get `DRAIN_SECONDS`, and threads that are still busy are not waited for.
Everything that they do in the file happens completely or not at all.
"""

import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tidepool.engine.api.auth import TokenAuth, is_loopback, listening
from tidepool.engine.api.runs import Launch
from tidepool.engine.errors import UsageError

if TYPE_CHECKING:
    import uvicorn

EXTRA = "The API needs the extra `api`. Run pip install 'tidepool-lab[api]'."
DRAIN_SECONDS = 1


def serve(
    database: Path,
    launch: Launch,
    *,
    host: str,
    port: int,
    token: str | None,
    at_once: int,
    on_ready: Callable[[int], None],
    debug: bool = False,
) -> None:
    """Serves until it is stopped. Running batches continue without it. `on_ready` gets the port."""
    local_only = is_loopback(host)
    if not local_only and not token:
        raise UsageError(
            f"The API may serve {host} only with a token. Remove --no-token, or remove --host to stay on this machine."
        )
    server = api_server(database, launch, TokenAuth(token, local_only=local_only, name="The API"), at_once, debug=debug)
    with listening(host, port, "The API") as listener:
        on_ready(listener.getsockname()[1])
        signal.signal(
            signal.SIGINT, signal.SIG_DFL
        )  # uvicorn raises the signal again at its end, which then ends the process
        server.run(sockets=[listener])


def api_server(
    database: Path, launch: Launch, auth: TokenAuth, at_once: int = 1, *, debug: bool = False
) -> "uvicorn.Server":
    try:
        import uvicorn

        from tidepool.engine.api import limits
        from tidepool.engine.api.app import create_app
    except ImportError as error:
        raise UsageError(EXTRA) from error
    config = uvicorn.Config(
        create_app(database, launch, auth=auth, at_once=at_once),
        http="h11",
        ws="none",
        log_level="error" if debug else "critical",
        proxy_headers=False,
        server_header=False,
        limit_concurrency=limits.MOST_CONNECTIONS,
        timeout_keep_alive=limits.KEEP_ALIVE_SECONDS,
        h11_max_incomplete_event_size=limits.MOST_HEADER_BYTES,
        timeout_graceful_shutdown=DRAIN_SECONDS,
    )
    return uvicorn.Server(config)
