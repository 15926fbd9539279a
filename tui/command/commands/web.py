"""`tidepool web`: the same app in a browser, on loopback.

Whoever reaches the page holds the app, so it only listens on loopback, and a page of another site open in the same
browser is turned away: its requests carry that site's name.
"""

import argparse
import os
import shlex
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from tidepool.engine.errors import UsageError
from tidepool.tui.app.launching import command, environment
from tidepool.tui.command.saying import tell

PORT = 8766
HOST = "127.0.0.1"
LOOPBACK = ("127.0.0.1", "localhost", "::1")


def add_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=int, default=PORT, help=f"port to serve ({PORT})")


def run(options: argparse.Namespace) -> int:
    if not 0 < options.port < 65536:
        raise UsageError(f"--port {options.port} is no port: give one from 1 to 65535.")
    os.environ.update(environment())
    served = _server(shlex.join(command(options.db)), options.port)
    tell(f"serving http://{HOST}:{options.port} on {options.db}; Ctrl+C ends it")
    served.serve()
    return 0


def from_here(headers: Mapping[str, str], port: int) -> bool:
    """True for requests of this page itself: asked under a loopback name, and by no other site."""
    if urlsplit(f"//{headers.get('Host', '')}").hostname not in LOOPBACK:
        return False
    origin = headers.get("Origin")
    if origin is None:
        return True
    asked = urlsplit(origin)
    return asked.hostname in LOOPBACK and asked.port == port


def _server(line: str, port: int) -> Any:
    try:
        from aiohttp import web
        from textual_serve.server import Server
    except ImportError:
        raise UsageError("`tidepool web` needs textual-serve: install tidepool-lab[web].") from None

    @web.middleware
    async def own_page_only(request: web.Request, handler: Callable[[web.Request], Awaitable[Any]]) -> Any:
        if not from_here(request.headers, port):
            raise web.HTTPForbidden(text="This page serves its own machine only.")
        return await handler(request)

    class LoopbackServer(Server):
        async def _make_app(self) -> web.Application:
            app = await super()._make_app()
            app.middlewares.append(own_page_only)
            return app

    return LoopbackServer(line, host=HOST, port=port, title="Tidepool")
