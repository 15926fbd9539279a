"""What starting costs: the CPU of a command, in multiples of a bare interpreter that loads sqlite3 and argparse.

Each run of a command is held against a bare interpreter started right before it, so that a busy machine slows both
sides alike; the figure is the median of these ratios.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from tidepool.engine.bench import Measurement, at_most

ROUNDS = 15
BARE = ("-c", "import argparse, sqlite3")

STUDY = (
    str(Path(__file__).parent.parent / "examples" / "secret_game.toml"),
    "--set",
    "secret_game.num_interactions=10",
)


def prove() -> Iterator[Measurement]:
    with tempfile.TemporaryDirectory() as folder:
        ratios = _ratios(Path(folder), ROUNDS)
    note = f"median of {ROUNDS} rounds"
    yield at_most("CPU of `tidepool list` ÷ a bare interpreter's", ratios["list"], "×", 8, note)
    yield at_most("CPU of `tidepool show` ÷ a bare interpreter's", ratios["show"], "×", 25, note)
    yield at_most("CPU of `--run`, ten conversations ÷ a bare interpreter's", ratios["run"], "×", 70, note)


def _ratios(folder: Path, rounds: int) -> dict[str, float]:
    kept, made = folder / "kept.db", folder / "made.db"
    tidepool = ("-m", "tidepool", "--db")
    cpu_seconds((*tidepool, str(kept), "--run", *STUDY), folder)
    commands = {
        "list": (*tidepool, str(kept), "list"),
        "show": (*tidepool, str(kept), "show", "last"),
        "run": (*tidepool, str(made), "--run", *STUDY),
    }
    ratios: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, arguments in commands.items():
            bare = cpu_seconds(BARE, folder)
            ratios[name].append(cpu_seconds(arguments, folder) / bare)
        made.unlink()
    return {name: median(found) for name, found in ratios.items()}


def cpu_seconds(arguments: Sequence[str], folder: Path) -> float:
    """What one process spent, in user and system time, from its start to its end."""
    environment = {**os.environ, "TIDEPOOL_SELLER": str(folder), "TIDEPOOL_STATE": str(folder)}
    with (folder / "said").open("wb") as said:
        process = subprocess.Popen([sys.executable, *arguments], stdout=said, stderr=said, env=environment)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError((folder / "said").read_text())
    return used.ru_utime + used.ru_stime
