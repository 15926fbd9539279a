"""`tidepool api`: the HTTP API, on loopback."""

import argparse
import os

from tidepool.engine.api.server import serve
from tidepool.tui.app.launching import resume
from tidepool.tui.command.saying import tell

PORT = 8765
TOKEN = "TIDEPOOL_API_TOKEN"


def add_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", default="127.0.0.1", help="address to serve (127.0.0.1); any other needs a token")
    parser.add_argument("--port", type=int, default=PORT, help=f"port to serve ({PORT})")
    parser.add_argument("--at-once", type=int, default=4, metavar="N", help="batches that run at the same time (4)")
    parser.epilog = f"The token is read from the environment: {TOKEN}."


def run(options: argparse.Namespace) -> int:
    token = os.environ.get(TOKEN) or None
    name = f"[{options.host}]" if ":" in options.host else options.host

    def ready(port: int) -> None:
        tell(f"serving http://{name}:{port}/docs on {options.db}; Ctrl+C ends it")

    serve(
        options.db,
        resume,
        host=options.host,
        port=options.port,
        token=token,
        at_once=max(1, options.at_once),
        on_ready=ready,
    )
    return 0
