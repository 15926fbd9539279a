"""A published folder in the programs of others: pandas, polars, DuckDB, datasette; and a stranger who
runs the study again from the folder alone.

Studies of each kind, one with a design, and one whose names are made to hurt are published. The readers live in an
environment of their own (`.pythons/readers`), which is kept, so that a second run is quick.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.state import change, end_state, query
from tidepool.engine.bench import Measurement, at_least, at_most
from tidepool.engine.config.loading import load_config
from tidepool.engine.publishing.card import About
from tidepool.engine.publishing.folder import publish
from tidepool.engine.run import run_batch, run_study
from tidepool.storage.views import VIEWS

ROOT = Path(__file__).parents[1]
READERS = ROOT / ".pythons" / "readers"
PACKAGES = ("pandas", "polars", "pyarrow", "duckdb", "datasette")
STUDIES = {
    "secret_game": ["secret_game.num_interactions=12"],
    "simulation_judged": ["simulation.num_simulations=4"],
    "evolution_labels": [
        "evolution.population_size=6",
        "evolution.max_generations=2",
        "evolution.max_problems=8",
        "evolution.elite_size=2",
    ],
    "mutation": ["mutation.num_env_steps=200"],
}
"""an example of each kind, made small"""
DESIGN = ["design.replicates=2", "secret_game.num_interactions=6"]
ODD = "a: [b]\n---\n# `|` \u202e\x1b[31m \"' {{<img src=x>}} \\ \U0001f600"
ABOUT = About(description=ODD, authors=("Lovelace, Ada", ODD), license="CC-BY-4.0")

READ = """
import asyncio, json, logging, sys
from pathlib import Path
import duckdb, pandas, polars
from datasette.app import Datasette

logging.disable(logging.WARNING)

async def shown(file, views):
    datasette = Datasette([str(file)])
    answers = [await datasette.client.get(f"/{file.stem}/{view}.json?_shape=array&_size=1") for view in views]
    return sum(answer.status_code == 200 for answer in answers)

def looked_at(folder):
    counts = {}
    for path in sorted((folder / "data").glob("*.parquet")):
        counts[path.stem] = [
            len(pandas.read_parquet(path)),
            len(polars.read_parquet(path)),
            duckdb.sql(f"SELECT count(*) FROM '{path}'").fetchall()[0][0],
        ]
    return {"rows": counts, "datasette": asyncio.run(shown(folder / "study.db", counts))}

print(json.dumps({name: looked_at(Path(name)) for name in sys.argv[1:]}))
"""


@dataclass(frozen=True, slots=True)
class _Published:
    database: Path
    id: str
    batches: tuple[str, ...]
    folder: Path


def prove() -> Iterator[Measurement]:
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        os.environ["TIDEPOOL_STATE"] = str(place / "ours")
        made = asyncio.run(_made(place))
        told = _read([one.folder for one in made])
        yield at_least("folders published: each kind, a design, adversarial names", len(made), "folders", 6)
        yield at_most(
            "tables that pandas, polars, DuckDB and the file count differently",
            sum(_differ(one, told[str(one.folder)]["rows"]) for one in made),
            "tables",
            0,
        )
        views = sum(one["datasette"] for one in told.values())
        yield at_least("views that datasette shows", views, "views", len(VIEWS) * len(made))
        ways = [(one, way) for one in made[:-1] for way in ("file", "config")]
        equal = sum(_same_again(one, way, place / f"stranger{number}") for number, (one, way) in enumerate(ways))
        yield at_least(
            "studies that another user ran again with identical results", equal, f"of {len(ways)}", len(ways)
        )


async def _made(place: Path) -> list[_Published]:
    made = []
    for name, changes in STUDIES.items():
        database = place / f"{name}.db"
        summary = await run_batch(load_config(ROOT / "examples" / f"{name}.toml", changes), database)
        made.append(_published(database, summary["batch_id"], (summary["batch_id"],), place / name))
    for name in ("design", "hostile"):
        database = place / f"{name}.db"
        study = await run_study(load_config(ROOT / "examples" / "design.toml", DESIGN), database)
        if name == "hostile":
            change(database, "UPDATE study SET name = ?", ODD)
            change(database, "UPDATE study_cell SET factor = factor || ?, level = level || ?", ODD, ODD)
        cells = tuple(cell["batch_id"] for cell in study["cells"])
        made.append(_published(database, study["study_id"], cells, place / name))
    return made


def _published(database: Path, reference: str, batches: tuple[str, ...], folder: Path) -> _Published:
    return _Published(database, reference, batches, publish(database, reference, folder, ABOUT).folder)


def _differ(one: _Published, rows: dict[str, list[int]]) -> int:
    stored = {view: query(one.folder / "study.db", f"SELECT count(*) FROM {view}")[0][0] for view in VIEWS}
    return sum(set(rows[view]) != {count} for view, count in stored.items())


def _read(folders: Sequence[Path]) -> dict[str, Any]:
    python = READERS / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(READERS)], check=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True, stderr=subprocess.DEVNULL)
    done = subprocess.run([python, "-W", "ignore", "-c", READ, *map(str, folders)], check=True, stdout=subprocess.PIPE)
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def _same_again(one: _Published, way: str, place: Path) -> bool:
    """With a state of its own, in a folder of its own, by the command."""
    place.mkdir()
    config = "study.toml" if len(one.batches) > 1 else "config.toml"
    said = f"{one.folder / 'study.db'}#{one.id}" if way == "file" else str(one.folder / config)
    done = subprocess.run(
        [sys.executable, "-m", "tidepool", "--db", str(place / "again.db"), "--json", "--run", said],
        env={**os.environ, "TIDEPOOL_STATE": str(place / "state"), "PYTHONPATH": str(ROOT)},
        cwd=place,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        print(done.stderr.decode()[-500:])
        return False
    summary = json.loads(done.stdout)
    again = [cell["batch_id"] for cell in summary["cells"]] if "cells" in summary else [summary["batch_id"]]
    return all(
        end_state(one.database, first) == end_state(place / "again.db", second)
        for first, second in zip(one.batches, again, strict=True)
    )
