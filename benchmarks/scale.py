"""A million conversations in one batch: memory and CPU of running and of reading it.

TIDEPOOL_PROOF_TALKS sets a smaller number for a trial.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tidepool.engine.bench import Measurement, at_most

COMMAND = (sys.executable, "-m", "tidepool")
MOST_MEMORY = 900
"""MB that anything may take, of a million conversations"""


@dataclass(frozen=True, slots=True)
class Cost:
    cpu: float
    memory: float
    """MB at most"""


def cost_of(command: Sequence[str]) -> Cost:
    """Of the whole process."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{process.args!r} ended with {process.returncode}")
    return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


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
    """A folder for studies and for what the simulated provider records."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
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
    from tidepool.engine.config.entity_types import built_in_types, generate

    people = [entity.as_record() for entity in generate(built_in_types()["human"], ENTITIES, 1)]
    path.write_text(json.dumps(people), encoding="utf-8")


def file_of(folder: Path, kind: str, talks: int) -> Path:
    """The study run to its end."""
    config = config_of(folder, kind, talks)
    database = config.with_suffix(".db")
    cost_of((*COMMAND, "--db", str(database), "--run", str(config), "--json"))
    return database


KIND = "secret_game"
FEW, HUNDRED_THOUSAND, GATHERED = min(10_000, MANY), min(100_000, MANY), min(200_000, MANY)
"""through batch APIs at most 50,000 go together, so four groups show whether memory grows"""
MESSAGES = 2


def prove_running() -> Iterator[Measurement]:
    with place_of_files() as folder:
        for service, number in (("live", MANY), ("auto", GATHERED)):
            few, many = (whole_run(folder, service, talks) for talks in (FEW, number))
            way = {"live": "live", "auto": "by batch API"}[service]
            note = f"{many.cpu:,.0f} s of CPU, {many.cpu / number / MESSAGES * 1e6:.0f} µs a call"
            yield at_most(f"{number:,} conversations {way}: memory", many.memory, "MB", MOST_MEMORY, note)
            growth = many.cpu / number / (few.cpu / FEW)
            yield at_most(f"CPU per call {way}, {number:,} ÷ {FEW:,} conversations", growth, "×", 1.15)
        hundred = whole_run(folder, "live", HUNDRED_THOUSAND)
        yield at_most(f"{HUNDRED_THOUSAND:,} conversations live: memory", hundred.memory, "MB", 250)


def whole_run(folder: Path, service: str, talks: int) -> Cost:
    config = config_of(folder, KIND, talks, service)
    database = folder / f"run-{service}-{talks}.db"
    return cost_of((*COMMAND, "--db", str(database), "--run", str(config), "--json"))


FEWEST = 1_000
TIMES = 3


def readers(path: Path) -> dict[str, Sequence[str]]:
    """What should not grow with a batch, as commands."""
    return {
        "list": (*COMMAND, "--db", str(path), "list"),
        "show --conversation": (*COMMAND, "--db", str(path), "show", "last", "--conversation", "500"),
        "log": (*COMMAND, "--db", str(path), "log", "last"),
    }


def prove_reading() -> Iterator[Measurement]:
    with place_of_files() as folder:
        for kind in KINDS:
            small, large = file_of(folder, kind, FEWEST), file_of(folder, kind, MANY)
            for (name, few), many in zip(readers(small).items(), readers(large).values(), strict=True):
                once, now = cheapest(few), cheapest(many)
                note = f"{now.cpu:.2f} s of CPU, {now.memory:.0f} MB"
                yield at_most(f"{kind}, {MANY:,} ÷ {FEWEST:,}: {name}", now.cpu / once.cpu, "×", 1.5, note)
            found = cheapest((*COMMAND, "--db", str(large), "stats", "last"), 1)
            memory = f"{kind}, {MANY:,}: memory of stats"
            yield at_most(memory, found.memory, "MB", MOST_MEMORY, f"{found.cpu:.1f} s of CPU")
            found = cheapest((*COMMAND, "--db", str(file_of(folder, kind, HUNDRED_THOUSAND)), "stats", "last"))
            name = f"{kind}, {HUNDRED_THOUSAND:,}: CPU seconds of stats, the whole command"
            yield at_most(name, found.cpu, "s", 2.0, f"{found.memory:.0f} MB")


def cheapest(command: Sequence[str], times: int = TIMES) -> Cost:
    costs = [cost_of(command) for _ in range(times)]
    return Cost(min(cost.cpu for cost in costs), max(cost.memory for cost in costs))
