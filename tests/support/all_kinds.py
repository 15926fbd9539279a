"""A study file with a batch of every kind, one of them partial and one imported, and a library.

It is made once in each test process, by a process of its own, so that neither its trust record nor its purchases are the
tests'. `python -m tests.support.all_kinds FILE` makes one.
"""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.command import ROOT
from tests.support.state import change

AGENTS = [
    {"name": "Ada", "model": "simulated:guarded", "secret": "marigold"},
    {"name": "Bob", "model": "simulated:trusting", "secret": "lantern"},
    {"name": "Cleo", "model": "simulated:bargainer", "secret": "harbour"},
    {"name": "Dion", "model": "simulated:talkative", "secret": "violet"},
]
ENTITIES = [
    {"name": "Hypatia", "description": "Mathematician", "attributes": {"age": 45, "agreeableness": 6, "openness": 9}},
    {"name": "Odo", "description": "Miller", "attributes": {"age": 61, "agreeableness": 2, "openness": 3}},
    {"name": "Brida", "description": "Baker", "attributes": {"age": 34, "agreeableness": 8, "openness": 7}},
]
JUDGE = {"model": "simulated:judge", "question": "Does the speaker agree with the plan, 1 to 5?", "scale": [1, 5]}
QUERIES = """\
{"query": "How do I boil an egg so the yolk stays soft?", "reference": "Cook it six minutes, then cool it at once.", "kind": "how_to"}
{"query": "How do I remove a red wine stain from a carpet?", "reference": "Blot it, pour on salt, wait, then rinse.", "kind": "how_to"}
{"query": "How do I sharpen a kitchen knife?", "reference": "Draw it over a wet stone at twenty degrees.", "kind": "how_to"}
{"query": "How do I keep bread fresh?", "reference": "Wrap it in cloth and keep it in a box.", "kind": "how_to"}
"""
LIVE = {"name": "live", "max_concurrent": 4}
STUDIES: dict[str, dict[str, Any]] = {
    "partial": {
        "batch": {"kind": "secret_game", "name": "Partial"},
        "service": LIVE,
        "providers": {"simulated": {"fatal_rate": 0.08}},
        "secret_game": {"num_interactions": 6, "messages_per_interaction": 4},
        "agents": AGENTS,
    },
    "judged": {
        "batch": {"kind": "simulation", "name": "Judged", "seed": 11},
        "service": LIVE,
        "simulation": {
            "context": "Neighbours talk about a new water mill.",
            "num_simulations": 3,
            "n_turns": 2,
            "thoughts": True,
            "judge": JUDGE,
        },
        "entities": ENTITIES,
    },
    "evolution": {
        "batch": {"kind": "evolution", "name": "Evolved"},
        "service": LIVE,
        "evolution": {
            "population_size": 6,
            "max_generations": 2,
            "max_problems": 8,
            "validation_problems": 10,
            "elite_size": 1,
            "random_baseline": False,
            "rate_limit_per_minute": 0,
        },
    },
    "mutation": {
        "batch": {"kind": "mutation", "name": "Learned"},
        "service": LIVE,
        "mutation": {"num_processes": 4, "num_steps": 3, "num_env_steps": 16, "repeats": 1, "queries": "queries.jsonl"},
    },
    "ordered": {
        "batch": {"kind": "secret_game", "name": "Ordered"},
        "service": {"name": "auto", "poll_interval": 0.1, "batch_from": 0},
        "providers": {"simulated": {"price_input": 0.5, "price_output": 1.5, "batch_seconds": 0.1}},
        "secret_game": {"num_interactions": 4, "messages_per_interaction": 3},
        "agents": AGENTS,
    },
    "narrated": {
        "batch": {"kind": "simulation", "name": "Imported", "seed": 3},
        "service": LIVE,
        "simulation": {
            "context": "A council settles who pays for a mill.",
            "interaction_size": 3,
            "num_simulations": 2,
            "style": "narrated",
        },
        "entities": ENTITIES,
    },
}
BATCHES = len(STUDIES)
IDS = ("0c13f5c60828", "256332e3cf7a", "46e253540b40", "20faf7356319", "f639b38a67c8", "4be289fedceb")
"""of the batches, in the order of STUDIES"""
GUILD = """\
name = "guild"
description = "A guild of the valley."
portrait = "{name}, a guild of {trade}s."
dimensions = [
    { name = "trade", kind = "categorical", options = { miller = 2, baker = 1 } },
    { name = "members", kind = "int", range = [3, 40] },
]
first_names = ["Northern", "Southern"]
last_names = ["Guild"]
"""


@cache
def _original() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="all-kinds-"))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TIDEPOOL_STATE": str(folder), "TIDEPOOL_SELLER": str(folder)}
    path = folder / "all_kinds.db"
    subprocess.run(
        [sys.executable, "-m", "tests.support.all_kinds", str(path)], cwd=folder, env=environment, check=True
    )
    return path


def file_of_all_kinds(target: Path) -> Path:
    """A copy at `target`, which the test may change."""
    return Path(shutil.copy(_original(), target))


def make(path: Path) -> None:
    from tidepool.engine.config.loading import config_from
    from tidepool.engine.run import run_batch
    from tidepool.tui.command.main import main

    Path("queries.jsonl").write_text(QUERIES)
    Path("guild.toml").write_text(GUILD)
    other = path.with_name("other.db")
    for name, study in STUDIES.items():
        asyncio.run(run_batch(config_from(study, source=name), other if name == "narrated" else path))
    for words in (
        ["import", str(other)],
        ["entities", "add", "guild.toml"],
        ["entities", "generate", "--type", "human", "-n", "3", "--seed", "1"],
        ["agents", "generate", "-n", "2", "--model", "simulated:guarded", "--seed", "1"],
    ):
        assert main(["--db", str(path), *words]) == 0, words
    for number, batch_id in enumerate(IDS, 1):
        change(path, "UPDATE batch SET id = ? WHERE number = ?", batch_id, number)


if __name__ == "__main__":
    make(Path(sys.argv[1]))
