"""Small studies for tests of the app: made in the test's own folder, offline."""

import asyncio
import io
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from tests.support.studies import TWO_AGENTS
from tidepool.engine.config.loading import config_from
from tidepool.engine.config.toml_files import parse_toml
from tidepool.engine.reports.blocks import Block
from tidepool.engine.run import run_batch
from tidepool.tui.drawing.blocks import print_blocks

GAME = """
[batch]
kind = "secret_game"
name = "{name}"
seed = {seed}

[service]
name = "{service}"
max_concurrent = 8

[providers.simulated]
latency = {latency}
fatal_rate = {fatal}

[secret_game]
num_interactions = {talks}
messages_per_interaction = 3
detection = ["exact"]
"""


def game(
    *,
    name: str = "A small game",
    talks: int = 12,
    seed: int = 7,
    service: str = "live",
    latency: float = 0.0,
    fatal: float = 0.0,
) -> str:
    head = GAME.format(name=name, talks=talks, seed=seed, service=service, latency=latency, fatal=fatal)
    return head + TWO_AGENTS


EVOLUTION = """
[batch]
kind = "evolution"
name = "A small evolution"

[service]
batch_from = 0

[providers.simulated]
fatal_rate = 0.03

[evolution]
population_size = 6
max_generations = 2
max_problems = 8
validation_problems = 12
elite_size = 2
rate_limit_per_minute = 0
seed_final = false
"""


def config_file(folder: Path, text: str, name: str = "study.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


async def played(path: Path, text: str) -> str:
    """Runs a study in this process, to its end; returns the batch's id."""
    summary = await run_batch(config_from(parse_toml(text, "the test's config")), path)
    return str(summary["batch_id"])


def played_now(path: Path, text: str) -> str:
    return asyncio.run(played(path, text))


def printed(blocks: Sequence[Block], width: int = 80) -> str:
    """A report as the terminal shows it."""
    out = io.StringIO()
    print_blocks(Console(file=out, width=width, no_color=True, markup=False, highlight=False), blocks)
    return out.getvalue()
