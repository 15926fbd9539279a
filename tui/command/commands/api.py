"""`tidepool api`: the HTTP API, on loopback."""

import argparse

from tidepool.engine.api.auth import VARIABLE, Token, greeting
from tidepool.engine.api.server import serve
from tidepool.tui.app.launching import resume
from tidepool.tui.command.saying import tell

PORT = 8765


def add_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", default="127.0.0.1", help="address to serve (127.0.0.1)")
    parser.add_argument("--port", type=int, default=PORT, help=f"port to serve ({PORT})")
    parser.add_argument("--at-once", type=int, default=4, metavar="N", help="batches that run at the same time (4)")
    add_token_argument(parser)


def add_token_argument(parser: argparse.ArgumentParser) -> None:
    """The same for all that serve."""
    parser.add_argument("--no-token", action="store_true", help="every user of this machine may call; loopback only")
    parser.epilog = f"Who calls needs a token: that of {VARIABLE}, else one that is made now and printed as a link."


def run(options: argparse.Namespace) -> int:
    token = None if options.no_token else Token.of_start()
    name = f"[{options.host}]" if ":" in options.host else options.host

    def ready(port: int) -> None:
        served = greeting(f"http://{name}:{port}/docs", token)
        tell(f"{served} on {options.db}; Ctrl+C ends it")

    serve(
        options.db,
        resume,
        host=options.host,
        port=options.port,
        token=token.value if token else None,
        at_once=max(1, options.at_once),
        on_ready=ready,
        debug=options.debug,
    )
    return 0
