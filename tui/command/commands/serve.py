"""`tidepool api` and `tidepool web`: the HTTP API, and the app in a browser, on loopback.

The page gives full control of the app and its API keys. So it listens on loopback only, requires the token for everything,
and rejects pages of other sites."""

import argparse
import asyncio
import os

from tidepool.engine.api.auth import VARIABLE, Token, TokenAuth, greeting, listening
from tidepool.engine.api.server import serve
from tidepool.engine.errors import UsageError
from tidepool.tui.app.launching import command, environment, resume
from tidepool.tui.command.output import echo_err

API_PORT = 8765


def add_api_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", default="127.0.0.1", help="address to serve (127.0.0.1)")
    parser.add_argument("--port", type=int, default=API_PORT, help=f"port to serve ({API_PORT})")
    parser.add_argument("--at-once", type=int, default=4, metavar="N", help="batches that run at the same time (4)")
    add_token_argument(parser)


def add_token_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--no-token", action="store_true", help="allow every user of this machine; loopback only")
    parser.epilog = f"Clients need a token, either the value of {VARIABLE} or a new one\nthat is printed in a link.\n\n{parser.epilog}"


def _announce(options: argparse.Namespace, address: str, token: Token | None) -> None:
    echo_err(f"{greeting(address, token)} on {options.db}; press Ctrl+C to stop")


def run_api(options: argparse.Namespace) -> int:
    token = None if options.no_token else Token.of_start()
    name = f"[{options.host}]" if ":" in options.host else options.host
    serve(
        options.db,
        resume,
        host=options.host,
        port=options.port,
        token=token.value if token else None,
        at_once=max(1, options.at_once),
        on_ready=lambda port: _announce(options, f"http://{name}:{port}/docs", token),
        debug=options.debug,
    )
    return 0


WEB_PORT = 8766


def add_web_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=int, default=WEB_PORT, help=f"port to serve ({WEB_PORT})")
    add_token_argument(parser)


def run_web(options: argparse.Namespace) -> int:
    if not 0 <= options.port < 65536:
        raise UsageError(f"--port {options.port}: must be from 1 to 65535, or 0 for any free port.")
    try:
        from tidepool.tui.command.browser import HOST, BrowserServer
    except ImportError:
        raise UsageError("`tidepool web` needs textual-serve. Install tidepool-lab[web].") from None
    token = None if options.no_token else Token.of_start()
    os.environ.update(environment())
    with listening(HOST, options.port, "The app") as listener:
        port = listener.getsockname()[1]
        auth = TokenAuth(token.value if token else None, local_only=True, name="The app")
        server = BrowserServer(command(options.db), port, auth)
        return asyncio.run(server.serve_on(listener, lambda: _announce(options, f"http://{HOST}:{port}/", token)))
