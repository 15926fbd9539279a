"""A config checked for a form."""

from pathlib import Path
from typing import Any

import pytest

from tidepool.engine.config.freezing import freeze
from tidepool.engine.config.loading import config_from
from tidepool.engine.config.validation import validate_all

AGENTS = [
    {"name": "Ada", "model": "simulated:guarded", "secret": "marigold"},
    {"name": "Bob", "model": "simulated:trusting", "secret": "lantern"},
]


def game(**settings: Any) -> dict[str, Any]:
    return {"batch": {"kind": "secret_game"}, "secret_game": settings, "agents": AGENTS}


def simulation(*entities: Any, **settings: Any) -> dict[str, Any]:
    return {"batch": {"kind": "simulation"}, "simulation": settings, "entities": list(entities)}


CASES = [
    ({}, ("batch", "kind"), "needs kind"),
    ({"batch": {"kind": "secret_gam"}}, ("batch", "kind"), "Did you mean 'secret_game'?"),
    ({"batch": {"kind": "mutation"}}, ("mutation",), "[mutation] is missing"),
    ({**game(), "simulation": {}}, ("simulation",), "does not belong"),
    (game(rounds=0), ("secret_game", "rounds"), "secret_game.rounds = 0: input should be greater than or equal to 1."),
    (game(rouns=1), ("secret_game", "rouns"), "Did you mean 'rounds'?"),
    (game(mode="targeted"), ("secret_game",), "[secret_game]: mode targeted needs targeted_secret."),
    (game(scoring={"both": "x"}), ("secret_game", "scoring", "both"), "valid number"),
    ({**game(), "agents": [{"name": "Ada", "model": "nope"}]}, ("agents", 0, "model"), "neither PROVIDER:MODEL nor"),
    ({**game(), "agents": [*AGENTS, {"name": "Cleo"}]}, ("agents", 2, "model"), "agents[2].model is missing."),
    ({**game(), "agents": AGENTS[:1]}, (), "needs at least"),
    ({**game(), "service": 3}, ("service",), "service = 3"),
    ({**game(), "agent_ids": ["nobody-123456"]}, (), "no agent 'nobody-123456'"),
    (simulation({"name": ""}), ("entities", 0, "name"), "the name is missing"),
    (simulation({"name": "A", "attributes": {"age": [1]}}), ("entities", 0, "attributes"), "attribute 'age'"),
    (simulation({"name": "A", "descripton": ""}), ("entities", 0), "did you mean 'description'"),
    (simulation(judge={"model": "simulated:judge"}), ("simulation", "judge", "question"), "question is missing"),
]


@pytest.mark.parametrize(("data", "where", "words"), CASES)
def test_a_fault_is_told_in_the_engines_words_with_its_key(
    data: dict[str, Any], where: tuple[str | int, ...], words: str, database: Path, tmp_path: Path
) -> None:
    from tidepool.storage.file import prepare

    prepare(database)
    config, faults = validate_all(data, tmp_path, database)
    assert config is None
    found = [fault for fault in faults if fault.where == where]
    assert found, faults
    assert words in found[0].sentence


def test_all_faults_are_found_at_once(database: Path, tmp_path: Path) -> None:
    data = {**game(rounds=0, mode="standrd"), "service": {"retries": -1}}
    _, faults = validate_all(data, tmp_path, database)
    assert {fault.where for fault in faults} == {
        ("secret_game", "rounds"),
        ("secret_game", "mode"),
        ("service", "retries"),
    }


def test_a_sound_config_is_the_one_a_run_would_use(database: Path, tmp_path: Path) -> None:
    config, faults = validate_all(game(num_interactions=3), tmp_path, database)
    assert faults == []
    assert config == freeze(config_from(game(num_interactions=3), folder=tmp_path), database)
