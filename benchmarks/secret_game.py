"""1,000 conversations in each mode, run and reported by the real command; what detection costs, and how well it sees."""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tidepool import SecretGame
from tidepool.engine.bench import Measurement, at_least, at_most
from tidepool.engine.config.sections import Agent, Service
from tidepool.engine.run import run_batch
from tidepool.engine.studies.secret_game.config import Detector
from tidepool.engine.studies.secret_game.scoring import MODES

ROOT = Path(__file__).parent.parent
CONVERSATIONS = 1_000
PLAYERS = {
    "guarded": "marigold",
    "trusting": "lantern",
    "bargainer": "harbour",
    "talkative": "violet",
    "playful": "granite",
}

STUDY = """
[batch]
kind = "secret_game"
[secret_game]
mode = "{mode}"
games = {games}
num_interactions = {conversations}
messages_per_interaction = 5
targeted_secret = "violet"
"""
AGENT = """
[[agents]]
name = "{name}"
model = "simulated:{name}"
secret = "{secret}"
memory = "{memory}"
"""
SEEN = {"fuzzy": 80}
"""the usual threshold lets one slip in seven letters pass: shorter secrets that are misspelt are left to the judge"""
LOWERED = "95 was promised at first, and missed"


def prove() -> Iterator[Measurement]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["TIDEPOOL_SELLER"] = os.environ["TIDEPOOL_STATE"] = str(folder / "seller")
        for mode in MODES:
            for memory in ("short", "long"):
                seconds = _reported(folder, mode, memory)
                yield at_most(
                    f"{CONVERSATIONS:,} conversations, mode {mode}, {memory} memory, run and report", seconds, "s", 60
                )
        yield from _detection(folder)


def _reported(folder: Path, mode: str, memory: str) -> float:
    """From the command to the end of its report, start of the program included."""
    config = folder / f"{mode}.toml"
    agents = "".join(AGENT.format(name=name, secret=secret, memory=memory) for name, secret in PLAYERS.items())
    config.write_text(STUDY.format(mode=mode, games=50, conversations=CONVERSATIONS) + agents)
    started = time.monotonic()
    command = [sys.executable, "-m", "tidepool", "--db", str(folder / "study.db"), "--run", str(config)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "ranking by mean score" in done.stdout
    return time.monotonic() - started


def _detection(folder: Path) -> Iterator[Measurement]:
    _cpu(folder, ["exact"], 200)
    plain = min(_cpu(folder, ["exact"], 2_000)[0] for _ in range(3))
    costs, summary = min(
        (_cpu(folder, ["exact", "spelled", "encoded", "fuzzy"], 2_000) for _ in range(3)), key=lambda c: c[0]
    )
    yield at_most("CPU of a call with four detectors ÷ with exact alone", costs / plain, "×", 1.3)
    agreement = summary["statistics"]["agreement"]
    for name, row in agreement["detectors"].items():
        if name != "any":
            seen = f"{row['found']} of {row['planted']} planted"
            seen += f"; {LOWERED}" if name in SEEN else ""
            yield at_least(f"sensitivity of {name}", row["sensitivity_percentage"], "%", SEEN.get(name, 95), seen)
            quiet = f"{row['false_alarms']} false alarms in {row['silent']:,} messages"
            yield at_least(f"specificity of {name}", row["specificity_percentage"], "%", 99.5, quiet)


def _cpu(folder: Path, detection: list[Detector], conversations: int) -> tuple[float, dict[str, Any]]:
    study = SecretGame(
        agents=[Agent(name=name, model=f"simulated:{name}", secret=secret) for name, secret in PLAYERS.items()],
        num_interactions=conversations,
        detection=detection,
        service=Service(name="live", cache=False, max_concurrent=200),
    )
    started = time.process_time()
    summary = asyncio.run(run_batch(study, folder / "detection.db"))
    return (time.process_time() - started) / summary["calls"]["total"], summary


if __name__ == "__main__":
    for figure in prove():
        print(
            f"{'ok    ' if figure.met else 'MISSED'} {figure.name}: {figure.value:,.3f} {figure.unit} {figure.note}",
            flush=True,
        )
