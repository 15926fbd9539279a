"""`tidepool web`: the same app in a browser, on loopback.

Whoever reaches the page holds the app, with its user's keys: so it listens on loopback only, wants the token for all that
it serves, and turns pages of other sites away.
"""

import argparse
import asyncio
import os

from tidepool.engine.api.auth import Token, TokenAuth, greeting, listening
from tidepool.engine.errors import UsageError
from tidepool.tui.app.launching import command, environment
from tidepool.tui.command.commands.api import add_token_argument
from tidepool.tui.command.saying import tell

PORT = 8766


def add_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=int, default=PORT, help=f"port to serve ({PORT})")
    add_token_argument(parser)


def run(options: argparse.Namespace) -> int:
    if not 0 <= options.port < 65536:
        raise UsageError(f"--port {options.port} is no port: give one from 1 to 65535, or 0 for any that is free.")
    try:
        from tidepool.tui.command.browser import HOST, BrowserServer
    except ImportError:
        raise UsageError("`tidepool web` needs textual-serve: install tidepool-lab[web].") from None
    token = None if options.no_token else Token.of_start()
    os.environ.update(environment())
    with listening(HOST, options.port, "The app") as listener:
        port = listener.getsockname()[1]

        def ready() -> None:
            words = greeting(f"http://{HOST}:{port}/", token)
            tell(f"{words} on {options.db}; Ctrl+C ends it")

        door = TokenAuth(token.value if token else None, here_only=True, what="The app")
        return asyncio.run(BrowserServer(command(options.db), port, door).serve_on(listener, ready))
