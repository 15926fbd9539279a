"""Beside a real model no helper is simulated unless somebody wrote that."""

from pathlib import Path
from typing import Any

import pytest

from tidepool.engine.config.freezing import freeze, load_frozen
from tidepool.engine.config.loading import config_from
from tidepool.engine.errors import UsageError

REAL = "openai:gpt-4o-mini"
ENTITIES = [{"name": "Ada", "description": ""}, {"name": "Bob", "description": ""}]


def frozen(kind: str, settings: dict[str, Any], tmp_path: Path) -> Any:
    more = {"entities": ENTITIES} if kind == "simulation" else {}
    return freeze(config_from({"batch": {"kind": kind}, kind: settings, **more}, source=""), tmp_path / "none.db")


SILENT = [
    ("evolution", {"model": REAL}, "mutator"),
    ("evolution", {"models": [REAL, "ollama:llama3.2"]}, "mutator"),
    ("evolution", {"mutator": "gpt4o_mini"}, "model"),
    ("mutation", {"target": REAL}, "mutator"),
    ("mutation", {"target": REAL, "mutator": REAL, "reward": "judge"}, "judge"),
    ("mutation", {"encoder": "openai:text-embedding-3-small", "mutator": REAL}, "target"),
    ("simulation", {"context": "A panel", "model": REAL, "judge": {"question": "Is it?"}}, "model"),
]


@pytest.mark.parametrize(("kind", "settings", "key"), SILENT)
def test_a_helper_left_to_a_simulated_default_is_refused_by_its_key(
    kind: str, settings: dict[str, Any], key: str, tmp_path: Path
) -> None:
    with pytest.raises(
        UsageError, match=rf"{kind}\.(judge\.)?{key} is not set, .* simulated model, together with "
    ) as refused:
        frozen(kind, settings, tmp_path)
    assert refused.value.where[0] == kind and refused.value.where[-1] == key


WRITTEN = [
    ("evolution", {"model": REAL, "mutator": "simulated:rewriter"}),
    ("evolution", {"model": REAL, "strategy": "random"}),
    ("evolution", {}),
    ("mutation", {"target": REAL, "mutator": REAL}),
    ("mutation", {"mutator": REAL, "target": "simulated:target"}),
    ("simulation", {"context": "A panel", "model": REAL}),
]


@pytest.mark.parametrize(("kind", "settings"), WRITTEN)
def test_what_is_written_or_never_asked_is_taken(kind: str, settings: dict[str, Any], tmp_path: Path) -> None:
    frozen(kind, settings, tmp_path)


def test_a_batch_that_was_made_before_the_rule_is_gone_on_with(tmp_path: Path) -> None:
    kept = frozen("evolution", {"mutator": "simulated:rewriter"}, tmp_path).to_json()
    assert load_frozen(kept.replace("simulated:solver", REAL)).settings.model == REAL
