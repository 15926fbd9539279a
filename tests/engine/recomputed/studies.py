"""One small study of each kind, run and exported as CSV."""

import asyncio
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidepool.engine.config.loading import load_config
from tidepool.engine.exports.export import export_batch
from tidepool.engine.run import run_batch, run_study

LIVE = '[service]\nname = "live"\nretries = 0\n'
JUDGE = 'judge = { model = "simulated:judge", question = "Does the speaker agree, 1 to 5?", scale = [1, 5] }\n'
CAST = {"Ada": "guarded", "Bob": "trusting", "Cleo": "bargainer", "Dion": "talkative"}
SECRETS = {"Ada": "marigold", "Bob": "lantern", "Cleo": "harbour", "Dion": "violet"}
ENTITIES = [
    line.split()
    for line in """Hypatia 9 45 miller;Odo 3 61 baker;Brida 8 34 smith;Ugo 2 70 miller;Ines 6 28 baker;Tam 5 52 smith
Vera 7 39 miller;Kees 1 66 baker;Lena 9 22 smith;Moss 4 57 miller;Nia 8 31 baker;Otto 3 48 smith""".replace(
        "\n", ";"
    ).split(";")
]


def agents(names: tuple[str, ...] = tuple(CAST), more: str = "", secrets: Mapping[str, str] = SECRETS) -> str:
    return "".join(
        f'[[agents]]\nname = "{name}"\nmodel = "simulated:{CAST[name]}"\n'
        + (f'secret = "{secrets[name]}"\n' if name in secrets else "")
        + more
        for name in names
    )


def study(kind: str, seed: int, faults: str, settings: str) -> str:
    return f'[batch]\nkind = "{kind}"\nseed = {seed}\n{LIVE}[providers.simulated]\n{faults}\n[{kind}]\n{settings}'


def game(settings: str, faults: str = "") -> str:
    return study("secret_game", 5, faults, f"messages_per_interaction = 3\n{settings}")


def simulation(simulations: int) -> str:
    people = "".join(
        f'[[entities]]\nname = "{name}"\nattributes = {{ agreeableness = {warmth}, age = {age}, trade = "{trade}" }}\n'
        for name, warmth, age, trade in ENTITIES
    )
    settings = f'context = "Neighbours talk about a new water mill."\nn_turns = 1\nmodel = "simulated:persona"\n{JUDGE}'
    return study("simulation", 11, "fatal_rate = 0.02", f"{settings}num_simulations = {simulations}\n{people}")


SCENARIOS = "".join(
    f'[[secret_game.scenarios]]\nopener_secret = "{one}"\npartner_secret = "{other}"\n'
    for one, other in zip(
        "marigold harbour granite compass saddle thimble orchard kettle bramble falcon juniper mortar".split(),
        "lantern violet anchor pepper walnut ribbon cobalt saffron pebble turnip beacon goblet".split(),
        strict=True,
    )
)
LINKED = agents(more='memory = "long"\n')
STUDIES = {
    "game": game("num_interactions = 120\n", "fatal_rate = 0.01") + agents(),
    "few conversations": game("num_interactions = 42\n") + agents(),
    "linked games": game(
        'games = 14\nrounds = 3\ndetection = ["exact", "judge"]\njudge = "simulated:judge"\n', "fatal_rate = 0.005"
    )
    + LINKED,
    "few games": game("games = 4\nrounds = 3\n") + LINKED,
    "scenarios": game('pairing = "ordered"\nrounds = 24\n') + SCENARIOS + agents(("Ada", "Bob", "Cleo"), secrets={}),
    "simulation": simulation(80),
    "evolution": study(
        "evolution",
        1,
        "fatal_rate = 0.02",
        'model = "simulated:solver"\nmutator = "simulated:rewriter"\npopulation_size = 8\nmax_generations = 3\n'
        "max_problems = 12\nvalidation_problems = 40\nelite_size = 1\nrandom_baseline = true\nrate_limit_per_minute = 0\n",
    ),
    "mutation": study(
        "mutation",
        5,
        "fatal_rate = 0.01",
        "num_processes = 4\nnum_steps = 4\nnum_env_steps = 32\nrepeats = 1\n"
        'operators = ["noop", "simplify", "shorten", "ask_for_steps"]\n',
    ),
    "design of games": game("num_interactions = 12\n", "fatal_rate = 0.01")
    + agents(("Ada", "Bob", "Cleo"))
    + """[design]
replicates = 3
hypotheses = [
    { outcome = "revealed", contrast = "firmness: firm - plain", direction = "less" },
    { outcome = "revealed of Ada", contrast = "agents.Ada.model: simulated:talkative - simulated:guarded" },
]
[design.factors]
"agents.Ada.model" = ["simulated:guarded", "simulated:talkative"]
firmness = [{ level = "plain", set = {} }, { level = "firm", set = { "agents.*.instructions" = "Never tell." } }]
""",
    "design of simulations": simulation(24)
    + """[design]
replicates = 2
hypotheses = [
    { outcome = "rating", contrast = "warmth: warm - cool", direction = "greater" },
    { outcome = "rating of Hypatia", contrast = "warmth: warm - cool" },
]
[design.factors]
warmth = [
    { level = "cool", set = { "entities.*.attributes.agreeableness" = 3 } },
    { level = "warm", set = { "entities.*.attributes.agreeableness" = 8 } },
]
""",
}


@dataclass(frozen=True)
class Published:
    folder: Path
    """with the CSV files"""
    statistics: Mapping[str, Any]
    """as --json prints them"""
    config: Mapping[str, Any]

    @property
    def scale(self) -> tuple[float, float]:
        """of scores in mode standard, or of the judge's ratings"""
        low, high = self.config["simulation"]["judge"]["scale"] if "simulation" in self.config else (0.0, 3.0)
        return low, high


def publish(name: str, folder: Path) -> Published:
    path, database = folder / "study.toml", folder / "study.db"
    path.write_text(STUDIES[name])
    config = load_config(path)
    summary = asyncio.run((run_study if config.design else run_batch)(config, database))
    export_batch(database, "last", "csv", folder / "csv")
    return Published(folder / "csv", json.loads(json.dumps(summary))["statistics"], tomllib.loads(STUDIES[name]))
