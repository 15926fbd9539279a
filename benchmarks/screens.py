"""What the pictures and the figures of the app share: a file to look at, and patience."""

import asyncio
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

from textual.pilot import Pilot

from tidepool.engine.config.loading import config_from
from tidepool.engine.config.toml_files import parse_toml
from tidepool.engine.run import run_batch
from tidepool.tui.command.main import main as command

ROOT = Path(__file__).parent.parent
STARTERS = ROOT / "tui" / "app" / "starters"


def demo_file(path: Path) -> Path:
    """A batch of each kind, offline, quick, the same every time."""
    texts = [(STARTERS / f"{kind}.toml").read_text(encoding="utf-8") for kind in ("simulation", "evolution")]
    texts.append((ROOT / "examples" / "mutation.toml").read_text(encoding="utf-8"))
    texts.append((STARTERS / "secret_game.toml").read_text(encoding="utf-8"))
    for text in texts:
        quick = text.replace("latency = 0.25", "latency = 0.02").replace("latency = 0.05", "latency = 0.002")
        quick = quick.replace("num_env_steps = 2500", "num_env_steps = 800")
        asyncio.run(run_batch(config_from(parse_toml(quick, "the demo")), path))
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        command(["--db", str(path), "entities", "generate", "--type", "human", "-n", "12", "--seed", "1"])
    return path


def first_batch(path: Path, kind: str) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("SELECT number FROM batch WHERE kind = ?", (kind,)).fetchone()[0])


async def until(pilot: Pilot[None], condition: Callable[[], object], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("the screen never showed it")
        await pilot.pause(0.02)
