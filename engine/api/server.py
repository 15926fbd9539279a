"""Serves the API: on loopback without a token, on any other address only with one."""

import socket
from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path

from tidepool.engine.api.runs import Launch
from tidepool.engine.errors import UsageError

SHORTEST_TOKEN = 8
EXTRA = "The API needs the extra `api`: pip install 'tidepool-lab[api]'."


def is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def serve(
    database: Path,
    launch: Launch,
    *,
    host: str,
    port: int,
    token: str | None,
    at_once: int,
    on_ready: Callable[[int], None],
) -> None:
    """Serves until it is stopped; batches under way go on without it. `on_ready` is told the port."""
    if not is_loopback(host) and not token:
        raise UsageError(
            f"The API may serve {host} only with a token: set TIDEPOOL_API_TOKEN, or leave --host out to stay on this "
            "machine."
        )
    if token is not None and len(token) < SHORTEST_TOKEN:
        raise UsageError(f"The token has fewer than {SHORTEST_TOKEN} characters: choose a longer one.")
    try:
        import uvicorn

        from tidepool.engine.api.app import create_app
    except ImportError as error:
        raise UsageError(EXTRA) from error
    app = create_app(database, launch, token=token, at_once=at_once)
    with _listening(host, port) as listener:
        on_ready(listener.getsockname()[1])
        uvicorn.Server(uvicorn.Config(app, log_level="warning", server_header=False)).run(sockets=[listener])


def _listening(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except (OSError, OverflowError) as error:
        raise UsageError(
            f"The API cannot serve {host}:{port}: {str(error).rstrip('.')}. Choose another --port or --host."
        ) from error
