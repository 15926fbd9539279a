"""Short names stand for models that live, and retired models are refused with their successor."""

import json
from pathlib import Path

import pytest

from tests.support.state import query
from tidepool.engine.config.endpoints import KNOWN_MODELS, PRESETS, refuse_retired, resolve_model, successor_of
from tidepool.engine.config.loading import config_from
from tidepool.engine.errors import UsageError
from tidepool.engine.run import create_batch


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_stands_for_a_living_model(name: str) -> None:
    model = resolve_model(name)
    provider, _, model_name = model.partition(":")
    assert successor_of(model) is None
    assert provider == "ollama" or model_name in KNOWN_MODELS[provider]


@pytest.mark.parametrize(
    ("model", "successor"),
    [
        ("openai:gpt-3.5-turbo-0125", "openai:gpt-5.4-mini"),
        ("anthropic:claude-3-5-haiku-latest", "anthropic:claude-haiku-5-5"),
        ("anthropic:claude-3-opus-20240229", "anthropic:claude-opus-5-5"),
        ("anthropic:claude-3-7-sonnet-latest", "anthropic:claude-sonnet-5-5"),
        ("anthropic:claude-instant-1.2", "anthropic:claude-haiku-5-5"),
    ],
)
def test_a_retired_model_is_refused_with_its_successor(model: str, successor: str) -> None:
    assert successor_of(model) == successor
    with pytest.raises(UsageError, match=f"Use {successor} instead"):
        refuse_retired(model)


def test_a_batch_keeps_the_models_its_presets_stood_for_when_it_was_made(database: Path) -> None:
    agents = [
        {"name": name, "model": "gpt4o_mini", "secret": f"moss {name}stone", "instructions": "llama"}
        for name in ("Ada", "Bo")
    ]
    study = {"batch": {"kind": "secret_game"}, "secret_game": {"judge": "claude_haiku"}, "agents": agents}
    create_batch(config_from(study), database)
    kept = json.loads(query(database, "SELECT config FROM batch")[0][0])
    assert {agent["model"] for agent in kept["agents"]} == {"openai:gpt-4o-mini"}
    assert kept["secret_game"]["judge"] == "anthropic:claude-haiku-5-5"
    assert {agent["instructions"] for agent in kept["agents"]} == {"llama"}
