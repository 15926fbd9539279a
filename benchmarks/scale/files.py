"""Files with one batch of very many conversations of two messages, made by the real command with the simulated provider.

TIDEPOOL_PROOF_TALKS sets how many the largest has, for trying; TIDEPOOL_PROOF_FOLDER keeps files for the next proof: a
million take a quarter of an hour to make.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MANY = int(os.environ.get("TIDEPOOL_PROOF_TALKS", "1000000"))
KINDS = ("secret_game", "simulation")
ENTITIES = 1_500
"""so that a million pairs of them are a million different ones"""

_HEAD = """
[batch]
kind = "{kind}"
name = "{talks} talks"
seed = 42
[service]
name = "{service}"
cache = false
max_concurrent = 200
"""
_GAME = """
[secret_game]
num_interactions = {talks}
messages_per_interaction = 2
"""
_SIMULATION = """
[simulation]
context = "Neighbours talk about a proposal: no cars in the town on Sundays."
num_simulations = {talks}
n_turns = 1
simulation_rounds = 1
thoughts = true
entity_file = "people.json"
"""
_SECRETS = {
    "guarded": "marigold",
    "trusting": "lantern",
    "bargainer": "harbour",
    "talkative": "violet",
    "playful": "granite",
}


@contextmanager
def place_of_files() -> Iterator[Path]:
    """A folder for them; what the simulated provider sold is kept there too."""
    kept = os.environ.get("TIDEPOOL_PROOF_FOLDER")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(kept or scratch)
        folder.mkdir(parents=True, exist_ok=True)
        os.environ["TIDEPOOL_SELLER"] = os.environ["TIDEPOOL_STATE"] = str(folder / "seller")
        yield folder


def config_of(folder: Path, kind: str, talks: int, service: str = "live") -> Path:
    """The study as a config file."""
    text = (_HEAD + (_GAME if kind == "secret_game" else _SIMULATION)).format(kind=kind, talks=talks, service=service)
    if kind == "secret_game":
        text += "".join(
            f'[[agents]]\nname = "{name}"\nmodel = "simulated:{name}"\nsecret = "{secret}"\n'
            for name, secret in _SECRETS.items()
        )
    else:
        _write_people(folder / "people.json")
    path = folder / f"{kind}-{talks}-{service}.toml"
    path.write_text(text, encoding="utf-8")
    return path


def _write_people(path: Path) -> None:
    from tidepool.engine.library.entity_types import built_in_types, generate

    people = [entity.as_record() for entity in generate(built_in_types()["human"], ENTITIES, 1)]
    path.write_text(json.dumps(people), encoding="utf-8")


def file_of(folder: Path, kind: str, talks: int, service: str = "live") -> Path:
    """The study run to its end; one that is there already is taken as it is."""
    config = config_of(folder, kind, talks, service)
    database = config.with_suffix(".db")
    if not database.exists():
        command = [sys.executable, "-m", "tidepool", "--db", str(database), "--run", str(config), "--json"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return database
