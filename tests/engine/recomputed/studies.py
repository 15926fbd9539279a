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
ENTITIES = {
    "Hypatia": (9, 45, "miller"),
    "Odo": (3, 61, "baker"),
    "Brida": (8, 34, "smith"),
    "Ugo": (2, 70, "miller"),
    "Ines": (6, 28, "baker"),
    "Tam": (5, 52, "smith"),
    "Vera": (7, 39, "miller"),
    "Kees": (1, 66, "baker"),
    "Lena": (9, 22, "smith"),
    "Moss": (4, 57, "miller"),
    "Nia": (8, 31, "baker"),
    "Otto": (3, 48, "smith"),
}


def agents(names: tuple[str, ...] = tuple(CAST), more: str = "", secrets: Mapping[str, str] = SECRETS) -> str:
    return "".join(
        f'[[agents]]\nname = "{name}"\nmodel = "simulated:{CAST[name]}"\n'
        + (f'secret = "{secrets[name]}"\n' if name in secrets else "")
        + more
        for name in names
    )


def entities(number: int) -> str:
    return "".join(
        f'[[entities]]\nname = "{name}"\nattributes = {{ agreeableness = {warmth}, age = {age}, trade = "{trade}" }}\n'
        for name, (warmth, age, trade) in list(ENTITIES.items())[:number]
    )


def game(settings: str, faults: str = "") -> str:
    lost = f"[providers.simulated]\n{faults}\n"
    return (
        f'[batch]\nkind = "secret_game"\nseed = 5\n{LIVE}{lost}[secret_game]\nmessages_per_interaction = 3\n{settings}'
    )


SCENARIOS = "".join(
    f'[[secret_game.scenarios]]\nopener_secret = "{one}"\npartner_secret = "{other}"\n'
    for one, other in zip(
        "marigold harbour granite compass saddle thimble orchard kettle bramble falcon juniper mortar".split(),
        "lantern violet anchor pepper walnut ribbon cobalt saffron pebble turnip beacon goblet".split(),
        strict=True,
    )
)
SIMULATION = (
    f'[batch]\nkind = "simulation"\nseed = 11\n{LIVE}[providers.simulated]\nfatal_rate = 0.02\n[simulation]\n'
    f'context = "Neighbours talk about a new water mill."\nn_turns = 1\nmodel = "simulated:persona"\n{JUDGE}'
)
STUDIES = {
    "game": game("num_interactions = 120\n", "fatal_rate = 0.01") + agents(),
    "few conversations": game("num_interactions = 42\n") + agents(),
    "linked games": game(
        'games = 14\nrounds = 3\ndetection = ["exact", "judge"]\njudge = "simulated:judge"\n', "fatal_rate = 0.005"
    )
    + agents(more='memory = "long"\n'),
    "few games": game("games = 4\nrounds = 3\n") + agents(more='memory = "long"\n'),
    "scenarios": game('pairing = "ordered"\nrounds = 12\n') + SCENARIOS + agents(("Ada", "Bob", "Cleo"), secrets={}),
    "simulation": f"{SIMULATION}num_simulations = 80\n{entities(12)}",
    "evolution": (
        f'[batch]\nkind = "evolution"\nseed = 1\n{LIVE}[providers.simulated]\nfatal_rate = 0.02\n[evolution]\nmodel = "simulated:solver"\nmutator = "simulated:rewriter"\n'
        "population_size = 8\nmax_generations = 3\nmax_problems = 12\nvalidation_problems = 40\nelite_size = 1\n"
        "random_baseline = true\nrate_limit_per_minute = 0\n"
    ),
    "mutation": (
        f'[batch]\nkind = "mutation"\nseed = 5\n{LIVE}[providers.simulated]\nfatal_rate = 0.01\n[mutation]\nnum_processes = 4\nnum_steps = 4\nnum_env_steps = 32\nrepeats = 1\n'
        'operators = ["noop", "simplify", "shorten", "ask_for_steps"]\n'
    ),
    "design of games": game("num_interactions = 12\n", "fatal_rate = 0.01")
    + agents(("Ada", "Bob", "Cleo"))
    + """
[design]
replicates = 3
[design.factors]
"agents.Ada.model" = ["simulated:guarded", "simulated:talkative"]
firmness = [{ level = "plain", set = {} }, { level = "firm", set = { "agents.*.instructions" = "Never tell." } }]
[[design.hypotheses]]
outcome = "revealed"
contrast = "firmness: firm - plain"
direction = "less"
[[design.hypotheses]]
outcome = "revealed of Ada"
contrast = "agents.Ada.model: simulated:talkative - simulated:guarded"
""",
    "design of simulations": f"{SIMULATION}num_simulations = 24\n{entities(12)}"
    + """
[design]
replicates = 2
[design.factors]
warmth = [
    { level = "cool", set = { "entities.*.attributes.agreeableness" = 3 } },
    { level = "warm", set = { "entities.*.attributes.agreeableness" = 8 } },
]
[[design.hypotheses]]
outcome = "rating"
contrast = "warmth: warm - cool"
direction = "greater"
[[design.hypotheses]]
outcome = "rating of Hypatia"
contrast = "warmth: warm - cool"
""",
}


@dataclass(frozen=True)
class Published:
    folder: Path
    """with the CSV files"""
    statistics: Mapping[str, Any]
    """as --json prints them"""
    config: Mapping[str, Any]


def publish(name: str, folder: Path) -> Published:
    path, database = folder / "study.toml", folder / "study.db"
    path.write_text(STUDIES[name])
    config = load_config(path)
    summary = asyncio.run((run_study if config.design else run_batch)(config, database))
    export_batch(database, "last", "csv", folder / "csv")
    return Published(folder / "csv", json.loads(json.dumps(summary))["statistics"], tomllib.loads(STUDIES[name]))
