"""A config checked for a form."""

from pathlib import Path
from typing import Any

import pytest

from tidepool.engine.config.freezing import freeze, validate_all
from tidepool.engine.config.loading import config_from
from tidepool.storage.file import prepare

AGENTS = [
    {"name": "Ada", "model": "simulated:guarded", "secret": "marigold"},
    {"name": "Bob", "model": "simulated:trusting", "secret": "lantern"},
]


def game(**settings: Any) -> dict[str, Any]:
    return {"batch": {"kind": "secret_game"}, "secret_game": settings, "agents": AGENTS}


def simulation(*entities: Any, **settings: Any) -> dict[str, Any]:
    return {"batch": {"kind": "simulation"}, "simulation": settings, "entities": list(entities)}


def evolution(**settings: Any) -> dict[str, Any]:
    return {"batch": {"kind": "evolution"}, "evolution": settings}


def mutation(**settings: Any) -> dict[str, Any]:
    return {"batch": {"kind": "mutation"}, "mutation": settings}


WEIGHTS = ("accuracy", "consistency", "efficiency", "diversity")

CASES = [
    ({}, ("batch", "kind"), "kind is missing"),
    ({"batch": {"kind": "secret_gam"}}, ("batch", "kind"), "Did you mean 'secret_game'?"),
    ({"batch": {"kind": "mutation"}}, ("mutation",), "[mutation] is missing"),
    ({**game(), "simulation": {}}, ("simulation",), "does not belong"),
    (game(rounds=0), ("secret_game", "rounds"), "secret_game.rounds = 0: must be at least 1."),
    (game(detection=["judge"]), ("secret_game", "detection"), "detection needs at least one of"),
    (
        game(scenarios=[{"opener_secret": "a", "partner_secret": "A"}]),
        ("secret_game", "scenarios", 0, "partner_secret"),
        "same secret",
    ),
    (
        game(mode="retained", scenarios=[{"opener_secret": "a", "partner_secret": "b"}]),
        ("secret_game", "scenarios"),
        "scenarios need mode standard",
    ),
    ({**game(), "agents": AGENTS[:1]}, ("agents",), "needs at least"),
    (
        {**game(), "agents": [*AGENTS, {**AGENTS[0], "secret": "x"}]},
        ("agents", 2, "name"),
        "Two agents are called 'Ada'",
    ),
    (
        {**game(), "agents": [*AGENTS, {**AGENTS[0], "name": "Cleo", "secret": " "}]},
        ("agents", 2, "secret"),
        "no secret",
    ),
    ({**game(), "service": 3}, ("service",), "service = 3"),
    ({**game(), "agent_ids": ["nobody-123456"]}, ("agent_ids",), "no agent 'nobody-123456'"),
    (simulation({"name": "A", "attributes": {"age": [1]}}), ("entities", 0, "attributes", "age"), "attributes.age"),
    (simulation({"name": "A"}, {"name": "a"}, context="x"), ("entities", 1, "name"), "'a' (and 'A') appears twice"),
    (simulation({"name": "A"}, context=" "), ("simulation", "context"), "context is empty"),
    (simulation({"name": "A"}, context="x", context_file="y"), ("simulation", "context_file"), "not both"),
    (simulation({"name": "A"}, context="x"), ("simulation", "interaction_size"), "only 1 entity was chosen"),
    (simulation(context="x"), ("entities",), "has no entities"),
    (simulation(context="x", entity_ids=["zed"]), ("simulation", "entity_ids"), "no entity 'zed'"),
    (simulation(context="x", entity_file="none.csv"), ("simulation", "entity_file"), "There is no file"),
    (simulation(context_file="none.txt"), ("simulation", "context_file"), "no file"),
    (evolution(models=["simulated:a", "simulated:a"]), ("evolution", "models"), "twice"),
    (evolution(model="simulated:a", models=["simulated:b"]), ("evolution", "models"), "Write only one"),
    (evolution(seed_prompts=[" "]), ("evolution", "seed_prompts"), "empty prompt"),
    (evolution(weights=dict.fromkeys(WEIGHTS, 0.0)), ("evolution", "weights"), "are all 0"),
    (evolution(problems="none.jsonl"), ("evolution", "problems"), "not a built-in set"),
    (mutation(encoder="anthropic:x"), ("mutation", "encoder"), "no embeddings"),
    (mutation(num_mini_batch=33, num_steps=1), ("mutation", "num_mini_batch"), "the steps of an update"),
    (mutation(queries="none.jsonl"), ("mutation", "queries"), "cannot be read: No such file"),
    (mutation(policy="none.safetensors"), ("mutation", "policy"), "cannot read the policy"),
    (mutation(policy_content="%"), ("mutation", "policy_content"), "not base64"),
    (simulation(judge={"model": "simulated:judge"}), ("simulation", "judge", "question"), "question is missing"),
]


@pytest.mark.parametrize(("data", "where", "words"), CASES)
def test_a_fault_is_told_in_the_engines_words_with_its_key(
    data: dict[str, Any], where: tuple[str | int, ...], words: str, database: Path, tmp_path: Path
) -> None:
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
