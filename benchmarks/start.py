"""What starting costs: the CPU of a command, in multiples of a bare interpreter that loads sqlite3 and argparse.

Each run of a command is held against a bare interpreter started right before it, so that a busy machine slows both
sides alike; the figure is the median of these ratios.
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.scale import COMMAND, cost_of
from tidepool.engine.bench import Measurement, at_most

ROUNDS = 15
BARE = (sys.executable, "-c", "import argparse, sqlite3")

STUDY = (
    str(Path(__file__).parent.parent / "examples" / "secret_game.toml"),
    "--set",
    "secret_game.num_interactions=10",
)


def prove() -> Iterator[Measurement]:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TIDEPOOL_SELLER"] = os.environ["TIDEPOOL_STATE"] = folder
        ratios = _ratios(Path(folder), ROUNDS)
    note = f"median of {ROUNDS} rounds"
    yield at_most("CPU of `tidepool list` ÷ a bare interpreter's", ratios["list"], "×", 8, note)
    yield at_most("CPU of `tidepool show` ÷ a bare interpreter's", ratios["show"], "×", 25, note)
    yield at_most("CPU of `--run`, ten conversations ÷ a bare interpreter's", ratios["run"], "×", 70, note)


def _ratios(folder: Path, rounds: int) -> dict[str, float]:
    kept, made = folder / "kept.db", folder / "made.db"
    tidepool = (*COMMAND, "--db")
    cost_of((*tidepool, str(kept), "--run", *STUDY))
    commands = {
        "list": (*tidepool, str(kept), "list"),
        "show": (*tidepool, str(kept), "show", "last"),
        "run": (*tidepool, str(made), "--run", *STUDY),
    }
    ratios: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, arguments in commands.items():
            bare = cost_of(BARE).cpu
            ratios[name].append(cost_of(arguments).cpu / bare)
        made.unlink()
    return {name: median(found) for name, found in ratios.items()}
