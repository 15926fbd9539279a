"""The emulator as a process of its own: `python -m tests.emulator --port 0 --state FOLDER`.

Prints one JSON line with its URL and serves until it is told to end (SIGTERM, SIGINT).
"""

import argparse
import asyncio
import json
import signal
from pathlib import Path
from typing import Any

from .faults import Faults
from .server import Emulator


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.emulator", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--state", type=Path, help="folder where purchases.jsonl is kept, and read at the next start")
    parser.add_argument(
        "--faults",
        default="{}",
        help='JSON such as {"openai": {"latency": 0.1}}; other names are servers of their own, see Faults.like',
    )
    return parser.parse_args()


def built(chosen: argparse.Namespace) -> Emulator:
    faults: dict[str, Any] = {name: Faults(**keys) for name, keys in json.loads(chosen.faults).items()}
    known = {name: faults.pop(name) for name in ("openai", "anthropic", "ollama") if name in faults}
    if chosen.state:
        chosen.state.mkdir(parents=True, exist_ok=True)
    purchases = chosen.state / "purchases.jsonl" if chosen.state else None
    return Emulator(**known, hosts=faults, purchases=purchases, port=chosen.port)


async def serve(chosen: argparse.Namespace) -> None:
    ended = asyncio.Event()
    for sign in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(sign, ended.set)
    async with built(chosen) as emulator:
        print(json.dumps({"url": emulator.url, "urls": emulator.urls}), flush=True)
        await ended.wait()


if __name__ == "__main__":
    asyncio.run(serve(options()))
